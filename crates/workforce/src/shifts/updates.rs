//! What open pages are told of plans, shifts and openings: what has happened, to which shift, and whose it is.
//!
//! Numbers only, and only to the person and to those who may see the site: owners, and managers with a permission for it.
//! What people typed is nowhere in it. Others who plan there are told that there is something new, and not what.

use opora::bot::Bot;
use opora::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TOPIC;
use super::doors::Shifts;
use crate::application::App;
use crate::person::{OWNERS, Permission};
use crate::web::Event;

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
    pub happened: Happened,
    /// None where it is about no shift.
    pub shift_id: Option<i64>,
    pub user_id: i64,
    /// Where; none where the shift says it. Without either only owners and the person are told.
    site_id: Option<i64>,
}

impl Happened {
    /// Permissions for the site, each of which shows it: judging is for those who look after employees, and changes pay.
    const fn seen_with(self) -> &'static [Permission] {
        match self {
            Self::CancellationJudged => &[Permission::Employees, Permission::Finances],
            _ => &[Permission::View],
        }
    }
}

impl Update {
    pub const fn new(happened: Happened, user_id: i64) -> Self {
        Self { happened, shift_id: None, user_id, site_id: None }
    }

    pub const fn of_shift(happened: Happened, shift_id: i64, user_id: i64) -> Self {
        Self { happened, shift_id: Some(shift_id), user_id, site_id: None }
    }

    /// The same, saying at which site.
    #[must_use]
    pub const fn at(self, site_id: i64) -> Self {
        Self { site_id: Some(site_id), ..self }
    }

    /// Tells open pages: those of people who may see the site, and the person's; and of those who plan there, that places
    /// have changed.
    pub fn publish(self, app: &App) {
        self.events().into_iter().for_each(|event| app.events.publish(event));
    }

    fn events(self) -> Vec<Event> {
        let Self { happened, shift_id, user_id, site_id } = self;
        let told = json!({ "type": happened, "shift_id": shift_id, "user_id": user_id });
        let mut events = vec![Event::to_person(TOPIC, user_id).with(&told)];
        let Some(site_id) = site_id else {
            events.push(Event::to_roles(TOPIC, OWNERS).with(&told));
            return events;
        };
        let permitted = happened.seen_with().iter().map(|needs| Event::to_permitted(TOPIC, *needs, &[site_id]));
        events.extend(permitted.map(|event| event.with(&told)));
        // A place was taken, or is free again: whoever plans looks anew, and is not told whose it is.
        if matches!(happened, Happened::PlanCreated | Happened::PlanCancelled) {
            events.push(Event::to_workers_at(TOPIC, &[site_id]));
        }
        events
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
            let shifts = Shifts::of_app(&app);
            if update.happened == Happened::ShiftCreated && update.shift_id.is_none() {
                update.shift_id = shifts.active_of(update.user_id).await?.map(|shift| shift.id);
            }
            if let (None, Some(id)) = (update.site_id, update.shift_id) {
                update.site_id = shifts.of(id).await?.map(|shift| shift.site_id);
            }
            update.publish(&app);
            Ok(Value::Null)
        }
    })
}
