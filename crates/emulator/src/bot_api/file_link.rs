//! `/file/bot<token>/<path>`: what a link given by `getFile` downloads.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::error::ApiError;
use crate::emulator::Emulator;
use crate::token::Token;
use crate::world::fault::Cut;
use crate::world::file::{FileData, image_type};

/// Answers a download. An unknown path or an expired link is a 404.
pub async fn download(emulator: &Emulator, token: &str, path: &str) -> Response {
    let Some(bot) = Token::parse(token).and_then(|token| emulator.existing(&token)) else {
        return ApiError::unauthorized().into_response();
    };
    let fault = bot.world().faults.take_for_download();
    if let Some(delay_ms) = fault.as_ref().and_then(|fault| fault.spec.delay_ms) {
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
    }
    let cut = fault.as_ref().and_then(|fault| fault.spec.cut);
    if cut == Some(Cut::Before) {
        return super::cut();
    }
    if let Some(error) = super::forced_error(fault.as_ref()) {
        return error.into_response();
    }
    let data = {
        let world = bot.world();
        world.files.by_link(path, world.clock.now()).map(|file| file.data.clone())
    };
    let Some(bytes) = bytes_of(data).await else {
        return ApiError::new(404, "Not Found").into_response();
    };
    if cut.is_some() {
        return half(bytes);
    }
    served(bytes, false)
}

/// The bytes of a file, from memory or from disk.
pub(crate) async fn bytes_of(data: Option<FileData>) -> Option<Bytes> {
    match data? {
        FileData::Memory(bytes) => Some(bytes),
        FileData::Disk(path) => tokio::fs::read(path).await.ok().map(Bytes::from),
    }
}

/// Uploaded bytes as a response: images as images, everything else with a type that no browser runs.
pub(crate) fn served(bytes: Bytes, attachment: bool) -> Response {
    let image = image_type(&bytes);
    let headers = [
        (header::CONTENT_TYPE, image.unwrap_or("application/octet-stream")),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    let mut response = (StatusCode::OK, headers, bytes).into_response();
    if attachment && image.is_none() {
        let value = header::HeaderValue::from_static("attachment");
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// A download whose connection breaks in the middle.
fn half(bytes: Bytes) -> Response {
    let (length, first) = (bytes.len(), bytes.slice(..bytes.len() / 2));
    let pieces = [Ok(first), Err(std::io::Error::other("cut by a fault"))];
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    ([(header::CONTENT_LENGTH, length)], body).into_response()
}
