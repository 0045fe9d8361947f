//! The Bot API over HTTP.
//!
//! One client with its pool of connections serves all calls but those of `nearby`. It adds nothing of its own: no
//! retries, no limits. The token stands in every address, so no address ever gets into an error, a log or a `Debug`.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use parking_lot::RwLock;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RANGE, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{ApiError, Parameters, classify};
use super::nearby::{Nearby, Trouble, in_words, is_loopback};
use super::{Api, ApiAnswer, Download, form};
use crate::store::Upload;
use crate::tls_provider;

/// Telegram's own servers.
pub const TELEGRAM: &str = "https://api.telegram.org";

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Longer than this, Telegram keeps no quiet connection open anyway.
const IDLE_CONNECTIONS_LIVE: Duration = Duration::from_secs(60);
/// What an upload may take beyond the usual patience: 50 MB at a slow line.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(300);
/// What a long call's answer may take beyond what was asked for.
const LONG_CALL_MARGIN: Duration = Duration::from_secs(10);

/// The Bot API at an address, for the bot of a token.
pub struct Telegram {
    client: Client,
    /// The way of plain calls, where there is one.
    nearby: Option<Nearby>,
    calls: Box<str>,
    /// The addresses of methods called so far: parsing one costs as much as a small call.
    addresses: RwLock<HashMap<Box<str>, Url>>,
    files: Box<str>,
    token: Box<str>,
    patience: Duration,
}

/// Why no client can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// The address of the Bot API is none; of it, what may be shown.
    #[error("`{0}` is not the address of a Bot API")]
    Address(String),
    /// The token has not the form `<id>:<secret>`.
    #[error("the token has not the form <id>:<secret>")]
    Token,
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(String),
}

impl Telegram {
    /// A client for `token` at `base_url`: [`TELEGRAM`], a server of one's own, or the emulator.
    pub fn new(token: &str, base_url: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress::Address(shown(base_url));
        let url = Url::parse(base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(bad)?;
        let is_loopback = is_loopback(url.host_str().ok_or_else(bad)?);
        let (id, secret) = token.split_once(':').ok_or(BadAddress::Token)?;
        let spelled =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if !spelled(id) || !spelled(secret) {
            return Err(BadAddress::Token);
        }
        let base = base_url.trim_end_matches('/');
        Ok(Self {
            client: client(is_loopback)?,
            nearby: Nearby::at(&url, &format!("{}/bot{token}/", url.path().trim_end_matches('/'))),
            calls: format!("{base}/bot{token}/").into(),
            addresses: RwLock::default(),
            files: format!("{base}/file/bot{token}/").into(),
            token: token.into(),
            patience: Duration::from_secs(30),
        })
    }

    /// How long an answer may take before nobody knows whether the call took effect; 30 seconds unless told.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The bot's own user id, which its token starts with.
    #[must_use]
    pub fn bot_id(&self) -> Option<i64> {
        self.token.split_once(':')?.0.parse().ok()
    }

    fn post(&self, method: &str, body: &str, patience: Duration) -> RequestBuilder {
        let json = HeaderValue::from_static("application/json");
        let known = self.addresses.read().get(method).cloned();
        let request = match known.or_else(|| self.learn(method)) {
            Some(url) => self.client.post(url),
            // It cannot be parsed: the request says so when it is sent.
            None => self.client.post(format!("{}{method}", self.calls)),
        };
        request.header(CONTENT_TYPE, json).timeout(patience).body(body.to_owned())
    }

    fn learn(&self, method: &str) -> Option<Url> {
        let url = Url::parse(&format!("{}{method}", self.calls)).ok()?;
        self.addresses.write().insert(method.into(), url.clone());
        Some(url)
    }

    async fn ask(&self, method: &str, body: &str, patience: Duration) -> Result<Box<RawValue>, ApiError> {
        let Some(nearby) = &self.nearby else { return self.answer(self.post(method, body, patience)).await };
        match nearby.call(method, body, patience).await {
            Ok(answer) => read(answer.status(), retry_after(answer.headers()), answer.body()),
            Err(Trouble::NotSent(words)) => Err(ApiError::NotSent(self.without_token(&words))),
            Err(Trouble::Unsure(words)) => Err(ApiError::Unsure(self.without_token(&words))),
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Box<RawValue>, ApiError> {
        let response = request.send().await.map_err(|error| self.failure(error))?;
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let bytes = response.bytes().await.map_err(|error| self.failure(error))?;
        read(status, retry_after, &bytes)
    }

    /// A transport's error without the address.
    fn failure(&self, error: reqwest::Error) -> ApiError {
        let not_sent = error.is_connect() || error.is_builder();
        let words = self.without_token(&in_words(&error.without_url()));
        if not_sent { ApiError::NotSent(words) } else { ApiError::Unsure(words) }
    }

    /// No cause is known to quote an address; if one ever does, the token still stays inside.
    fn without_token(&self, words: &str) -> Box<str> {
        words.replace(&*self.token, "<token>").into()
    }

    async fn begin_download(&self, file_path: &str, from_byte: u64) -> Result<Download, ApiError> {
        let mut request = self.client.get(format!("{}{file_path}", self.files));
        if from_byte > 0 {
            request = request.header(RANGE, format!("bytes={from_byte}-"));
        }
        let response = match tokio::time::timeout(self.patience, request.send()).await {
            Ok(response) => response.map_err(|error| self.failure(error))?,
            Err(_) => return Err(ApiError::NotSent("the file's server did not answer in time".into())),
        };
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers());
            let words = tokio::time::timeout(self.patience, response.bytes()).await;
            let words = words.ok().and_then(Result::ok).unwrap_or_default();
            return Err(refusal(status, retry_after, &words));
        }
        let from_byte = if status == StatusCode::PARTIAL_CONTENT { from_byte } else { 0 };
        Ok(Download { from_byte, length: response.content_length(), bytes: self.chunks(response) })
    }

    /// The chunks of a file; each may take the usual patience, the whole as long as it needs.
    fn chunks(&self, response: Response) -> stream::BoxStream<'static, Result<Bytes, ApiError>> {
        let patience = self.patience;
        let token = self.token.clone();
        let cut = move |error: reqwest::Error| {
            let words = error.without_url().to_string().replace(&*token, "<token>");
            ApiError::Unsure(words.into())
        };
        stream::try_unfold(response, move |mut response| {
            let cut = cut.clone();
            async move {
                let chunk = tokio::time::timeout(patience, response.chunk()).await;
                let chunk = chunk.map_err(|_| ApiError::Unsure("the file stopped coming".into()))?;
                Ok(chunk.map_err(cut)?.map(|bytes| (bytes, response)))
            }
        })
        .boxed()
    }
}

