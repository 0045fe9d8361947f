//! Quiet hours of people: `/quiet` in the bot, and until when a notice to a person waits.
//!
//! A person who has chosen nothing has the quiet hours of the business. They are counted by the clock of the person's
//! site, else of the business.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::prelude::*;
use opora::store::WriteError;
use opora::telegram::Button;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};
use serde_json::Value;

use super::table::quiet;
use crate::application::App;
use crate::domain::{Domain, Transaction, WriteInTurn, in_ids};
use crate::front::{allowed_person, menu_button, navigation};
use crate::person::{Person, Role};
use crate::settings::{QUIET_HOURS, QuietHours, TIME_ZONE};
use crate::text;
use crate::texts::Language;

/// Data of the buttons, before the chosen value.
const CHOOSE: &str = "quiet:";
/// The value of the button that follows the business.
const AS_BUSINESS: &str = "business";

/// The dialogue. It has no state, because its buttons work at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "quiet")]
pub enum QuietDialogue {}

pub fn dialogue() -> Dialogue<QuietDialogue> {
    Dialogue::new().start(command("quiet"), ask).start(button(CHOOSE), choose)
}

/// Until when a notice to this person waits; none if it may be sent now.
pub async fn quiet_until(app: &App, person: &Person, now: Millis) -> Result<Option<Millis>, DbErr> {
    Ok(quiet_until_of(app, &[person.id], now).await?.remove(&person.id))
}

/// Until when messages to each of these people wait. People who may be written to now are left out.
pub async fn quiet_until_of(app: &App, people: &[i64], now: Millis) -> Result<HashMap<i64, Millis>, DbErr> {
    let rows = quiet::Entity::find().filter(in_ids(quiet::Column::UserId, people)).all(app.domain.read()).await?;
    let chosen: HashMap<i64, QuietHours> =
        rows.into_iter().filter_map(|row| Some((row.user_id, row.hours.parse().ok()?))).collect();
    let of_business = app.settings.get(&QUIET_HOURS).await?;
    let hours = people.iter().map(|id| (*id, chosen.get(id).copied().unwrap_or(of_business)));
    let hours: Vec<_> = hours.filter(|(_, hours)| *hours != QuietHours::NONE).collect();
    if hours.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<i64> = hours.iter().map(|(id, _)| *id).collect();
    let (zones, zone) = (app.rooms.time_zones_of(app, &ids).await?, app.settings.get(&TIME_ZONE).await?);
    let end = |(id, hours): (i64, QuietHours)| Some((id, hours.end(now, zones.get(&id).copied().unwrap_or(zone))?));
    Ok(hours.into_iter().filter_map(end).collect())
}

/// What the person has chosen; none for the quiet hours of the business.
async fn chosen(domain: &Domain, user_id: i64) -> Result<Option<QuietHours>, DbErr> {
    let row = quiet::Entity::find_by_id(user_id).one(domain.read()).await?;
    Ok(row.and_then(|row| row.hours.parse().ok()))
}

async fn ask(turn: &mut Turn, _: Command) -> Step<QuietDialogue> {
    let Some(person) = allowed_person(turn, &Role::ALL).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let of_business = app.settings.get(&QUIET_HOURS).await?;
    let now = name(chosen(&app.domain, person.id).await?, of_business, language);
    let mut buttons = vec![vec![choice(&name(None, of_business, language), AS_BUSINESS)]];
    for pair in QuietHours::OPTIONS.chunks(2) {
        buttons.push(pair.iter().map(|(value, caption)| choice(&language.text(caption), value)).collect());
    }
    buttons.push(vec![navigation::menu_of_question(language)]);
    turn.say(Say::text(text!(language, "quiet-ask", now = now)).buttons(buttons));
    Ok(Next::Stay)
}

fn choice(caption: &str, value: &str) -> Button {
    Button::raw(caption, format!("{CHOOSE}{value}"))
}

async fn choose(turn: &mut Turn, press: Press) -> Step<QuietDialogue> {
    let Some(person) = allowed_person(turn, &Role::ALL).await? else { return Ok(Next::Stay) };
    let hours = match press.rest.parse::<QuietHours>() {
        Ok(hours) => Some(hours),
        Err(_) if *press.rest == *AS_BUSINESS => None,
        Err(_) => return Ok(Next::Stay),
    };
    let (app, language, id) = (turn.context::<App>(), person.language, person.id);
    turn.write(move |db| Box::pin(set(db, id, hours)));
    let now = name(hours, app.settings.get(&QUIET_HOURS).await?, language);
    turn.say(Say::text(text!(language, "quiet-set", now = now)).buttons([[menu_button(language)]]));
    Ok(Next::Stay)
}

/// A choice in words.
fn name(chosen: Option<QuietHours>, of_business: QuietHours, language: Language) -> String {
    match chosen {
        Some(hours) => language.text(hours.caption()),
        None => text!(language, "quiet-as-business", now = language.text(of_business.caption())),
    }
}

/// Stores a choice.
pub async fn set(db: &Transaction<'_, '_>, user_id: i64, hours: Option<QuietHours>) -> Result<(), WriteError> {
    let Some(hours) = hours else { return forget(db, user_id).await };
    let row = quiet::ActiveModel { user_id: Set(user_id), hours: Set(hours.to_string()) };
    let again = OnConflict::column(quiet::Column::UserId).update_column(quiet::Column::Hours).to_owned();
    quiet::Entity::insert(row).on_conflict(again).exec_without_returning(db).await?;
    Ok(())
}

pub(super) async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    quiet::Entity::delete_many().filter(quiet::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

pub(super) async fn export(domain: &Domain, user_id: i64) -> Result<Value, DbErr> {
    Ok(chosen(domain, user_id).await?.map_or(Value::Null, |hours| hours.to_string().into()))
}
