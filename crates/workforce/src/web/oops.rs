//! What can go wrong with a page, and how it is told.
//!
//! A handler answers an [`Oops`]; the frame makes a page of it, in the visitor's language and with the number by which
//! the request is found in the log. What axum itself refuses becomes such a page too.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use sea_orm::DbErr;

use super::visit::Visit;
use crate::domain::days::YEARS;
use crate::domain::{NOT_ALLOWED, NotWritten};
use crate::text;

/// Why there is no page.
#[derive(Clone, Debug)]
pub enum Oops {
    /// Nobody is signed in; whoever asked is led to the sign-in, and back.
    SignIn,
    BadRequest,
    /// What was named is no day, or too far away.
    BadDay,
    /// The role does not include it.
    Forbidden,
    NotFound,
    /// A form that was not made for this browser, or too long ago.
    StaleForm,
    /// What was wanted is not possible as things stand now.
    NotPossible,
    TooMany {
        retry_after_s: u64,
    },
    /// What is needed for it does not run here, now.
    Unavailable,
    Failed(Arc<anyhow::Error>),
}

impl Oops {
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

    /// What a status means that axum has answered by itself.
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

impl From<anyhow::Error> for Oops {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(Arc::new(error))
    }
}

impl From<DbErr> for Oops {
    fn from(error: DbErr) -> Self {
        Self::Failed(Arc::new(error.into()))
    }
}

impl From<NotWritten> for Oops {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Refused(why) if why == NOT_ALLOWED => Self::Forbidden,
            NotWritten::Refused(why) => {
                tracing::debug!(why, "a page's write was refused");
                Self::NotPossible
            }
            NotWritten::Failed(error) => Self::Failed(Arc::new(error.into())),
        }
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Makes a page of an answer that is none; others are left as they are.
pub fn explained(visit: &Visit, response: Response) -> Response {
    let status = response.status();
    let known = response.extensions().get::<Oops>().cloned();
    let is_plain = !is_html(&response) && (status.is_client_error() || status.is_server_error());
    let oops = match known {
        Some(oops) => oops,
        None if is_plain => Oops::of_status(status),
        None => return response,
    };
    if let Oops::Failed(error) = &oops {
        tracing::error!(request = visit.number(), error = format!("{error:#}"), "a page failed");
    }
    if matches!(oops, Oops::SignIn) {
        return Redirect::to(&visit.sign_in_path()).into_response();
    }
    // A method that a page does not have keeps its own status.
    let status = if is_plain && status.is_client_error() { status } else { oops.status() };
    let mut page = (status, visit.page(&headline(visit, &oops), &body(visit, &oops))).into_response();
    if let Some(seconds) = oops.retry_after_s() {
        page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    page
}

fn is_html(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/html"))
}

fn headline(visit: &Visit, oops: &Oops) -> String {
    let language = visit.language();
    match oops {
        Oops::SignIn | Oops::Forbidden => text!(language, "web-forbidden"),
        Oops::BadRequest => text!(language, "web-bad-request"),
        Oops::BadDay => text!(language, "web-bad-day"),
        Oops::NotFound => text!(language, "web-not-found"),
        Oops::StaleForm => text!(language, "web-stale-form"),
        Oops::NotPossible => text!(language, "web-not-possible"),
        Oops::TooMany { .. } => text!(language, "web-too-many"),
        Oops::Unavailable => text!(language, "web-unavailable"),
        Oops::Failed(_) => text!(language, "web-failed"),
    }
}

fn advice(visit: &Visit, oops: &Oops) -> String {
    let language = visit.language();
    match oops {
        Oops::SignIn | Oops::Forbidden => text!(language, "web-forbidden-advice"),
        Oops::BadRequest => text!(language, "web-bad-request-advice"),
        Oops::BadDay => {
            // As texts: a year has no thousands separator.
            let (first, last) = (YEARS.start().to_string(), YEARS.end().to_string());
            text!(language, "web-bad-day-advice", first = first, last = last)
        }
        Oops::NotFound => text!(language, "web-not-found-advice"),
        Oops::StaleForm => text!(language, "web-stale-form-advice"),
        Oops::NotPossible => text!(language, "web-not-possible-advice"),
        Oops::TooMany { retry_after_s } => {
            text!(language, "web-too-many-advice", minutes = retry_after_s.div_ceil(60))
        }
        Oops::Unavailable => text!(language, "web-unavailable-advice"),
        Oops::Failed(_) => text!(language, "web-failed-advice"),
    }
}

fn body(visit: &Visit, oops: &Oops) -> Markup {
    let language = visit.language();
    html! {
        div.card.notice data-testid="oops" {
            p.code { (oops.status().as_u16()) }
            h1 { (headline(visit, oops)) }
            p { (advice(visit, oops)) }
            p { a.button href="/" { (text!(language, "web-to-home")) } }
            p.quiet { (text!(language, "web-request-number", number = visit.number())) }
        }
    }
}
