//! The HTTP server that the bot takes for Telegram.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::bot_api::{self, failure};
use crate::harness::Harness;
use crate::parameters::Parameters;

/// The content of every file that a bot downloads.
const FILE: &[u8] = &[0xFF; 4096];

/// Accepts connections for as long as the process lives.
pub async fn serve(harness: Arc<Harness>, listener: TcpListener) {
    loop {
        let Ok((connection, _)) = listener.accept().await else { continue };
        tokio::spawn(serve_connection(Arc::clone(&harness), connection));
    }
}

async fn serve_connection(harness: Arc<Harness>, connection: TcpStream) {
    // A failure only makes answers slower.
    let _ = connection.set_nodelay(true);
    let service = service_fn(move |request| answer(Arc::clone(&harness), request));
    let mut server = http1::Builder::new();
    // A bot that ends closes its connections; that is no failure.
    let _ = server.pipeline_flush(true).serve_connection(TokioIo::new(connection), service).await;
}

async fn answer(harness: Arc<Harness>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if path.starts_with("/file/bot") {
        return Ok(response(StatusCode::OK, "image/jpeg", Bytes::from_static(FILE)));
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.rsplit_once('/')) else {
        let (status, json) = failure(StatusCode::NOT_FOUND, "Not Found", None);
        return Ok(response(status, "application/json", json.into()));
    };
    let expected = &harness.options.token;
    let is_known = token == expected || token.replace("%3A", ":") == *expected;
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let (status, json) = if is_known {
        let parameters = Parameters::parse(head.uri.query(), content_type(&head.headers), &body);
        bot_api::call(&harness, &method.to_ascii_lowercase(), parameters).await
    } else {
        failure(StatusCode::UNAUTHORIZED, "Unauthorized", None)
    };
    Ok(response(status, "application/json", json.into()))
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn response(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
