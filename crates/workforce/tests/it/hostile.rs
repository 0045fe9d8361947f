//! Names and messages that try to run, or to break the page's shape.

use serde_json::{Value, json};

use crate::browser::{Screen, visit};
use crate::page::Page;

const MARKUP: &str = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";
const MALLORY: i64 = 1666;

#[tokio::test]
async fn hostile_words_stay_words_on_a_desktop() {
    visit("hostile", Screen::Desktop, attack).await;
}

#[tokio::test]
async fn hostile_words_stay_words_on_a_phone() {
    visit("hostile", Screen::Phone, attack).await;
}

async fn attack(page: Page) {
    let person = json!({"id": MALLORY, "first_name": MARKUP, "last_name": "x".repeat(64), "username": "mallory"});
    page.demo.post("/users", person).await;
    for text in hostile_texts() {
        // The demo's bot repeats each of them.
        page.demo.says(MALLORY, &text).await;
        page.demo.hears(MALLORY, &text).await;
    }
    speak_as_the_bot(&page).await;
    let group = json!({"type": "supergroup", "title": MARKUP, "members": [MALLORY], "topics": [MARKUP, "y".repeat(128)]});
    let group = page.demo.post("/chats", group).await["id"].as_i64().unwrap();
    page.reload().await;
    page.shoot("1-list").await;
    unharmed(&page).await;
    page.press(&format!("chat-{MALLORY}")).await;
    page.bubbles(MALLORY, "bot", "A formatted text", 1).await;
    page.shoot("2-chat").await;
    unharmed(&page).await;
    press_hostile_button(&page).await;
    if page.screen == Screen::Phone {
        page.press("back").await;
    }
    page.press(&format!("chat-{group}")).await;
    page.find("topic-all").await;
    page.shoot("4-group").await;
    unharmed(&page).await;
    if page.screen == Screen::Desktop {
        page.press("inspector-toggle").await;
        page.press_css("[data-testid='inspector-row'][data-kind='update']").await;
        page.find_css(".record-details").await;
        page.shoot("5-inspector").await;
        unharmed(&page).await;
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
        "\n".repeat(200) + "far below",
    ]
    .into_iter()
    .map(|text| text.trim().to_owned())
    .collect()
}

/// What a person cannot send: links under other words, buttons, a name.
async fn speak_as_the_bot(page: &Page) {
    let link = |url: &str, offset: usize| json!({"type": "text_link", "offset": offset, "length": 1, "url": url});
    let message = json!({
        "chat_id": MALLORY, "text": "A formatted text",
        "entities": [
            link("javascript:window.hacked=1", 0), link("data:text/html,<script>window.hacked=1</script>", 2),
            link("https://example.com/", 4), {"type": "pre", "offset": 12, "length": 4, "language": MARKUP},
        ],
    });
    assert_eq!(page.demo.bot("sendMessage", message).await["ok"], true);
    let buttons = json!([
        [{"text": MARKUP, "callback_data": MARKUP.chars().take(64).collect::<String>()}],
        [{"text": "w".repeat(200), "callback_data": "wide"}, {"text": "w".repeat(200), "callback_data": "wider"}],
    ]);
    let message = json!({"chat_id": MALLORY, "text": "Buttons", "reply_markup": {"inline_keyboard": buttons}});
    assert_eq!(page.demo.bot("sendMessage", message).await["ok"], true);
    let keys = json!([[{"text": MARKUP}, {"text": "k".repeat(200)}]]);
    let message = json!({"chat_id": MALLORY, "text": "Keys", "reply_markup": {"keyboard": keys}});
    assert_eq!(page.demo.bot("sendMessage", message).await["ok"], true);
    // Telegram refuses this one; an emulator that lets it through must still not run it.
    let bad = json!([[{"text": "Link", "url": "javascript:window.hacked=1"}]]);
    page.demo.bot("sendMessage", json!({"chat_id": MALLORY, "text": "Bad", "reply_markup": {"inline_keyboard": bad}})).await;
    let name: String = MARKUP.chars().take(64).collect();
    assert_eq!(page.demo.bot("setMyName", json!({"name": name})).await["ok"], true);
}

async fn press_hostile_button(page: &Page) {
    let message = page.bubbles(MALLORY, "bot", "Buttons", 1).await;
    page.press(&(message.replace("message", "inline") + "-0-0")).await;
    page.press_css("[data-testid='reply-0-0']").await;
    page.bubbles(MALLORY, "own", MARKUP, 2).await;
    page.shoot("3-pressed").await;
    unharmed(page).await;
}

async fn unharmed(page: &Page) {
    assert_eq!(page.evaluate("window.hacked").await, Value::Null, "a script ran");
    let links = "[...document.querySelectorAll('a[href]')].map((a) => a.protocol)";
    let links = page.evaluate(links).await;
    let links = links.as_array().unwrap();
    assert!(links.iter().all(|protocol| protocol == "http:" || protocol == "https:"), "{links:?}");
    assert_eq!(page.evaluate("document.querySelectorAll('body script, [onerror], [onmouseover]').length").await, 0);
    page.fits().await;
}
