//! What the chat page of the demo shows beside the messages: the sites as places, roles, a link to the dashboard, a
//! tour.
//!
//! Roles and sites change while the demo runs, so the hints follow them.

use std::time::Duration;

use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::hints::{Hints, Link, PersonNote, Place, Text, TourStep};

use super::TOKEN;
use super::staff::{self, RosterEntry};
use crate::application::App;
use crate::key;
use crate::person::{Person, Role, Status, role_name};
use crate::sites::Sites;
use crate::texts::Language;

/// How often the hints are compared with the tables while a chat page is open.
const INTERVAL: Duration = Duration::from_secs(2);

/// The chats that the tour is about.
const EMPLOYEE: i64 = staff::FIRST_TELEGRAM_ID + 5;
const NEWCOMER: i64 = staff::FIRST_TELEGRAM_ID + 7;

/// Sets the hints of the demo's bot.
pub async fn set(emulator: &Emulator, app: &App, roster: &[RosterEntry]) -> anyhow::Result<()> {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return Ok(()) };
    let hints = hints(app, roster).await?;
    let mut world = bot.world();
    if *world.hints() != hints {
        world.set_hints(hints);
    }
    Ok(())
}

/// Follows roles and sites while a chat page is open.
pub async fn keep(emulator: Emulator, app: App, language: Language) {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return };
    let mut interval = tokio::time::interval(INTERVAL);
    loop {
        interval.tick().await;
        if !bot.world().events.has_subscribers() {
            continue;
        }
        let Ok(roster) = staff::roster(&app, language).await else { continue };
        if let Err(error) = set(&emulator, &app, &roster).await {
            tracing::debug!(%error, "the hints of the chat page are not up to date");
        }
    }
}

async fn hints(app: &App, roster: &[RosterEntry]) -> anyhow::Result<Hints> {
    let sites = Sites::of_app(app).list().await?;
    let place = |site: crate::sites::Site| {
        let position = site.about.position?;
        Some(Place { name: site.about.name.into(), latitude: position.latitude, longitude: position.longitude })
    };
    let note = |entry: &RosterEntry| PersonNote { id: entry.telegram_id, note: role_of(entry.person.as_ref()) };
    Ok(Hints {
        places: sites.into_iter().filter_map(place).collect(),
        people: roster.iter().map(note).collect(),
        links: vec![cabinet()],
        tour: tour(),
    })
}

/// The role that says most about a person. A superadmin who is an owner is shown as the owner.
fn role_of(person: Option<&Person>) -> Text {
    let Some(person) = person else { return both(key!("demo-newcomer")) };
    let role = if person.roles.has(Role::Owner) { Some(Role::Owner) } else { person.roles.iter().last() };
    match role.filter(|_| person.status == Status::Verified) {
        Some(role) => Text::ru_en(role_name(role, Language::Ru), role_name(role, Language::En)),
        None => both(key!("role-applicant")),
    }
}

fn cabinet() -> Link {
    Link { text: both(key!("demo-cabinet")), url: "/".to_owned() }
}

/// Five steps: the page, an employee, a newcomer, the dashboard, and what happens when things break.
fn tour() -> Vec<TourStep> {
    let step = |title, text, chat, link| TourStep { title: both(title), text: both(text), chat, link };
    vec![
        step(key!("demo-tour-chats"), key!("demo-tour-chats-about"), None, None),
        step(key!("demo-tour-shift"), key!("demo-tour-shift-about"), Some(EMPLOYEE), None),
        step(key!("demo-tour-newcomer"), key!("demo-tour-newcomer-about"), Some(NEWCOMER), None),
        step(key!("demo-tour-cabinet"), key!("demo-tour-cabinet-about"), None, Some(cabinet())),
        step(key!("demo-tour-failures"), key!("demo-tour-failures-about"), None, None),
    ]
}

fn both(key: &'static str) -> Text {
    Text::ru_en(Language::Ru.text(key), Language::En.text(key))
}
