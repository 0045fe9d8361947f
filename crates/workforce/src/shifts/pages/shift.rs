//! The list of shifts, and one shift with its tasks and adjustments.

use std::collections::HashMap;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{Days, NaiveDate};
use opora::clock::Millis;
use opora::telegram::{FileRef, Say};
use serde::Deserialize;

use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::money::Money;
use crate::person::{Permission, Person};
use crate::settings::TIME_ZONE;
use crate::shifts::{
    Medium, MediumKind, PageStart, Shift, ShiftCursor, ShiftFilter, ShiftPage, ShiftTask, Shifts, overdue,
};
use crate::sites::pages::Access;
use crate::sites::{Period, Site, Sites, local};
use crate::text;
use crate::web::form::FormAttempt;
use crate::web::{DayParam, PageError, SignedIn, Visitor};

mod closing;
mod view;

pub use self::closing::close;
use self::closing::{OfferedEnd, offered_ends};
pub use self::view::state;

const PAGE_SIZE: usize = 50;
/// The default length of the listed period.
const DEFAULT_DAYS: u64 = 30;
const MAX_CAPTION_LENGTH: usize = 500;
/// The longest period that is shown at once.
const MAX_DAYS: u64 = 366;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    from: DayParam,
    to: DayParam,
    site: String,
    /// Any text limits the list to the person's own shifts, at all sites.
    mine: String,
    /// The cursors of neighbouring pages.
    before: String,
    after: String,
}

/// The data of the list.
struct ShiftList {
    from: NaiveDate,
    to: NaiveDate,
    /// The requested start, if the period was too long and is cut.
    cut_from: Option<NaiveDate>,
    site: Option<i64>,
    /// Only the visitor's own shifts.
    is_mine: bool,
    /// The cursors of the neighbouring pages.
    newer: Option<ShiftCursor>,
    older: Option<ShiftCursor>,
    shifts: Vec<Shift>,
    /// The sites of the filter, and those of the shifts.
    sites: Vec<Site>,
    seen_sites: Vec<Site>,
    names: HashMap<i64, String>,
    totals: HashMap<i64, Money>,
}

/// The data of a shift's page.
struct ShiftDetails {
    shift: Shift,
    person: Person,
    site: Site,
    tasks: Vec<ShiftTask>,
    media: Vec<Medium>,
    /// By Telegram's file id.
    files: HashMap<String, Attachment>,
    lines: Vec<crate::payroll::Adjustment>,
    /// The price of a mandatory task without its own.
    mandatory_task_penalty: Money,
    /// Owners, managers with the permission for finances, and the person see amounts.
    may_see_pay: bool,
    /// Whether to link to the site's page.
    may_see_site: bool,
    may_close: bool,
    /// The ends that the form offers to people who may close it.
    ends: Vec<OfferedEnd>,
    /// When it would have ended automatically, if that time has passed.
    over_since: Option<Millis>,
    now: Millis,
}

/// `GET /shifts`: all visible shifts, or the visitor's own at all sites.
pub async fn list(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    let access = Access::for_person(&app, &visitor.person).await?;
    let zone = app.settings.get(&TIME_ZONE).await?;
    let today = local(app.clock.now(), zone).date();
    let to = query.to.day_or(today)?;
    let requested_from = query.from.day_or(to.checked_sub_days(Days::new(DEFAULT_DAYS)).unwrap_or(to))?.min(to);
    // A period that is too long is cut; the page links to the earlier days.
    let from = requested_from.max(to.checked_sub_days(Days::new(MAX_DAYS - 1)).unwrap_or(to));
    let days = u64::try_from((to - from).num_days()).unwrap_or_default() + 1;
    let period = Period::of_days(from, days, zone).ok_or(PageError::BadRequest)?;
    let (page_start, site) = (page_start(&query)?, query.site.parse::<i64>().ok());
    let may_see_others = access.may_somewhere(Permission::View);
    let is_mine = !may_see_others || !query.mine.is_empty();
    let sites = if may_see_others { access.sites_with_deleted(&app).await? } else { Vec::new() };
    let ids: Vec<i64> = sites.iter().map(|one| one.id).filter(|id| site.is_none_or(|site| site == *id)).collect();
    let filter = if is_mine { ShiftFilter::Person(visitor.person.id) } else { ShiftFilter::Sites(&ids) };
    let ShiftPage { shifts, newer, older } =
        Shifts::of_app(&app).list_page(filter, period, page_start, PAGE_SIZE).await?;
    let seen_sites = if is_mine {
        Sites::of_app(&app).with_ids(&shifts.iter().map(|shift| shift.site_id).collect::<Vec<_>>()).await?
    } else {
        sites.clone()
    };
    let mut seen: Vec<i64> = shifts.iter().filter(|one| sees_pay(&access, &visitor, one)).map(|one| one.id).collect();
    seen.sort_unstable();
    let totals = app.payroll.totals_of_shifts(&seen).await?;
    let names = app.people.names(shifts.iter().map(|shift| shift.user_id)).await?;
    let cut_from = (requested_from < from).then_some(requested_from);
    let list = ShiftList { from, to, cut_from, site, is_mine, newer, older, shifts, sites, seen_sites, names, totals };
    Ok(view::list(&visitor, &list, may_see_others).into_response())
}

