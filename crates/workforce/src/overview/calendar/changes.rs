//! The forms of the calendar and of slots.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use opora::clock::Millis;

use super::page;
use super::place::CalendarQuery;
use super::slot::{self, OtherPersonRefusal};
use super::slot_form::{read_days, read_slot};
use super::undo::Done;
use crate::application::App;
use crate::domain;
use crate::sites::pages::tasks;
use crate::sites::{AboutSlot, ActionError, FillDays, NewSlots, Sites, WhichDays, monday_of};
use crate::web::form::{FieldErrors, Fields, Reader, Submitted, submit, version_of, version_only};
use crate::web::{DayParam, PageError, SignedIn, Visitor};

/// `POST /calendar/slots`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let site = number(&typed, "site")?;
    let query = CalendarQuery { panel: "new".to_owned(), ..CalendarQuery::after_form(&typed, site, "day") };
    let api = Sites::of_app(&app);
    let act =
        async |about| api.create_slot(&visitor.person, site, about).await.map(|slot| Some(Done::Created { slot }));
    answer(&app, &visitor, &query, submit(&visitor, typed, read_slot, act).await?).await
}

/// `POST /calendar/slots/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, version, from) = (Sites::of_app(&app), version_of(&typed), CalendarQuery::of_form(&typed));
    let before = api.slot(id).await?.filter(|slot| slot.version == version).map(|slot| slot.about);
    let act = async |about| as_other_person(api.edit_slot(&visitor.person, id, version, about).await);
    let result = submit(&visitor, typed, read_slot, act).await?;
    let done = Done::Saved { slot: id, version: version.saturating_add(1), before };
    slot::answer(&app, &visitor, (id, from), result.map(|()| done)).await
}

/// `POST /calendar/slots/<id>/move`: moves a slot to another day. If that fails, the calendar says why.
pub async fn move_to_day(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let slot = api.slot(id).await?.ok_or(PageError::NotFound)?;
    let (day, version) = (DayParam::from_field(&typed, "day").day()?, version_of(&typed));
    let (from, about) = (slot.about.day, AboutSlot { day, ..slot.about });
    let after = CalendarQuery::after_form(&typed, slot.site_id, "day");
    let before = CalendarQuery::of_form(&typed).unwrap_or_else(|| after.clone());
    let act = async |_| as_other_person(api.edit_slot(&visitor.person, id, version, about).await);
    match submit(&visitor, typed, version_only, act).await? {
        Submitted::Done(()) => {
            let done = Done::Moved { slot: id, version: version.saturating_add(1), from };
            Ok(done.redirect(&visitor, &after))
        }
        // Nothing was typed, so nothing has to be shown again.
        Submitted::Refused(attempt) => page(&app, &visitor, &before, attempt.at("", Fields::new())).await,
    }
}

/// `POST /calendar/slots/<id>/tasks`: creates a task of this slot.
pub async fn create_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let slot = Sites::of_app(&app).slot(id).await?.ok_or(PageError::NotFound)?;
    let result = tasks::create(&app, &visitor, slot.site_id, Some(id), typed).await?;
    slot::answer_task(&app, &visitor, id, result).await
}

/// `POST /calendar/slots/<id>/tasks/<task>`.
pub async fn edit_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let result = tasks::edit(&app, &visitor, task, typed).await?;
    slot::answer_task(&app, &visitor, id, result).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/delete`.
pub async fn delete_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let result = tasks::delete(&app, &visitor, task, typed).await?;
    slot::answer_task(&app, &visitor, id, result).await
}

/// `POST /calendar/slots/<id>/tasks/<task>/restore`.
pub async fn restore_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    let result = tasks::restore(&app, &visitor, task).await?;
    slot::answer_task(&app, &visitor, id, result).await
}

/// `POST /calendar/slots/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, from) = (Sites::of_app(&app), CalendarQuery::of_form(&typed));
    let act = async |version| api.delete_slot(&visitor.person, id, version).await;
    match (submit(&visitor, typed, version_only, act).await?, from) {
        (Submitted::Done(()), Some(from)) => Ok(Done::Deleted { slot: id }.redirect(&visitor, &from)),
        (result, from) => slot::answer(&app, &visitor, (id, from), result.map(|()| Done::Deleted { slot: id })).await,
    }
}

