//! The summary of a new order, and its commit.

use opora::prelude::*;

use super::super::{dispatcher, line, refused};
use super::draft::request_files;
use super::{AskResult, CreateOrderStates, DISCARD, EDIT, Field, OrderDraft, YES};
use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front::navigation::{navigation_row, show_final};
use crate::front::reply;
use crate::front::text_limits::fit_between;
use crate::notices::{self, Notice, OrderNews, OrderNewsKind};
use crate::orders::{self, Actor, FieldMistake, FileStage, NewOrder, OrderEvent, OrderRefusal, Orders};
use crate::person::Person;
use crate::settings::TIME_ZONE;
use crate::text;
use crate::texts::Language;

/// Similar orders that are listed.
const MAX_SIMILAR: usize = 3;

pub async fn ask(turn: &mut Turn, draft: OrderDraft) -> AskResult {
    let Some(person) = dispatcher(turn).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), person.language);
    let zone = app.settings.get(&TIME_ZONE).await?;
    let mut lines = Vec::new();
    for field in Field::ALL {
        let answer = draft.answer(field, zone, language).unwrap_or_else(|| "–".to_owned());
        lines.push(format!("{}: {answer}", field.caption(language)));
    }
    if !draft.files.is_empty() {
        lines.push(text!(language, "orders-summary-files", count = draft.files.len()));
    }
    let warning = warning(&app, &person, &draft).await?;
    let before = text!(language, "orders-summary");
    let text = fit_between(&format!("{before}\n\n"), &lines.join("\n"), &warning);
    let mut rows = vec![vec![Button::new(text!(language, "orders-create-button"), YES)]];
    let edit = |field: Field| Button::new(format!("✏️ {}", field.caption(language)), format!("{EDIT}{}", field.name()));
    rows.extend(Field::ALL.chunks(2).map(|pair| pair.iter().copied().map(edit).collect::<Vec<_>>()));
    rows.push(vec![Button::new(text!(language, "orders-draft-discard-button"), DISCARD)]);
    rows.push(navigation_row(language));
    reply::show(turn, text, rows);
    Ok(())
}

/// A warning of open orders with the same phone or at the same address; empty if there are none.
async fn warning(app: &App, person: &Person, draft: &OrderDraft) -> Result<String, BoxError> {
    let (phone, address) = (draft.client_phone.as_deref(), draft.client_address.as_deref());
    let (phone, address) = (phone.unwrap_or_default(), address.unwrap_or_default());
    let similar = Orders::of_app(app).duplicates(person, phone, address).await?;
    if similar.is_empty() {
        return Ok(String::new());
    }
    let lines: Vec<String> = similar.iter().take(MAX_SIMILAR).map(|seen| line(seen, person.language)).collect();
    let warning = text!(person.language, "orders-similar", count = similar.len());
    Ok(format!("\n\n{warning}\n{}", lines.join("\n")))
}

/// Asks for one field again.
pub async fn edit(_: &mut Turn, draft: OrderDraft, press: Press) -> Step<CreateOrderStates> {
    match Field::of_name(&press.rest) {
        Some(field) => Ok(Next::Go(field.state(OrderDraft { is_complete: true, ..draft }))),
        None => Ok(Next::AskAgain),
    }
}

/// Creates the order with the commit of this turn.
pub async fn yes(turn: &mut Turn, draft: OrderDraft, _: Press) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    let (language, at, user_id) = (person.language, turn.now(), person.id);
    let about = draft.about(language);
    let mistake = match refused(turn) {
        Some(OrderRefusal::Field(mistake)) => Some(mistake),
        Some(why) => return turn.refuse(why.text(language)),
        None => orders::mistakes(&about, at).into_iter().next(),
    };
    if let Some(mistake) = mistake {
        return correct(turn, draft, mistake, language);
    }
    let files = request_files(turn, FileStage::Request, draft.files, at);
    let new = NewOrder { about, equipment_id: None, files };
    turn.write(move |db| {
        Box::pin(async move {
            let order = orders::create(db, Actor::Member(person), new, at).await?;
            let news = OrderNews { order: order.id, number: order.number, what: OrderNewsKind::Created };
            notices::write(db, vec![(user_id, Notice::Order(news))], at).await
        })
    });
    OrderEvent { order_id: None }.after(turn);
    show_final(turn, text!(language, "orders-saved"), language);
    Ok(Next::End)
}

/// Asks for the field that is wrong: of an imported draft, or one whose time is past by now.
fn correct(turn: &mut Turn, draft: OrderDraft, mistake: FieldMistake, language: Language) -> Step<CreateOrderStates> {
    turn.say(mistake.text(language));
    match Field::of_name(mistake.field()) {
        Some(field) => Ok(Next::Go(field.state(OrderDraft { is_complete: true, ..draft }))),
        None => Ok(Next::AskAgain),
    }
}
