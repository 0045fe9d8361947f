//! Errors of pages, and their error pages.
//!
//! A handler returns a [`PageError`]. The frame renders it in the visitor's language, with the request id that is in
//! the log. Errors that axum answers by itself are rendered, too.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use sea_orm::DbErr;

use super::ui::{Button, Card, Icon, page_title};
use super::visit::Visit;
use crate::domain::days::YEARS;
use crate::domain::{NOT_ALLOWED, NotWritten};
use crate::text;

/// Why there is no page.
#[derive(Clone, Debug)]
pub enum PageError {
    /// Not signed in: redirects to the sign-in, and back afterwards.
    SignIn,
    BadRequest,
    /// The parameter is no day, or too far away.
    BadDay,
    /// The role does not allow it.
    Forbidden,
    NotFound,
    /// A form of another browser, or too old.
    StaleForm,
    /// The present state does not allow it.
    NotPossible,
    TooMany {
        retry_after_s: u64,
    },
    /// A part that is needed does not run now.
    Unavailable,
    Failed(Arc<anyhow::Error>),
}

impl PageError {
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::SignIn => StatusCode::UNAUTHORIZED,
            Self::BadRequest | Self::BadDay => StatusCode::BAD_REQUEST,
            Self::Forbidden | Self::StaleForm => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NotPossible => StatusCode::CONFLICT,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub const fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::TooMany { retry_after_s } => Some(*retry_after_s),
            _ => None,
        }
    }

    /// The error for a status that axum answered by itself.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::FORBIDDEN => Self::Forbidden,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Self::NotFound,
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable,
            status if status.is_server_error() => {
                Self::Failed(Arc::new(anyhow::anyhow!("a handler answered {status}")))
            }
            _ => Self::BadRequest,
        }
    }
}

impl From<anyhow::Error> for PageError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(Arc::new(error))
    }
}

impl From<DbErr> for PageError {
    fn from(error: DbErr) -> Self {
        Self::Failed(Arc::new(error.into()))
    }
}

impl From<NotWritten> for PageError {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Refused(refusal) if refusal == NOT_ALLOWED => Self::Forbidden,
            NotWritten::Refused(refusal) => {
                tracing::debug!(refusal, "a page's write was refused");
                Self::NotPossible
            }
            NotWritten::Failed(error) => Self::Failed(Arc::new(error.into())),
        }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Renders error responses as pages; other responses stay as they are.
pub fn render_error(visit: &Visit, response: Response) -> Response {
    let status = response.status();
    let page_error = response.extensions().get::<PageError>().cloned();
    let is_plain = !is_html(&response) && (status.is_client_error() || status.is_server_error());
    let error = match page_error {
        Some(error) => error,
        None if is_plain => PageError::of_status(status),
        None => return response,
    };
    if let PageError::Failed(error) = &error {
        tracing::error!(request = visit.request_id(), error = format!("{error:#}"), "a page failed");
    }
    if matches!(error, PageError::SignIn) {
        return Redirect::to(&visit.sign_in_path()).into_response();
    }
    // A method that a page does not support keeps its own status.
    let status = if is_plain && status.is_client_error() { status } else { error.status() };
    let mut page = (status, visit.page(&headline(visit, &error), &body(visit, &error))).into_response();
    if let Some(seconds) = error.retry_after_s() {
        page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    page
}

/// Whether a response is a page.
pub fn is_html(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/html"))
}

fn headline(visit: &Visit, error: &PageError) -> String {
    let language = visit.language();
    match error {
        PageError::SignIn | PageError::Forbidden => text!(language, "web-forbidden"),
        PageError::BadRequest => text!(language, "web-bad-request"),
        PageError::BadDay => text!(language, "web-bad-day"),
        PageError::NotFound => text!(language, "web-not-found"),
        PageError::StaleForm => text!(language, "web-stale-form"),
        PageError::NotPossible => text!(language, "web-not-possible"),
        PageError::TooMany { .. } => text!(language, "web-too-many"),
        PageError::Unavailable => text!(language, "web-unavailable"),
        PageError::Failed(_) => text!(language, "web-failed"),
    }
}

fn advice(visit: &Visit, error: &PageError) -> String {
    let language = visit.language();
    match error {
        PageError::SignIn | PageError::Forbidden => text!(language, "web-forbidden-advice"),
        PageError::BadRequest => text!(language, "web-bad-request-advice"),
        PageError::BadDay => {
            // As text: a year has no thousands separator.
            let (first, last) = (YEARS.start().to_string(), YEARS.end().to_string());
            text!(language, "web-bad-day-advice", first = first, last = last)
        }
        PageError::NotFound => text!(language, "web-not-found-advice"),
        PageError::StaleForm => text!(language, "web-stale-form-advice"),
        PageError::NotPossible => text!(language, "web-not-possible-advice"),
        PageError::TooMany { retry_after_s } => {
            text!(language, "web-too-many-advice", minutes = retry_after_s.div_ceil(60))
        }
        PageError::Unavailable => text!(language, "web-unavailable-advice"),
        PageError::Failed(_) => text!(language, "web-failed-advice"),
    }
}

const fn icon(error: &PageError) -> Icon {
    match error {
        PageError::SignIn | PageError::Forbidden => Icon::Key,
        PageError::NotFound | PageError::BadDay => Icon::Search,
        PageError::TooMany { .. } | PageError::StaleForm => Icon::Clock,
        _ => Icon::Alert,
    }
}

fn body(visit: &Visit, error: &PageError) -> Markup {
    let language = visit.language();
    html! {
        (Card::untitled().class("notice").testid("oops").render(&html! {
            span.empty-icon { (icon(error).svg()) }
            p.quiet { (error.status().as_u16()) }
            (page_title(&headline(visit, error), None))
            p { (advice(visit, error)) }
            p { (Button::primary(&text!(language, "web-to-home")).icon(Icon::Home).link("/")) }
            p.quiet { (text!(language, "web-request-number", number = visit.request_id())) }
        }))
    }
}
