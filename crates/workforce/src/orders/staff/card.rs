//! The card of an order: what the person may see of it, and a button for everything that the person can do now.

use chrono_tz::Tz;
use opora::prelude::*;

use super::acting::{self, Direct};
use super::order_button::OrderButton;
use super::visit::{self, Visit};
use super::work::{self, Asked};
use super::{OrderWork, complete, list, order_reader, status_text};
use crate::application::App;
use crate::front::navigation::menu_of_question;
use crate::front::reply;
pub use crate::notices::order_buttons::{OPEN, open_button};
use crate::orders::{
    Actor, OrderDetails, OrderRefusal, OrderRole, OrderStatus, Orders, SeenOrder, may_go, reason_text,
};
use crate::settings::TIME_ZONE;
use crate::text;
use crate::texts::Language;

pub async fn open(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some(person) = order_reader(turn).await? else { return Ok(Next::Stay) };
    let language = person.language;
    let app = turn.context::<App>();
    let details = match press.rest.parse() {
        Ok(id) => Orders::of_app(&app).details(&Actor::Member(person.clone()), id).await?,
        Err(_) => None,
    };
    let Some(details) = details else { return turn.refuse(OrderRefusal::Gone.text(language)) };
    let zone = app.settings.get(&TIME_ZONE).await?;
    let mut rows = buttons(&details, language);
    rows.push(vec![
        Button::new(text!(language, "back-button"), list::back_of(&details.seen)),
        menu_of_question(language),
    ]);
    reply::show(turn, text(&details, zone, language), rows);
    Ok(Next::Stay)
}

/// What the person may see of the order.
fn text(details: &OrderDetails, zone: Tz, language: Language) -> String {
    let order = &details.seen.order;
    let about = &order.about;
    let number = order.number.to_string();
    let mut lines = vec![text!(language, "orders-card", number = number, status = status_text(order.status, language))];
    let mut fact = |caption: String, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            lines.push(format!("{caption}: {value}"));
        }
    };
    fact(text!(language, "orders-equipment-button"), Some(about.equipment_type.clone()));
    fact(text!(language, "orders-description-button"), Some(about.description.clone()));
    fact(text!(language, "orders-name-button"), Some(about.client_name.clone()));
    fact(text!(language, "orders-phone-button"), Some(about.phone.clone()));
    fact(text!(language, "orders-address-button"), Some(about.address.clone()));
    fact(text!(language, "orders-notes-button"), about.notes.clone());
    fact(text!(language, "orders-time-button"), about.window.map(|window| window.local(zone).shown(language)));
    let master = order.master_id.and_then(|id| details.names.get(&id).cloned());
    fact(text!(language, "orders-chat-master"), master);
    fact(text!(language, "orders-offered-to"), Some(asked(details)));
    let until = order.progress.long_repair_until.filter(|_| order.status == OrderStatus::LongRepair);
    fact(text!(language, "orders-chat-repair-until"), until.map(|day| crate::texts::day(day, language)));
    fact(text!(language, "orders-chat-total"), order.money.total.map(|total| total.shown(language)));
    let sees_share = details.seen.roles.iter().any(|role| matches!(role, OrderRole::Owner | OrderRole::Master));
    let share = order.money.share.filter(|_| sees_share);
    fact(text!(language, "orders-chat-share"), share.map(|share| share.shown(language)));
    fact(text!(language, "orders-chat-reason"), order.refusal_reason.as_deref().map(|why| reason_text(why, language)));
    let done = details.checklist.iter().filter(|item| item.done_at.is_some()).count();
    let checklist = format!("{done}/{}", details.checklist.len());
    fact(text!(language, "orders-chat-checklist"), Some(checklist).filter(|_| !details.checklist.is_empty()));
    fact(text!(language, "orders-chat-files"), Some(details.files.len().to_string()).filter(|count| count != "0"));
    lines.join("\n")
}

