//! Events for open pages about plans, shifts and openings.
//!
//! They carry ids only, and go to the person and to people who may see the site. Other workers of the site learn only
//! that places have changed.

use opora::bot::Bot;
use opora::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TOPIC;
use super::api::Shifts;
use crate::application::App;
use crate::person::{OWNERS, Permission};
use crate::web::Event;

const EFFECT: &str = "shift-updates";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShiftEventKind {
    PlanCreated,
    PlanCancelled,
    PlanMissed,
    /// Staff judged a cancellation.
    CancellationJudged,
    ShiftCreated,
    /// A task was marked, or a photo arrived.
    ShiftChanged,
    ShiftClosed,
    SiteOpened,
    SiteClosed,
}

/// An event with its person, shift and site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShiftEvent {
    pub happened: ShiftEventKind,
    /// None if the event concerns no shift.
    pub shift_id: Option<i64>,
    pub user_id: i64,
    /// None if the shift determines it. Without site and shift only owners and the person are told.
    site_id: Option<i64>,
}

impl ShiftEventKind {
    /// The permissions that allow to see the event; any of them is enough. Judging concerns employees and changes pay.
    const fn required_permissions(self) -> &'static [Permission] {
        match self {
            Self::CancellationJudged => &[Permission::Employees, Permission::Finances],
            _ => &[Permission::View],
        }
    }
}

impl ShiftEvent {
    pub const fn new(happened: ShiftEventKind, user_id: i64) -> Self {
        Self { happened, shift_id: None, user_id, site_id: None }
    }

    pub const fn of_shift(happened: ShiftEventKind, shift_id: i64, user_id: i64) -> Self {
        Self { happened, shift_id: Some(shift_id), user_id, site_id: None }
    }

    /// The event with its site.
    #[must_use]
    pub const fn at(self, site_id: i64) -> Self {
        Self { site_id: Some(site_id), ..self }
    }

    /// Publishes the event to the pages of the person and of people who may see the site. Workers there learn that
    /// places have changed.
    pub fn publish(self, app: &App) {
        self.events().into_iter().for_each(|event| app.events.publish(event));
    }

    fn events(self) -> Vec<Event> {
        let Self { happened, shift_id, user_id, site_id } = self;
        let payload = json!({ "type": happened, "shift_id": shift_id, "user_id": user_id });
        let mut events = vec![Event::to_person(TOPIC, user_id).with(&payload)];
        let Some(site_id) = site_id else {
            events.push(Event::to_roles(TOPIC, OWNERS).with(&payload));
            return events;
        };
        let permitted =
            happened.required_permissions().iter().map(|needs| Event::to_permitted(TOPIC, *needs, &[site_id]));
        events.extend(permitted.map(|event| event.with(&payload)));
        // A place was taken or freed. Workers reload, but do not learn whose place it is.
        if matches!(happened, ShiftEventKind::PlanCreated | ShiftEventKind::PlanCancelled) {
            events.push(Event::to_workers_at(TOPIC, &[site_id]));
        }
        events
    }

    /// Publishes the event once the turn has committed.
    pub fn after(self, turn: &mut Turn) {
        turn.effect_without_outcome(EFFECT, &self);
    }
}

/// Registers the effect that publishes events of turns. A shift has no id before its commit, so the id is looked up
/// here.
pub fn register_effect(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |asked| {
        let app = app.clone();
        async move {
            let mut update: ShiftEvent = asked.read()?;
            let shifts = Shifts::of_app(&app);
            if update.happened == ShiftEventKind::ShiftCreated && update.shift_id.is_none() {
                update.shift_id = shifts.active_of(update.user_id).await?.map(|shift| shift.id);
            }
            if let (None, Some(id)) = (update.site_id, update.shift_id) {
                update.site_id = shifts.shift(id).await?.map(|shift| shift.site_id);
            }
            update.publish(&app);
            Ok(Value::Null)
        }
    })
}
