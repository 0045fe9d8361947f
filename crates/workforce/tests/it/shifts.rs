//! Sites and shifts: the database's rules, dialogues in the chat, jobs and pages.

use std::time::Duration;

use chrono::NaiveDateTime;
use chrono_tz::Europe::Moscow;
use opora::clock::Millis;
use opora::testing::chat::ChatUser;
use sea_orm::{ConnectionTrait, Statement};
use workforce::notices;
use workforce::person::{Person, Role};
use workforce::sites::{AboutContract, AboutSite, AboutSlot, AboutTask, ContractStatus, Hours, Position, Sites, local};
use workforce::texts::{Language, LocalPeriod};

use crate::kit::firm::{Firm, NOON, StorageKind};

mod back_and_menu;
mod blocked_people;
mod chat;
mod closing_race;
mod concurrency;
mod contract_days;
mod crowd;
mod database_rules;
mod delayed_positions;
mod dialogue_endings;
mod editing;
mod forgotten_shifts;
mod given_back;
pub mod jobs_at_startup;
mod judging;
mod killed;
mod late_signup;
mod lateness_by_plan;
mod long_lists;
mod many_reminders;
mod money_rules;
pub mod moved_slots;
mod own_case;
mod owners_chat;
mod paid_time;
mod pay_at_commit;
mod permissions;
pub mod person_chat;
mod personal_data;
mod photo_pages;
mod photos;
mod planning;
pub mod prepared_tables;
mod regressions;
mod sites_without_position;
mod situations;
mod staff_notices;
mod staff_plans;
mod timed_jobs;
mod timeouts;
mod two_contracts;
mod two_instances;
mod without_redis;
mod worked_examples;

/// The position of all sites in these tests.
pub const HERE: Position = Position { latitude: 55.75, longitude: 37.61 };

/// A firm with an owner, and functions that create sites, slots, tasks and workers.
pub struct Workplace {
    pub firm: Firm,
    pub owner: Person,
    pub sites: Sites,
}

impl Workplace {
    pub async fn open(kind: StorageKind) -> Self {
        Self::on(Firm::open(kind).await).await
    }

    pub async fn on(firm: Firm) -> Self {
        let owner = firm.member("Olga", &[Role::Owner]).await;
        let owner = person(&firm, &owner).await;
        let sites = Sites::of_app(&firm.app);
        Self { firm, owner, sites }
    }

    /// A site that is always open.
    pub async fn site(&self, name: &str, rate_kopecks: i64) -> i64 {
        self.site_with(AboutSite { rate_kopecks, ..about_site(name) }).await
    }

    pub async fn site_with(&self, about: AboutSite) -> i64 {
        self.sites.create(&self.owner, about).await.unwrap()
    }

    /// A slot that begins this many minutes after noon UTC.
    pub async fn slot(&self, site: i64, after: i64, minutes: i64, more: impl FnOnce(&mut AboutSlot)) -> i64 {
        let from = local(Millis(NOON.0 + after * 60_000), Moscow);
        let to = local(Millis(NOON.0 + (after + minutes) * 60_000), Moscow);
        let minute = |at: chrono::NaiveDateTime| i64::from(chrono::Timelike::num_seconds_from_midnight(&at)) / 60;
        let mut about = AboutSlot::usual(from.date(), Hours::new(minute(from), minute(to)));
        more(&mut about);
        self.sites.create_slot(&self.owner, site, about).await.unwrap()
    }

    pub async fn task(&self, site: i64, slot: Option<i64>, text: &str, kopecks: i64) -> i64 {
        self.sites.create_task(&self.owner, site, slot, task(text, kopecks)).await.unwrap()
    }

    /// An employee with a contract for these sites.
    pub async fn worker(&self, name: &str, sites: &[i64], more: impl FnOnce(&mut AboutContract)) -> ChatUser {
        let someone = self.firm.member(name, &[Role::Employee]).await;
        let person = person(&self.firm, &someone).await;
        let mut about = about_contract(sites, false);
        more(&mut about);
        self.sites.create_contract(&self.owner, person.id, about).await.unwrap();
        someone
    }

    pub async fn minutes_pass(&self, minutes: u64) {
        self.seconds_pass(60 * minutes).await;
    }

    pub async fn seconds_pass(&self, seconds: u64) {
        self.firm.stage.advance(Duration::from_secs(seconds)).await;
    }

    /// The rows of a query, as texts.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let db = self.firm.app.domain.read();
        let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
        let width = |sql: &str| sql.split(" FROM ").next().unwrap().matches(',').count() + 1;
        let cell = |row: &sea_orm::QueryResult, at: usize| {
            let text = row.try_get_by_index::<Option<String>>(at).map(|text| text.unwrap_or("-".into()));
            text.or_else(|_| {
                row.try_get_by_index::<Option<i64>>(at).map(|number| number.map_or("-".into(), |n| n.to_string()))
            })
            .unwrap()
        };
        rows.iter().map(|row| (0..width(sql)).map(|at| cell(row, at)).collect()).collect()
    }

    /// All adjustments, in the order of posting.
    pub async fn adjustments(&self) -> Vec<(String, i64)> {
        let rows = self.rows("SELECT kind, amount_kopecks FROM adjustments ORDER BY id").await;
        rows.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
    }
}

