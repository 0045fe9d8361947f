//! Changes of a call's parameters at the time of sending.

/// Adds a message id to the parameters.
pub(super) fn with_message_id(body: &str, message_id: i64) -> String {
    let rest = body.trim_start().strip_prefix('{').unwrap_or(body);
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    format!("{{\"message_id\":{message_id}{comma}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::{Destination, IntoOutgoing, Tag};

    #[test]
    fn message_id_and_chat_can_be_changed() {
        assert_eq!(with_message_id(r#"{"chat_id":1}"#, 5), r#"{"message_id":5,"chat_id":1}"#);
        assert_eq!(with_message_id(" { }", 5), r#"{"message_id":5 }"#);
        let tag = Tag::new(crate::store::Version(1));
        let mut row = "x".into_outgoing(&Destination { thread: 3, ..Destination::chat(-5) }, &tag).unwrap();
        row.redirect(-1005);
        assert_eq!((row.chat, &*row.body), (Some(-1005), r#"{"chat_id":-1005,"message_thread_id":3,"text":"x"}"#));
    }
}
