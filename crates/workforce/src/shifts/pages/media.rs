//! Media of shifts and cancellations on pages: pictures and videos are shown, other files offered for download.
//!
//! A file is visible to people who may see its shift or judge its cancellation, also by direct link.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::shift::seen;
use crate::application::App;
use crate::attachments::{self, Attachment, MAX_FILE_BYTES};
use crate::files::MediaType;
use crate::shifts::{Medium, Shifts};
use crate::sites::pages::Access;
use crate::text;
use crate::texts::Language;
use crate::web::ui::Button;
use crate::web::{self, PageError, ShownFile, SignedIn, Visitor};

/// A file on a page.
#[derive(Debug)]
pub struct ShownMedia<'a> {
    /// The path of the file. The form to retry the download is below it.
    pub path: String,
    pub file: &'a Attachment,
    /// When it was sent, as text.
    pub sent: String,
}

/// `GET /shifts/<id>/media/<medium>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, medium)): Path<(i64, i64)>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let medium = found(&app, &visitor, id, medium).await?;
    file(&app, &visitor, &medium.telegram_file, &headers).await
}

/// `POST /shifts/<id>/media/<medium>/again`.
pub async fn again(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, medium)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    let medium = found(&app, &visitor, id, medium).await?;
    attachments::retry(&app, medium.telegram_file).await?;
    let done = text!(visitor.language(), "cabinet-media-asked-again");
    Ok(visitor.redirect(format!("/shifts/{id}")).with_toast(done).into_response())
}

/// The response with the file.
pub async fn file(
    app: &App,
    visitor: &Visitor,
    telegram_file: &str,
    headers: &HeaderMap,
) -> Result<Response, PageError> {
    match attachments::find(app.domain.read(), [telegram_file]).await?.remove(telegram_file) {
        Some(Attachment::Kept { name, media_type, size_bytes, .. }) => {
            web::file(visitor, ShownFile { name, media_type, size_bytes }, Some(headers)).await
        }
        _ => Err(PageError::NotFound),
    }
}

/// A picture, a video or a link; or a text if the file is missing.
pub fn medium(visitor: &Visitor, shown: &ShownMedia<'_>) -> Markup {
    let language = visitor.language();
    html! {
        figure.paper {
            @match shown.file {
                Attachment::Kept { media_type, .. } => (kept(shown, *media_type, language)),
                Attachment::Pending => div.no-picture data-testid="awaited" { (text!(language, "cabinet-media-awaited")) },
                Attachment::TooLarge => div.no-picture data-testid="too-large" {
                    (text!(language, "cabinet-media-too-large", most = MAX_FILE_BYTES / 1_000_000))
                },
                Attachment::Failed => div.no-picture data-testid="failed" {
                    p { (text!(language, "cabinet-media-failed")) }
                    (visitor.visit.form(&format!("{}/again", shown.path), &html! {
                        (Button::plain(&text!(language, "cabinet-media-again")).testid("again").submit())
                    }))
                },
            }
            figcaption { p.quiet { (shown.sent) } }
        }
    }
}

fn kept(shown: &ShownMedia<'_>, media_type: MediaType, language: Language) -> Markup {
    html! {
        @if media_type.is_video() {
            video controls preload="metadata" src=(shown.path) data-testid="film" {}
            a.quiet href=(shown.path) download { (text!(language, "cabinet-media-save")) }
        } @else if media_type.is_shown() {
            a href=(shown.path) { img src=(shown.path) alt=(text!(language, "cabinet-media-picture")) loading="lazy"; }
        } @else {
            a href=(shown.path) download { span.no-picture { (text!(language, "cabinet-media-save")) } }
        }
    }
}

async fn found(app: &App, visitor: &Visitor, shift_id: i64, medium: i64) -> Result<Medium, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    let shift = seen(app, &access, visitor, shift_id).await?;
    let media = Shifts::of_app(app).media(shift.id).await?;
    media.into_iter().find(|one| one.id == medium).ok_or(PageError::NotFound)
}
