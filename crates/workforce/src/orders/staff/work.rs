//! What needs words: reasons, a new time, an edited field, a search.

use std::time::Duration;

use opora::prelude::*;

use super::acting::{carry_out, pressed};
use super::order_button::OrderButton;
use super::{begins, card, list, order_reader, report, typed_time};
use crate::application::App;
use crate::front::navigation::{self, BACK, menu_of_question, navigation_row};
use crate::front::reply;
use crate::notices::order_buttons::{ASK, DECLINE};
use crate::orders::{Actor, Command, FieldChange, FieldMistake, OrderRefusal, Orders, SeenOrder, fields};
use crate::person::Person;
use crate::settings::TIME_ZONE;
use crate::sites::{Period, local};
use crate::texts::Language;
use crate::{key, text};

pub const FIELDS: &str = "orders:fields:";
const FIELD: &str = "orders:field:";
const NO_TIME: &str = "orders:no-time";

const EXPIRY: Duration = Duration::from_secs(15 * 60);

/// The states of the dialogue. An order has the version that the person saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order_work")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OrderWork {
    Search,
    Reason(ReasonWanted),
    NewTime { order_id: i64, version: Option<i64> },
    Field { order_id: i64, version: Option<i64>, field: Edited },
}

/// The reason that the dialogue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonWanted {
    order_id: i64,
    version: Option<i64>,
    what: Asked,
    /// The new time of a rescheduled order.
    window: Option<Period>,
}

/// What a reason is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    Refuse,
    TakeBack,
    Decline,
    Reschedule,
}

/// A field that a dispatcher edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edited {
    EquipmentType,
    Description,
    ClientName,
    Address,
    Phone,
    Notes,
}

impl Asked {
    const ALL: [Self; 4] = [Self::Refuse, Self::TakeBack, Self::Decline, Self::Reschedule];

    const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::TakeBack => "take_back",
            Self::Decline => DECLINE,
            Self::Reschedule => "reschedule",
        }
    }

    fn caption(self, language: Language) -> String {
        language.text(match self {
            Self::Refuse => key!("orders-refuse-button"),
            Self::TakeBack => key!("orders-take-back-button"),
            Self::Decline => key!("orders-decline-button"),
            Self::Reschedule => key!("orders-reschedule-button"),
        })
    }

    fn question(self, language: Language) -> String {
        language.text(match self {
            Self::Refuse => key!("orders-ask-refuse"),
            Self::TakeBack => key!("orders-ask-take-back"),
            Self::Decline => key!("orders-ask-decline"),
            Self::Reschedule => key!("orders-ask-reschedule"),
        })
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Refuse => key!("orders-refused"),
            Self::TakeBack => key!("orders-taken-back"),
            Self::Decline => key!("orders-declined"),
            Self::Reschedule => key!("orders-rescheduled"),
        }
    }

    fn command(self, window: Option<Period>, reason: String) -> Command {
        match self {
            Self::Refuse => Command::Refuse { reason },
            Self::TakeBack => Command::TakeBack { reason },
            Self::Decline => Command::Decline { reason },
            Self::Reschedule => Command::Reschedule { window, reason },
        }
    }
}

impl Edited {
    const ALL: [Self; 6] =
        [Self::EquipmentType, Self::Description, Self::ClientName, Self::Address, Self::Phone, Self::Notes];

    const fn name(self) -> &'static str {
        match self {
            Self::EquipmentType => "equipment_type",
            Self::Description => "description",
            Self::ClientName => "client_name",
            Self::Address => "address",
            Self::Phone => "phone",
            Self::Notes => "notes",
        }
    }

    fn caption(self, language: Language) -> String {
        language.text(match self {
            Self::EquipmentType => key!("orders-equipment-button"),
            Self::Description => key!("orders-description-button"),
            Self::ClientName => key!("orders-name-button"),
            Self::Address => key!("orders-address-button"),
            Self::Phone => key!("orders-phone-button"),
            Self::Notes => key!("orders-notes-button"),
        })
    }

    fn now(self, seen: &SeenOrder) -> String {
        let about = seen.order.about.clone();
        match self {
            Self::EquipmentType => about.equipment_type,
            Self::Description => about.description,
            Self::ClientName => about.client_name,
            Self::Address => about.address,
            Self::Phone => about.phone,
            Self::Notes => about.notes.unwrap_or_default(),
        }
    }

    fn change(self, typed: &str) -> Result<FieldChange, FieldMistake> {
        Ok(match self {
            Self::EquipmentType => FieldChange::EquipmentType(fields::equipment_type(typed)?),
            Self::Description => FieldChange::Description(fields::description(typed)?),
            Self::ClientName => FieldChange::ClientName(fields::client_name(typed)?),
            Self::Address => FieldChange::Address(fields::address(typed)?, None),
            Self::Phone => FieldChange::Phone(fields::phone(typed)?),
            Self::Notes => FieldChange::Notes(fields::notes(typed)?.unwrap_or_default()),
        })
    }
}