impl Api for Telegram {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a> {
        if uploads.is_empty() {
            return Box::pin(self.ask(method, body, self.patience));
        }
        Box::pin(async move {
            let form = form::of(body, uploads).await?;
            let request = self.client.post(format!("{}{method}", self.calls)).multipart(form);
            self.answer(request.timeout(self.patience + UPLOAD_PATIENCE)).await
        })
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, patience: Duration) -> ApiAnswer<'a> {
        Box::pin(self.ask(method, body, patience + LONG_CALL_MARGIN))
    }

    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        Box::pin(self.begin_download(file_path, from_byte))
    }
}

/// The bot's id and nothing of the secret.
impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram")
            .field("bot", &self.bot_id())
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// What may be shown of an address: its scheme, host and port. Elsewhere in it may be a password, or by mistake a
/// token.
///
/// ```
/// # use opora::telegram::shown;
/// assert_eq!(shown("https://bot:s3cret@proxy:8443/path"), "https://proxy:8443");
/// ```
#[must_use]
pub fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() => {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
        }
        _ => {
            let first = address.split([':', '/', '?', '#', '@']).next().unwrap_or_default();
            let colon = if address[first.len()..].starts_with(':') { ":" } else { "" };
            format!("{first}{colon}")
        }
    }
}

fn client(is_loopback: bool) -> Result<Client, BadAddress> {
    tls_provider::install();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_PATIENCE)
        .pool_idle_timeout(IDLE_CONNECTIONS_LIVE)
        .tcp_nodelay(true)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none());
    if is_loopback {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| BadAddress::Tls(error.without_url().to_string()))
}

fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// Only as much of an answer as everybody needs.
#[derive(Deserialize)]
struct Envelope<'a> {
    ok: bool,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Refused {
    error_code: Option<u16>,
    #[serde(default)]
    description: String,
    parameters: Option<Parameters>,
}

