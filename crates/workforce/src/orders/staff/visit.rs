//! What a master enters on the way and at the client's: arrival, a long repair, photos, a message, the checklist.

use std::time::Duration;

use chrono::{NaiveDate, Timelike};
use opora::clock::Millis;
use opora::prelude::*;

use super::acting::{carry_out, pressed};
use super::complete::amount;
use super::new_order::{file_of, request_files};
use super::order_button::OrderButton;
use super::work::{known, show_question};
use super::{begins, card, refused, typed_time};
use crate::application::App;
use crate::attachments;
use crate::domain::WriteInTurn;
use crate::front::navigation::{self, BACK, menu_of_question};
use crate::front::reply;
use crate::front::text_limits::caption;
use crate::money::Money;
use crate::orders::{
    self, Actor, ChecklistMark, Command, FileStage, OrderEvent, OrderRefusal, OrderRole, Orders, SeenOrder, fields,
};
use crate::settings::TIME_ZONE;
use crate::sites::{Hours, local};
use crate::texts::Language;
use crate::{key, text};

const VISIT: &str = "orders:visit:";
const CHECKS: &str = "orders:checks:";
const CHECK: &str = "orders:check:";
const WAY: &str = "visit:way:";
const NO_PREPAYMENT: &str = "visit:no-prepayment";
const READY: &str = "visit:ready";

const EXPIRY: Duration = Duration::from_secs(15 * 60);
/// Minutes until the arrival that are offered.
const ARRIVALS: [u64; 4] = [15, 30, 60, 90];

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order_visit")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OrderVisit {
    Arrival { order_id: i64 },
    RepairUntil { order_id: i64 },
    Prepayment { order_id: i64, until: NaiveDate },
    Photos { order_id: i64, stage: FileStage },
    Message { order_id: i64 },
}

impl OrderVisit {
    const fn order_id(&self) -> i64 {
        match self {
            Self::Arrival { order_id }
            | Self::RepairUntil { order_id }
            | Self::Prepayment { order_id, .. }
            | Self::Photos { order_id, .. }
            | Self::Message { order_id } => *order_id,
        }
    }
}

/// What the card offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    Way,
    Repair,
    Before,
    After,
    Message,
}

impl Visit {
    const ALL: [Self; 5] = [Self::Way, Self::Repair, Self::Before, Self::After, Self::Message];

    const fn name(self) -> &'static str {
        match self {
            Self::Way => "way",
            Self::Repair => "repair",
            Self::Before => "before",
            Self::After => "after",
            Self::Message => "message",
        }
    }

    fn caption(self, language: Language) -> String {
        language.text(match self {
            Self::Way => key!("orders-way-button"),
            Self::Repair => key!("orders-repair-button"),
            Self::Before => key!("orders-before-button"),
            Self::After => key!("orders-after-button"),
            Self::Message => key!("orders-message-button"),
        })
    }

    const fn state(self, order_id: i64) -> OrderVisit {
        match self {
            Self::Way => OrderVisit::Arrival { order_id },
            Self::Repair => OrderVisit::RepairUntil { order_id },
            Self::Before => OrderVisit::Photos { order_id, stage: FileStage::Before },
            Self::After => OrderVisit::Photos { order_id, stage: FileStage::After },
            Self::Message => OrderVisit::Message { order_id },
        }
    }
}

