//! Staff close a shift on its page. Every offered end names its hours and, for people who may see pay, the total.
//!
//! A typed time has no total until it is sent. Its form is shown once more with the total, and the second press closes
//! the shift.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use super::view::{self, by_clock};
use super::{ShiftDetails, details, may_handle, sees_pay};
use crate::application::App;
use crate::domain::{ActionError, RefusalReason, days};
use crate::key;
use crate::shifts::{EndTime, ExpectedPay, Shift, ShiftTask, Shifts};
use crate::sites::pages::Access;
use crate::sites::{Site, SiteRefusal, Sites, local};
use crate::text;
use crate::texts::Language;
use crate::web::form::{
    FieldError, FieldErrors, Fields, FormAttempt, PageRefusal, PageRefusalKind, Reader, Submitted, fields, submit,
};
use crate::web::ui::{Button, Dialog, Icon};
use crate::web::{PageError, SignedIn, Visitor};

const MINUTE_MS: i64 = 60_000;
/// Values of the form field for the end of a shift.
const END_NOW: &str = "now";
const END_BY_ITSELF: &str = "by_itself";
const END_AT: &str = "at";
/// The typed time and its total as the person saw them. A form without this field closes the shift at once.
const SEEN: &str = "seen";
/// How browsers write a date with a time.
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M";

/// An end that needs no typing.
pub struct OfferedEnd {
    value: &'static str,
    at: Millis,
    pay: ExpectedPay,
}

/// Why a shift was not closed.
#[derive(Clone, Copy, Debug)]
enum ClosingRefusal {
    Site(SiteRefusal),
    /// The person has not seen what the shift pays until the typed time.
    Unseen(ExpectedPay),
}

/// The ends that the page offers: the scheduled one if it has passed, and now.
pub async fn offered_ends(
    api: &Shifts,
    (shift, tasks, site): (&Shift, &[ShiftTask], &Site),
    over_since: Option<Millis>,
    now: Millis,
) -> Result<Vec<OfferedEnd>, PageError> {
    let ends: Vec<_> = over_since.map(|at| (END_BY_ITSELF, at)).into_iter().chain([(END_NOW, now)]).collect();
    let times: Vec<Millis> = ends.iter().map(|(_, at)| *at).collect();
    let pay = api.expected_pay(shift, tasks, site, &times).await?;
    Ok(ends.into_iter().zip(pay).map(|((value, at), pay)| OfferedEnd { value, at, pay }).collect())
}

