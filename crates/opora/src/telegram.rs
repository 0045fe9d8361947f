//! The only module that speaks to Telegram.
//!
//! - [`Api`]: calls of the Bot API, as a trait for tests; [`Telegram`] implements it over HTTP;
//! - [`ApiError`]: why a call failed, by what the caller does next;
//! - [`Say`], [`Edit`], [`Delete`], [`Action`], [`AnswerCallback`], [`Raw`]: builders of messages and other calls;
//!   [`IntoOutgoing`] turns them into rows of the outbox;
//! - [`Tag`]: the turn that offered a button;
//! - [`text`]: escaping, and Telegram's limits on lengths.
//!
//! It does not retry, order or limit calls: the courier does.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::value::RawValue;

use crate::store::Upload;

pub use self::album::AlbumItem;
pub use self::button::{Button, Keyboard};
pub use self::calls::{Action, AnswerCallback, Delete, Raw};
pub use self::edit::{Edit, Target};
pub use self::error::{ApiError, Parameters, RefusalKind, classify};
pub use self::file::FileRef;
pub use self::http::{TELEGRAM, Telegram, TelegramConfigError, redact_address};
pub use self::say::{Destination, IntoOutgoing, Say, SayError};
pub use self::tag::{Tag, TaggedData};

mod album;
mod button;
mod calls;
mod edit;
mod error;
mod file;
mod form;
mod http;
mod loopback;
mod params;
mod say;
mod tag;
pub mod text;

/// The answer to a call: its `result`, unparsed.
pub type ApiAnswer<'a> = BoxFuture<'a, Result<Box<RawValue>, ApiError>>;

/// The Bot API.
pub trait Api: Send + Sync + Debug + 'static {
    /// Calls a method. `body` is a JSON object. It refers to uploads as `attach://name`.
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a>;

    /// Calls a method that may take `timeout` to answer, such as `getUpdates`.
    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, timeout: Duration) -> ApiAnswer<'a>;

    /// Starts to download a file by the path from `getFile`, from this byte on if the server supports that.
    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>>;
}

/// A download in progress.
pub struct Download {
    /// The position of the first byte; 0 if the server sends the whole file.
    pub from_byte: u64,
    /// How many bytes follow, if the server tells it.
    pub length: Option<u64>,
    /// The bytes. A broken connection is an error, never an early end.
    pub bytes: BoxStream<'static, Result<Bytes, ApiError>>,
}

impl Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from_byte, length, .. } = self;
        f.debug_struct("Download").field("from_byte", from_byte).field("length", length).finish_non_exhaustive()
    }
}