/// `POST /calendar/slots/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, from) = (Sites::of_app(&app), CalendarQuery::of_form(&typed));
    let version = api.slot(id).await?.ok_or(PageError::NotFound)?.version;
    let act = async |_| api.restore_slot(&visitor.person, id).await;
    let done = Done::Restored { slot: id, version: version.saturating_add(1) };
    match (submit(&visitor, typed, version_only, act).await?, from) {
        (Submitted::Done(()), Some(from)) => Ok(done.redirect(&visitor, &from)),
        (result, from) => slot::answer(&app, &visitor, (id, from), result.map(|()| done)).await,
    }
}

/// `POST /calendar/copy-week`.
pub async fn copy_week(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let site = number(&typed, "site")?;
    let query = CalendarQuery { panel: "copy".to_owned(), ..CalendarQuery::after_form(&typed, site, "to") };
    let api = Sites::of_app(&app);
    let act = async |(from, to)| {
        api.copy_week(&visitor.person, site, monday_of(from), monday_of(to)).await.map(|new| added(site, new))
    };
    answer(&app, &visitor, &query, submit(&visitor, typed, read_days, act).await?).await
}

/// `POST /calendar/fill`: creates a slot on every day, or on every working day.
pub async fn fill(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let site = number(&typed, "site")?;
    let query = CalendarQuery { panel: "fill".to_owned(), ..CalendarQuery::after_form(&typed, site, "from") };
    let api = Sites::of_app(&app);
    let read = |typed: &Fields| {
        let (first, last) = read_days(typed)?;
        let is_every = typed.get("which").is_some_and(|which| which == "every");
        let which = if is_every { WhichDays::Every } else { WhichDays::Working };
        let like = typed.clone().into_iter().chain([("day".to_owned(), first.to_string())]).collect();
        Ok::<_, FieldErrors>((FillDays { first, last, which }, read_slot(&like)?))
    };
    let act = async |(days, like)| api.fill(&visitor.person, site, days, like).await.map(|new| added(site, new));
    answer(&app, &visitor, &query, submit(&visitor, typed, read, act).await?).await
}

/// `POST /calendar/take-back`: undoes a copy or a filling.
pub async fn take_back(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let site = number(&typed, "site")?;
    let query = CalendarQuery::after_form(&typed, site, "");
    let api = Sites::of_app(&app);
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let created_at = Millis(reader.number("created_at"));
        reader.bad.or(created_at)
    };
    let act = async |created_at| {
        let taken_back = api.take_back_slots(&visitor.person, site, created_at).await;
        taken_back.map(|count| Some(Done::TakenBack { count }))
    };
    answer(&app, &visitor, &query, submit(&visitor, typed, read, act).await?).await
}

const fn added(site: i64, NewSlots { count, created_at_ms }: NewSlots) -> Option<Done> {
    Some(Done::Added { site, created_at_ms, count })
}

/// A refusal to move a slot concerns the people who planned it.
fn as_other_person(result: Result<(), ActionError>) -> Result<(), domain::ActionError<OtherPersonRefusal>> {
    result.map_err(|error| error.map_refusal(OtherPersonRefusal))
}

/// Redirects to the calendar with what was done, or shows the refused form again.
async fn answer(
    app: &App,
    visitor: &Visitor,
    query: &CalendarQuery,
    result: Submitted<Option<Done>>,
) -> Result<Response, PageError> {
    match result {
        Submitted::Done(Some(done)) => Ok(done.redirect(visitor, query)),
        Submitted::Done(None) => Ok(Redirect::to(&query.path()).into_response()),
        Submitted::Refused(attempt) => page(app, visitor, query, attempt).await,
    }
}

fn number(typed: &Fields, name: &str) -> Result<i64, PageError> {
    typed.get(name).and_then(|text| text.parse().ok()).ok_or(PageError::BadRequest)
}