pub fn dialogue() -> Dialogue<OrderWork> {
    let dialogue = Dialogue::new()
        .start(button(card::OPEN), card::open)
        .start(button(ASK), ask)
        .start(button(FIELDS), choose_field)
        .start(button(FIELD), field)
        .start(button(report::REPORT), report::show)
        .ask(OrderWork::SEARCH, list::ask_search)
        .on(OrderWork::SEARCH, text(), list::searched)
        .on(OrderWork::SEARCH, button(BACK), navigation::back_to_menu)
        .ask(OrderWork::REASON, ask_reason)
        .on(OrderWork::REASON, text(), reason)
        .on(OrderWork::REASON, button(BACK), back_from_reason)
        .ask(OrderWork::NEW_TIME, ask_time)
        .on(OrderWork::NEW_TIME, text(), time)
        .on(OrderWork::NEW_TIME, button(NO_TIME), no_time)
        .on(OrderWork::NEW_TIME, button(BACK), back_from_time)
        .ask(OrderWork::FIELD, ask_field)
        .on(OrderWork::FIELD, text(), edited)
        .on(OrderWork::FIELD, button(BACK), back_from_field)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled);
    list::starts(super::acting::starts(dialogue))
}

/// The button that asks for a reason.
pub fn button_of(what: Asked, seen: &SeenOrder, language: Language) -> Button {
    let data = OrderButton::data(ASK, seen.order.id, Some(seen.order.version), what.name());
    Button::new(what.caption(language), data)
}

async fn ask(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((_, _, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let Some(what) = Asked::ALL.into_iter().find(|what| what.name() == button.rest) else { return Ok(Next::Stay) };
    let OrderButton { order_id, version, .. } = button;
    let state = match what {
        Asked::Reschedule => OrderWork::NewTime { order_id, version },
        what => OrderWork::Reason(ReasonWanted { order_id, version, what, window: None }),
    };
    begins(turn, state).await
}

async fn ask_reason(turn: &mut Turn, wanted: ReasonWanted) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, wanted.order_id).await? else { return Ok(()) };
    show_question(turn, &person, &seen, wanted.what.question(person.language), Vec::new());
    Ok(())
}

/// Shows a question about an order.
pub fn show_question(turn: &mut Turn, person: &Person, seen: &SeenOrder, question: String, mut rows: Vec<Vec<Button>>) {
    let number = text!(person.language, "orders-chat-number", number = seen.order.number.to_string());
    rows.push(navigation_row(person.language));
    reply::show(turn, format!("{number} {question}"), rows);
}

/// The person and the order of the state, if the person may still see it. Otherwise says so.
pub async fn known(turn: &mut Turn, order_id: i64) -> Result<Option<(Person, SeenOrder)>, BoxError> {
    let Some(person) = order_reader(turn).await? else { return Ok(None) };
    let orders = Orders::of_app(&turn.context::<App>());
    match orders.seen_order(&Actor::Member(person.clone()), order_id).await? {
        Some(seen) => Ok(Some((person, seen))),
        None => {
            navigation::show_final(turn, OrderRefusal::Gone.text(person.language), person.language);
            Ok(None)
        }
    }
}

async fn reason(turn: &mut Turn, wanted: ReasonWanted, typed: String) -> Step<OrderWork> {
    let ReasonWanted { order_id, version, what, window } = wanted;
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(Next::End) };
    match fields::reason(&typed) {
        Ok(reason) => carry_out(turn, &person, (&seen, version), what.command(window, reason), what.done()).await,
        Err(mistake) => turn.refuse(mistake.text(person.language)),
    }
}

async fn ask_time(turn: &mut Turn, order_id: i64, _: Option<i64>) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    let language = person.language;
    let zone = turn.context::<App>().settings.get(&TIME_ZONE).await?;
    let window = seen.order.about.window.map(|window| window.local(zone).shown(language));
    let now = window.unwrap_or_else(|| text!(language, "orders-no-time"));
    let answer = text!(language, "orders-answer-now", answer = now);
    let question = format!("{}\n{answer}", text!(language, "orders-ask-time"));
    let none = vec![Button::new(text!(language, "orders-no-time-button"), NO_TIME)];
    show_question(turn, &person, &seen, question, vec![none]);
    Ok(())
}

