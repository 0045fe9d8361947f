//! Refused calls, and the errors that the library makes of them.

use serde_json::{Value, json};

use super::{Walk, is};

/// One refusal that the bot provokes.
pub struct Refusal {
    /// What the bot calls it in its list.
    name: &'static str,
    method: &'static str,
    pub status: u16,
    description: &'static str,
    /// teloxide has its own error for each description; `Unknown` is for descriptions that it does not know.
    pub in_teloxide: &'static str,
}

/// In the order in which the bots provoke them.
const REFUSALS: &[Refusal] = &[
    bad("no chat", "sendMessage", "chat not found", "ChatNotFound"),
    bad(
        "not modified",
        "editMessageText",
        "message is not modified: specified new message content and reply markup are exactly the same as a current \
         content and reply markup of the message",
        "MessageNotModified",
    ),
    Refusal {
        name: "blocked",
        method: "sendMessage",
        status: 403,
        description: "Forbidden: bot was blocked by the user",
        in_teloxide: "BotBlocked",
    },
    bad(
        "entities",
        "sendMessage",
        "can't parse entities: Can't find end tag corresponding to start tag \"b\"",
        "CantParseEntities",
    ),
    bad("no message to edit", "editMessageText", "message to edit not found", "MessageToEditNotFound"),
    bad("no message to delete", "deleteMessage", "message to delete not found", "MessageToDeleteNotFound"),
    bad("no message to reply to", "sendMessage", "message to be replied not found", "MessageToReplyNotFound"),
    bad("too long", "sendMessage", "message is too long", "MessageIsTooLong"),
    bad("no file", "sendPhoto", "wrong file identifier/HTTP URL specified", "WrongFileIdOrUrl"),
    bad("button data", "sendMessage", "BUTTON_DATA_INVALID", "ButtonDataInvalid"),
    bad(
        "old query",
        "answerCallbackQuery",
        "query is too old and response timeout expired or query ID is invalid",
        // It expects "query id".
        "Unknown",
    ),
    Refusal {
        name: "revoked token",
        method: "getMyCommands",
        status: 401,
        description: "Unauthorized",
        in_teloxide: "InvalidToken",
    },
    Refusal {
        name: "no method",
        method: "noSuchMethod",
        status: 404,
        description: "Not Found: method not found",
        in_teloxide: "Unknown",
    },
];

const fn bad(
    name: &'static str,
    method: &'static str,
    description: &'static str,
    in_teloxide: &'static str,
) -> Refusal {
    Refusal { name, method, status: 400, description, in_teloxide }
}

pub async fn limit(walk: &mut Walk) {
    let fault = json!({"method": "sendMessage", "chat_id": walk.anna, "retry_after": 1});
    walk.stage.post("/faults", fault).await;
    walk.says("/limit").await;
    assert_eq!(walk.text().await, "waited 1 s");
    let calls = walk.calls().await;
    let limited = calls.iter().rposition(|call| call["status"] == 429).expect("a limited call");
    let again = calls[limited..].iter().find(|call| call["parameters"]["text"] == "waited 1 s").expect("another try");
    let waited_ms = again["at"].as_i64().unwrap() - calls[limited]["at"].as_i64().unwrap();
    assert!(waited_ms >= 900, "tried again after {waited_ms} ms");
}

pub async fn all(walk: &mut Walk) {
    walk.stage.post(&format!("/chats/{}/block", walk.boris), json!({"from": walk.boris})).await;
    walk.stage.post("/faults", json!({"method": "getMyCommands", "status": 401})).await;
    let before = walk.calls().await.len();
    walk.says(&format!("/errors {}", walk.boris)).await;
    assert_eq!(walk.text().await, "the same");
    let sorted: Vec<String> = walk.text().await.lines().map(str::to_owned).collect();
    let expected: Vec<String> =
        REFUSALS.iter().map(|refusal| format!("{}: {}", refusal.name, (walk.library.error_name)(refusal))).collect();
    assert_eq!(sorted, expected);

    let calls = walk.calls().await;
    let refused: Vec<&Value> = calls[before..].iter().filter(|call| call["status"] != 200).collect();
    assert_eq!(refused.len(), REFUSALS.len(), "{refused:#?}");
    for (call, refusal) in refused.iter().zip(REFUSALS) {
        assert!(refusal.is(call), "{}: {call:#}", refusal.name);
    }
}

/// Whether a failed call is one that the walk asked for.
pub fn is_provoked(call: &Value) -> bool {
    call["status"] == 429 || REFUSALS.iter().any(|refusal| refusal.is(call))
}

impl Refusal {
    fn is(&self, call: &Value) -> bool {
        let description = call["answer"]["description"].as_str().unwrap_or_default();
        let description =
            if self.status == 400 { description.trim_start_matches("Bad Request: ") } else { description };
        is(call, self.method) && call["status"] == self.status && description == self.description
    }
}
