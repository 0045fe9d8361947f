//! Shifts: the list of a period, and one shift with its tasks and how each amount came about.

use std::collections::HashMap;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{Days, NaiveDate, NaiveDateTime};
use chrono_tz::Tz;
use opora::clock::Millis;
use opora::telegram::{FileRef, Say};
use serde::Deserialize;

use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::domain::days;
use crate::money::Money;
use crate::person::{Permission, Person};
use crate::settings::TIME_ZONE;
use crate::shifts::{Ending, From, Listed, Mark, Medium, MediumKind, Shift, ShiftTask, Shifts, Whose, overdue};
use crate::sites::pages::Access;
use crate::sites::{Period, Site, Sites, local};
use crate::web::form::{Attempt, Fields, Reader, carry_out};
use crate::web::{AskedDay, Oops, SignedIn, Visitor};

mod view;

pub use self::view::state;

/// How many shifts a page has.
const PAGE: usize = 50;
/// How far back the list begins, where nobody says.
const USUAL_DAYS: u64 = 30;
/// What a caption may have.
const CAPTION_MOST: usize = 500;
/// More than that is not shown at once.
const DAYS_MOST: u64 = 366;
const MINUTE_MS: i64 = 60_000;
/// What the form says of the end of a shift.
const END_NOW: &str = "now";
const END_BY_ITSELF: &str = "by_itself";
const END_AT: &str = "at";
/// How browsers write a day and a time.
const TYPED_TIME: &str = "%Y-%m-%dT%H:%M";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    from: AskedDay,
    to: AskedDay,
    site: String,
    /// Whether one's own are wanted, wherever they were; any text.
    mine: String,
    /// Where another page ended.
    before: String,
    after: String,
}

/// What the list shows.
struct List {
    from: NaiveDate,
    to: NaiveDate,
    /// Where the days begin that were asked for, if they are more than are shown at once.
    cut_from: Option<NaiveDate>,
    site: Option<i64>,
    /// One's own alone.
    is_mine: bool,
    /// Where the pages around this one begin.
    newer: Option<Mark>,
    older: Option<Mark>,
    shifts: Vec<Shift>,
    /// Those that may be chosen, and those of the shifts.
    sites: Vec<Site>,
    seen_sites: Vec<Site>,
    names: HashMap<i64, String>,
    totals: HashMap<i64, Money>,
}

/// What a shift's page shows.
struct Whole {
    shift: Shift,
    person: Person,
    site: Site,
    tasks: Vec<ShiftTask>,
    media: Vec<Medium>,
    /// By Telegram's ids.
    files: HashMap<String, Attachment>,
    lines: Vec<crate::payroll::Line>,
    /// Amounts are for owners, for whoever may see finances, and for the person.
    may_see_pay: bool,
    /// The site's page is for those who run it.
    may_see_site: bool,
    may_close: bool,
    /// When it would have ended by itself, where that is over.
    over_since: Option<Millis>,
    now: Millis,
}

/// `GET /shifts`: everybody's where one may see them, or one's own wherever they were.
pub async fn list(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    let access = Access::of(&app, &visitor.person).await?;
    let zone = app.settings.get(&TIME_ZONE).await?;
    let today = local(app.clock.now(), zone).date();
    let to = wanted.to.or(today)?;
    let wanted_from = wanted.from.or(to.checked_sub_days(Days::new(USUAL_DAYS)).unwrap_or(to))?.min(to);
    // Of too many days the last ones are shown, with a way to those before.
    let from = wanted_from.max(to.checked_sub_days(Days::new(DAYS_MOST - 1)).unwrap_or(to));
    let days = u64::try_from((to - from).num_days()).unwrap_or_default() + 1;
    let period = Period::of_days(from, days, zone).ok_or(Oops::BadRequest)?;
    let (from_mark, site) = (from_mark(&wanted)?, wanted.site.parse::<i64>().ok());
    let may_see_others = access.may_somewhere(Permission::View);
    let is_mine = !may_see_others || !wanted.mine.is_empty();
    let sites = if may_see_others { access.sites_ever(&app).await? } else { Vec::new() };
    let ids: Vec<i64> = sites.iter().map(|one| one.id).filter(|id| site.is_none_or(|site| site == *id)).collect();
    let whose = if is_mine { Whose::Person(visitor.person.id) } else { Whose::Sites(&ids) };
    let Listed { shifts, newer, older } = Shifts::of_app(&app).listed(whose, period, from_mark, PAGE).await?;
    let seen_sites = if is_mine {
        Sites::of_app(&app).with_ids(&shifts.iter().map(|shift| shift.site_id).collect::<Vec<_>>()).await?
    } else {
        sites.clone()
    };
    let mut seen: Vec<i64> = shifts.iter().filter(|one| sees_pay(&access, &visitor, one)).map(|one| one.id).collect();
    seen.sort_unstable();
    let totals = app.payroll.totals_of_shifts(&seen).await?;
    let names = app.people.names(shifts.iter().map(|shift| shift.user_id)).await?;
    let cut_from = (wanted_from < from).then_some(wanted_from);
    let list = List { from, to, cut_from, site, is_mine, newer, older, shifts, sites, seen_sites, names, totals };
    Ok(view::list(&visitor, &list, may_see_others).into_response())
}

/// `GET /shifts/<id>`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn, Path(id): Path<i64>) -> Result<Response, Oops> {
    let whole = whole(&app, &visitor, id).await?;
    Ok(view::shift(&visitor, &whole, &Attempt::default()).into_response())
}

