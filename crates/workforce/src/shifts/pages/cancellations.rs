//! Reasons of those who cancelled a plan, and judging them.

use std::collections::BTreeSet;

use axum::Form;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::media::{self, Paper};
use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::person::Permission;
use crate::shifts::{Cancellation, Plan, Shifts, TOPIC};
use crate::sites::pages::{Access, why};
use crate::sites::{Site, Why, local};
use crate::text;
use crate::web::{Oops, SignedIn, Visitor, moment};

#[derive(Debug, Deserialize)]
pub struct Judged {
    accepted: bool,
}

/// `GET /cancellations`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, Oops> {
    page(&app, &visitor, None).await
}

/// `POST /cancellations/<id>/judge`.
pub async fn judge(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(judged): Form<Judged>,
) -> Result<Response, Oops> {
    match Shifts::of_app(&app).judge(&visitor.person, id, judged.accepted).await {
        Ok(()) => Ok(Redirect::to("/cancellations").into_response()),
        Err(error) => page(&app, &visitor, Some(why(error)?)).await,
    }
}

/// `GET /cancellations/<id>/photo`: what proves the reason, for whoever judges it.
pub async fn photo(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    let photo = photo_of(&app, &visitor, id).await?;
    media::file(&app, &visitor, &photo, &headers).await
}

/// `POST /cancellations/<id>/photo/again`.
pub async fn photo_again(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, Oops> {
    let photo = photo_of(&app, &visitor, id).await?;
    attachments::try_again(&app, photo).await?;
    Ok(Redirect::to("/cancellations").into_response())
}

async fn photo_of(app: &App, visitor: &Visitor, id: i64) -> Result<String, Oops> {
    let (access, shifts) = (Access::of(app, &visitor.person).await?, Shifts::of_app(app));
    let cancelled = shifts.cancellation(id).await?.ok_or(Oops::NotFound)?;
    let plan = shifts.plan_of(cancelled.plan_id).await?.ok_or(Oops::NotFound)?;
    if !access.may(Permission::Employees, plan.site_id) {
        return Err(Oops::Forbidden);
    }
    cancelled.photo_file.ok_or(Oops::NotFound)
}

async fn page(app: &App, visitor: &Visitor, refused: Option<Why>) -> Result<Response, Oops> {
    let access = Access::of(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::Employees) {
        return Err(Oops::Forbidden);
    }
    let mut sites = access.sites_ever(app).await?;
    sites.retain(|site| access.may(Permission::Employees, site.id));
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let waiting = Shifts::of_app(app).cancellations(&ids).await?;
    let people: BTreeSet<i64> = waiting.iter().map(|(one, _)| one.user_id).collect();
    let names = app.people.names(people).await?;
    let photos = waiting.iter().filter_map(|(one, _)| one.photo_file.as_deref());
    let photos = attachments::of(app.domain.read(), photos).await?;
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-cancellations");
    let body = html! {
        h1 { (title) }
        p.quiet { (text!(language, "cabinet-cancellations-about")) }
        @if let Some(why) = refused { p.notice-line role="status" data-testid="notice" { (why.words(language)) } }
        div #cancellations data-live={ (TOPIC) " " (attachments::TOPIC) } {
            @if waiting.is_empty() { div.card.empty { (text!(language, "cabinet-no-cancellations")) } }
            @for (one, plan) in &waiting {
                @let name = names.get(&one.user_id).map_or("–", String::as_str);
                @let photo = one.photo_file.as_ref().map(|file| photos.get(file).unwrap_or(&Attachment::Awaited));
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
    let button = |accepted: bool, class: &str, words: String| {
        visitor.visit.form(
            &format!("/cancellations/{}/judge", one.id),
            &html! {
                input type="hidden" name="accepted" value=(accepted);
                button class=(class) type="submit" data-testid={ "accepted-" (accepted) } { (words) }
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
            p { (one.reason.words(language)) @if let Some(words) = &one.words { ": " (words) } }
            @if let Some(document) = &one.document { p.quiet { (text!(language, "cabinet-document")) ": " (document) } }
            p.quiet { (text!(language, "cabinet-cancelled-at")) " " (moment(one.cancelled_at)) }
            @if let Some(file) = photo {
                div.papers { (media::medium(visitor, &Paper { path: format!("/cancellations/{}/photo", one.id), file, sent: String::new() })) }
            }
            @if access.decides_on(one.user_id) {
                div.row {
                    (button(true, "", text!(language, "cabinet-accept")))
                    (button(false, "danger", text!(language, "cabinet-reject")))
                }
            } @else { p.quiet data-testid="own-case" { (Why::OwnCase.words(language)) } }
        }
    }
}
