//! The questions of a new order, and their answers.

use chrono::NaiveDate;
use opora::prelude::*;

use super::super::{dispatcher, typed_time};
use super::{AskResult, CreateOrderStates, Field, KEEP, OrderDraft, SKIP, TYPE, WHEN, known_client};
use crate::application::App;
use crate::front::navigation::navigation_row;
use crate::front::reply;
use crate::front::text_limits::caption;
use crate::orders::{FieldMistake, Orders, fields};
use crate::person::Person;
use crate::settings::TIME_ZONE;
use crate::sites::{Hours, Period, Position, local};
use crate::texts::Language;
use crate::{key, text};

/// Kinds of equipment that are offered as buttons.
const MAX_TYPES: usize = 12;
/// The windows that are offered for today and tomorrow, in minutes of the day.
const WINDOWS: [(i64, i64); 3] = [(540, 780), (780, 1080), (1080, 1260)];

/// Declares the questions whose only buttons are common ones.
macro_rules! plain_questions {
    ($($name:ident asks $field:ident;)*) => {
        $(pub async fn $name(turn: &mut Turn, draft: OrderDraft) -> AskResult {
            ask(turn, draft, Field::$field, Vec::new()).await
        })*
    };
}
plain_questions! {
    ask_description asks Description;
    ask_name asks ClientName;
    ask_address asks ClientAddress;
    ask_phone asks ClientPhone;
    ask_notes asks Notes;
}

pub async fn ask_equipment(turn: &mut Turn, draft: OrderDraft) -> AskResult {
    let types = Orders::of_app(&turn.context::<App>()).equipment_types().await?;
    let buttons: Vec<_> =
        types.iter().take(MAX_TYPES).map(|one| Button::new(caption(&one.name), format!("{TYPE}{}", one.id))).collect();
    let rows = buttons.chunks(2).map(<[Button]>::to_vec).collect();
    ask(turn, draft, Field::EquipmentType, rows).await
}

pub async fn ask_time(turn: &mut Turn, draft: OrderDraft) -> AskResult {
    let app = turn.context::<App>();
    let (zone, language) = (app.settings.get(&TIME_ZONE).await?, app.speaker(turn).await?.language);
    let (now, today) = (turn.now(), local(turn.now(), zone).date());
    let days = [(today, key!("orders-today")), (today.succ_opt().unwrap_or(today), key!("orders-tomorrow"))];
    let mut rows = Vec::new();
    for (day, name) in days {
        let windows = WINDOWS.into_iter().filter_map(|(from, to)| {
            let window = Hours::new(from, to).on(day, zone)?;
            let text = format!("{} {}", language.text(name), window.local(zone).hours(language));
            (window.from > now).then(|| Button::new(text, format!("{WHEN}{day}:{from}-{to}")))
        });
        rows.extend(windows.map(|one| vec![one]));
    }
    ask(turn, draft, Field::ScheduledTime, rows).await
}

/// Asks a question. An earlier answer is shown and can be kept.
async fn ask(turn: &mut Turn, draft: OrderDraft, field: Field, mut rows: Vec<Vec<Button>>) -> AskResult {
    let Some(person) = dispatcher(turn).await? else { return Ok(()) };
    let language = person.language;
    let zone = turn.context::<App>().settings.get(&TIME_ZONE).await?;
    let mut text = field.question(language);
    if let Some(answer) = draft.answer(field, zone, language) {
        text = format!("{text}\n\n{}", text!(language, "orders-answer-now", answer = answer));
        rows.push(vec![Button::new(text!(language, "orders-keep-button"), KEEP)]);
    }
    if field.is_optional() {
        rows.push(vec![Button::new(text!(language, "shifts-skip-button"), SKIP)]);
    }
    rows.push(navigation_row(language));
    reply::show(turn, text, rows);
    Ok(())
}

pub async fn equipment(turn: &mut Turn, mut draft: OrderDraft, press: Press) -> Step<CreateOrderStates> {
    let types = Orders::of_app(&turn.context::<App>()).equipment_types().await?;
    let Some(chosen) = types.into_iter().find(|one| press.rest == one.id.to_string()) else {
        return Ok(Next::AskAgain);
    };
    draft.equipment_type = Some(chosen.name);
    Ok(Next::Go(draft.after(Field::EquipmentType)))
}

/// A typed answer to whatever is asked.
pub async fn typed(turn: &mut Turn, state: CreateOrderStates, typed: String) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    let Some(field) = state.field() else { return otherwise(turn, state, Input::Text(typed)).await };
    let mut draft = state.into_draft();
    if field == Field::ScheduledTime {
        return typed_time(turn, &person, draft, &typed).await;
    }
    // At the question for the name, the phone of a known client is enough.
    if field == Field::ClientName && fields::phone(&typed).is_ok() {
        return phone_for_name(turn, &person, draft, &typed).await;
    }
    if let Err(mistake) = draft.set(field, &typed) {
        return wrong(turn, mistake, person.language);
    }
    match field {
        Field::ClientPhone => after_phone(turn, &person, draft).await,
        field => Ok(Next::Go(draft.after(field))),
    }
}