/// `POST /shifts/<id>/close`: somebody forgot, and somebody in charge sees it and says when it ended.
pub async fn close(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Shifts::of_app(&app);
    let shift = doors.of(id).await?.ok_or(Oops::NotFound)?;
    let site = Sites::of_app(&app).of(shift.site_id).await?.ok_or(Oops::NotFound)?;
    let read = |typed: &Fields| read_ending(typed, &shift, site.about.time_zone);
    let act = async |ending| doors.close_as_of(&visitor.person, id, ending).await;
    match carry_out(&visitor, typed, read, act).await? {
        Ok(()) => Ok(Redirect::to(&format!("/shifts/{id}")).into_response()),
        Err(attempt) => {
            let whole = whole(&app, &visitor, id).await?;
            Ok((attempt.status(), view::shift(&visitor, &whole, &attempt)).into_response())
        }
    }
}

/// `POST /shifts/<id>/photos`: Telegram keeps what was sent too, and shows it to whoever asks here.
pub async fn photos(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, Oops> {
    let whole = whole(&app, &visitor, id).await?;
    let (chat, at) = (visitor.person.telegram_id, app.clock.now().0);
    let messages = whole.media.iter().map(|medium| {
        let file = FileRef::id(medium.telegram_file.as_str());
        let shown = match medium.kind {
            MediumKind::Photo => Say::photo(file),
            MediumKind::Video => Say::video(file),
            MediumKind::VideoNote => return (chat, Say::video_note(file)),
            MediumKind::Document => Say::document(file),
        };
        let task = whole.tasks.iter().find(|task| task.id == medium.shift_task_id);
        let caption = task.map_or_else(String::new, |task| format!("{}: {}", whole.person.full_name, task.text));
        (chat, shown.caption(caption.chars().take(CAPTION_MOST).collect::<String>()))
    });
    let sent = app.bot.post_all(&format!("shift-photos-{id}-{chat}-{at}"), messages.collect()).await;
    sent.map_err(|error| {
        tracing::debug!(%error, shift = id, "photos are not sent now");
        Oops::Unavailable
    })?;
    Ok(Redirect::to(&format!("/shifts/{id}")).into_response())
}

async fn whole(app: &App, visitor: &Visitor, id: i64) -> Result<Whole, Oops> {
    let (access, doors) = (Access::of(app, &visitor.person).await?, Shifts::of_app(app));
    let shift = seen(app, &access, visitor, id).await?;
    let site = Sites::of_app(app).of(shift.site_id).await?.ok_or(Oops::NotFound)?;
    let person = app.people.by_id(shift.user_id).await?.ok_or(Oops::NotFound)?;
    let may_see_pay = sees_pay(&access, visitor, &shift);
    let (tasks, media) = (doors.tasks(&[id]).await?, doors.media(id).await?);
    let files = attachments::of(app.domain.read(), media.iter().map(|one| one.telegram_file.as_str())).await?;
    let lines = if may_see_pay { app.payroll.of_shift(id).await? } else { Vec::new() };
    let may_handle = access.may(Permission::Schedule, shift.site_id) && access.decides_on(shift.user_id);
    let may_close = shift.ended_at.is_none() && may_handle;
    let now = app.clock.now();
    let over = overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about).ends_at;
    let over_since = (over <= now).then_some(over);
    let may_see_site = access.may(Permission::View, shift.site_id);
    Ok(Whole { shift, person, site, tasks, media, files, lines, may_see_pay, may_see_site, may_close, over_since, now })
}

/// When a shift has ended, as its form says it: by the clock of its site. A form that says nothing means now.
fn read_ending(typed: &Fields, shift: &Shift, zone: Tz) -> Result<Ending, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    match reader.words("end").as_str() {
        "" | END_NOW => return Ok(Ending::Now),
        END_BY_ITSELF => return Ok(Ending::ByItself),
        END_AT => {}
        _ => return Err(vec!["end"]),
    }
    let at = reader.read("time", |text| {
        let local: NaiveDateTime = text.parse().or_else(|_| NaiveDateTime::parse_from_str(text, TYPED_TIME)).ok()?;
        if !days::is_kept(local.date()) {
            return None;
        }
        Some(local.and_local_timezone(zone).earliest()?.timestamp_millis())
    });
    if !reader.bad.is_empty() {
        return Err(reader.bad);
    }
    // Nobody types seconds: the minute in which it began is its beginning.
    let is_same_minute = at / MINUTE_MS == shift.started_at.0 / MINUTE_MS;
    Ok(Ending::At(if is_same_minute { shift.started_at } else { Millis(at) }))
}

/// A shift, for whoever may see it: whose it is, and whoever may look at its site.
pub(super) async fn seen(app: &App, access: &Access, visitor: &Visitor, id: i64) -> Result<Shift, Oops> {
    let shift = Shifts::of_app(app).of(id).await?.ok_or(Oops::NotFound)?;
    let is_own = shift.user_id == visitor.person.id;
    if is_own || access.may(Permission::View, shift.site_id) { Ok(shift) } else { Err(Oops::Forbidden) }
}

/// Where a page begins that was asked for.
fn from_mark(wanted: &Wanted) -> Result<From, Oops> {
    let mark = |text: &str| text.parse::<Mark>().map_err(|_| Oops::NotFound);
    match (wanted.before.as_str(), wanted.after.as_str()) {
        ("", "") => Ok(From::Newest),
        ("", after) => Ok(From::After(mark(after)?)),
        (before, _) => Ok(From::Before(mark(before)?)),
    }
}

fn sees_pay(access: &Access, visitor: &Visitor, shift: &Shift) -> bool {
    shift.user_id == visitor.person.id || access.may(Permission::Finances, shift.site_id)
}

/// How long somebody has worked, until now if the shift is open.
fn worked_seconds(shift: &Shift, now: Millis) -> i64 {
    (shift.ended_at.unwrap_or(now).0 - shift.started_at.0) / 1000
}
