//! Writes the parameters of a call as JSON in one pass, without intermediate values.

use serde::Serialize;

use super::say::{Destination, SayError};
use crate::store::{Outgoing, OutgoingExtras, Upload};

/// A JSON object that is being written.
#[derive(Debug)]
pub(super) struct Params {
    json: Vec<u8>,
    failed: Option<serde_json::Error>,
}

impl Params {
    /// Starts with chat, thread and business connection. `capacity` is about how many bytes will follow.
    pub fn to(destination: &Destination, capacity: usize) -> Self {
        let mut params = Self::new(capacity + 64).put("chat_id", &destination.chat);
        if destination.thread != 0 {
            params = params.put("message_thread_id", &destination.thread);
        }
        params.business(destination)
    }

    /// Starts with chat and business connection. Edits and deletions have no thread.
    pub fn within(destination: &Destination, capacity: usize) -> Self {
        Self::new(capacity + 64).put("chat_id", &destination.chat).business(destination)
    }

    /// Starts empty.
    pub fn new(capacity: usize) -> Self {
        let mut json = Vec::with_capacity(capacity + 16);
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

    /// Adds `true` if the switch is on.
    pub fn put_if(self, name: &str, on: bool) -> Self {
        if on { self.put(name, &true) } else { self }
    }

    /// The row of the outbox, without a label.
    pub fn call(mut self, chat: Option<i64>, method: &str, uploads: Vec<Upload>) -> Result<Outgoing, SayError> {
        if let Some(error) = self.failed {
            return Err(SayError::NotJson(error.to_string()));
        }
        self.json.push(b'}');
        let body = String::from_utf8(self.json).map_err(|error| SayError::NotJson(error.to_string()))?;
        Ok(Outgoing::new(chat, method, body).with(OutgoingExtras { uploads, ..OutgoingExtras::default() }))
    }

    fn business(self, destination: &Destination) -> Self {
        let connection = (!destination.business.is_empty()).then_some(&*destination.business);
        self.put_some("business_connection_id", connection)
    }
}
