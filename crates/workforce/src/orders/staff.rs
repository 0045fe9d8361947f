//! The staff's side of orders in the chat: dispatchers create orders.

use opora::dialogue::Script;
use opora::prelude::*;

use super::{OrderRefusal, OrderStatus, SeenOrder};
use crate::application::App;
use crate::domain::RefusalReason;
use crate::front;
use crate::person::{DISPATCHERS, Person, Role};
use crate::rooms::{MenuItem, MenuPart};
use crate::texts::Language;
use crate::{key, text};

pub mod new_order;
mod typed_time;

/// People whose work is orders.
const ORDER_TEAM: &[Role] = &[Role::Dispatcher, Role::Master];

const NEW: MenuItem = MenuItem { caption: key!("orders-new-button"), data: new_order::BEGIN, roles: DISPATCHERS };

/// The items of the main menu.
pub fn menu() -> Vec<MenuItem> {
    vec![NEW]
}

/// The menu of a person now. Owners see orders only in a firm that has dispatchers or masters.
pub async fn menu_now(app: &App, person: &Person) -> Result<MenuPart, BoxError> {
    let items: Vec<_> = menu().into_iter().filter(|item| person.may(item.roles)).collect();
    let is_idle = items.is_empty() || !person.may(ORDER_TEAM) && app.people.with_any(ORDER_TEAM).await?.is_empty();
    if is_idle {
        return Ok(MenuPart::default());
    }
    let buttons = items.into_iter().map(|item| item.button(person.language)).collect();
    Ok(MenuPart { lines: Vec::new(), buttons })
}

pub fn dialogues(script: Script) -> Script {
    script.dialogue(new_order::dialogue())
}

/// The speaker, if a dispatcher or an owner writes in a private chat. Others get a refusal.
async fn dispatcher(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, DISPATCHERS).await
}

/// Why the commit of this turn was refused, if it was.
fn refused(turn: &Turn) -> Option<OrderRefusal> {
    turn.refusal().map(|refusal| OrderRefusal::parse(&refusal.0).unwrap_or(OrderRefusal::NotAllowed))
}

/// An order in one line: number, status, equipment.
fn line(seen: &SeenOrder, language: Language) -> String {
    let (number, equipment) = (seen.order.number.to_string(), seen.order.about.equipment_type.as_str());
    let status = status_text(seen.order.status, language);
    text!(language, "orders-line", number = number, status = status, equipment = equipment)
}

fn status_text(status: OrderStatus, language: Language) -> String {
    let sign = match status {
        OrderStatus::New => "🆕",
        OrderStatus::Assigned => "👉",
        OrderStatus::Accepted => "👍",
        OrderStatus::OnSite => "🔧",
        OrderStatus::LongRepair => "🛠",
        OrderStatus::Closed => "✅",
        OrderStatus::Refused => "✖️",
    };
    format!("{sign} {}", status.text(language))
}