pub fn about_site(name: &str) -> AboutSite {
    AboutSite {
        name: name.into(),
        address: "Main Street 1".into(),
        position: Some(HERE),
        hours: Hours::new(0, 0),
        ..AboutSite::usual(Moscow)
    }
}

/// An active contract for these sites, at the sites' rates.
pub fn about_contract(sites: &[i64], allows_spontaneous: bool) -> AboutContract {
    AboutContract {
        status: ContractStatus::Active,
        rate_kopecks: None,
        allows_spontaneous,
        sites: sites.to_vec(),
        valid_from: None,
        valid_until: None,
    }
}

/// Hours of the first day of these tests, by the clock of the site: `16:00`, `18:00`.
pub fn first_day(from: &str, to: &str) -> LocalPeriod {
    let start = first_day_at(from).and_local_timezone(Moscow).unwrap();
    let starts_at = Some(Millis(start.timestamp_millis()));
    LocalPeriod { from: first_day_at(from), to: first_day_at(to), starts_at }
}

/// A time of the first day of these tests, by the clock of the site.
pub fn first_day_at(time: &str) -> NaiveDateTime {
    format!("2026-01-01T{time}:00").parse().unwrap()
}

pub fn task(text: &str, amount_kopecks: i64) -> AboutTask {
    AboutTask { text: text.into(), amount_kopecks, is_mandatory: false, needs_media: false }
}

pub async fn person(firm: &Firm, someone: &ChatUser) -> Person {
    firm.app.people.by_telegram(someone.key().user).await.unwrap().unwrap()
}

/// Opens the menu and presses an item, which may count what waits behind it.
pub async fn chooses_from_menu(someone: &ChatUser, caption: &str) {
    someone.sends("/start").await;
    let counted = format!("[{caption} · ");
    match someone.transcript().rsplit_once(&counted) {
        Some((_, rest)) => {
            let count = rest.split(']').next().unwrap();
            someone.presses(&format!("{caption} · {count}")).await;
        }
        None => someone.presses(caption).await,
    }
}

/// Confirms in the review that the shift is to be closed, with or without undone tasks.
pub async fn goes_on_to_close(someone: &ChatUser) {
    let chat = someone.transcript();
    let offered = ["Continue to clock out", "Clock out anyway"].into_iter();
    let last = offered.max_by_key(|caption| chat.rfind(&format!("[{caption}]")));
    someone.presses(last.unwrap()).await;
}

/// Shares the position of the sites.
pub async fn shares_position(someone: &ChatUser) {
    someone.sends_location(HERE.latitude, HERE.longitude).await;
}

/// Plans the only free slot.
pub async fn plans(someone: &ChatUser) {
    chooses_from_menu(someone, "🗓 Pick up a shift").await;
    someone.presses("⚡ Next open shifts").await;
    let choice = last_choice(someone);
    someone.presses(&choice).await;
    someone.presses("Yes, I'll be there").await;
    someone.sees("You're signed up: ");
}

/// Opens a shift whose button has this text.
pub async fn opens(someone: &ChatUser, start: &str) {
    chooses_from_menu(someone, "▶️ Clock in").await;
    let choice = button_with(someone, start);
    someone.presses(&choice).await;
    shares_position(someone).await;
    someone.sees("You clocked in at");
}

pub async fn closes(someone: &ChatUser) {
    chooses_from_menu(someone, "⏹ Clock out").await;
    goes_on_to_close(someone).await;
    shares_position(someone).await;
}

/// Asserts that the person's last unsent notice has these words.
pub async fn is_notified(workplace: &Workplace, someone: &ChatUser, words: &str) {
    let id = person(&workplace.firm, someone).await.id;
    let untold = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    let told = untold.iter().rev().find(|(_, user, _)| *user == id).map(|(.., notice)| notice.text(Language::En));
    assert!(told.as_ref().is_some_and(|told| told.contains(words)), "no {words:?} in {told:?}");
}

/// The caption of the last button that contains these words.
pub fn button_with(someone: &ChatUser, words: &str) -> String {
    let chat = someone.transcript();
    let captions = chat.split(['[', ']']).skip(1).step_by(2);
    let found = captions.filter(|caption| caption.contains(words)).last();
    found.unwrap_or_else(|| panic!("no button with {words:?} in {chat}")).to_owned()
}

fn last_choice(someone: &ChatUser) -> String {
    button_with(someone, " · ")
}
