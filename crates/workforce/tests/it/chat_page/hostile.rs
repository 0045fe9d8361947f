//! Names and messages that try to run scripts or to break the page's layout.

use serde_json::{Value, json};

use crate::kit::browser::{Screen, visit_chat};
use crate::kit::page::Page;

const MARKUP: &str = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";
const HOSTILE_LINKS: [&str; 4] = [
    "javascript:window.hacked=1",
    "javascript://example.com/%0Awindow.hacked=1",
    "data:text/html,<script>window.hacked=1</script>",
    "https://example.com/\"onmouseover=\"window.hacked=1",
];
const MALLORY: i64 = 1666;

#[tokio::test]
async fn hostile_text_is_escaped_on_a_desktop() {
    visit_chat("hostile", Screen::Desktop, attack).await;
}

#[tokio::test]
async fn hostile_text_is_escaped_on_a_phone() {
    visit_chat("hostile", Screen::Phone, attack).await;
}

async fn attack(page: Page) {
    let person = json!({"id": MALLORY, "first_name": &MARKUP[..35], "last_name": &MARKUP[35..], "username": "mallory"});
    page.demo.post("/users", person).await;
    for text in hostile_texts() {
        page.demo.says(MALLORY, &text).await;
    }
    let twice = hostile_texts().len() * 2;
    page.demo
        .until("the bot repeats it all", async |demo| (demo.texts(MALLORY).await.len() == twice).then_some(()))
        .await;
    speak_as_the_bot(&page).await;
    let group =
        json!({"type": "supergroup", "title": MARKUP, "members": [MALLORY], "topics": [MARKUP, "y".repeat(128)]});
    let group = page.demo.post("/chats", group).await["id"].as_i64().unwrap();
    page.reload().await;
    page.screenshot("1-list").await;
    assert_unharmed(&page).await;
    page.press(&format!("chat-{MALLORY}")).await;
    page.wait_for_bubbles(MALLORY, "bot", "A formatted text", 1).await;
    page.screenshot("2-chat").await;
    assert_unharmed(&page).await;
    press_hostile_button(&page).await;
    if page.screen == Screen::Phone {
        page.press("back").await;
    }
    page.press(&format!("chat-{group}")).await;
    page.find("topic-all").await;
    page.screenshot("4-group").await;
    assert_unharmed(&page).await;
    if page.screen == Screen::Desktop {
        page.press("inspector-toggle").await;
        page.press_css("[data-testid='inspector-row'][data-kind='update']").await;
        page.find_css(".record-details").await;
        page.screenshot("5-inspector").await;
        assert_unharmed(&page).await;
    }
}

fn hostile_texts() -> Vec<String> {
    vec![
        MARKUP.to_owned(),
        "javascript:window.hacked=1".to_owned(),
        "https://example.com/\"onmouseover=window.hacked=1".to_owned(),
        "\u{202e}right to left \u{202d}and back".to_owned(),
        format!("z{}", "\u{301}".repeat(400)),
        "m".repeat(4096),
        format!("above{}below", "\n".repeat(200)),
    ]
}

/// Sends what only a bot can send: links under other texts, buttons, a bot name.
async fn speak_as_the_bot(page: &Page) {
    for url in HOSTILE_LINKS {
        // The emulator refuses or drops most of them, as Telegram does. The page must not rely on that.
        let link = json!({"type": "text_link", "offset": 0, "length": 4, "url": url});
        page.demo.bot("sendMessage", json!({"chat_id": MALLORY, "text": "Link", "entities": [link]})).await;
        let button = json!([[{"text": "Link", "url": url}]]);
        let button = json!({"chat_id": MALLORY, "text": "Link", "reply_markup": {"inline_keyboard": button}});
        page.demo.bot("sendMessage", button).await;
        let html = json!({"chat_id": MALLORY, "text": format!("<a href=\"{url}\">Link</a>"), "parse_mode": "HTML"});
        page.demo.bot("sendMessage", html).await;
    }
    let formatted = "A <b>formatted</b> <a href=\"https://example.com/\">text</a> <pre><code class=\"language-&quot;&gt;&lt;script&gt;\">x</code></pre>";
    assert_accepted(
        &page.demo.bot("sendMessage", json!({"chat_id": MALLORY, "text": formatted, "parse_mode": "HTML"})).await,
    );
    let buttons = json!([
        [{"text": MARKUP, "callback_data": MARKUP.chars().take(64).collect::<String>()}],
        [{"text": "w".repeat(200), "callback_data": "wide"}, {"text": "w".repeat(200), "callback_data": "wider"}],
    ]);
    let message = json!({"chat_id": MALLORY, "text": "Buttons", "reply_markup": {"inline_keyboard": buttons}});
    assert_accepted(&page.demo.bot("sendMessage", message).await);
    let keys = json!([[{"text": MARKUP}, {"text": "k".repeat(200)}]]);
    let message = json!({"chat_id": MALLORY, "text": "Keys", "reply_markup": {"keyboard": keys}});
    assert_accepted(&page.demo.bot("sendMessage", message).await);
    let name: String = MARKUP.chars().take(64).collect();
    assert_accepted(&page.demo.bot("setMyName", json!({"name": name})).await);
}

fn assert_accepted(answer: &Value) {
    assert_eq!(answer["ok"], true, "{answer}");
}

async fn press_hostile_button(page: &Page) {
    let message = page.wait_for_bubbles(MALLORY, "bot", "Buttons", 1).await;
    page.press(&(message.replace("message", "inline") + "-0-0")).await;
    page.press_css("[data-testid='reply-0-0']").await;
    page.wait_for_bubbles(MALLORY, "own", MARKUP, 2).await;
    page.screenshot("3-pressed").await;
    assert_unharmed(page).await;
}

async fn assert_unharmed(page: &Page) {
    assert_eq!(page.evaluate("window.hacked").await, Value::Null, "a script ran");
    let links = "[...document.querySelectorAll('a[href]')].map((a) => a.protocol)";
    let links = page.evaluate(links).await;
    let links = links.as_array().unwrap();
    assert!(links.iter().all(|protocol| protocol == "http:" || protocol == "https:"), "{links:?}");
    assert_eq!(page.evaluate("document.querySelectorAll('body script, [onerror], [onmouseover]').length").await, 0);
    page.assert_no_overflow().await;
}
