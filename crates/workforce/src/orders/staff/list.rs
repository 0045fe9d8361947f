//! Lists of orders: active ones, what a search finds, and a master's own day.

use opora::prelude::*;

use super::{OrderWork, card, dispatcher, line, master, order_reader};
use crate::application::App;
use crate::front::navigation::{menu_of_question, navigation_row};
use crate::front::reply;
use crate::front::text_limits::caption;
use crate::orders::{OrderFilter, OrderStatus, Orders, SeenOrder};
use crate::settings::TIME_ZONE;
use crate::shifts::paging::{Page, offset, turn_page};
use crate::text;
use crate::texts::Language;

pub const ACTIVE: &str = "orders:active";
pub const MINE: &str = "orders:mine";
pub const SEARCH: &str = "orders:search";

/// Registers the buttons.
pub fn starts(dialogue: Dialogue<OrderWork>) -> Dialogue<OrderWork> {
    dialogue.start(button(ACTIVE), active).start(button(MINE), mine).start(button(SEARCH), search)
}

/// The list to which the card of an order leads back.
pub fn back_of(seen: &SeenOrder) -> &'static str {
    if card::dispatches(seen) { ACTIVE } else { MINE }
}

async fn active(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::Stay) };
    let language = person.language;
    let board = Orders::of_app(&turn.context::<App>()).board(&person, &OrderFilter::default()).await?;
    // In the order of the work: what no master has comes first.
    let open = board.orders.into_iter().filter(|(status, _)| status.is_open());
    let all: Vec<SeenOrder> = open.flat_map(|(_, orders)| orders).collect();
    let text = if all.is_empty() {
        text!(language, "orders-none-active")
    } else {
        text!(language, "orders-active", count = all.len())
    };
    let page = Page::new(&all, offset(&press));
    let mut rows: Vec<_> = page.items.iter().map(|seen| vec![choice(seen, language)]).collect();
    rows.extend(page.page_buttons(&format!("{ACTIVE}:"), language));
    rows.push(vec![Button::new(text!(language, "orders-search-button"), SEARCH)]);
    rows.push(vec![menu_of_question(language)]);
    turn_page(turn, Some((text, rows)))
}

fn choice(seen: &SeenOrder, language: Language) -> Button {
    Button::new(caption(&line(seen, language)), format!("{}{}", card::OPEN, seen.order.id))
}

/// A master's own open orders in order of time, and the offers.
async fn mine(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some(person) = master(turn).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let zone = app.settings.get(&TIME_ZONE).await?;
    let day = Orders::of_app(&app).day_of_master(&person).await?;
    let offers = day.offers.into_iter().map(|(seen, _)| seen);
    let all: Vec<SeenOrder> = offers.chain(day.orders).collect();
    let text = if all.is_empty() {
        text!(language, "orders-none-mine")
    } else {
        text!(language, "orders-mine", count = all.len())
    };
    let page = Page::new(&all, offset(&press));
    let timed = |seen: &SeenOrder| {
        let sign = if seen.order.status == OrderStatus::New { "🔔 " } else { "" };
        let when = seen.order.about.window.map(|window| format!("{} · ", window.local(zone).shown(language)));
        let text = format!("{sign}{}{}", when.unwrap_or_default(), line(seen, language));
        vec![Button::new(caption(&text), format!("{}{}", card::OPEN, seen.order.id))]
    };
    let mut rows: Vec<_> = page.items.iter().map(timed).collect();
    rows.extend(page.page_buttons(&format!("{MINE}:"), language));
    rows.push(vec![menu_of_question(language)]);
    turn_page(turn, Some((text, rows)))
}

async fn search(turn: &mut Turn, _: Press) -> Step<OrderWork> {
    let Some(_) = order_reader(turn).await? else { return Ok(Next::Stay) };
    super::begins(turn, OrderWork::Search).await
}

pub async fn ask_search(turn: &mut Turn) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    reply::show(turn, text!(language, "orders-ask-search"), vec![navigation_row(language)]);
    Ok(())
}

/// Lists what is found. The next words search again.
pub async fn searched(turn: &mut Turn, typed: String) -> Step<OrderWork> {
    let Some(person) = order_reader(turn).await? else { return Ok(Next::End) };
    let language = person.language;
    let found = Orders::of_app(&turn.context::<App>()).search(&person, &typed).await?;
    let text = if found.is_empty() {
        text!(language, "orders-chat-none-found")
    } else {
        text!(language, "orders-found", count = found.len())
    };
    let page = Page::new(&found, 0);
    let mut rows: Vec<_> = page.items.iter().map(|seen| vec![choice(seen, language)]).collect();
    rows.push(navigation_row(language));
    reply::show(turn, text, rows);
    Ok(Next::Stay)
}
