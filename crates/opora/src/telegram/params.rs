//! Writes a call's parameters in one pass.
//!
//! Every message of every turn comes through here, so nothing is built only to be written.

use serde::Serialize;

use super::say::{Destination, SayError};
use crate::store::{IfUnsure, Outgoing, Upload};

/// A JSON object under construction.
#[derive(Debug)]
pub(super) struct Params {
    json: Vec<u8>,
    failed: Option<serde_json::Error>,
}

impl Params {
    /// Starts with where it goes; `room` is about how many bytes will follow.
    pub fn to(place: &Destination, room: usize) -> Self {
        let mut params = Self::new(room + 64).put("chat_id", &place.chat);
        if place.thread != 0 {
            params = params.put("message_thread_id", &place.thread);
        }
        params.business(place)
    }

    /// Starts with the chat alone: edits and deletions know no threads.
    pub fn within(place: &Destination, room: usize) -> Self {
        Self::new(room + 64).put("chat_id", &place.chat).business(place)
    }

    /// Starts with nothing.
    pub fn new(room: usize) -> Self {
        let mut json = Vec::with_capacity(room + 16);
        json.push(b'{');
        Self { json, failed: None }
    }

    /// Adds a parameter. Names are this crate's own and need no escaping.
    pub fn put(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        if self.json.len() > 1 {
            self.json.push(b',');
        }
        self.json.push(b'"');
        self.json.extend_from_slice(name.as_bytes());
        self.json.extend_from_slice(b"\":");
        if let Err(error) = serde_json::to_writer(&mut self.json, value) {
            self.failed.get_or_insert(error);
        }
        self
    }

    /// Adds a parameter if there is one.
    pub fn put_some(self, name: &str, value: Option<&(impl Serialize + ?Sized)>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    /// Adds a switch that is on.
    pub fn put_if(self, name: &str, on: bool) -> Self {
        if on { self.put(name, &true) } else { self }
    }

    /// The call in the outbox, without label.
    pub fn call(mut self, chat: Option<i64>, method: &str, uploads: Vec<Upload>) -> Result<Outgoing, SayError> {
        if let Some(error) = self.failed {
            return Err(SayError::NotJson(error.to_string()));
        }
        self.json.push(b'}');
        let body = String::from_utf8(self.json).map_err(|error| SayError::NotJson(error.to_string()))?;
        Ok(Outgoing {
            chat,
            method: method.into(),
            body: body.into(),
            uploads,
            if_unsure: IfUnsure::Resend,
            label: None,
            edits_label: None,
            secret: false,
        })
    }

    fn business(self, place: &Destination) -> Self {
        let connection = (!place.business.is_empty()).then_some(&*place.business);
        self.put_some("business_connection_id", connection)
    }
}
