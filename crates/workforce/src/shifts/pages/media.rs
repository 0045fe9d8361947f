//! What people sent for their work, on pages: pictures and films as such, other files to be saved.
//!
//! Whoever may see the shift may see what was sent for it, and nobody else, by direct link too.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::shift::seen;
use crate::application::App;
use crate::attachments::{self, Attachment, LARGEST_BYTES};
use crate::files::MediaType;
use crate::shifts::{Medium, Shifts};
use crate::sites::pages::Access;
use crate::text;
use crate::texts::Language;
use crate::web::{self, Oops, ShownFile, SignedIn, Visitor};

/// A file on a page.
pub struct Paper<'a> {
    /// Where the file itself is; trying again is below it.
    pub path: String,
    pub file: &'a Attachment,
    /// When it was sent, as people read it.
    pub sent: String,
}

/// `GET /shifts/<id>/media/<medium>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, medium)): Path<(i64, i64)>,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    let medium = found(&app, &visitor, id, medium).await?;
    file(&app, &visitor, &medium.telegram_file, &headers).await
}

/// `POST /shifts/<id>/media/<medium>/again`.
pub async fn again(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, medium)): Path<(i64, i64)>,
) -> Result<Response, Oops> {
    let medium = found(&app, &visitor, id, medium).await?;
    attachments::try_again(&app, medium.telegram_file).await?;
    Ok(Redirect::to(&format!("/shifts/{id}")).into_response())
}

/// The file itself.
pub async fn file(app: &App, visitor: &Visitor, telegram_file: &str, headers: &HeaderMap) -> Result<Response, Oops> {
    match attachments::of(app.domain.read(), [telegram_file]).await?.remove(telegram_file) {
        Some(Attachment::Kept { name, media_type, size_bytes, .. }) => {
            web::file(visitor, ShownFile { name, media_type, size_bytes }, Some(headers)).await
        }
        _ => Err(Oops::NotFound),
    }
}

/// A picture, a film, a file; or what has become of it.
pub fn medium(visitor: &Visitor, paper: &Paper<'_>) -> Markup {
    let language = visitor.language();
    html! {
        figure.paper {
            @match paper.file {
                Attachment::Kept { media_type, .. } => (kept(paper, *media_type, language)),
                Attachment::Awaited => div.no-picture data-testid="awaited" { (text!(language, "cabinet-media-awaited")) },
                Attachment::TooLarge => div.no-picture data-testid="too-large" {
                    (text!(language, "cabinet-media-too-large", most = LARGEST_BYTES / 1_000_000))
                },
                Attachment::Failed => div.no-picture data-testid="failed" {
                    p { (text!(language, "cabinet-media-failed")) }
                    (visitor.visit.form(&format!("{}/again", paper.path), &html! {
                        button.plain type="submit" data-testid="again" { (text!(language, "cabinet-media-again")) }
                    }))
                },
            }
            figcaption { p.quiet { (paper.sent) } }
        }
    }
}

fn kept(paper: &Paper<'_>, media_type: MediaType, language: Language) -> Markup {
    html! {
        @if media_type.is_video() {
            video controls preload="metadata" src=(paper.path) data-testid="film" {}
            a.quiet href=(paper.path) download { (text!(language, "cabinet-media-save")) }
        } @else if media_type.is_shown() {
            a href=(paper.path) { img src=(paper.path) alt=(text!(language, "cabinet-media-picture")) loading="lazy"; }
        } @else {
            a href=(paper.path) download { span.no-picture { (text!(language, "cabinet-media-save")) } }
        }
    }
}

async fn found(app: &App, visitor: &Visitor, shift_id: i64, medium: i64) -> Result<Medium, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    let shift = seen(app, &access, visitor, shift_id).await?;
    let media = Shifts::of_app(app).media(shift.id).await?;
    media.into_iter().find(|one| one.id == medium).ok_or(Oops::NotFound)
}
