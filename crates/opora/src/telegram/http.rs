//! The Bot API over HTTP.
//!
//! One client with its connection pool serves all calls but those of `loopback`. It does not retry or limit calls. The
//! token is part of every URL, so no URL appears in an error, a log or a `Debug` output.

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
use super::loopback::{LoopbackClient, LoopbackError, error_chain, is_loopback};
use super::{Api, ApiAnswer, Download, form};
use crate::store::Upload;
use crate::tls_provider;

/// Telegram's own servers.
pub const TELEGRAM: &str = "https://api.telegram.org";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Telegram closes idle connections after about this time.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// What an upload may take beyond the usual timeout: 50 MB on a slow line.
const UPLOAD_EXTRA_TIME: Duration = Duration::from_secs(300);
/// What a long poll may take beyond the time that was asked for.
const LONG_POLL_EXTRA_TIME: Duration = Duration::from_secs(10);

/// A client of the Bot API for one bot.
pub struct Telegram {
    client: Client,
    /// Serves calls without files if the server is on this machine.
    loopback: Option<LoopbackClient>,
    calls_url: Box<str>,
    /// The URLs of the methods called so far: parsing one costs as much as a small call.
    method_urls: RwLock<HashMap<Box<str>, Url>>,
    files_url: Box<str>,
    token: Box<str>,
    timeout: Duration,
}

/// Why a client cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TelegramConfigError {
    /// Not an address of a Bot API; without its secret parts.
    #[error("`{0}` is not the address of a Bot API")]
    Address(String),
    /// The token is not of the form `<id>:<secret>`.
    #[error("the token is not of the form <id>:<secret>")]
    Token,
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(String),
}

impl Telegram {
    /// A client for `token` at `base_url`: [`TELEGRAM`], another Bot API server, or the emulator.
    pub fn new(token: &str, base_url: &str) -> Result<Self, TelegramConfigError> {
        let bad = || TelegramConfigError::Address(redact_address(base_url));
        let url = Url::parse(base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(bad)?;
        let is_loopback = is_loopback(url.host_str().ok_or_else(bad)?);
        let (id, secret) = token.split_once(':').ok_or(TelegramConfigError::Token)?;
        let is_valid =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if !is_valid(id) || !is_valid(secret) {
            return Err(TelegramConfigError::Token);
        }
        let base = base_url.trim_end_matches('/');
        Ok(Self {
            client: client(is_loopback)?,
            loopback: LoopbackClient::at(&url, &format!("{}/bot{token}/", url.path().trim_end_matches('/'))),
            calls_url: format!("{base}/bot{token}/").into(),
            method_urls: RwLock::default(),
            files_url: format!("{base}/file/bot{token}/").into(),
            token: token.into(),
            timeout: Duration::from_secs(30),
        })
    }

    /// Sets how long an answer may take, 30 seconds by default. After that it is unknown whether the call took effect.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The bot's user id, which is the first part of its token.
    #[must_use]
    pub fn bot_id(&self) -> Option<i64> {
        self.token.split_once(':')?.0.parse().ok()
    }

    fn post(&self, method: &str, body: &str, timeout: Duration) -> RequestBuilder {
        let json = HeaderValue::from_static("application/json");
        let cached = self.method_urls.read().get(method).cloned();
        let request = match cached.or_else(|| self.cache_url(method)) {
            Some(url) => self.client.post(url),
            // The URL is invalid: sending the request will fail.
            None => self.client.post(format!("{}{method}", self.calls_url)),
        };
        request.header(CONTENT_TYPE, json).timeout(timeout).body(body.to_owned())
    }

    fn cache_url(&self, method: &str) -> Option<Url> {
        let url = Url::parse(&format!("{}{method}", self.calls_url)).ok()?;
        self.method_urls.write().insert(method.into(), url.clone());
        Some(url)
    }

    async fn send(&self, method: &str, body: &str, timeout: Duration) -> Result<Box<RawValue>, ApiError> {
        let Some(loopback) = &self.loopback else { return self.answer(self.post(method, body, timeout)).await };
        match loopback.call(method, body, timeout).await {
            Ok(answer) => read(answer.status(), retry_after(answer.headers()), answer.body()),
            Err(LoopbackError::NotSent(error)) => Err(ApiError::NotSent(self.without_token(&error))),
            Err(LoopbackError::Unsure(error)) => Err(ApiError::Unsure(self.without_token(&error))),
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Box<RawValue>, ApiError> {
        let response = request.send().await.map_err(|error| self.failure(error))?;
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let bytes = response.bytes().await.map_err(|error| self.failure(error))?;
        read(status, retry_after, &bytes)
    }

    /// A transport error without its URL.
    fn failure(&self, error: reqwest::Error) -> ApiError {
        let not_sent = error.is_connect() || error.is_builder();
        let text = self.without_token(&error_chain(&error.without_url()));
        if not_sent { ApiError::NotSent(text) } else { ApiError::Unsure(text) }
    }

    /// Removes the token, in case a cause quotes a URL. None is known to do so.
    fn without_token(&self, text: &str) -> Box<str> {
        text.replace(&*self.token, "<token>").into()
    }

    async fn begin_download(&self, file_path: &str, from_byte: u64) -> Result<Download, ApiError> {
        let mut request = self.client.get(format!("{}{file_path}", self.files_url));
        if from_byte > 0 {
            request = request.header(RANGE, format!("bytes={from_byte}-"));
        }
        let response = match tokio::time::timeout(self.timeout, request.send()).await {
            Ok(response) => response.map_err(|error| self.failure(error))?,
            Err(_) => return Err(ApiError::NotSent("the file server did not answer in time".into())),
        };
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers());
            let body = tokio::time::timeout(self.timeout, response.bytes()).await;
            let body = body.ok().and_then(Result::ok).unwrap_or_default();
            return Err(refusal(status, retry_after, &body));
        }
        let from_byte = if status == StatusCode::PARTIAL_CONTENT { from_byte } else { 0 };
        Ok(Download { from_byte, length: response.content_length(), bytes: self.chunks(response) })
    }

    /// The chunks of a file. The timeout holds for each chunk, not for the whole file.
    fn chunks(&self, response: Response) -> stream::BoxStream<'static, Result<Bytes, ApiError>> {
        let timeout = self.timeout;
        let token = self.token.clone();
        let cut = move |error: reqwest::Error| {
            let text = error.without_url().to_string().replace(&*token, "<token>");
            ApiError::Unsure(text.into())
        };
        stream::try_unfold(response, move |mut response| {
            let cut = cut.clone();
            async move {
                let chunk = tokio::time::timeout(timeout, response.chunk()).await;
                let chunk = chunk.map_err(|_| ApiError::Unsure("the download stalled".into()))?;
                Ok(chunk.map_err(cut)?.map(|bytes| (bytes, response)))
            }
        })
        .boxed()
    }
}