/// `GET /shifts/<id>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let details = details(&app, &visitor, id).await?;
    Ok(view::shift(&visitor, &details, &FormAttempt::default()).into_response())
}

/// `POST /shifts/<id>/photos`: sends the media of the shift to the visitor's Telegram chat.
pub async fn photos(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let details = details(&app, &visitor, id).await?;
    let (chat, at) = (visitor.person.telegram_id, app.clock.now().0);
    let messages = details.media.iter().map(|medium| {
        let file = FileRef::id(medium.telegram_file.as_str());
        let shown = match medium.kind {
            MediumKind::Photo => Say::photo(file),
            MediumKind::Video => Say::video(file),
            MediumKind::VideoNote => return (chat, Say::video_note(file)),
            MediumKind::Document => Say::document(file),
        };
        let task = details.tasks.iter().find(|task| task.id == medium.shift_task_id);
        let caption = task.map_or_else(String::new, |task| format!("{}: {}", details.person.full_name, task.text));
        (chat, shown.caption(caption.chars().take(MAX_CAPTION_LENGTH).collect::<String>()))
    });
    let sent = app.bot.post_all(&format!("shift-photos-{id}-{chat}-{at}"), messages.collect()).await;
    sent.map_err(|error| {
        tracing::debug!(%error, shift = id, "photos could not be sent");
        PageError::Unavailable
    })?;
    let done = text!(visitor.language(), "cabinet-photos-sent");
    Ok(visitor.redirect(format!("/shifts/{id}")).with_toast(done).into_response())
}

async fn details(app: &App, visitor: &Visitor, id: i64) -> Result<ShiftDetails, PageError> {
    let (access, api) = (Access::for_person(app, &visitor.person).await?, Shifts::of_app(app));
    let shift = seen(app, &access, visitor, id).await?;
    let site = Sites::of_app(app).site(shift.site_id).await?.ok_or(PageError::NotFound)?;
    let person = app.people.by_id(shift.user_id).await?.ok_or(PageError::NotFound)?;
    let may_see_pay = sees_pay(&access, visitor, &shift);
    let (tasks, media) = (api.tasks(&[id]).await?, api.media(id).await?);
    let files = attachments::find(app.domain.read(), media.iter().map(|one| one.telegram_file.as_str())).await?;
    let lines = if may_see_pay { app.payroll.of_shift(id).await? } else { Vec::new() };
    let mandatory_task_penalty = api.mandatory_task_penalty().await?;
    let may_close = shift.ended_at.is_none() && may_handle(&access, &shift);
    let now = app.clock.now();
    let over = overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about).ends_at;
    let over_since = (over <= now).then_some(over);
    let ends = match may_close {
        true => offered_ends(&api, (&shift, &tasks, &site), over_since, now).await?,
        false => Vec::new(),
    };
    let may_see_site = access.may(Permission::View, shift.site_id);
    Ok(ShiftDetails {
        shift,
        person,
        site,
        tasks,
        media,
        files,
        lines,
        mandatory_task_penalty,
        may_see_pay,
        may_see_site,
        may_close,
        ends,
        over_since,
        now,
    })
}

/// A shift, if it is the visitor's own or the visitor may view its site.
pub(super) async fn seen(app: &App, access: &Access, visitor: &Visitor, id: i64) -> Result<Shift, PageError> {
    let shift = Shifts::of_app(app).shift(id).await?.ok_or(PageError::NotFound)?;
    let is_own = shift.user_id == visitor.person.id;
    if is_own || access.may(Permission::View, shift.site_id) { Ok(shift) } else { Err(PageError::Forbidden) }
}

/// The page that the cursors of the query ask for.
fn page_start(query: &ListQuery) -> Result<PageStart, PageError> {
    let mark = |text: &str| text.parse::<ShiftCursor>().map_err(|_| PageError::NotFound);
    match (query.before.as_str(), query.after.as_str()) {
        ("", "") => Ok(PageStart::Newest),
        ("", after) => Ok(PageStart::After(mark(after)?)),
        (before, _) => Ok(PageStart::Before(mark(before)?)),
    }
}

fn sees_pay(access: &Access, visitor: &Visitor, shift: &Shift) -> bool {
    shift.user_id == visitor.person.id || access.may(Permission::Finances, shift.site_id)
}

/// Whether the visitor may close the shift.
fn may_handle(access: &Access, shift: &Shift) -> bool {
    access.may(Permission::Schedule, shift.site_id) && access.decides_on(shift.user_id)
}

/// The worked time; until now for an open shift.
fn worked_seconds(shift: &Shift, now: Millis) -> i64 {
    (shift.ended_at.unwrap_or(now).0 - shift.started_at.0) / 1000
}
