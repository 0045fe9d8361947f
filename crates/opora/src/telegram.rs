//! The only module that reaches Telegram.
//!
//! - [`Api`]: calls of the Bot API, as a trait, so that tests bring their own; [`Telegram`] is the one over HTTP;
//! - [`ApiError`]: what went wrong, split by what the caller does next;
//! - [`Say`], [`Edit`], [`Delete`], [`Action`], [`AnswerCallback`], [`Raw`]: what a turn says, turned into rows of the
//!   outbox by [`IntoOutgoing`];
//! - [`Tag`]: which turn offered a button;
//! - [`text`]: escaping, and Telegram's limits.
//!
//! Nothing here retries, keeps an order or knows of limits per second: that is the courier's work.

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
pub use self::http::{BadAddress, TELEGRAM, Telegram, shown};
pub use self::say::{Destination, IntoOutgoing, Say, SayError};
pub use self::tag::{Pressed, Tag};

mod album;
mod button;
mod calls;
mod edit;
mod error;
mod file;
mod form;
mod http;
mod nearby;
mod params;
mod say;
mod tag;
pub mod text;

/// The answer of a call: the `result` as it came.
pub type ApiAnswer<'a> = BoxFuture<'a, Result<Box<RawValue>, ApiError>>;

/// The Bot API.
pub trait Api: Send + Sync + Debug + 'static {
    /// Calls a method. `body` is a JSON object, sent as it is; files go along if it refers to them as `attach://name`.
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a>;

    /// Calls a method whose answer may take `patience`, as that of `getUpdates` does.
    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, patience: Duration) -> ApiAnswer<'a>;

    /// Begins to fetch a file by the path that `getFile` gave, from a byte on if the server can do that.
    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>>;
}

/// A file on its way.
pub struct Download {
    /// Where the bytes start; 0 if the server sends the whole file though a part was asked for.
    pub from_byte: u64,
    /// How many bytes come, if the server says so.
    pub length: Option<u64>,
    /// The bytes. A cut connection is an error, never an early end.
    pub bytes: BoxStream<'static, Result<Bytes, ApiError>>,
}

impl Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from_byte, length, .. } = self;
        f.debug_struct("Download").field("from_byte", from_byte).field("length", length).finish_non_exhaustive()
    }
}
