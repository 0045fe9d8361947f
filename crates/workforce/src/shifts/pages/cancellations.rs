//! Cancellations: those that wait for a decision, and the decided ones, which can be taken back.

use std::collections::{BTreeSet, HashMap};

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use opora::clock::Millis;
use serde::Deserialize;

use super::media;
use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::money::Money;
use crate::person::Permission;
use crate::shifts::{Cancellation, DecidedPage, Fines, Judgement, Plan, Shifts};
use crate::sites::pages::{Access, refusal};
use crate::sites::{Site, SiteRefusal};
use crate::text;
use crate::web::ui::{PageRedirect, Toast};
use crate::web::{PageError, SignedIn, Visitor};

mod view;

/// How many waiting cases a page shows, so that it stays small. The others move up as these are decided.
const MAX_SHOWN: usize = 25;
/// The undecided cancellations.
const WAITING: &str = "/cancellations";
/// The decided ones.
const DECIDED: &str = "/cancellations?show=decided";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    /// `decided`, or empty for those that wait.
    show: String,
    /// The start of a page of decided ones: when the first was decided, and its id.
    from: String,
}

#[derive(Debug, Deserialize)]
pub struct JudgementForm {
    accepted: bool,
    /// The fine in kopecks that the page named. Rejecting needs it.
    fine: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct TakeBackForm {
    /// When the decision was made that the page showed.
    decided_at: i64,
}

/// What the page lists.
enum Listed {
    Waiting(Vec<(Cancellation, Plan)>),
    Decided(DecidedPage),
}

/// The data of the page.
struct CancellationPage<'a> {
    visitor: &'a Visitor,
    access: Access,
    listed: Listed,
    /// How many wait.
    waiting: usize,
    fines: Fines,
    sites: Vec<Site>,
    names: HashMap<i64, String>,
    photos: HashMap<String, Attachment>,
    refused: Option<SiteRefusal>,
}

/// `GET /cancellations`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    page(&app, &visitor, &query, None).await
}

/// `POST /cancellations/<id>/judge`.
pub async fn judge(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(form): Form<JudgementForm>,
) -> Result<Response, PageError> {
    let seen_fine = form.fine.map(Money::from_kopecks);
    if !form.accepted && seen_fine.is_none() {
        return Err(PageError::BadRequest);
    }
    let judgement = Judgement { is_accepted: form.accepted, seen_fine };
    let (shifts, language) = (Shifts::of_app(&app), visitor.language());
    if let Err(error) = shifts.judge_as_seen(&visitor.person, id, judgement).await {
        return page(&app, &visitor, &ListQuery::default(), Some(refusal(error)?)).await;
    }
    let done = judgement.done_text(language);
    let decided_at = shifts.cancellation(id).await?.and_then(|one| one.decided_at);
    let toast = match decided_at {
        Some(at) => {
            let path = format!("{WAITING}/{id}/take-back");
            Toast::new(done).action(text!(language, "cabinet-take-back"), path, &[("decided_at", at.0.to_string())])
        }
        None => Toast::new(done),
    };
    Ok(PageRedirect::to(WAITING).with(toast).into_response())
}

/// `POST /cancellations/<id>/take-back`.
pub async fn take_back(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(form): Form<TakeBackForm>,
) -> Result<Response, PageError> {
    match Shifts::of_app(&app).take_back(&visitor.person, id, Millis(form.decided_at)).await {
        Ok(()) => {
            let done = text!(visitor.language(), "sites-taken-back");
            Ok(PageRedirect::to(WAITING).with_toast(done).into_response())
        }
        Err(error) => {
            let decided = ListQuery { show: "decided".to_owned(), from: String::new() };
            page(&app, &visitor, &decided, Some(refusal(error)?)).await
        }
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
    let done = text!(visitor.language(), "cabinet-media-asked-again");
    Ok(PageRedirect::to(WAITING).with_toast(done).into_response())
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

async fn page(
    app: &App,
    visitor: &Visitor,
    query: &ListQuery,
    refused: Option<SiteRefusal>,
) -> Result<Response, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::Employees) {
        return Err(PageError::Forbidden);
    }
    let mut sites = access.sites_with_deleted(app).await?;
    sites.retain(|site| access.may(Permission::Employees, site.id));
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let shifts = Shifts::of_app(app);
    let (mut pending, fines) = tokio::try_join!(shifts.cancellations(&ids), shifts.fines())?;
    let waiting = pending.len();
    pending.truncate(MAX_SHOWN);
    let listed = if query.show == "decided" {
        Listed::Decided(shifts.decided_cancellations(&ids, page_start(&query.from)?).await?)
    } else {
        Listed::Waiting(pending)
    };
    let names = app.people.names(listed.people()).await?;
    let photos = attachments::find(app.domain.read(), listed.photos()).await?;
    let shown = CancellationPage { visitor, access, listed, waiting, fines, sites, names, photos, refused };
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok((status, shown.draw()).into_response())
}

/// The start of a page: `1767268800000-352`.
fn page_start(text: &str) -> Result<Option<(Millis, i64)>, PageError> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = text.split_once('-').and_then(|(at, id)| Some((Millis(at.parse().ok()?), id.parse().ok()?)));
    parsed.map(Some).ok_or(PageError::NotFound)
}

impl Listed {
    /// Everybody whom the page names.
    fn people(&self) -> BTreeSet<i64> {
        match self {
            Self::Waiting(waiting) => {
                waiting.iter().flat_map(|(one, _)| [Some(one.user_id), one.reversed_by]).flatten().collect()
            }
            Self::Decided(page) => {
                let people = |one: &Cancellation| [Some(one.user_id), one.decided_by];
                page.cases.iter().flat_map(|case| people(&case.cancelled)).flatten().collect()
            }
        }
    }

    /// The files of the evidence.
    fn photos(&self) -> Vec<&str> {
        match self {
            Self::Waiting(waiting) => waiting.iter().filter_map(|(one, _)| one.photo_file.as_deref()).collect(),
            Self::Decided(page) => page.cases.iter().filter_map(|case| case.cancelled.photo_file.as_deref()).collect(),
        }
    }
}
