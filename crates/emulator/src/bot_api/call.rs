//! Reading a call: from the query, a form, a multipart body or JSON, by GET or POST.

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::header;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Limited};

use super::error::ApiError;
use super::methods::Method;
use super::parameters::Parameters;
use crate::world::file::{MAX_DOWNLOAD, MAX_UPLOAD};

/// One file of the largest size, or several smaller ones, with the multipart headers.
const MAX_BODY: u64 = MAX_UPLOAD + (2 << 20);
/// The limit for a call without files.
const MAX_PLAIN_BODY: usize = 4 << 20;
const MAX_PARTS: usize = 100;
/// How many bytes after the last part of a form are ignored.
const MAX_EPILOGUE: usize = 64 << 10;

/// How many bytes of a parameter and of a name the log keeps.
const MAX_NOTED: usize = 16 << 10;
const MAX_NOTED_NAME: usize = 200;

#[derive(Debug, Default)]
pub struct Call {
    pub method: String,
    pub parameters: Parameters,
    pub uploads: Vec<Upload>,
    /// What a strict server would refuse.
    pub complaints: Vec<String>,
}

/// A file that came with the call.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The name of its part, or the link it was fetched from.
    pub field: String,
    pub name: String,
    pub mime_type: Option<String>,
    pub bytes: Bytes,
}

impl Call {
    pub fn unread(method: &str) -> Self {
        Self { method: method.to_owned(), ..Self::default() }
    }

    pub async fn read(method: &str, request: Request) -> Result<Self, ApiError> {
        let mut call = Self::unread(method);
        if let Some(query) = request.uri().query() {
            call.add_form(query.as_bytes());
        }
        let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let content_type = content_type.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
        if is(content_type, "multipart/form-data") {
            call.add_multipart(content_type, request.into_body()).await?;
        } else {
            let body = plain_body(request).await?;
            call.add_body(content_type, &body)?;
        }
        call.parameters.check()?;
        Ok(call)
    }

    /// A call in the answer of a webhook: `{"method": "sendMessage", …}` or the same as a form. None if the answer has
    /// no call.
    pub async fn from_webhook_reply(content_type: &str, body: Vec<u8>) -> Option<Self> {
        let mut call = Self::default();
        if is(content_type, "multipart/form-data") {
            call.add_multipart(content_type, body.into()).await.ok()?;
        } else {
            call.add_body(content_type, &body).ok()?;
        }
        call.parameters.check().ok()?;
        call.method = call.parameters.take("method").filter(|method| !method.is_empty())?.into();
        Some(call)
    }

    pub fn upload(&self, field: &str) -> Option<&Upload> {
        self.uploads.iter().find(|upload| upload.field == field)
    }

    /// Whether some parameter says `attach://<field>`.
    pub fn refers_to(&self, field: &str) -> bool {
        let attached = format!("attach://{field}");
        self.parameters.values().any(|value| value.contains(&attached))
    }

    /// Fetches media that the call names by a link, as Telegram does, and keeps each as an upload under its link.
    pub async fn fetch_links(&mut self, http: &reqwest::Client, method: &Method) -> Result<(), ApiError> {
        let named = method.links.iter().filter_map(|field| self.parameters.get(field));
        let links: Vec<String> = named.flat_map(links_in).collect();
        for link in links {
            let bytes = fetch(http, &link).await?;
            let name = link.rsplit('/').next().unwrap_or_default().to_owned();
            self.uploads.push(Upload { field: link, name, mime_type: None, bytes });
        }
        Ok(())
    }

    /// Cuts the call to the size that the log keeps.
    pub fn shorten(&mut self) {
        self.parameters.shorten(MAX_NOTED);
        for text in self.complaints.iter_mut().chain(self.uploads.iter_mut().map(|upload| &mut upload.name)) {
            shorten(text, MAX_NOTED_NAME);
        }
    }

    fn add_body(&mut self, content_type: &str, body: &[u8]) -> Result<(), ApiError> {
        if is(content_type, "application/json") {
            self.parameters.add_json(body)
        } else if is(content_type, "application/x-www-form-urlencoded") || content_type.is_empty() {
            self.add_form(body);
            Ok(())
        } else if body.is_empty() {
            Ok(())
        } else {
            Err(ApiError::bad_request("unsupported content type of the request body"))
        }
    }

    fn add_form(&mut self, form: &[u8]) {
        for (name, value) in form_urlencoded::parse(form) {
            self.parameters.add_text(&name, value.into_owned());
        }
    }

