//! Cancellations that staff judge.

use std::collections::BTreeSet;

use axum::Form;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::media::{self, ShownMedia};
use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::person::Permission;
use crate::shifts::{Cancellation, Plan, Shifts, TOPIC};
use crate::sites::pages::{Access, refusal};
use crate::sites::{Site, SiteRefusal, local};
use crate::text;
use crate::web::{PageError, SignedIn, Visitor, moment};

#[derive(Debug, Deserialize)]
pub struct JudgementForm {
    accepted: bool,
}

/// `GET /cancellations`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    page(&app, &visitor, None).await
}

/// `POST /cancellations/<id>/judge`.
pub async fn judge(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(form): Form<JudgementForm>,
) -> Result<Response, PageError> {
    match Shifts::of_app(&app).judge(&visitor.person, id, form.accepted).await {
        Ok(()) => Ok(Redirect::to("/cancellations").into_response()),
        Err(error) => page(&app, &visitor, Some(refusal(error)?)).await,
    }
}

/// `GET /cancellations/<id>/photo`: the evidence, for people who judge the reason.
pub async fn photo(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let photo = photo_of(&app, &visitor, id).await?;
    media::file(&app, &visitor, &photo, &headers).await
}

/// `POST /cancellations/<id>/photo/again`.
pub async fn photo_again(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let photo = photo_of(&app, &visitor, id).await?;
    attachments::retry(&app, photo).await?;
    Ok(Redirect::to("/cancellations").into_response())
}

async fn photo_of(app: &App, visitor: &Visitor, id: i64) -> Result<String, PageError> {
    let (access, shifts) = (Access::for_person(app, &visitor.person).await?, Shifts::of_app(app));
    let cancelled = shifts.cancellation(id).await?.ok_or(PageError::NotFound)?;
    let plan = shifts.plan_of(cancelled.plan_id).await?.ok_or(PageError::NotFound)?;
    if !access.may(Permission::Employees, plan.site_id) {
        return Err(PageError::Forbidden);
    }
    cancelled.photo_file.ok_or(PageError::NotFound)
}

async fn page(app: &App, visitor: &Visitor, refused: Option<SiteRefusal>) -> Result<Response, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::Employees) {
        return Err(PageError::Forbidden);
    }
    let mut sites = access.sites_with_deleted(app).await?;
    sites.retain(|site| access.may(Permission::Employees, site.id));
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let waiting = Shifts::of_app(app).cancellations(&ids).await?;
    let people: BTreeSet<i64> = waiting.iter().map(|(one, _)| one.user_id).collect();
    let names = app.people.names(people).await?;
    let photos = waiting.iter().filter_map(|(one, _)| one.photo_file.as_deref());
    let photos = attachments::find(app.domain.read(), photos).await?;
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-cancellations");
    let body = html! {
        h1 { (title) }
        p.quiet { (text!(language, "cabinet-cancellations-about")) }
        @if let Some(why) = refused { p.notice-line role="status" data-testid="notice" { (why.text(language)) } }
        div #cancellations data-live={ (TOPIC) " " (attachments::TOPIC) } {
            @if waiting.is_empty() { div.card.empty { (text!(language, "cabinet-no-cancellations")) } }
            @for (one, plan) in &waiting {
                @let name = names.get(&one.user_id).map_or("–", String::as_str);
                @let photo = one.photo_file.as_ref().map(|file| photos.get(file).unwrap_or(&Attachment::Pending));
                (card(visitor, &access, (one, plan), sites.iter().find(|site| site.id == plan.site_id), name, photo))
            }
        }
    };
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok((status, visitor.page(&title, &body)).into_response())
}

fn card(
    visitor: &Visitor,
    access: &Access,
    (one, plan): (&Cancellation, &Plan),
    site: Option<&Site>,
    name: &str,
    photo: Option<&Attachment>,
) -> Markup {
    let language = visitor.language();
    let button = |accepted: bool, class: &str, caption: String| {
        visitor.visit.form(
            &format!("/cancellations/{}/judge", one.id),
            &html! {
                input type="hidden" name="accepted" value=(accepted);
                button class=(class) type="submit" data-testid={ "accepted-" (accepted) } { (caption) }
            },
        )
    };
    html! {
        section.card data-testid={ "cancellation-" (one.id) } {
            h2 { (name) }
            p {
                @if let Some(site) = site {
                    (site.about.name) ", " (local(plan.period.from, site.about.time_zone).format("%d.%m.%Y %H:%M")) " "
                }
                @if one.is_short_notice { span.badge.pending { (text!(language, "cabinet-short-notice")) } }
            }
            p { (one.reason.text(language)) @if let Some(words) = &one.words { ": " (words) } }
            @if let Some(document) = &one.document { p.quiet { (text!(language, "cabinet-document")) ": " (document) } }
            p.quiet { (text!(language, "cabinet-cancelled-at")) " " (moment(one.cancelled_at)) }
            @if let Some(file) = photo {
                div.papers { (media::medium(visitor, &ShownMedia { path: format!("/cancellations/{}/photo", one.id), file, sent: String::new() })) }
            }
            @if access.decides_on(one.user_id) {
                div.row {
                    (button(true, "", text!(language, "cabinet-accept")))
                    (button(false, "danger", text!(language, "cabinet-reject")))
                }
            } @else { p.quiet data-testid="own-case" { (SiteRefusal::OwnCase.text(language)) } }
        }
    }
}
