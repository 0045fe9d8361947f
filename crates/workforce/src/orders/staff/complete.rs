//! The dialogue that closes an order: price-list items or a total, materials, review, out of town, and a summary with
//! the master's share. One commit closes the order and posts the share.

use std::time::Duration;

use opora::prelude::*;

use super::acting::{carry_out_and_say, pressed};
use super::work::{known, show_question};
use super::{begins, card, refused};
use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front::navigation::{self, BACK};
use crate::front::text_limits::caption;
use crate::money::Money;
use crate::orders::{
    self, Actor, Bill, BillLine, Command, Completion, OrderEvent, OrderRefusal, Orders, PriceItem, SeenOrder,
};
use crate::payroll::{OrderFacts, order_share};
use crate::settings::order_rules;
use crate::sites::MAX_KOPECKS;
use crate::texts::Language;
use crate::{key, text};

pub const BEGIN: &str = "orders:close:";
const ITEM: &str = "close:item:";
const CLEAR: &str = "close:clear";
const GO_ON: &str = "close:items-done";
const NO_MATERIALS: &str = "close:no-materials";
const REVIEW: &str = "close:review:";
const TOWN: &str = "close:town:";
const YES: &str = "yes";
const NO: &str = "no";
const CLOSE: &str = "close:order";
const CASH: &str = "close:cash";
const ASK_CLIENT: &str = "close:ask-client";

/// Amounts that a master has entered are kept for a day.
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_ITEMS: usize = 30;
const MAX_QUANTITY: u16 = 99;

type AskResult = Result<(), BoxError>;

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "complete_order")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CompleteOrder {
    Total(Work),
    Materials(Work),
    Review(Work),
    OutOfTown(Work),
    Summary(Work),
}

/// What the master has entered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub order_id: i64,
    pub completion: Completion,
}

impl CompleteOrder {
    const fn work(&self) -> &Work {
        match self {
            Self::Total(work)
            | Self::Materials(work)
            | Self::Review(work)
            | Self::OutOfTown(work)
            | Self::Summary(work) => work,
        }
    }
}

pub fn dialogue() -> Dialogue<CompleteOrder> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .ask(CompleteOrder::TOTAL, ask_total)
        .on(CompleteOrder::TOTAL, text(), total)
        .on(CompleteOrder::TOTAL, button(ITEM), item)
        .on(CompleteOrder::TOTAL, button(CLEAR), clear)
        .on(CompleteOrder::TOTAL, button(GO_ON), items_done)
        .ask(CompleteOrder::MATERIALS, ask_materials)
        .on(CompleteOrder::MATERIALS, text(), materials)
        .on(CompleteOrder::MATERIALS, button(NO_MATERIALS), no_materials)
        .ask(CompleteOrder::REVIEW, ask_review)
        .on(CompleteOrder::REVIEW, button(REVIEW), review)
        .ask(CompleteOrder::OUT_OF_TOWN, ask_town)
        .on(CompleteOrder::OUT_OF_TOWN, button(TOWN), town)
        .ask(CompleteOrder::SUMMARY, ask_summary)
        .on(CompleteOrder::SUMMARY, button(CLOSE), close)
        .on(CompleteOrder::SUMMARY, button(CASH), close_with_cash)
        .on(CompleteOrder::SUMMARY, button(ASK_CLIENT), ask_client)
        .on_any_state(button(BACK), back)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

pub fn button_of(seen: &SeenOrder, language: Language) -> Button {
    let data = super::order_button::OrderButton::data(BEGIN, seen.order.id, Some(seen.order.version), "");
    Button::new(text!(language, "orders-close-button"), data)
}