/// Shows the card of a known client before the next question.
async fn after_phone(turn: &mut Turn, person: &Person, draft: OrderDraft) -> Step<CreateOrderStates> {
    let is_known = known_client::card(&turn.context::<App>(), person, &draft).await?.is_some();
    Ok(Next::Go(if is_known { CreateOrderStates::KnownClient(draft) } else { draft.after(Field::ClientPhone) }))
}

async fn phone_for_name(
    turn: &mut Turn,
    person: &Person,
    mut draft: OrderDraft,
    typed: &str,
) -> Step<CreateOrderStates> {
    if let Err(mistake) = draft.set(Field::ClientPhone, typed) {
        return wrong(turn, mistake, person.language);
    }
    match known_client::card(&turn.context::<App>(), person, &draft).await? {
        Some(card) => {
            draft.client_name = Some(card.client.name);
            Ok(Next::Go(CreateOrderStates::KnownClient(draft)))
        }
        None => {
            turn.say(text!(person.language, "orders-phone-noted"));
            Ok(Next::Go(CreateOrderStates::ClientName(draft)))
        }
    }
}

async fn typed_time(turn: &mut Turn, person: &Person, draft: OrderDraft, typed: &str) -> Step<CreateOrderStates> {
    let zone = turn.context::<App>().settings.get(&TIME_ZONE).await?;
    match typed_time::window(typed, local(turn.now(), zone), zone) {
        Some(window) => scheduled(turn, draft, window, person.language),
        None => {
            turn.say(text!(person.language, "orders-time-not-understood"));
            Ok(Next::AskAgain)
        }
    }
}

pub async fn chosen_time(turn: &mut Turn, draft: OrderDraft, press: Press) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    let zone = turn.context::<App>().settings.get(&TIME_ZONE).await?;
    let Some((day, hours)) = offered_window(&press.rest) else { return Ok(Next::AskAgain) };
    match hours.on(day, zone) {
        Some(window) => scheduled(turn, draft, window, person.language),
        None => Ok(Next::AskAgain),
    }
}

/// The window in a button: `2026-01-31:540-780`.
fn offered_window(data: &str) -> Option<(NaiveDate, Hours)> {
    let (day, minutes) = data.split_once(':')?;
    let (from, to) = minutes.split_once('-')?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    WINDOWS.contains(&(from, to)).then_some(())?;
    Some((crate::domain::days::day_of(day)?, Hours::new(from, to)))
}

fn scheduled(turn: &mut Turn, mut draft: OrderDraft, window: Period, language: Language) -> Step<CreateOrderStates> {
    match fields::scheduled(window, turn.now()) {
        Ok(window) => {
            draft.set_window(Some(window));
            Ok(Next::Go(draft.after(Field::ScheduledTime)))
        }
        Err(mistake) => wrong(turn, mistake, language),
    }
}

/// A shared contact in place of a typed phone.
pub async fn contact(turn: &mut Turn, draft: OrderDraft, contact: Contact) -> Step<CreateOrderStates> {
    typed(turn, CreateOrderStates::ClientPhone(draft), contact.phone).await
}

/// A shared place. The address has to be typed all the same: a master needs the flat and the entrance.
pub async fn position(turn: &mut Turn, mut draft: OrderDraft, sent: Location) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    let position = Position { latitude: sent.latitude, longitude: sent.longitude };
    draft.position = Some(position).filter(|position| position.is_on_earth());
    turn.say(text!(person.language, "orders-position-noted"));
    Ok(Next::Go(CreateOrderStates::ClientAddress(draft)))
}

/// Leaves an optional field empty.
pub async fn skip(_: &mut Turn, state: CreateOrderStates, _: Press) -> Step<CreateOrderStates> {
    let field = state.field();
    let mut draft = state.into_draft();
    match field {
        Some(Field::Notes) => draft.notes = None,
        Some(Field::ScheduledTime) => draft.set_window(None),
        _ => return Ok(Next::AskAgain),
    }
    Ok(Next::Go(draft.after(field.unwrap_or(Field::ScheduledTime))))
}

/// Goes on with the answer that was given before.
pub async fn keep(_: &mut Turn, state: CreateOrderStates, _: Press) -> Step<CreateOrderStates> {
    match state.field() {
        Some(field) => Ok(Next::Go(state.into_draft().after(field))),
        None => Ok(Next::AskAgain),
    }
}

/// Any other input: says what is expected, and asks again.
pub async fn otherwise(turn: &mut Turn, state: CreateOrderStates, _: Input) -> Step<CreateOrderStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let key = if state.field().is_some() { key!("orders-text-wanted") } else { key!("orders-button-wanted") };
    turn.say(language.text(key));
    Ok(Next::AskAgain)
}

fn wrong(turn: &mut Turn, mistake: FieldMistake, language: Language) -> Step<CreateOrderStates> {
    turn.refuse(mistake.text(language))
}