    async fn add_multipart(&mut self, content_type: &str, body: Body) -> Result<(), ApiError> {
        let boundary = multer::parse_boundary(content_type).map_err(|error| unread(&error))?;
        let whole = multer::SizeLimit::new().whole_stream(MAX_BODY);
        let limits = multer::Constraints::new().size_limit(whole);
        let mut body = body.into_data_stream();
        let mut form = multer::Multipart::with_constraints(&mut body, boundary, limits);
        let mut parts = 0;
        while let Some(part) = form.next_field().await.map_err(|error| unread(&error))? {
            parts += 1;
            if parts > MAX_PARTS {
                return Err(ApiError::bad_request("too many parts in multipart/form-data body"));
            }
            let field = part.name().unwrap_or_default().to_owned();
            let (name, mime_type) = (part.file_name().map(str::to_owned), part.content_type().map(ToString::to_string));
            let bytes = part.bytes().await.map_err(|error| unread(&error))?;
            match name {
                Some(name) => self.uploads.push(Upload { field, name, mime_type, bytes }),
                None if bytes.len() > MAX_PLAIN_BODY => return Err(too_large()),
                None => {
                    let text = String::from_utf8(bytes.into()).map_err(|_| not_utf8())?;
                    self.parameters.add_text(&field, text);
                }
            }
        }
        drop(form);
        read_out(body).await;
        Ok(())
    }
}

/// Reads what follows the last boundary, such as the end of a chunked body. Otherwise the server closes the connection
/// after the answer, while the client keeps it for its next call.
async fn read_out(mut body: BodyDataStream) {
    let mut left = MAX_EPILOGUE;
    while let Some(Ok(piece)) = body.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

/// Cuts a text that is too long between two characters and marks the cut.
pub fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(most));
        text.push_str(&format!("… ({whole} bytes)"));
    }
}

/// Whether a content type is of this kind; case does not matter, and parameters may follow.
pub fn is(content_type: &str, kind: &str) -> bool {
    content_type.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind))
}

fn not_utf8() -> ApiError {
    ApiError::bad_request("strings must be encoded in UTF-8")
}

fn too_large() -> ApiError {
    ApiError::new(413, "Request Entity Too Large")
}

fn unread(error: &multer::Error) -> ApiError {
    match error {
        multer::Error::StreamSizeExceeded { .. } => too_large(),
        _ => ApiError::bad_request("can't parse multipart/form-data body"),
    }
}

async fn plain_body(request: Request) -> Result<Bytes, ApiError> {
    let body = Limited::new(request.into_body(), MAX_PLAIN_BODY).collect().await.map_err(|_| too_large())?;
    Ok(body.to_bytes())
}

pub fn is_link(value: &str) -> bool {
    value.starts_with("http://") || value.starts_with("https://")
}

/// The links that a parameter names: itself, or `media` and `thumbnail` within its objects.
fn links_in(value: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        media: Option<String>,
        thumbnail: Option<String>,
    }
    if is_link(value) {
        return vec![value.to_owned()];
    }
    let objects: Vec<Named> = match value.as_bytes().first() {
        Some(b'[') => serde_json::from_str(value).unwrap_or_default(),
        Some(b'{') => serde_json::from_str(value).map(|one| vec![one]).unwrap_or_default(),
        _ => Vec::new(),
    };
    objects.into_iter().flat_map(|it| [it.media, it.thumbnail]).flatten().filter(|it| is_link(it)).collect()
}

async fn fetch(http: &reqwest::Client, link: &str) -> Result<Bytes, ApiError> {
    let failed = || ApiError::bad_request("failed to get HTTP URL content");
    let mut response = http.get(link).send().await.ok().filter(|it| it.status().is_success()).ok_or_else(failed)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| failed())? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > MAX_DOWNLOAD {
            return Err(ApiError::bad_request("file is too big"));
        }
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_form_is_read_to_its_end_also_when_the_end_comes_late() {
        let form = "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhi\r\n--b--\r\n";
        let ended = Arc::new(AtomicBool::new(false));
        let last = ended.clone();
        let pieces =
            stream::once(async move { Ok::<_, std::io::Error>(Bytes::from(form)) }).chain(stream::once(async move {
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                last.store(true, Ordering::Relaxed);
                Ok(Bytes::new())
            }));
        let request = Request::builder().header(header::CONTENT_TYPE, "multipart/form-data; boundary=b");
        let request = request.body(Body::from_stream(pieces));
        let call = Call::read("sendMessage", request.unwrap_or_default()).await;
        assert_eq!(call.ok().and_then(|call| call.parameters.get("text").map(str::to_owned)).as_deref(), Some("hi"));
        assert!(ended.load(Ordering::Relaxed));
    }
}