pub fn dialogue() -> Dialogue<OrderVisit> {
    attachments::handle_downloads(Dialogue::new())
        .start(button(VISIT), begin)
        .start(button(CHECKS), checklist)
        .start(button(CHECK), check)
        .ask(OrderVisit::ARRIVAL, ask_arrival)
        .on(OrderVisit::ARRIVAL, button(WAY), arrival)
        .on(OrderVisit::ARRIVAL, text(), typed_arrival)
        .ask(OrderVisit::REPAIR_UNTIL, ask_until)
        .on(OrderVisit::REPAIR_UNTIL, text(), until)
        .ask(OrderVisit::PREPAYMENT, ask_prepayment)
        .on(OrderVisit::PREPAYMENT, text(), prepayment)
        .on(OrderVisit::PREPAYMENT, button(NO_PREPAYMENT), no_prepayment)
        .ask(OrderVisit::PHOTOS, ask_photos)
        .on(OrderVisit::PHOTOS, photo(), photo_sent)
        .on(OrderVisit::PHOTOS, document(), document_sent)
        .on(OrderVisit::PHOTOS, media(), media_sent)
        .on(OrderVisit::PHOTOS, album(), album_sent)
        .on(OrderVisit::PHOTOS, button(READY), ready)
        .ask(OrderVisit::MESSAGE, ask_message)
        .on(OrderVisit::MESSAGE, text(), message)
        .on_any_state(button(BACK), back)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

pub fn button_of(what: Visit, seen: &SeenOrder, language: Language) -> Button {
    Button::new(what.caption(language), OrderButton::data(VISIT, seen.order.id, None, what.name()))
}

pub fn checklist_button(seen: &SeenOrder, language: Language) -> Button {
    let data = OrderButton::data(CHECKS, seen.order.id, None, "");
    Button::new(text!(language, "orders-checklist-button"), data)
}

async fn begin(turn: &mut Turn, press: Press) -> Step<OrderVisit> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    if !seen.roles.contains(&OrderRole::Master) {
        return turn.refuse(OrderRefusal::NotAllowed.text(person.language));
    }
    let Some(what) = Visit::ALL.into_iter().find(|what| what.name() == button.rest) else { return Ok(Next::Stay) };
    begins(turn, what.state(button.order_id)).await
}

async fn ask_arrival(turn: &mut Turn, order_id: i64) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    let language = person.language;
    let choice = |minutes: u64| {
        Button::new(text!(language, "orders-in-minutes-choice", minutes = minutes), format!("{WAY}{minutes}"))
    };
    let rows = ARRIVALS.chunks(2).map(|pair| pair.iter().copied().map(choice).collect()).collect();
    show_question(turn, &person, &seen, text!(language, "orders-ask-arrival"), rows);
    Ok(())
}

async fn arrival(turn: &mut Turn, order_id: i64, press: Press) -> Step<OrderVisit> {
    let minutes = press.rest.parse().ok().filter(|minutes| ARRIVALS.contains(minutes));
    let Some(minutes) = minutes else { return Ok(Next::AskAgain) };
    let arrives_at = turn.now().plus(Duration::from_secs(60 * minutes));
    on_the_way(turn, order_id, arrives_at).await
}

async fn typed_arrival(turn: &mut Turn, order_id: i64, typed: String) -> Step<OrderVisit> {
    let app = turn.context::<App>();
    let (zone, language) = (app.settings.get(&TIME_ZONE).await?, app.speaker(turn).await?.language);
    let now = local(turn.now(), zone);
    let Some(time) = typed_time::time(&typed) else {
        return turn.refuse(text!(language, "orders-arrival-not-understood"));
    };
    // A time that is past today is meant for tomorrow: at night.
    let day = if time < now.time() { now.date().succ_opt().unwrap_or(now.date()) } else { now.date() };
    let minute = i64::from(time.num_seconds_from_midnight()) / 60;
    match Hours::new(minute, minute).on(day, zone) {
        Some(period) => on_the_way(turn, order_id, period.from).await,
        None => turn.refuse(text!(language, "orders-arrival-not-understood")),
    }
}

async fn on_the_way(turn: &mut Turn, order_id: i64, arrives_at: Millis) -> Step<OrderVisit> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(Next::End) };
    carry_out(turn, &person, (&seen, None), Command::OnTheWay { arrives_at }, key!("orders-chat-on-the-way")).await
}

async fn ask_until(turn: &mut Turn, order_id: i64) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    show_question(turn, &person, &seen, text!(person.language, "orders-ask-until"), Vec::new());
    Ok(())
}

