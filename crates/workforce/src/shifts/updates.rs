//! What open pages are told of plans, shifts and openings: what has happened, to which shift, and whose it is.
//!
//! Numbers only, and only to staff and to the person: what people typed is nowhere in it. Others who plan are told that
//! there is something new, and not what.

use opora::bot::Bot;
use opora::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::doors::Shifts;
use super::{TOPIC, WORKERS};
use crate::application::App;
use crate::web::{Event, STAFF};

const EFFECT: &str = "shift-updates";

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    PlanCreated,
    PlanCancelled,
    PlanMissed,
    /// A moderator judged why somebody had cancelled.
    CancellationJudged,
    ShiftCreated,
    /// A task was marked, or a picture came.
    ShiftChanged,
    ShiftClosed,
    SiteOpened,
    SiteClosed,
}

/// One of these, and about whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    #[serde(rename = "type")]
    pub happened: Happened,
    /// None where it is about no shift.
    pub shift_id: Option<i64>,
    pub user_id: i64,
}

impl Update {
    pub const fn new(happened: Happened, user_id: i64) -> Self {
        Self { happened, shift_id: None, user_id }
    }

    pub const fn of_shift(happened: Happened, shift_id: i64, user_id: i64) -> Self {
        Self { happened, shift_id: Some(shift_id), user_id }
    }

    /// Tells open pages: those of staff, and the person's; and of those who plan, that places have changed.
    pub fn publish(self, app: &App) {
        app.events.publish(Event::to_roles(TOPIC, STAFF).with(&self));
        app.events.publish(Event::to_person(TOPIC, self.user_id).with(&self));
        // A place was taken, or is free again: whoever plans looks anew, and is not told whose it is.
        if matches!(self.happened, Happened::PlanCreated | Happened::PlanCancelled) {
            app.events.publish(Event::to_roles(TOPIC, WORKERS));
        }
    }

    /// The same once a turn has committed.
    pub fn after(self, turn: &mut Turn) {
        turn.effect_without_outcome(EFFECT, &self);
    }
}

/// Lets a bot publish what its turns ask for. A shift has no number before the commit that opens it, so it is looked up.
pub fn work(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |asked| {
        let app = app.clone();
        async move {
            let mut update: Update = asked.read()?;
            if update.happened == Happened::ShiftCreated && update.shift_id.is_none() {
                update.shift_id = Shifts::of_app(&app).active_of(update.user_id).await?.map(|shift| shift.id);
            }
            update.publish(&app);
            Ok(Value::Null)
        }
    })
}
