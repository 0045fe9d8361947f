//! Errors of calls, by what the caller does next.
//!
//! Telegram has few codes and gives its reasons in English. Only this module parses those texts.

use serde::Deserialize;

/// Why a call failed. No text in it contains the bot's token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No connection was made. It was certainly not sent: retry.
    #[error("not sent: {0}")]
    NotSent(Box<str>),
    /// The request was sent, but no complete answer came. It is unknown whether it took effect.
    #[error("unsure whether it was sent: {0}")]
    Unsure(Box<str>),
    /// Too many requests. Not sent: retry after this time.
    #[error("too many requests: retry after {seconds} s")]
    RetryAfter {
        /// How long to wait.
        seconds: u32,
    },
    /// A failure of Telegram itself. Most likely not sent: retry.
    #[error("{code} {description}")]
    Busy {
        /// 500 and above.
        code: u16,
        /// Telegram's description.
        description: Box<str>,
    },
    /// Telegram refused the call. Not sent, and the same call would be refused again.
    #[error("{code} {description}")]
    Refused {
        /// Telegram's code; 0 if the call could not be built.
        code: u16,
        /// Telegram's description.
        description: Box<str>,
        /// The kind of refusal.
        kind: RefusalKind,
    },
}

impl ApiError {
    /// The kind of a refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<RefusalKind> {
        match self {
            Self::Refused { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// Whether the same call may succeed later. Of refusals only one may: Telegram could not resolve a webhook's host.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused { description, .. } => description.to_ascii_lowercase().contains("temporary failure"),
            _ => true,
        }
    }
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The person blocked the bot or deleted the account, or the bot was removed from the group.
    Blocked,
    /// There is no such chat for this bot.
    ChatNotFound,
    /// The group became a supergroup.
    Migrated {
        /// Its new chat id.
        to: i64,
    },
    /// The message has that content already. Counts as done.
    NotModified,
    /// The message to edit or delete is not there.
    MessageGone,
    /// The button was pressed too long ago to be answered.
    QueryTooOld,
    /// The text's markup is broken.
    CannotParse,
    /// Another instance polls, or a webhook is set.
    Conflict,
    /// The token is not valid.
    Unauthorized,
    /// A file to upload cannot be read.
    FileUnreadable,
    /// Anything else.
    Other,
}

/// The machine-readable part of Telegram's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Parameters {
    /// Seconds to wait.
    pub retry_after: Option<u32>,
    /// The new chat of a group that became a supergroup.
    pub migrate_to_chat_id: Option<i64>,
}

/// The error for a status, Telegram's description and its parameters.
#[must_use]
pub fn classify(code: u16, description: &str, parameters: Parameters) -> ApiError {
    match code {
        // A 429 without a time comes from Telegram's gateway. One second is the shortest time Telegram asks for.
        429 => ApiError::RetryAfter { seconds: parameters.retry_after.unwrap_or(1).max(1) },
        500.. => ApiError::Busy { code, description: description.into() },
        _ => ApiError::Refused { code, description: description.into(), kind: kind(code, description, parameters) },
    }
}

fn kind(code: u16, description: &str, parameters: Parameters) -> RefusalKind {
    if let Some(to) = parameters.migrate_to_chat_id {
        return RefusalKind::Migrated { to };
    }
    let description = description.to_ascii_lowercase();
    let contains_any = |some: &[&str]| some.iter().any(|part| description.contains(part));
    match code {
        401 => RefusalKind::Unauthorized,
        409 => RefusalKind::Conflict,
        403 if contains_any(&BLOCKED) => RefusalKind::Blocked,
        400 if contains_any(&["message is not modified"]) => RefusalKind::NotModified,
        400 if contains_any(&["query is too old", "query_id_invalid"]) => RefusalKind::QueryTooOld,
        400 if contains_any(&MESSAGE_GONE) => RefusalKind::MessageGone,
        400 if contains_any(&["can't parse entities", "can't find end of"]) => RefusalKind::CannotParse,
        400 if contains_any(&CHAT_NOT_FOUND) => RefusalKind::ChatNotFound,
        400 if contains_any(&["user is deactivated", "input_user_deactivated", "bot was kicked"]) => {
            RefusalKind::Blocked
        }
        _ => RefusalKind::Other,
    }
}

const BLOCKED: [&str; 7] = [
    "bot was blocked by the user",
    "user is deactivated",
    "bot was kicked from",
    "bot is not a member of",
    "bot can't initiate conversation with a user",
    "bot can't send messages to bots",
    "the group chat was deleted",
];

const MESSAGE_GONE: [&str; 3] = ["message to edit not found", "message to delete not found", "message_id_invalid"];

const CHAT_NOT_FOUND: [&str; 4] = ["chat not found", "peer_id_invalid", "user not found", "group chat was deactivated"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_map_to_refusal_kinds() {
        use RefusalKind::*;
        let not_modified = "Bad Request: message is not modified: specified new message content and reply markup are \
                            exactly the same as a current content and reply markup of the message";
        let too_old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
        let other_poller =
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
        let table = [
            (403, "Forbidden: bot was blocked by the user", Blocked),
            (403, "Forbidden: user is deactivated", Blocked),
            (403, "Forbidden: bot was kicked from the group chat", Blocked),
            (403, "Forbidden: bot was kicked from the supergroup chat", Blocked),
            (403, "Forbidden: bot is not a member of the channel chat", Blocked),
            (403, "Forbidden: bot can't initiate conversation with a user", Blocked),
            (403, "Forbidden: not enough rights to send text messages to the chat", Other),
            (400, "Bad Request: chat not found", ChatNotFound),
            (400, "Bad Request: PEER_ID_INVALID", ChatNotFound),
            (400, not_modified, NotModified),
            (400, "Bad Request: message to edit not found", MessageGone),
            (400, "Bad Request: message to delete not found", MessageGone),
            (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
            (400, too_old, QueryTooOld),
            (400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0", CannotParse),
            (400, "Bad Request: BUTTON_DATA_INVALID", Other),
            (400, "Bad Request: message text is empty", Other),
            (401, "Unauthorized", Unauthorized),
            (401, "Unauthorized: invalid token specified", Unauthorized),
            (404, "Not Found: method not found", Other),
            (409, other_poller, Conflict),
        ];
        for (code, words, kind) in table {
            let expected = ApiError::Refused { code, description: words.into(), kind };
            assert_eq!(classify(code, words, Parameters::default()), expected, "{words}");
        }
    }

    #[test]
    fn parameters_and_codes_take_precedence() {
        let moved = Parameters { migrate_to_chat_id: Some(-1001), ..Parameters::default() };
        let error = classify(400, "Bad Request: group chat was upgraded to a supergroup chat", moved);
        assert_eq!(error.refusal(), Some(RefusalKind::Migrated { to: -1001 }));
        let later = Parameters { retry_after: Some(7), ..Parameters::default() };
        let words = "Too Many Requests: retry after 7";
        assert_eq!(classify(429, words, later), ApiError::RetryAfter { seconds: 7 });
        assert_eq!(classify(429, "", Parameters::default()), ApiError::RetryAfter { seconds: 1 });
        let restart = "Internal Server Error: restart";
        assert_eq!(
            classify(500, restart, Parameters::default()),
            ApiError::Busy { code: 500, description: restart.into() }
        );
        assert!(matches!(classify(502, "Bad Gateway", Parameters::default()), ApiError::Busy { code: 502, .. }));
    }
}
