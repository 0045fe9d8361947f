//! Shifts: plans, shifts, their tasks, and openings of sites.
//!
//! [`Shifts`] holds the public functions of this room. Each marked task and each photo is committed at once. Closing
//! commits the shift, its plan and the adjustments together. How adjustments are calculated is the room of
//! [payroll](crate::payroll).

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::Script;
use opora::store::{BoxError, WriteError};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::api::{Dashboard, EndTime, Shifts};
pub use self::cancellation_cost::{CancellationCost, Fines};
pub use self::chat::{caption, distance_text};
pub use self::events::{ShiftEvent, ShiftEventKind};
pub use self::expected_pay::ExpectedPay;
pub use self::judging::{DecidedCancellation, DecidedPage, Judgement, judge, take_back};
pub use self::lateness::late_text;
pub use self::listing::{PageStart, ShiftCursor, ShiftFilter, ShiftPage};
pub use self::plans::{CancellationDetails, cancel, cancel_by_staff, plan};
pub use self::records::{
    Cancellation, CancellationStatus, ClosedBy, Medium, MediumKind, Opening, Plan, PlanStatus, Reason, Shift,
    ShiftStatus, ShiftTask, tasks_of,
};
pub use self::rules::{
    LONG_DAY_MINUTES, Overdue, PayRules, day_of, is_missing, minutes_late, minutes_of_day, overdue, plannable,
    shift_adjustments, too_far,
};
pub use self::task_effect::TaskEffect;
pub use self::working::{
    Proof, ShiftEnd, ShiftStart, attach, close, close_site, end_opening, mark, open, open_next, open_site, post, unmark,
};
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::key;
use crate::payroll::Unsettled;
use crate::person::{JUDGES, Permission, Person, SHIFT_READERS};
use crate::rooms::{GivenBack, MenuItem, MenuPart, PendingWork, Room};
use crate::settings;
use crate::sites::{ChangedBy, Period, Site};
use crate::texts::Language;
use crate::web::ui::Icon;
use crate::web::{NavItem, Routes};

mod api;
mod attendance;
mod cancellation_cost;
mod cancelling;
mod chat;
mod closing;
mod events;
mod expected_pay;
mod file_access;
mod given_back;
pub mod jobs;
mod judging;
mod lateness;
mod listing;
mod marking;
mod menu;
mod mine;
mod opening;
pub mod pages;
pub mod paging;
mod personal_data;
mod planning;
mod plans;
mod records;
mod rules;
mod site_access;
mod site_opening;
mod tables;
mod task_effect;
mod undone_tasks;
mod unsettled;
mod working;

/// The topic that pages name in `data-live` to follow plans, shifts and openings.
pub const TOPIC: &str = "shifts";
/// Data of the button that begins to plan a shift.
pub const PLAN_A_SHIFT: &str = planning::BEGIN;

#[derive(Debug)]
pub struct ShiftsRoom;