fn read(status: StatusCode, retry_after: Option<u32>, bytes: &[u8]) -> Result<Box<RawValue>, ApiError> {
    match serde_json::from_slice(bytes) {
        Ok(Envelope { ok: true, result: Some(result) }) => Ok(result.to_owned()),
        // The call came through, but what came back is not Telegram's.
        _ if status.is_success() && !bytes.starts_with(b"{\"ok\":false") => {
            Err(ApiError::Unsure("the answer cannot be read".into()))
        }
        _ => Err(refusal(status, retry_after, bytes)),
    }
}

fn refusal(status: StatusCode, retry_after: Option<u32>, bytes: &[u8]) -> ApiError {
    let unread = || Refused { error_code: None, description: format!("answered {status}"), parameters: None };
    let Refused { error_code, description, parameters } = serde_json::from_slice(bytes).unwrap_or_else(|_| unread());
    let mut parameters = parameters.unwrap_or_default();
    parameters.retry_after = parameters.retry_after.or(retry_after);
    classify(error_code.unwrap_or(status.as_u16()), &description, parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::RefusalKind;

    const TOKEN: &str = "123456789:AAvery-secret-token";

    #[tokio::test]
    async fn the_token_shows_in_no_error_and_no_debug() {
        // Nobody listens on port 1.
        let telegram = Telegram::new(TOKEN, "http://127.0.0.1:1").unwrap();
        let error = telegram.call("getMe", "{}", &[]).await.unwrap_err();
        assert!(matches!(error, ApiError::NotSent(_)), "{error}");
        let download = telegram.download("documents/a", 0).await.unwrap_err();
        let shown = format!("{telegram:?} {error} {error:?} {download:?}");
        assert!(!shown.contains("secret"), "{shown}");
        let bad = Telegram::new("no token: hush", "http://127.0.0.1:1").unwrap_err();
        assert!(!format!("{bad} {bad:?}").contains("hush"));
        assert_eq!(telegram.bot_id(), Some(123_456_789));
    }

    #[test]
    fn of_an_address_only_scheme_and_host_are_shown() {
        for (address, seen) in [
            ("https://bot:s3cret@proxy:8443/path?key=s3cret#s3cret", "https://proxy:8443"),
            ("ftp://bot:s3cret@proxy/s3cret", "ftp://proxy"),
            ("http://bot:s3cret@:x/", "http:"),
            ("bot:s3cret@proxy", "bot:"),
            ("123456789:s3cret", "123456789:"),
            ("proxy/s3cret", "proxy"),
        ] {
            assert_eq!(shown(address), seen);
            let refused = Telegram::new(TOKEN, address).err();
            let bot = crate::bot::Bot::new(TOKEN).api_url(address);
            let told =
                format!("{refused:?} {} {bot:?}", refused.clone().map(|bad| bad.to_string()).unwrap_or_default());
            assert!(told.contains(seen) && !told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn only_an_address_of_http_is_taken() {
        for (address, seen) in [("", ""), ("telegram", "telegram"), ("ftp://a", "ftp://a"), ("file:///a", "file:")] {
            assert_eq!(Telegram::new(TOKEN, address).err(), Some(BadAddress::Address(seen.to_owned())));
        }
    }

    #[test]
    fn answers_are_read_by_what_they_say() {
        let ok = StatusCode::OK;
        let bad_gateway = StatusCode::BAD_GATEWAY;
        assert_eq!(read(ok, None, br#"{"ok":true,"result":{"message_id":5}}"#).unwrap().get(), r#"{"message_id":5}"#);
        assert!(matches!(read(ok, None, b"<html>"), Err(ApiError::Unsure(_))));
        assert!(matches!(read(bad_gateway, None, b"<html>"), Err(ApiError::Busy { code: 502, .. })));
        let blocked = br#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#;
        assert_eq!(read(StatusCode::FORBIDDEN, None, blocked).unwrap_err().refusal(), Some(RefusalKind::Blocked));
        let later = read(StatusCode::TOO_MANY_REQUESTS, Some(9), b"{}").unwrap_err();
        assert_eq!(later, ApiError::RetryAfter { seconds: 9 });
    }
}