/// `POST /shifts/<id>/close`: staff close a forgotten shift and say when it ended.
pub async fn close(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, access) = (Shifts::of_app(&app), Access::for_person(&app, &visitor.person).await?);
    let shift = api.shift(id).await?.ok_or(PageError::NotFound)?;
    let site = Sites::of_app(&app).site(shift.site_id).await?.ok_or(PageError::NotFound)?;
    let may_see_pay = sees_pay(&access, &visitor, &shift);
    let seen = typed.get(SEEN).cloned().filter(|_| may_see_pay && may_handle(&access, &shift));
    let read = |typed: &Fields| read_ending(typed, &shift, site.about.time_zone);
    let act = async |ending| -> Result<(), ActionError<ClosingRefusal>> {
        if let (EndTime::At(at), Some(seen)) = (ending, seen)
            && (shift.started_at..=app.clock.now()).contains(&at)
        {
            let tasks = api.tasks(&[id]).await?;
            let pay = api.expected_pay(&shift, &tasks, &site, &[at]).await?.pop().unwrap_or_default();
            if seen != seen_value(at, pay) {
                return Err(ClosingRefusal::Unseen(pay).into());
            }
        }
        api.close_as_of(&visitor.person, id, ending).await.map_err(|error| error.map_refusal(ClosingRefusal::Site))
    };
    match submit(&visitor, typed, read, act).await? {
        Submitted::Done(()) => {
            let done = said(&app, id, may_see_pay, visitor.language()).await?;
            Ok(visitor.redirect(format!("/shifts/{id}")).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => again(&app, &visitor, id, attempt).await,
    }
}

/// The toast after closing, with the total for people who may see it.
async fn said(app: &App, id: i64, may_see_pay: bool, language: Language) -> Result<String, PageError> {
    if !may_see_pay {
        return Ok(text!(language, "cabinet-shift-closed"));
    }
    let lines = app.payroll.of_shift(id).await?;
    let pay = ExpectedPay::of_lines(lines.iter().map(|line| (line.amount, &line.basis)));
    let (hours, total) = (pay.hours.shown(language), pay.total.shown(language));
    Ok(text!(language, "cabinet-shift-closed-total", hours = hours, total = total))
}

/// The page with the refused form. If only the total was missing, the form has it now.
async fn again(app: &App, visitor: &Visitor, id: i64, attempt: FormAttempt) -> Result<Response, PageError> {
    let details = details(app, visitor, id).await?;
    let mut attempt = attempt;
    let ending = read_ending(&attempt.typed, &details.shift, details.site.about.time_zone);
    if let (true, Ok(EndTime::At(at))) = (attempt.is_unconfirmed(&path(id)), ending) {
        let pay = Shifts::of_app(app).expected_pay(&details.shift, &details.tasks, &details.site, &[at]).await?;
        attempt.typed.insert(SEEN.to_owned(), seen_value(at, pay.into_iter().next().unwrap_or_default()));
    }
    Ok((attempt.status(), view::shift(visitor, &details, &attempt)).into_response())
}

fn path(id: i64) -> String {
    format!("/shifts/{id}/close")
}

fn seen_value(at: Millis, pay: ExpectedPay) -> String {
    format!("{} {}", at.0, pay.total.kopecks())
}

/// Reads the end of a shift from its form, by the site's clock. An empty field means now.
fn read_ending(typed: &Fields, shift: &Shift, zone: Tz) -> Result<EndTime, FieldErrors> {
    let mut reader = Reader::new(typed);
    match reader.clean_text("end").as_str() {
        "" | END_NOW => return Ok(EndTime::Now),
        END_BY_ITSELF => return Ok(EndTime::ByItself),
        END_AT => {}
        _ => return Err(FieldError { field: "end", key: key!("web-form-bad-choice") }.into()),
    }
    let at = reader.read("time", key!("web-form-bad-moment"), |text| {
        Some(days::typed_moment(text)?.and_local_timezone(zone).earliest()?.timestamp_millis())
    });
    if !reader.bad.is_empty() {
        return Err(reader.bad);
    }
    // The form has no seconds: the minute of the start means the start itself.
    let is_same_minute = at / MINUTE_MS == shift.started_at.0 / MINUTE_MS;
    Ok(EndTime::At(if is_same_minute { shift.started_at } else { Millis(at) }))
}

/// Whether the refused form is in the dialog, which then says why.
pub fn is_refused(details: &ShiftDetails, attempt: &FormAttempt) -> bool {
    details.may_close && attempt.is_at(&path(details.shift.id))
}

/// The form with which staff close a shift, filled with the most likely end.
pub fn closing(visitor: &Visitor, details: &ShiftDetails, attempt: &FormAttempt) -> Markup {
    let (language, path) = (visitor.language(), path(details.shift.id));
    let usual = details.ends.first().map_or(END_NOW, |end| end.value);
    let time =
        local(details.over_since.unwrap_or(details.now), details.site.about.time_zone).format(TIME_FORMAT).to_string();
    let begins_with = fields([("end", usual.to_owned()), ("time", time)]);
    let filled = attempt.filled(&path, &begins_with, language);
    let offered = details.ends.iter().map(|end| (end.value, caption(details, end, language)));
    let ends: Vec<_> = offered.chain([(END_AT, text!(language, "cabinet-close-at"))]).collect();
    let (button, title) = (text!(language, "cabinet-close-shift"), text!(language, "cabinet-close-shift-sure"));
    let is_open = is_refused(details, attempt);
    let body = html! {
        @if is_open { (attempt.notice(language)) }
        p { (text!(language, "cabinet-close-shift-about")) }
        (visitor.visit.form(&path, &html! {
            @if details.may_see_pay { input type="hidden" name=(SEEN) value=(filled.value(SEEN)); }
            (filled.choice("end", &text!(language, "cabinet-close-end"), &ends))
            (filled.short("time", &text!(language, "cabinet-close-time"), "datetime-local"))
            p.quiet { (text!(language, "cabinet-close-shift-final")) }
            (Button::danger(&button).testid("close-shift").submit())
        }))
    };
    let cancel = text!(language, "cabinet-close-shift-not");
    html! {
        (Button::danger(&text!(language, "cabinet-close-shift-ask")).icon(Icon::Clock).testid("ask-close-shift").opens("close-shift-now"))
        (Dialog { id: "close-shift-now", title: &title, cancel: &cancel, is_open }.render(&body))
    }
}

/// An offered end with its hours, and with the total for people who may see it.
fn caption(details: &ShiftDetails, end: &OfferedEnd, language: Language) -> String {
    let when = match end.value {
        END_BY_ITSELF => text!(language, "cabinet-close-over", time = by_clock(details, end.at, language)),
        _ => text!(language, "cabinet-close-now"),
    };
    let hours = end.pay.hours.shown(language);
    if details.may_see_pay {
        text!(language, "cabinet-close-pays", end = when, hours = hours, total = end.pay.total.shown(language))
    } else {
        text!(language, "cabinet-close-lasts", end = when, hours = hours)
    }
}

impl RefusalReason for ClosingRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        SiteRefusal::parse(refusal).map(Self::Site)
    }
}

impl PageRefusal for ClosingRefusal {
    fn text(self, language: Language) -> String {
        match self {
            Self::Site(refusal) => refusal.text(language),
            Self::Unseen(pay) => {
                let (hours, total) = (pay.hours.shown(language), pay.total.shown(language));
                text!(language, "cabinet-close-unseen", hours = hours, total = total)
            }
        }
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Site(refusal) => refusal.refusal_kind(),
            Self::Unseen(_) => PageRefusalKind::Unconfirmed,
        }
    }

    fn field_error(self) -> Option<FieldError> {
        match self {
            Self::Site(refusal) => refusal.field_error(),
            Self::Unseen(_) => None,
        }
    }
}