async fn until(turn: &mut Turn, order_id: i64, typed: String) -> Step<OrderVisit> {
    let app = turn.context::<App>();
    let (zone, language) = (app.settings.get(&TIME_ZONE).await?, app.speaker(turn).await?.language);
    let today = local(turn.now(), zone).date();
    match typed_time::day(&typed, today) {
        None => turn.refuse(text!(language, "orders-day-not-understood")),
        Some(until) if until < today => turn.refuse(OrderRefusal::Past.text(language)),
        Some(until) => Ok(Next::Go(OrderVisit::Prepayment { order_id, until })),
    }
}

async fn ask_prepayment(turn: &mut Turn, order_id: i64, _: NaiveDate) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    let language = person.language;
    let none = vec![Button::new(text!(language, "orders-no-prepayment-button"), NO_PREPAYMENT)];
    show_question(turn, &person, &seen, text!(language, "orders-ask-prepayment"), vec![none]);
    Ok(())
}

async fn prepayment(turn: &mut Turn, order_id: i64, until: NaiveDate, typed: String) -> Step<OrderVisit> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match amount(&typed) {
        Some(prepayment) => long_repair(turn, order_id, until, prepayment).await,
        None => turn.refuse(text!(language, "orders-amount-wanted")),
    }
}

async fn no_prepayment(turn: &mut Turn, order_id: i64, until: NaiveDate, _: Press) -> Step<OrderVisit> {
    long_repair(turn, order_id, until, Money::ZERO).await
}

async fn long_repair(turn: &mut Turn, order_id: i64, until: NaiveDate, prepayment: Money) -> Step<OrderVisit> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(Next::End) };
    let command = Command::LongRepair { until, prepayment };
    carry_out(turn, &person, (&seen, None), command, key!("orders-long-repair")).await
}

async fn ask_photos(turn: &mut Turn, order_id: i64, stage: FileStage) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    let language = person.language;
    let question = language.text(match stage {
        FileStage::After => key!("orders-ask-after"),
        _ => key!("orders-ask-before"),
    });
    let ready = vec![Button::new(text!(language, "orders-photos-ready-button"), READY)];
    show_question(turn, &person, &seen, question, vec![ready]);
    Ok(())
}

async fn photo_sent(turn: &mut Turn, order_id: i64, stage: FileStage, photo: Photo) -> Step<OrderVisit> {
    attach(turn, order_id, stage, vec![Item::Photo(photo)]).await
}

async fn document_sent(turn: &mut Turn, order_id: i64, stage: FileStage, file: Document) -> Step<OrderVisit> {
    attach(turn, order_id, stage, vec![Item::Document(file)]).await
}

async fn media_sent(turn: &mut Turn, order_id: i64, stage: FileStage, media: Media) -> Step<OrderVisit> {
    attach(turn, order_id, stage, vec![Item::Media(media)]).await
}

async fn album_sent(turn: &mut Turn, order_id: i64, stage: FileStage, album: Album) -> Step<OrderVisit> {
    attach(turn, order_id, stage, album.items).await
}

/// Adds files with the commit of this turn; more may follow.
async fn attach(turn: &mut Turn, order_id: i64, stage: FileStage, sent: Vec<Item>) -> Step<OrderVisit> {
    let Some((person, _)) = known(turn, order_id).await? else { return Ok(Next::End) };
    let (language, at) = (person.language, turn.now());
    if let Some(why) = refused(turn) {
        return turn.refuse(why.text(language));
    }
    let files: Vec<_> = sent.into_iter().filter_map(file_of).collect();
    if files.is_empty() {
        return turn.refuse(text!(language, "orders-file-unknown"));
    }
    let (count, files) = (files.len(), request_files(turn, stage, files, at));
    let actor = Actor::Member(person);
    turn.write(move |db| {
        Box::pin(async move {
            for file in files {
                let command = Command::AttachFile { file };
                orders::execute(db, actor.clone(), (order_id, None), command, at).await?;
            }
            Ok(())
        })
    });
    OrderEvent::of(order_id).after(turn);
    turn.say(text!(language, "orders-photos-taken", count = count));
    Ok(Next::AskAgain)
}

async fn ready(turn: &mut Turn, order_id: i64, _: FileStage, press: Press) -> Step<OrderVisit> {
    to_card(turn, order_id, press).await
}

