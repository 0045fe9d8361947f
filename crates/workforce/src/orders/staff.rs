//! The staff's side of orders in the chat: dispatchers create and assign orders, masters work on them.

use opora::dialogue::Script;
use opora::prelude::*;

use super::{OrderRefusal, OrderStatus, SeenOrder};
use crate::application::App;
use crate::domain::RefusalReason;
use crate::front;
use crate::person::{DISPATCHERS, MASTERS, ORDER_READERS, OWNERS, Person, Role};
use crate::rooms::{MenuItem, MenuPart};
use crate::texts::Language;
use crate::{key, text};

use self::new_order::CreateOrderStates;
use self::work::OrderWork;

mod acting;
mod card;
mod complete;
mod list;
mod new_order;
mod order_button;
mod report;
mod typed_time;
mod visit;
mod work;

/// People whose work is orders.
const ORDER_TEAM: &[Role] = &[Role::Dispatcher, Role::Master];

const NEW: MenuItem = MenuItem { caption: key!("orders-new-button"), data: new_order::BEGIN, roles: DISPATCHERS };

const ACTIVE: MenuItem = MenuItem { caption: key!("orders-active-button"), data: list::ACTIVE, roles: DISPATCHERS };
const SEARCH: MenuItem = MenuItem { caption: key!("orders-search-button"), data: list::SEARCH, roles: DISPATCHERS };
const MINE: MenuItem = MenuItem { caption: key!("orders-mine-button"), data: list::MINE, roles: MASTERS };

const REPORT: MenuItem = MenuItem { caption: key!("orders-report-button"), data: report::REPORT, roles: OWNERS };

/// The items of the main menu.
pub fn menu() -> Vec<MenuItem> {
    vec![MINE, NEW, ACTIVE, SEARCH, REPORT]
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
    let script = script.dialogue(new_order::dialogue()).dialogue(work::dialogue());
    script.dialogue(visit::dialogue()).dialogue(complete::dialogue())
}

/// The speaker, if a dispatcher or an owner writes in a private chat. Others get a refusal.
async fn dispatcher(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, DISPATCHERS).await
}

/// The speaker, if a master writes in a private chat. Others get a refusal.
async fn master(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, MASTERS).await
}

/// The speaker, if it is a person who may see orders.
async fn order_reader(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, ORDER_READERS).await
}

/// Begins a question about an order, unless the draft of a new order would be lost.
async fn begins<S>(turn: &mut Turn, state: S) -> Step<S> {
    if turn.draft::<CreateOrderStates>().is_none() {
        return Ok(Next::Go(state));
    }
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.refuse(text!(language, "orders-draft-first-toast"))
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