impl Api for Telegram {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, uploads: &'a [Upload]) -> ApiAnswer<'a> {
        if uploads.is_empty() {
            return Box::pin(self.send(method, body, self.timeout));
        }
        Box::pin(async move {
            let form = form::build(body, uploads).await?;
            let request = self.client.post(format!("{}{method}", self.calls_url)).multipart(form);
            self.answer(request.timeout(self.timeout + UPLOAD_EXTRA_TIME)).await
        })
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, timeout: Duration) -> ApiAnswer<'a> {
        Box::pin(self.send(method, body, timeout + LONG_POLL_EXTRA_TIME))
    }

    fn download<'a>(&'a self, file_path: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        Box::pin(self.begin_download(file_path, from_byte))
    }
}

/// Shows the bot's id, not the token.
impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("bot", &self.bot_id()).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// The scheme, host and port of an address. The other parts may contain a password, or by mistake a token.
///
/// ```
/// # use opora::telegram::redact_address;
/// assert_eq!(redact_address("https://bot:s3cret@proxy:8443/path"), "https://proxy:8443");
/// ```
#[must_use]
pub fn redact_address(address: &str) -> String {
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

fn client(is_loopback: bool) -> Result<Client, TelegramConfigError> {
    tls_provider::install();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
        .tcp_nodelay(true)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none());
    if is_loopback {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| TelegramConfigError::Tls(error.without_url().to_string()))
}

fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// The part of an answer that all calls have.
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
        // The call was received, but the answer is not Telegram's.
        _ if status.is_success() && !bytes.starts_with(b"{\"ok\":false") => {
            Err(ApiError::Unsure("the answer cannot be parsed".into()))
        }
        _ => Err(refusal(status, retry_after, bytes)),
    }
}

fn refusal(status: StatusCode, retry_after: Option<u32>, bytes: &[u8]) -> ApiError {
    let unparsed = || Refused { error_code: None, description: format!("answered {status}"), parameters: None };
    let Refused { error_code, description, parameters } = serde_json::from_slice(bytes).unwrap_or_else(|_| unparsed());
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
    async fn no_error_and_no_debug_output_contains_the_token() {
        // Nothing listens on port 1.
        let telegram = Telegram::new(TOKEN, "http://127.0.0.1:1").unwrap();
        let error = telegram.call("getMe", "{}", &[]).await.unwrap_err();
        assert!(matches!(error, ApiError::NotSent(_)), "{error}");
        let download = telegram.download("documents/a", 0).await.unwrap_err();
        let printed = format!("{telegram:?} {error} {error:?} {download:?}");
        assert!(!printed.contains("secret"), "{printed}");
        let bad = Telegram::new("no token: hush", "http://127.0.0.1:1").unwrap_err();
        assert!(!format!("{bad} {bad:?}").contains("hush"));
        assert_eq!(telegram.bot_id(), Some(123_456_789));
    }

    #[test]
    fn a_redacted_address_has_only_scheme_host_and_port() {
        for (address, seen) in [
            ("https://bot:s3cret@proxy:8443/path?key=s3cret#s3cret", "https://proxy:8443"),
            ("ftp://bot:s3cret@proxy/s3cret", "ftp://proxy"),
            ("http://bot:s3cret@:x/", "http:"),
            ("bot:s3cret@proxy", "bot:"),
            ("123456789:s3cret", "123456789:"),
            ("proxy/s3cret", "proxy"),
        ] {
            assert_eq!(redact_address(address), seen);
            let refused = Telegram::new(TOKEN, address).err();
            let bot = crate::bot::Bot::new(TOKEN).api_url(address);
            let text =
                format!("{refused:?} {} {bot:?}", refused.clone().map(|bad| bad.to_string()).unwrap_or_default());
            assert!(text.contains(seen) && !text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn only_http_addresses_are_accepted() {
        for (address, seen) in [("", ""), ("telegram", "telegram"), ("ftp://a", "ftp://a"), ("file:///a", "file:")] {
            assert_eq!(Telegram::new(TOKEN, address).err(), Some(TelegramConfigError::Address(seen.to_owned())));
        }
    }

    #[test]
    fn answers_are_classified_by_body_and_status() {
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
