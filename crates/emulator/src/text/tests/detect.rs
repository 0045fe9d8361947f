//! What is found in a plain text.

use super::super::{EntityKind, Formatted, ParseMode, detect, parse};

fn finds(text: &str, entities: &str) {
    let mut formatted = Formatted { text: text.to_owned(), entities: Vec::new() };
    detect(&mut formatted);
    assert_eq!(super::shown(&formatted.entities), entities, "in {text:?}");
}

#[test]
fn plain_texts_have_nothing() {
    for text in ["", "Привет", "1:30 и 2.5", "a. b", "a.", "50/50", "5 $ # @ /", "...", "a..b", "C++ & <b>"] {
        finds(text, "");
    }
}

#[test]
fn commands_are_found() {
    finds("/start", "bot_command 0+6");
    finds("/start@jobs_bot x /help", "bot_command 0+15, bot_command 18+5");
    finds("👍 /да /go!", "bot_command 7+3");
    finds("a/b <i>/x</i> //x /x/ /@ab /a@b", "");
    finds(&format!("/{}", "a".repeat(64)), "bot_command 0+65");
    finds(&format!("/{}", "a".repeat(65)), "");
}

#[test]
fn mentions_are_found() {
    finds("@durov, @Gif", "mention 0+6, mention 8+4");
    finds("привет @durov", "mention 7+6");
    finds("a@durov @abc @durovй @", "");
    finds("@@durov", "mention 1+6");
    finds(&format!("@{} @{}", "a".repeat(32), "a".repeat(33)), "mention 0+33");
}

#[test]
fn tags_are_found() {
    finds("#один #two_2 #3", "hashtag 0+5, hashtag 6+6");
    finds("#tag@durov #a@b", "hashtag 0+10, hashtag 11+2");
    finds("##a a#b #a#b", "hashtag 1+2");
    finds(&format!("#{}", "ж".repeat(300)), "hashtag 0+257");
    finds("$USD, $1INCH $usd $TOOLONGNAME a$USD $USDж $USD@durov", "cashtag 0+4, cashtag 6+6, cashtag 43+10");
}

#[test]
fn links_are_found() {
    finds("https://telegram.org", "url 0+20");
    finds("see example.com.", "url 4+11");
    finds("(http://a.ru/b_(c)), d", "url 1+17");
    finds("https://a.ru/?q=1#x, HTTPS://A.RU", "url 0+19, url 21+12");
    finds("сайт.рф и http://localhost.test:8080/x", "url 0+7, url 10+28");
    finds("a.ru:80 b.ru:99999 1.2.3.4 1.2.3.256 1.2", "url 0+7, url 8+4, url 19+7");
    finds("user:pass@host.com/x", "url 0+20");
    finds("tg://resolve?domain=x ton://a/b", "url 0+21, url 22+9");
    finds("xhttps://a.ru", "url 1+12");
    finds("https://a.ru/да«x»", "url 0+15");
    finds("a.xn--p1ai _a.b.ru b_.ru", "url 0+10, url 11+7");
}

#[test]
fn what_only_looks_like_a_link_is_left() {
    for text in
        ["file.unknowntld", "End.Next", "a.b", "sftp://a.ru", "/a.ru", "#a.ru", "a-.ru", "README.Md", "@.ru", "x.r_u"]
    {
        let mut formatted = Formatted { text: text.to_owned(), entities: Vec::new() };
        detect(&mut formatted);
        assert!(formatted.entities.iter().all(|entity| entity.kind != EntityKind::Url), "{text:?}: {formatted:?}");
    }
}

#[test]
fn mail_addresses_are_found() {
    finds("do-not-reply@telegram.org", "email 0+25");
    finds("mailto:a.b@d.e.com a+b@c.ru", "email 7+11, email 19+8");
    finds("почта: иван@a.ru", "url 7+9");
    finds("a@b.c, a@b", "");
}

#[test]
fn what_the_sender_marked_wins() {
    for (source, entities) in [
        ("<code>/a @durov a.ru</code> /b", "code 0+14, bot_command 15+2"),
        ("<a href='a.ru'>b.ru</a>", "text_link 0+4 http://a.ru/"),
        ("<b>a /b c</b>", "bold 0+2, bot_command 2+2, bold 2+2, bold 4+2"),
        ("<b>/b</b>", "bot_command 0+2, bold 0+2"),
        ("<blockquote>a.ru</blockquote>", "blockquote 0+4, url 0+4"),
        ("<blockquote>a.</blockquote>ru", "blockquote 0+2"),
        ("<pre>@durov</pre> @durov", "pre 0+6, mention 7+6"),
    ] {
        let mut formatted = parse(source, ParseMode::Html).unwrap();
        detect(&mut formatted);
        assert_eq!(super::shown(&formatted.entities), entities, "{source:?}");
    }
}