impl Room for ShiftsRoom {
    fn name(&self) -> &'static str {
        "shifts"
    }

    fn dialogues(&self, script: Script) -> Script {
        script
            .dialogue(planning::dialogue())
            .dialogue(opening::dialogue())
            .dialogue(marking::dialogue())
            .dialogue(closing::dialogue())
            .dialogue(site_opening::dialogue())
            .dialogue(cancelling::dialogue())
    }

    fn effects(&self, app: &App, bot: Bot) -> Bot {
        events::register_effect(app, bot)
    }

    fn menu(&self) -> Vec<MenuItem> {
        menu::ALL.to_vec()
    }

    fn menu_now<'a>(
        &'a self,
        app: &'a App,
        person: &'a Person,
        now: Millis,
    ) -> BoxFuture<'a, Result<MenuPart, BoxError>> {
        Box::pin(menu::now(app, person, now))
    }

    fn shows_keyboard(&self, turn: &Turn) -> bool {
        opening::shows_keyboard(turn) || closing::shows_keyboard(turn) || site_opening::shows_keyboard(turn)
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(key!("cabinet-nav-shifts"), "/shifts", Icon::Clock, SHIFT_READERS),
            NavItem::new(key!("cabinet-nav-cancellations"), "/cancellations", Icon::NoEntry, JUDGES)
                .needs(Permission::Employees)
                .with_badge(TOPIC),
        ]
    }

    fn nav_badges<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<(&'static str, u64)>, DbErr>> {
        Box::pin(async move {
            if !viewer.may(JUDGES) {
                return Ok(Vec::new());
            }
            Ok(vec![("/cancellations", Shifts::of_app(app).count_cancellations(viewer).await?)])
        })
    }

    fn cancel_pending_work<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        by: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        Box::pin(personal_data::give_places_back(db, person_id, at, ChangedBy { person: by, at }))
    }

    fn pending_work<'a>(
        &'a self,
        app: &'a App,
        person_id: i64,
        language: Language,
    ) -> BoxFuture<'a, Result<PendingWork, DbErr>> {
        Box::pin(given_back::pending_work(app, person_id, language))
    }

    fn given_back<'a>(
        &'a self,
        app: &'a App,
        person_id: i64,
        language: Language,
    ) -> BoxFuture<'a, Result<Vec<GivenBack>, DbErr>> {
        Box::pin(given_back::given_back(app, person_id, language))
    }

    fn restore_work<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        by: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        Box::pin(given_back::restore(db, person_id, ChangedBy { person: by, at }))
    }

    fn after_block(&self, app: &App, person_id: i64) {
        // The person's places are free now, or taken again.
        ShiftEvent::new(ShiftEventKind::PlanCancelled, person_id).publish(app);
    }

    fn unsettled<'a>(
        &'a self,
        app: &'a App,
        first: NaiveDate,
        last: NaiveDate,
    ) -> BoxFuture<'a, Result<Unsettled, DbErr>> {
        Box::pin(async move { Shifts::of_app(app).unsettled(first, last).await })
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(personal_data::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(personal_data::forget(db, person.id, at))
    }

    fn file_permissions<'a>(
        &'a self,
        domain: &'a Domain,
        telegram_file: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(Permission, i64)>, DbErr>> {
        Box::pin(file_access::file_permissions(domain, telegram_file))
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.scheduled(jobs::Remind {}, "*/30 * * * *", jobs::remind)
            .scheduled(jobs::CloseOverdue {}, "*/30 * * * *", jobs::close_overdue)
            .scheduled(jobs::NoteMissed {}, "*/10 * * * *", jobs::note_missed)
            .scheduled(jobs::PostMissing {}, "*/10 * * * *", jobs::post_missing)
    }
}

/// A time range as text, by the site's clock: the day, the start and the end.
pub fn when(period: Period, site: &Site, language: Language) -> String {
    period.local(site.about.time_zone).shown(language)
}

/// The hours of a period by the clock of the site: `09:00–18:00`.
pub fn hours(period: Period, site: &Site, language: Language) -> String {
    period.local(site.about.time_zone).hours(language)
}

async fn fines_from_settings(app: &App) -> Result<Fines, DbErr> {
    Ok(Fines {
        notice_hours: app.settings.get(&settings::CANCEL_NOTICE_HOURS).await?.into(),
        short_notice: app.settings.get(&settings::CANCEL_SHORT_NOTICE_FINE).await?.into(),
        invalid_reason: app.settings.get(&settings::CANCEL_INVALID_REASON_FINE).await?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application;
    use crate::rooms::Rooms;

    #[test]
    fn stored_state_names_stay() {
        let script = application::script(&Rooms::new(&[&ShiftsRoom]));
        let places: Vec<_> = script.dialogue_states().filter(|(dialogue, _)| *dialogue != "front").collect();
        let expected: [(&str, &[&str]); 6] = [
            ("plan_shift", &["site", "free", "day", "slot", "confirm"]),
            ("open_shift", &["choose", "position"]),
            ("my_tasks", &["list", "media"]),
            ("close_shift", &["review", "position"]),
            ("site_doors", &["open_which", "position", "close_which", "closing"]),
            ("cancel_plan", &["reason", "words", "document", "photo"]),
        ];
        assert_eq!(places, expected);
    }
}