/// Says at once what is missing, before the master types amounts.
async fn begin(turn: &mut Turn, press: Press) -> Step<CompleteOrder> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let completion = Completion { is_cash: true, bill: Bill::of_total(Money::ZERO, Money::ZERO), ..Default::default() };
    let orders = Orders::of_app(&turn.context::<App>());
    let actor = Actor::Member(person.clone());
    let tried = orders.check(&actor, seen.order.id, None, Command::Complete { completion }).await;
    if let Err(error) = tried {
        return match error {
            orders::ActionError::Refused(why) => turn.refuse(why.text(person.language)),
            failed => Err(failed.into()),
        };
    }
    let work = Work { order_id: button.order_id, completion: Completion::default() };
    begins(turn, CompleteOrder::Total(work)).await
}

async fn ask_total(turn: &mut Turn, work: Work) -> AskResult {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(()) };
    let language = person.language;
    let bill = &work.completion.bill;
    let items = price_items(&turn.context::<App>(), &seen).await?;
    let choice = |item: &PriceItem| {
        let text = format!("{} · {}", item.name, item.price.shown(language));
        vec![Button::new(caption(&text), format!("{ITEM}{}", item.id)).repeatable()]
    };
    let mut rows: Vec<_> = items.iter().take(MAX_ITEMS).map(choice).collect();
    let mut question = text!(language, "orders-ask-total");
    if !bill.lines.is_empty() {
        let lines = bill.lines.iter().map(|line| format!("{} × {}", line.name, line.quantity));
        let sum = text!(language, "orders-bill-sum", total = bill.sum().shown(language));
        question = format!("{question}\n\n{}\n{sum}", lines.collect::<Vec<_>>().join("\n"));
        rows.push(vec![
            Button::new(text!(language, "orders-items-done-button"), GO_ON),
            Button::new(text!(language, "orders-items-clear-button"), CLEAR),
        ]);
    }
    show_question(turn, &person, &seen, question, rows);
    Ok(())
}

/// The price list for the equipment of the order.
async fn price_items(app: &App, seen: &SeenOrder) -> Result<Vec<PriceItem>, BoxError> {
    let orders = Orders::of_app(app);
    let types = orders.equipment_types().await?;
    let own = types.into_iter().find(|one| one.name == seen.order.about.equipment_type).map(|one| one.id);
    Ok(orders.price_items(own).await?)
}

/// A typed amount between zero and the limit.
pub fn amount(typed: &str) -> Option<Money> {
    let amount: Money = typed.parse().ok()?;
    (!amount.is_negative() && amount.kopecks() <= MAX_KOPECKS).then_some(amount)
}

async fn language_of(turn: &mut Turn) -> Result<Language, BoxError> {
    Ok(turn.context::<App>().speaker(turn).await?.language)
}

async fn total(turn: &mut Turn, mut work: Work, typed: String) -> Step<CompleteOrder> {
    let language = language_of(turn).await?;
    let Some(total) = amount(&typed) else { return turn.refuse(text!(language, "orders-amount-wanted")) };
    work.completion.bill = Bill { lines: Vec::new(), total: Some(total), ..work.completion.bill };
    Ok(Next::Go(CompleteOrder::Materials(work)))
}

async fn item(turn: &mut Turn, mut work: Work, press: Press) -> Step<CompleteOrder> {
    let Some((_, seen)) = known(turn, work.order_id).await? else { return Ok(Next::End) };
    let items = price_items(&turn.context::<App>(), &seen).await?;
    let Some(item) = items.into_iter().find(|item| press.rest == item.id.to_string()) else {
        return Ok(Next::AskAgain);
    };
    let bill = &mut work.completion.bill;
    bill.total = None;
    match bill.lines.iter_mut().find(|line| line.price_item == Some(item.id)) {
        Some(line) => line.quantity = (line.quantity + 1).min(MAX_QUANTITY),
        None => {
            bill.lines.push(BillLine { price_item: Some(item.id), name: item.name, quantity: 1, price: item.price })
        }
    }
    Ok(Next::Go(CompleteOrder::Total(work)))
}

async fn clear(_: &mut Turn, mut work: Work, _: Press) -> Step<CompleteOrder> {
    work.completion.bill.lines.clear();
    Ok(Next::Go(CompleteOrder::Total(work)))
}

