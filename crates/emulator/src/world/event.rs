//! The event stream at `/client/<token>/events`, and the log that the inspector loads first.
//!
//! An event is rendered only if a client is subscribed. The log keeps the newest entries, limited in number and bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use crate::bot_api::parameters::Parameters;

const MAX_ENTRIES: usize = 1000;
const MAX_BYTES: usize = 16 << 20;
/// A page that falls this many events behind gets a `lagged` event and loads everything again.
const MAX_LAG: usize = 4096;

#[derive(Debug, Default)]
pub struct Events {
    /// Created for the first subscriber: its buffer is larger than most worlds.
    sender: Option<broadcast::Sender<Utf8Bytes>>,
}

impl Events {
    pub fn subscribe(&mut self) -> broadcast::Receiver<Utf8Bytes> {
        self.sender.get_or_insert_with(|| broadcast::channel(MAX_LAG).0).subscribe()
    }

    pub fn has_subscribers(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Publishes an event. `event` runs only if there are subscribers.
    pub fn publish<T: Serialize>(&self, name: &'static str, event: impl FnOnce() -> T) {
        #[derive(Serialize)]
        struct Named<T> {
            event: &'static str,
            #[serde(flatten)]
            inner: T,
        }
        if let Some(sender) = self.sender.as_ref().filter(|_| self.has_subscribers())
            && let Ok(text) = serde_json::to_string(&Named { event: name, inner: event() })
        {
            // The last subscriber may have left meanwhile.
            let _ = sender.send(text.into());
        }
    }
}

/// One entry of the inspector: a call or an update.
#[derive(Debug)]
pub enum InspectorEntry {
    Call(CallRecord),
    Update { id: u64, at_ms: i64, json: Bytes },
}

#[derive(Debug)]
pub struct CallRecord {
    pub id: u64,
    pub at_ms: i64,
    pub took_us: u64,
    pub method: Box<str>,
    pub parameters: Parameters,
    /// Parameter, file name and size of each upload.
    pub uploads: Vec<(String, String, usize)>,
    pub status: u16,
    pub answer: Bytes,
    pub complaints: Vec<String>,
    pub fault: Option<u64>,
}

#[derive(Debug, Default)]
pub struct InspectorLog {
    entries: VecDeque<Arc<InspectorEntry>>,
    bytes: usize,
    last_id: u64,
}

impl InspectorLog {
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Adds an entry. Returns the entry that fell out, so that the caller frees it outside of the lock.
    pub fn push(&mut self, entry: InspectorEntry) -> Option<Arc<InspectorEntry>> {
        self.bytes += entry.bytes();
        self.entries.push_back(Arc::new(entry));
        let mut oldest = None;
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            oldest = self.entries.pop_front();
            self.bytes -= oldest.as_ref().map_or(self.bytes, |oldest| oldest.bytes());
        }
        oldest
    }

    /// The newest `limit` entries, oldest first, to be rendered outside of the lock.
    pub fn newest(&self, limit: usize) -> Vec<Arc<InspectorEntry>> {
        let from = self.entries.len().saturating_sub(limit);
        self.entries.iter().skip(from).cloned().collect()
    }

    /// The update with this id, if the log still has it.
    pub fn update(&self, update_id: i64) -> Option<Bytes> {
        let prefix = format!("{{\"update_id\":{update_id},");
        self.entries.iter().rev().find_map(|entry| match &**entry {
            InspectorEntry::Update { json, .. } if json.starts_with(prefix.as_bytes()) => Some(json.clone()),
            _ => None,
        })
    }
}

impl InspectorEntry {
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Call(call) => call.to_json(),
            Self::Update { id, at_ms, json } => serde_json::json!({
                "event": "update", "id": id, "at": at_ms, "update": parsed(json),
            }),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Call(call) => call.bytes(),
            Self::Update { json, .. } => json.len() + 64,
        }
    }
}

impl CallRecord {
    fn bytes(&self) -> usize {
        let complaints: usize = self.complaints.iter().map(String::len).sum();
        let uploads: usize = self.uploads.iter().map(|(field, name, _)| field.len() + name.len()).sum();
        self.answer.len() + self.parameters.bytes() + complaints + uploads + 256
    }

    pub fn to_json(&self) -> serde_json::Value {
        let mut parameters = self.parameters.to_json();
        for (name, file, size) in &self.uploads {
            parameters[name] = serde_json::json!({"file": file, "size": size});
        }
        let mut json = serde_json::json!({
            "event": "call", "id": self.id, "at": self.at_ms, "took_us": self.took_us, "method": &*self.method,
            "parameters": parameters, "status": self.status, "answer": parsed(&self.answer),
            "complaints": self.complaints,
        });
        if let Some(fault) = self.fault {
            json["fault"] = fault.into();
        }
        json
    }
}

/// JSON text as a value. Malformed JSON becomes a string.
fn parsed(json: &[u8]) -> serde_json::Value {
    serde_json::from_slice(json).unwrap_or_else(|_| String::from_utf8_lossy(json).into())
}

/// JSON text that can be embedded in a serialized value.
pub fn raw(json: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(json).ok()
}
