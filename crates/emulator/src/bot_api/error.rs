//! Errors as Telegram words them.
//!
//! Client libraries sort errors by code and by the words of the description, so both are Telegram's own.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// An answer with `"ok": false`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} {description}")]
pub struct ApiError {
    pub code: u16,
    pub description: Cow<'static, str>,
    pub parameters: Option<Parameters>,
}

/// What a client may do about an error by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameters {
    RetryAfter(u32),
    MigrateToChatId(i64),
}

impl ApiError {
    pub fn new(code: u16, description: impl Into<Cow<'static, str>>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    /// 400. Telegram begins its inner errors in lower case, except for constants such as `BUTTON_DATA_INVALID`.
    pub fn bad_request(what: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", lowered(what.as_ref())))
    }

    pub fn forbidden(what: &str) -> Self {
        Self::new(403, format!("Forbidden: {what}"))
    }

    pub fn conflict(what: &'static str) -> Self {
        Self::new(409, format!("Conflict: {what}"))
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized: invalid token specified")
    }

    pub fn method_not_found() -> Self {
        Self::new(404, "Not Found: method not found")
    }

    pub fn too_many_requests(retry_after: u32) -> Self {
        let description = format!("Too Many Requests: retry after {retry_after}");
        Self { parameters: Some(Parameters::RetryAfter(retry_after)), ..Self::new(429, description) }
    }

    pub fn migrated(chat_id: i64) -> Self {
        let error = Self::bad_request("group chat was upgraded to a supergroup chat");
        Self { parameters: Some(Parameters::MigrateToChatId(chat_id)), ..error }
    }

    /// The JSON body of the answer.
    pub fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            ok: bool,
            error_code: u16,
            description: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            parameters: Option<Parameters>,
        }
        let Self { code, description, parameters } = self;
        // Serializing a struct of plain fields into memory cannot fail.
        serde_json::to_vec(&Body { ok: false, error_code: *code, description, parameters: *parameters })
            .unwrap_or_default()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], self.body()).into_response();
        if let Some(Parameters::RetryAfter(seconds)) = self.parameters {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn lowered(what: &str) -> String {
    let mut letters = what.chars();
    let (first, second) = (letters.next(), letters.next());
    match (first, second) {
        (Some(_), Some(second)) if second == '_' || second.is_ascii_uppercase() => what.to_owned(),
        (Some(first), _) => format!("{}{}", first.to_ascii_lowercase(), &what[first.len_utf8()..]),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_errors_are_lowered_and_constants_are_not() {
        assert_eq!(ApiError::bad_request("Chat not found").description, "Bad Request: chat not found");
        assert_eq!(ApiError::bad_request("BUTTON_DATA_INVALID").description, "Bad Request: BUTTON_DATA_INVALID");
        assert_eq!(ApiError::bad_request("").description, "Bad Request: ");
    }

    #[test]
    fn a_429_says_when_to_come_back_in_body_and_header() {
        let error = ApiError::too_many_requests(7);
        let body = String::from_utf8(error.body()).unwrap_or_default();
        assert!(body.contains(r#""parameters":{"retry_after":7}"#), "{body}");
        assert_eq!(error.into_response().headers()[header::RETRY_AFTER], "7");
    }
}