/// The masters with an open offer.
fn asked(details: &OrderDetails) -> String {
    let open = details.offers.iter().filter(|offer| offer.answer.is_none() && offer.until.is_some());
    let names: Vec<_> = open.filter_map(|offer| details.names.get(&offer.master_id).cloned()).collect();
    names.join(", ")
}

/// A button for each thing that the person can do now, at most two in a row.
fn buttons(details: &OrderDetails, language: Language) -> Vec<Vec<Button>> {
    let seen = &details.seen;
    let mut all = Vec::new();
    if dispatches(seen) {
        all.extend(of_dispatcher(details, language));
    }
    if seen.roles.contains(&OrderRole::Master) {
        all.extend(of_master(details, language));
    }
    let may_refuse = may_go(seen.order.status, OrderStatus::Refused, &seen.roles);
    all.extend(may_refuse.then(|| work::button_of(Asked::Refuse, seen, language)));
    all.chunks(2).map(<[Button]>::to_vec).collect()
}

pub fn dispatches(seen: &SeenOrder) -> bool {
    seen.roles.iter().any(|role| [OrderRole::Dispatcher, OrderRole::Owner].contains(role))
}

fn of_dispatcher(details: &OrderDetails, language: Language) -> Vec<Button> {
    let seen = &details.seen;
    let order = &seen.order;
    let data = |prefix: &str| OrderButton::data(prefix, order.id, Some(order.version), "");
    let mut all = Vec::new();
    if order.progress.confirmed_at.is_none() && order.status.is_open() {
        all.push(acting::button_of(Direct::Confirm, seen, language));
    }
    match order.status {
        OrderStatus::New => {
            all.push(Button::new(text!(language, "orders-assign-button"), data(acting::MASTERS)));
            if asked(details).is_empty() {
                all.push(Button::new(text!(language, "orders-offer-button"), data(acting::OFFERS)));
            } else {
                all.push(acting::button_of(Direct::Withdraw, seen, language));
            }
        }
        OrderStatus::Refused => all.push(acting::button_of(Direct::Reopen, seen, language)),
        OrderStatus::Closed => {}
        _ => {
            all.push(Button::new(text!(language, "orders-reassign-button"), data(acting::MASTERS)));
            all.push(work::button_of(Asked::TakeBack, seen, language));
        }
    }
    if order.status.is_open() {
        all.push(work::button_of(Asked::Reschedule, seen, language));
        all.push(Button::new(text!(language, "orders-edit-button"), data(work::FIELDS)));
    }
    all
}

/// What the master of the order can do. What is not possible yet is not offered.
fn of_master(details: &OrderDetails, language: Language) -> Vec<Button> {
    let seen = &details.seen;
    let visit = |what: Visit| visit::button_of(what, seen, language);
    let direct = |what: Direct| acting::button_of(what, seen, language);
    let checklist = (!details.checklist.is_empty()).then(|| visit::checklist_button(seen, language));
    let all = match seen.order.status {
        OrderStatus::New | OrderStatus::Assigned => {
            return vec![direct(Direct::Accept), work::button_of(Asked::Decline, seen, language)];
        }
        OrderStatus::Accepted => {
            vec![visit(Visit::Way), direct(Direct::Arrive), visit(Visit::Before), visit(Visit::Repair)]
        }
        OrderStatus::OnSite => {
            vec![complete::button_of(seen, language), visit(Visit::Before), visit(Visit::After), visit(Visit::Repair)]
        }
        OrderStatus::LongRepair => {
            vec![visit(Visit::Way), direct(Direct::Resume), complete::button_of(seen, language), visit(Visit::After)]
        }
        OrderStatus::Closed | OrderStatus::Refused => return Vec::new(),
    };
    let moves = (!dispatches(seen)).then(|| work::button_of(Asked::Reschedule, seen, language));
    all.into_iter().chain(checklist).chain([visit(Visit::Message)]).chain(moves).collect()
}
