//! Sites and shifts: what the database keeps, what people do in the chat, and what comes of it.

use chrono_tz::Europe::Moscow;
use opora::clock::Millis;
use opora::testing::chat::Someone;
use sea_orm::{ConnectionTrait, Statement};
use workforce::notices;
use workforce::person::{Person, Role};
use workforce::sites::{AboutContract, AboutSite, AboutSlot, AboutTask, ContractStatus, Hours, Position, Sites, local};
use workforce::texts::Language;

use crate::kit::firm::{Firm, Kind, NOON};

mod by_plan;
mod by_time;
mod closing_at_once;
mod crowd;
mod due_at_a_start;
mod editing;
mod endings;
mod filling_in;
mod forgotten;
mod in_the_chat;
mod invariants;
mod judging;
mod kept_out;
mod killed;
mod leaving;
mod long_lists;
mod many;
mod money_rules;
mod moved;
mod own_case;
mod owners_chat;
mod permitted;
mod phone;
mod photos;
mod placeless;
mod planning;
mod premises;
mod racing;
mod regressions;
mod sent_before;
mod shown;
mod staff_plans;
mod timeouts;
mod told;
mod two_contracts;
mod two_instances;
mod ways_out;
mod without_redis;
mod worked;
mod written_pay;

/// Where all sites of these tests are.
pub const HERE: Position = Position { latitude: 55.75, longitude: 37.61 };

/// A firm with an owner, who makes what a test needs.
pub struct Yard {
    pub firm: Firm,
    pub owner: Person,
    pub sites: Sites,
}

impl Yard {
    pub async fn open(kind: Kind) -> Self {
        let firm = Firm::open(kind).await;
        let owner = firm.member("Olga", &[Role::Owner]).await;
        let owner = person(&firm, &owner).await;
        let sites = Sites::of_app(&firm.app);
        Self { firm, owner, sites }
    }

    /// A site that is open around the clock of these tests.
    pub async fn site(&self, name: &str, rate_kopecks: i64) -> i64 {
        self.site_like(AboutSite { rate_kopecks, ..about_site(name) }).await
    }

    pub async fn site_like(&self, about: AboutSite) -> i64 {
        self.sites.create(&self.owner, about).await.unwrap()
    }

    /// A slot that begins so many minutes after noon in UTC, and lasts so many.
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

    /// Somebody with a contract for these sites.
    pub async fn worker(&self, name: &str, sites: &[i64], more: impl FnOnce(&mut AboutContract)) -> Someone {
        let someone = self.firm.member(name, &[Role::Employee]).await;
        let person = person(&self.firm, &someone).await;
        let mut about = AboutContract {
            status: ContractStatus::Active,
            rate_kopecks: None,
            allows_spontaneous: false,
            sites: sites.to_vec(),
        };
        more(&mut about);
        self.sites.create_contract(&self.owner, person.id, about).await.unwrap();
        someone
    }

    /// Rows of a query, as texts.
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

    /// What was posted, in the order of posting.
    pub async fn amounts(&self) -> Vec<(String, i64)> {
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

pub fn task(text: &str, amount_kopecks: i64) -> AboutTask {
    AboutTask { text: text.into(), amount_kopecks, is_mandatory: false, needs_media: false }
}

pub async fn person(firm: &Firm, someone: &Someone) -> Person {
    firm.app.people.by_telegram(someone.key().user).await.unwrap().unwrap()
}

/// Goes through the menu to a place in it.
pub async fn chooses(someone: &Someone, caption: &str) {
    someone.sends("/start").await;
    someone.presses(caption).await;
}

/// Shares the position of the sites.
pub async fn is_here(someone: &Someone) {
    someone.sends_location(HERE.latitude, HERE.longitude).await;
}

/// Plans the only slot that is free.
pub async fn plans(someone: &Someone) {
    chooses(someone, "🗓 Plan a shift").await;
    someone.presses("⚡ Next free places").await;
    let choice = last_choice(someone);
    someone.presses(&choice).await;
    someone.presses("Yes, I will come").await;
    someone.sees("Planned: ");
}

/// Opens what was planned, or what is offered first.
pub async fn opens(someone: &Someone, start: &str) {
    chooses(someone, "▶️ Open a shift").await;
    let choice = button_with(someone, start);
    someone.presses(&choice).await;
    is_here(someone).await;
    someone.sees("is open since");
}

pub async fn closes(someone: &Someone) {
    chooses(someone, "⏹ Close my shift").await;
    someone.presses("Go on to closing").await;
    is_here(someone).await;
}

/// What somebody was told last by a notice, which waits to be sent, has these words.
pub async fn is_told(yard: &Yard, someone: &Someone, words: &str) {
    let id = person(&yard.firm, someone).await.id;
    let untold = notices::untold(&yard.firm.app.domain).await.unwrap();
    let told = untold.iter().rev().find(|(_, user, _)| *user == id).map(|(.., notice)| notice.words(Language::En));
    assert!(told.as_ref().is_some_and(|told| told.contains(words)), "no {words:?} in {told:?}");
}

/// The caption of the last button that has these words in it.
pub fn button_with(someone: &Someone, words: &str) -> String {
    let chat = someone.transcript();
    let captions = chat.split(['[', ']']).skip(1).step_by(2);
    let found = captions.filter(|caption| caption.contains(words)).last();
    found.unwrap_or_else(|| panic!("no button with {words:?} in {chat}")).to_owned()
}

fn last_choice(someone: &Someone) -> String {
    button_with(someone, " · ")
}