async fn items_done(turn: &mut Turn, work: Work, _: Press) -> Step<CompleteOrder> {
    let sum = work.completion.bill.sum();
    if work.completion.bill.lines.is_empty() || sum.kopecks() > MAX_KOPECKS {
        let language = language_of(turn).await?;
        return turn.refuse(OrderRefusal::Amount.text(language));
    }
    Ok(Next::Go(CompleteOrder::Materials(work)))
}

async fn ask_materials(turn: &mut Turn, work: Work) -> AskResult {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(()) };
    let language = person.language;
    let none = vec![Button::new(text!(language, "orders-no-materials-button"), NO_MATERIALS)];
    let total = work.completion.bill.sum().shown(language);
    show_question(turn, &person, &seen, text!(language, "orders-ask-materials", total = total), vec![none]);
    Ok(())
}

async fn materials(turn: &mut Turn, mut work: Work, typed: String) -> Step<CompleteOrder> {
    let language = language_of(turn).await?;
    let Some(materials) = amount(&typed) else { return turn.refuse(text!(language, "orders-amount-wanted")) };
    if materials > work.completion.bill.sum() {
        return turn.refuse(OrderRefusal::Materials.text(language));
    }
    work.completion.bill.materials = materials;
    Ok(Next::Go(CompleteOrder::Review(work)))
}

async fn no_materials(_: &mut Turn, mut work: Work, _: Press) -> Step<CompleteOrder> {
    work.completion.bill.materials = Money::ZERO;
    Ok(Next::Go(CompleteOrder::Review(work)))
}

/// Asks a question that is answered by yes or no.
async fn ask_yes_or_no(turn: &mut Turn, work: &Work, question: &'static str, prefix: &str) -> AskResult {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(()) };
    let language = person.language;
    let yes = Button::new(text!(language, "orders-yes-button"), format!("{prefix}{YES}"));
    let no = Button::new(text!(language, "orders-no-button"), format!("{prefix}{NO}"));
    show_question(turn, &person, &seen, language.text(question), vec![vec![yes, no]]);
    Ok(())
}

fn yes_or_no(press: &Press) -> Option<bool> {
    match press.rest.as_str() {
        YES => Some(true),
        NO => Some(false),
        _ => None,
    }
}

async fn ask_review(turn: &mut Turn, work: Work) -> AskResult {
    ask_yes_or_no(turn, &work, key!("orders-ask-review"), REVIEW).await
}

async fn review(_: &mut Turn, mut work: Work, press: Press) -> Step<CompleteOrder> {
    let Some(answer) = yes_or_no(&press) else { return Ok(Next::AskAgain) };
    work.completion.has_review = answer;
    Ok(Next::Go(CompleteOrder::OutOfTown(work)))
}

async fn ask_town(turn: &mut Turn, work: Work) -> AskResult {
    ask_yes_or_no(turn, &work, key!("orders-ask-town"), TOWN).await
}

async fn town(_: &mut Turn, mut work: Work, press: Press) -> Step<CompleteOrder> {
    let Some(answer) = yes_or_no(&press) else { return Ok(Next::AskAgain) };
    work.completion.is_out_of_town = answer;
    Ok(Next::Go(CompleteOrder::Summary(work)))
}

/// The master's share of what was entered, by the settings of now.
async fn share(app: &App, completion: &Completion) -> Result<Money, BoxError> {
    let rules = order_rules(app.domain.read()).await?;
    let facts = OrderFacts {
        total: completion.bill.sum(),
        materials: completion.bill.materials,
        has_review: completion.has_review,
        is_out_of_town: completion.is_out_of_town,
    };
    // Materials above the total were refused when they were typed.
    Ok(order_share(&facts, &orders::shares(&rules)).map_or(Money::ZERO, |(share, _)| share))
}

