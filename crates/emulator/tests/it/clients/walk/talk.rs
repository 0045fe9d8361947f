//! Texts, keyboards, what a person shares, formatting, edits, reactions and polls.

use serde_json::{Value, json};

use super::{Walk, text_of};

/// The same words in two languages; both must give [`FORMATTED`] and [`ENTITIES`].
pub const HTML: &str = "👍 <b>bold</b> <i>it<u>al</u>ic</i> <s>no</s> <code>x &lt; y</code> \
    <a href=\"https://example.org/\">link</a> <tg-spoiler>secret</tg-spoiler>\n\
    <pre><code class=\"language-rust\">fn main() {}</code></pre>\n<blockquote>said</blockquote>";
pub const MARKDOWN: &str = "👍 *bold* _it__al__ic_ ~no~ `x < y` [link](https://example.org/) ||secret||\n\
    ```rust\nfn main() {}```\n>said";
const FORMATTED: &str = "👍 bold italic no x < y link secret\nfn main() {}\nsaid";
const ENTITIES: &[&str] = &[
    "bold 3 4 bold",
    // Telegram cuts an outer entity where an inner one begins.
    "italic 8 2 it",
    "italic 10 4 alic",
    "underline 10 2 al",
    "strikethrough 15 2 no",
    "code 18 5 x < y",
    "text_link 24 4 link",
    "spoiler 29 6 secret",
    "pre 36 12 fn main() {}",
    "blockquote 49 4 said",
];

pub async fn greeting(walk: &mut Walk) {
    walk.says("/start").await;
    let hello = walk.next().await;
    let overview = walk.stage.get("").await;
    let username = overview["bot"]["username"].as_str().unwrap();
    assert_eq!(text_of(&hello), format!("Hello, Anna! I am @{username}"));
    let keyboard = json!({"inline_keyboard": [
        [{"text": "Yes", "callback_data": "choice:yes"}, {"text": "No", "callback_data": "choice:no"}],
        [{"text": "Site", "url": "https://example.org/"}],
    ]});
    assert_eq!(hello["reply_markup"], keyboard);
    assert_eq!(
        overview["commands"],
        json!([
            {"command": "start", "description": "Begin"}, {"command": "poll", "description": "Vote"},
        ])
    );

    let id = hello["message_id"].as_i64().unwrap();
    let press = json!({"from": walk.anna, "message_id": id, "data": "choice:yes"});
    let answer = walk.stage.post(&format!("/chats/{}/press", walk.anna), press).await;
    assert_eq!((&answer["answered"], &answer["show_alert"]), (&json!(true), &json!(true)), "{answer}");
    assert_eq!(answer["text"], "You chose yes");
    let edited = walk.edited(id).await;
    assert_eq!(text_of(&edited), "Chosen: yes");
    assert_eq!(edited.get("reply_markup"), None);
}

pub async fn sharing(walk: &mut Walk) {
    walk.says("/contact").await;
    let asked = walk.next().await;
    assert_eq!(text_of(&asked), "Share your phone");
    let keyboard = &asked["reply_markup"];
    let phone = json!([{"text": "My phone", "request_contact": true}]);
    let place = json!([{"text": "My place", "request_location": true}]);
    assert_eq!(keyboard["keyboard"], json!([phone, place]));
    for setting in ["resize_keyboard", "one_time_keyboard"] {
        assert_eq!(keyboard[setting], true, "{setting}: {keyboard}");
    }
    assert_eq!(keyboard["input_field_placeholder"], "Phone");

    walk.sends(json!({"contact": {"phone_number": "+79001234567"}})).await;
    let thanks = walk.next().await;
    assert_eq!(text_of(&thanks), "contact +79001234567 Anna own=true");
    assert_eq!(thanks["reply_markup"]["remove_keyboard"], true);
    walk.sends(json!({"contact": {"phone_number": "+1", "first_name": "Clara", "user_id": 0}})).await;
    assert_eq!(walk.text().await, "contact +1 Clara own=false");

    walk.sends(json!({"location": {"latitude": 55.7558, "longitude": 37.6173}})).await;
    assert_eq!(walk.text().await, "location 55.7558 37.6173");
    let place = &walk.next().await["location"];
    assert!((place["latitude"].as_f64().unwrap() - 55.7558).abs() < 0.0001, "{place}");
}

pub async fn formatting(walk: &mut Walk) {
    for command in ["/html", "/md"] {
        walk.says(command).await;
        let sent = walk.next().await;
        assert_eq!(text_of(&sent), FORMATTED, "{command}");
        let entities = sent["entities"].as_array().unwrap();
        let found = |kind: &str| entities.iter().find(|it| it["type"] == kind).cloned().unwrap_or(Value::Null);
        assert_eq!(found("text_link")["url"], "https://example.org/", "{command}");
        assert_eq!(found("pre")["language"], "rust", "{command}");
        assert_eq!(walk.text().await.lines().collect::<Vec<_>>(), ENTITIES, "{command}");
    }
    walk.says("👍 Write to me@example.org, @stranger or https://example.org/ #now").await;
    let found =
        ["email 12 14 me@example.org", "mention 28 9 @stranger", "url 41 20 https://example.org/", "hashtag 62 4 #now"];
    assert_eq!(walk.text().await.lines().collect::<Vec<_>>(), found);
}

pub async fn editing_and_reacting(walk: &mut Walk) {
    let id = walk.says("Frist").await;
    assert_eq!(walk.text().await, "none");
    walk.sends(json!({"edit": id, "text": "First"})).await;
    let answer = walk.next().await;
    assert_eq!(text_of(&answer), "edited: First");
    assert_eq!(answer["reply_to_message"]["message_id"], id);

    let reaction =
        json!({"from": walk.anna, "message_id": answer["message_id"], "reaction": [{"type": "emoji", "emoji": "🔥"}]});
    walk.stage.post(&format!("/chats/{}/react", walk.anna), reaction).await;
    assert_eq!(walk.text().await, "reaction 🔥");
}

pub async fn tidying(walk: &mut Walk) {
    walk.says("/tidy").await;
    let one = walk.next().await;
    assert_eq!(text_of(&one), "one");
    let pinned = walk.next().await;
    assert_eq!(pinned["pinned_message"]["message_id"], one["message_id"], "{pinned:#}");
    let forwarded = walk.next().await;
    assert_eq!(forwarded["forward_origin"]["type"], "user", "{forwarded:#}");
    let mut last = walk.text().await;
    // The copy is deleted at once, but a fast reader still sees it.
    if last == "one" {
        last = walk.text().await;
    }
    assert_eq!(last, format!("from user {}, pinned one", one["from"]["id"]));
}

pub async fn voting(walk: &mut Walk) {
    walk.says("/poll").await;
    let sent = walk.next().await;
    let texts: Vec<&Value> = sent["poll"]["options"].as_array().unwrap().iter().map(|it| &it["text"]).collect();
    assert_eq!(
        (&sent["poll"]["question"], texts),
        (&json!("Tea or coffee?"), vec![&json!("Tea"), &json!("Coffee"), &json!("Both")])
    );
    let vote = json!({"from": walk.anna, "message_id": sent["message_id"], "option_ids": [0, 2]});
    walk.stage.post(&format!("/chats/{}/vote", walk.anna), vote).await;
    assert_eq!(walk.text().await, "voted 0,2");
    assert_eq!(walk.text().await, "votes 1: 1,0,1");
}
