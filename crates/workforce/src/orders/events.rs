//! Events for open pages: an order has changed.

use opora::bot::Bot;
use opora::turn::Turn;
use sea_orm::EntityTrait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TOPIC;
use super::tables::order;
use crate::application::App;
use crate::person::{DISPATCHERS, MASTERS};
use crate::web::Event;

const EFFECT: &str = "orders:changed";

/// An order has changed, or was created.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OrderEvent {
    /// None for an order that a turn creates: it has no id before the commit.
    pub order_id: Option<i64>,
}

impl OrderEvent {
    pub const fn of(order_id: i64) -> Self {
        Self { order_id: Some(order_id) }
    }

    /// Tells open pages: those of dispatchers and owners with the id, those of masters without.
    pub fn publish(self, app: &App, status: Option<&str>) {
        let update = json!({ "type": "order_changed", "order_id": self.order_id, "status": status });
        app.events.publish(Event::to_roles(TOPIC, DISPATCHERS).with(&update));
        app.events.publish(Event::to_roles(TOPIC, MASTERS));
        app.bot.wake_jobs();
    }

    /// Tells open pages after the turn's commit, and sends the news at once.
    pub fn after(self, turn: &mut Turn) {
        turn.effect_without_outcome(EFFECT, &self);
    }
}

pub fn register_effect(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |asked| {
        let app = app.clone();
        async move {
            let event: OrderEvent = asked.read()?;
            let row = match event.order_id {
                Some(id) => order::Entity::find_by_id(id).one(app.domain.read()).await?,
                None => None,
            };
            event.publish(&app, row.as_ref().map(|row| row.status.as_str()));
            Ok(Value::Null)
        }
    })
}