async fn ask_summary(turn: &mut Turn, work: Work) -> AskResult {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(()) };
    let (language, completion) = (person.language, &work.completion);
    let share = share(&turn.context::<App>(), completion).await?.shown(language);
    let yes_or_no =
        |answer: bool| language.text(if answer { key!("orders-yes-button") } else { key!("orders-no-button") });
    let question = text!(
        language,
        "orders-close-summary",
        total = completion.bill.sum().shown(language),
        materials = completion.bill.materials.shown(language),
        review = yes_or_no(completion.has_review),
        town = yes_or_no(completion.is_out_of_town),
        share = share
    );
    let rows = vec![
        vec![Button::new(text!(language, "orders-close-yes-button"), CLOSE)],
        vec![Button::new(text!(language, "orders-close-cash-button"), CASH)],
        vec![Button::new(text!(language, "orders-ask-client-button"), ASK_CLIENT)],
    ];
    show_question(turn, &person, &seen, question, rows);
    Ok(())
}

async fn close(turn: &mut Turn, work: Work, _: Press) -> Step<CompleteOrder> {
    complete(turn, work, false).await
}

async fn close_with_cash(turn: &mut Turn, work: Work, _: Press) -> Step<CompleteOrder> {
    complete(turn, work, true).await
}

async fn complete(turn: &mut Turn, work: Work, is_cash: bool) -> Step<CompleteOrder> {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(Next::End) };
    let completion = Completion { is_cash, ..work.completion };
    let share = share(&turn.context::<App>(), &completion).await?.shown(person.language);
    let text = text!(person.language, "orders-chat-closed", share = share);
    carry_out_and_say(turn, &person, (&seen, None), Command::Complete { completion }, text).await
}

/// Asks the client to confirm the amount. The summary stays open.
async fn ask_client(turn: &mut Turn, work: Work, _: Press) -> Step<CompleteOrder> {
    let Some((person, seen)) = known(turn, work.order_id).await? else { return Ok(Next::End) };
    if let Some(why) = refused(turn) {
        return turn.refuse(why.text(person.language));
    }
    let (id, at, bill) = (seen.order.id, turn.now(), work.completion.bill);
    turn.say(text!(person.language, "orders-client-asked"));
    let actor = Actor::Member(person);
    turn.write(move |db| {
        Box::pin(async move { orders::execute(db, actor, (id, None), Command::SetAmount { bill }, at).await.map(drop) })
    });
    OrderEvent::of(id).after(turn);
    Ok(Next::AskAgain)
}

/// One step back; from the first one to the card.
async fn back(turn: &mut Turn, state: CompleteOrder, press: Press) -> Step<CompleteOrder> {
    Ok(match state {
        CompleteOrder::Total(work) => {
            card::open(turn, Press { rest: work.order_id.to_string(), ..press }).await?;
            Next::End
        }
        CompleteOrder::Materials(work) => Next::Go(CompleteOrder::Total(work)),
        CompleteOrder::Review(work) => Next::Go(CompleteOrder::Materials(work)),
        CompleteOrder::OutOfTown(work) => Next::Go(CompleteOrder::Review(work)),
        CompleteOrder::Summary(work) => Next::Go(CompleteOrder::OutOfTown(work)),
    })
}

async fn cancelled(turn: &mut Turn, _: CompleteOrder) -> AskResult {
    navigation::say_cancelled(turn, key!("orders-close-stopped")).await
}

async fn timed_out(turn: &mut Turn, state: CompleteOrder) -> Step<CompleteOrder> {
    navigation::timed_out(turn, key!("orders-open-button"), format!("{}{}", card::OPEN, state.work().order_id)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_amounts_within_the_limit_are_taken() {
        assert_eq!(amount("10 000,50"), Some(Money::from_kopecks(1_000_050)));
        assert_eq!(amount("0"), Some(Money::ZERO));
        for odd in ["-1", "1000000.01", "99999999999999999999", "ten", "", "1e3", "NaN"] {
            assert_eq!(amount(odd), None, "{odd}");
        }
    }
}