async fn ask_message(turn: &mut Turn, order_id: i64) -> Result<(), BoxError> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(()) };
    show_question(turn, &person, &seen, text!(person.language, "orders-ask-message"), Vec::new());
    Ok(())
}

async fn message(turn: &mut Turn, order_id: i64, typed: String) -> Step<OrderVisit> {
    let Some((person, seen)) = known(turn, order_id).await? else { return Ok(Next::End) };
    match fields::message(&typed) {
        Ok(text) => carry_out(turn, &person, (&seen, None), Command::Message { text }, key!("orders-messaged")).await,
        Err(mistake) => turn.refuse(mistake.text(person.language)),
    }
}

async fn checklist(turn: &mut Turn, press: Press) -> Step<OrderVisit> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let orders = Orders::of_app(&turn.context::<App>());
    let details = orders.details(&Actor::Member(person.clone()), button.order_id).await?;
    let items = details.map(|details| details.checklist).unwrap_or_default();
    show_checklist(turn, &seen, &items, person.language);
    Ok(Next::Stay)
}

fn show_checklist(turn: &mut Turn, seen: &SeenOrder, items: &[ChecklistMark], language: Language) {
    let row = |item: &ChecklistMark| {
        let (sign, to) = if item.done_at.is_some() { ("✅", "undo") } else { ("⬜", "done") };
        let star = if item.is_required { " *" } else { "" };
        let data = OrderButton::data(CHECK, seen.order.id, None, &format!("{}:{to}", item.id));
        vec![Button::new(caption(&format!("{sign} {}{star}", item.text)), data).repeatable()]
    };
    let mut rows: Vec<_> = items.iter().map(row).collect();
    let back = Button::new(text!(language, "back-button"), format!("{}{}", card::OPEN, seen.order.id));
    rows.push(vec![back, menu_of_question(language)]);
    reply::show(turn, text!(language, "orders-checklist-about"), rows);
}

/// Sets the mark that the button names, so a second tap does nothing.
async fn check(turn: &mut Turn, press: Press) -> Step<OrderVisit> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let (language, at, id) = (person.language, turn.now(), button.order_id);
    if let Some(why) = refused(turn) {
        return turn.refuse(why.text(language));
    }
    let Some((item, to)) = button.rest.split_once(':') else { return Ok(Next::Stay) };
    let Ok(item) = item.parse::<i64>() else { return Ok(Next::Stay) };
    let is_done = to == "done";
    let actor = Actor::Member(person);
    let details = Orders::of_app(&turn.context::<App>()).details(&actor, id).await?;
    let mut items = details.map(|details| details.checklist).unwrap_or_default();
    for one in items.iter_mut().filter(|one| one.id == item) {
        one.done_at = is_done.then_some(at);
    }
    turn.write(move |db| {
        Box::pin(async move {
            let command = Command::MarkItem { item, is_done };
            orders::execute(db, actor, (id, None), command, at).await.map(drop)
        })
    });
    OrderEvent::of(id).after(turn);
    show_checklist(turn, &seen, &items, language);
    Ok(Next::Stay)
}

async fn to_card(turn: &mut Turn, order_id: i64, press: Press) -> Step<OrderVisit> {
    card::open(turn, Press { rest: order_id.to_string(), ..press }).await?;
    Ok(Next::End)
}

/// One step back: to the day of a long repair, or to the card.
async fn back(turn: &mut Turn, state: OrderVisit, press: Press) -> Step<OrderVisit> {
    match state {
        OrderVisit::Prepayment { order_id, .. } => Ok(Next::Go(OrderVisit::RepairUntil { order_id })),
        other => to_card(turn, other.order_id(), press).await,
    }
}

async fn cancelled(turn: &mut Turn, _: OrderVisit) -> Result<(), BoxError> {
    navigation::say_cancelled(turn, key!("orders-work-stopped")).await
}

async fn timed_out(turn: &mut Turn, state: OrderVisit) -> Step<OrderVisit> {
    navigation::timed_out(turn, key!("orders-open-button"), format!("{}{}", card::OPEN, state.order_id())).await
}
