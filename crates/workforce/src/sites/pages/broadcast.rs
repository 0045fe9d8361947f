//! Messages to the people of a site: writing one, a preview with the number of recipients, progress and history.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::access::Access;
use crate::application::App;
use crate::key;
use crate::person::{Permission, Person, Status};
use crate::sites::{BroadcastDraft, Site, SiteBroadcast, Sites};
use crate::text;
use crate::web::form::{FieldErrors, Fields, FormAttempt, Reader, Submitted, form_key, submit, version_only};
use crate::web::{PageError, SignedIn, Visitor};

mod view;

/// The field of a form that was confirmed after the preview.
const CONFIRMED: &str = "confirmed";

/// The data of the page.
pub struct BroadcastPage {
    pub site: Site,
    /// The people with an active contract here, by name.
    pub workers: Vec<Person>,
    pub broadcasts: Vec<SiteBroadcast>,
    pub authors: std::collections::HashMap<i64, String>,
    /// A message to be confirmed.
    pub preview: Option<BroadcastDraft>,
}

/// `GET /sites/<id>/broadcast`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let page = load(&app, &visitor, id).await?;
    Ok(view::page(&visitor, &page, &FormAttempt::default()).into_response())
}

/// `POST /sites/<id>/broadcast`: shows a preview first, and sends the message once that is confirmed.
pub async fn send(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let mut page = load(&app, &visitor, id).await?;
    let path = visitor.visit.path().to_owned();
    if !typed.contains_key(CONFIRMED)
        && let Ok(draft) = read(&typed, &page.workers)
    {
        page.preview = Some(draft);
        return Ok(view::page(&visitor, &page, &FormAttempt::default().at(path, typed)).into_response());
    }
    let api = Sites::of_app(&app).once(form_key(&visitor, &typed));
    let act = async |draft| api.send_broadcast(&visitor.person, id, draft).await.map(drop);
    match submit(&visitor, typed, |typed| read(typed, &page.workers), act).await? {
        Submitted::Done(()) => {
            let done = text!(visitor.language(), "cabinet-broadcast-begun");
            Ok(visitor.redirect(path).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => Ok((attempt.status(), view::page(&visitor, &page, &attempt)).into_response()),
    }
}

/// `POST /sites/<id>/broadcast/<broadcast>/cancel`.
pub async fn cancel(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, broadcast)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    let page = load(&app, &visitor, id).await?;
    let api = Sites::of_app(&app);
    let act = async |_| api.cancel_broadcast(&visitor.person, id, broadcast).await;
    match submit(&visitor, Fields::new(), version_only, act).await? {
        Submitted::Done(()) => {
            let done = text!(visitor.language(), "cabinet-broadcast-stopped");
            Ok(visitor.redirect(path(id)).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => Ok((attempt.status(), view::page(&visitor, &page, &attempt)).into_response()),
    }
}

fn path(site_id: i64) -> String {
    format!("/sites/{site_id}/broadcast")
}

async fn load(app: &App, visitor: &Visitor, id: i64) -> Result<BroadcastPage, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may(Permission::Employees, id) {
        return Err(PageError::Forbidden);
    }
    let api = Sites::of_app(app);
    let site = api.site(id).await?.ok_or(PageError::NotFound)?;
    let (ids, broadcasts) = tokio::try_join!(api.workers_at(id, api.today_at(&site)), api.broadcasts(id))?;
    let mut workers = app.people.with_ids(&ids.into_iter().collect::<Vec<_>>()).await?;
    workers.retain(|person| person.status == Status::Verified);
    workers.sort_by(|one, other| one.full_name.cmp(&other.full_name).then(one.id.cmp(&other.id)));
    let authors = app.people.names(broadcasts.iter().map(|one| one.author_id)).await?;
    Ok(BroadcastPage { site, workers, broadcasts, authors, preview: None })
}

/// What to type into the fields.
const HELP: [(&str, &str); 2] =
    [("text", key!("cabinet-bad-broadcast-text")), ("recipients", key!("cabinet-bad-broadcast-recipients"))];

fn read(typed: &Fields, workers: &[Person]) -> Result<BroadcastDraft, FieldErrors> {
    let reader = Reader::new(typed);
    let draft = BroadcastDraft {
        text: reader.clean_lines("text"),
        recipients: workers.iter().map(|person| person.id).filter(|id| reader.tick(&person_field(*id))).collect(),
    };
    let invalid = draft.invalid_fields();
    reader.finish(draft, &invalid, &HELP)
}

fn person_field(id: i64) -> String {
    format!("person{id}")
}