async fn time(turn: &mut Turn, order_id: i64, version: Option<i64>, typed: String) -> Step<OrderWork> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let app = turn.context::<App>();
    let zone = app.settings.get(&TIME_ZONE).await?;
    let Some(window) = typed_time::window(&typed, local(turn.now(), zone), zone) else {
        return turn.refuse(text!(language, "orders-time-not-understood"));
    };
    match fields::scheduled(window, turn.now()) {
        Ok(window) => Ok(Next::Go(rescheduled(order_id, version, Some(window)))),
        Err(mistake) => turn.refuse(mistake.text(language)),
    }
}

async fn no_time(_: &mut Turn, order_id: i64, version: Option<i64>, _: Press) -> Step<OrderWork> {
    Ok(Next::Go(rescheduled(order_id, version, None)))
}

const fn rescheduled(order_id: i64, version: Option<i64>, window: Option<Period>) -> OrderWork {
    OrderWork::Reason(ReasonWanted { order_id, version, what: Asked::Reschedule, window })
}

async fn choose_field(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let language = person.language;
    if !card::dispatches(&seen) {
        return turn.refuse(OrderRefusal::NotAllowed.text(language));
    }
    let choice = |field: Edited| {
        let data = OrderButton::data(FIELD, button.order_id, button.version, field.name());
        Button::new(field.caption(language), data)
    };
    let mut rows: Vec<_> =
        Edited::ALL.chunks(2).map(|pair| pair.iter().copied().map(choice).collect::<Vec<_>>()).collect();
    let back = Button::new(text!(language, "back-button"), format!("{}{}", card::OPEN, button.order_id));
    rows.push(vec![back, menu_of_question(language)]);
    reply::show(turn, text!(language, "orders-choose-field"), rows);
    Ok(Next::Stay)
}

async fn field(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((_, _, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let Some(field) = Edited::ALL.into_iter().find(|field| field.name() == button.rest) else { return Ok(Next::Stay) };
    let OrderButton { order_id, version, .. } = button;
    begins(turn, OrderWork::Field { order_id, version, field }).await
}

async fn ask_field(turn: &mut Turn, order_id: i64, _: Option<i64>, field: Edited) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    let language = person.language;
    let (caption, now) = (field.caption(language), field.now(&seen));
    let question = text!(language, "orders-ask-field", field = caption, answer = now);
    show_question(turn, &person, &seen, question, Vec::new());
    Ok(())
}

async fn edited(turn: &mut Turn, order_id: i64, version: Option<i64>, field: Edited, typed: String) -> Step<OrderWork> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(Next::End) };
    match field.change(&typed) {
        Ok(change) => carry_out(turn, &person, (&seen, version), Command::Edit { change }, key!("orders-edited")).await,
        Err(mistake) => turn.refuse(mistake.text(person.language)),
    }
}

/// Back to the card.
async fn back_to_card(turn: &mut Turn, order_id: i64, press: Press) -> Step<OrderWork> {
    card::open(turn, Press { rest: order_id.to_string(), ..press }).await?;
    Ok(Next::End)
}

async fn back_from_reason(turn: &mut Turn, wanted: ReasonWanted, press: Press) -> Step<OrderWork> {
    back_to_card(turn, wanted.order_id, press).await
}

async fn back_from_time(turn: &mut Turn, order_id: i64, _: Option<i64>, press: Press) -> Step<OrderWork> {
    back_to_card(turn, order_id, press).await
}

async fn back_from_field(turn: &mut Turn, order_id: i64, _: Option<i64>, _: Edited, press: Press) -> Step<OrderWork> {
    back_to_card(turn, order_id, press).await
}

async fn cancelled(turn: &mut Turn, _: OrderWork) -> Result<(), BoxError> {
    navigation::say_cancelled(turn, key!("orders-work-stopped")).await
}

async fn timed_out(turn: &mut Turn, state: OrderWork) -> Step<OrderWork> {
    let (key, data) = match state {
        OrderWork::Search => (key!("orders-search-button"), list::SEARCH.to_owned()),
        OrderWork::Reason(ReasonWanted { order_id, .. })
        | OrderWork::NewTime { order_id, .. }
        | OrderWork::Field { order_id, .. } => (key!("orders-open-button"), format!("{}{order_id}", card::OPEN)),
    };
    navigation::timed_out(turn, key, data).await
}
