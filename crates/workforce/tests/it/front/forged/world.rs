//! A firm in which some know nothing of the others: the site Home with its people, and the site Zvezda with its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use opora::store::WriteError;
use opora::testing::chat::Someone;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::Value;
use workforce::domain::Writing;
use workforce::people;
use workforce::person::{Permission, Role, Status};
use workforce::shifts::{self, Excuse, Reason, Shifts, Start};
use workforce::sites::{AboutSite, Position};

use crate::kit::firm::{Kind, NOON};
use crate::registration;
use crate::shifts::{HERE, Yard, about_site, person};

/// Who acts in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// Nobody knows this account.
    Stranger,
    /// Registered, and waits for a decision.
    Applicant,
    Blocked,
    /// Has a contract for Home and for Den, and a plan at Home.
    Employee,
    /// Works at Home at the moment.
    AtWork,
    /// Has no contract.
    Master,
    Dispatcher,
    /// Is permitted everything at Home.
    Manager,
    Owner,
}

impl Actor {
    pub const ALL: [Self; 9] = [
        Self::Stranger,
        Self::Applicant,
        Self::Blocked,
        Self::Employee,
        Self::AtWork,
        Self::Master,
        Self::Dispatcher,
        Self::Manager,
        Self::Owner,
    ];
}

/// Rows of all tables, as JSON.
pub type Rows = BTreeMap<String, Vec<Value>>;

pub struct World {
    pub yard: Yard,
    actors: BTreeMap<Actor, Someone>,
    /// People of Zvezda, and what the bot has said to them.
    pub others: Vec<Someone>,
    /// What the actors have of their own, by name.
    pub own: BTreeMap<&'static str, String>,
    /// What is of Zvezda, or of an applicant, by the kind of number.
    pub foreign: BTreeMap<&'static str, Vec<String>>,
    /// The query for all rows of all tables.
    all_rows: String,
}

/// No answer to anybody but owners may have any of these: names, the address, the rate and bonus, hours, the distance.
pub const SECRETS: [&str; 8] = ["Zvezda", "Tainaya", "741", "Zinaida", "Mikhail", "Smith", "03:17", " km"];
const SECRET_KOPECKS: i64 = 874_100;
const FAR_AWAY: Position = Position { latitude: 59.93, longitude: 30.31 };
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";
/// The bot hears a hundred inputs of a person within a minute.
const BETWEEN_INPUTS: Duration = Duration::from_millis(600);

impl World {
    pub async fn open() -> Self {
        let yard = Yard::open(Kind::Sqlite).await;
        let mut own = BTreeMap::new();
        let home = yard.site("Home", 10_000).await;
        let den = yard.site("Den", 10_000).await;
        own.extend([("home", home.to_string()), ("den", den.to_string())]);
        yard.task(home, None, "Sweep", 500).await;
        let slot = yard.slot(home, 2 * 1440, 120, |slot| slot.capacity = 5).await;
        let day = yard.sites.slot(slot).await.unwrap().unwrap().about.day;
        own.extend([("slot", slot.to_string()), ("day", day.to_string())]);
        let all_rows = query_for_all(&yard).await;
        let (actors, others, foreign) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let mut world = Self { yard, actors, others, own, foreign, all_rows };
        world.hide_zvezda().await;
        world.hire(home, den).await;
        world
    }

    /// Zvezda, which no actor but the owner knows.
    async fn hide_zvezda(&mut self) {
        let yard = &self.yard;
        let secret = |name: &str, position: Option<Position>| AboutSite {
            address: "Tainaya 8".into(),
            rate_kopecks: SECRET_KOPECKS,
            position,
            ..about_site(name)
        };
        let site = yard.site_like(secret("Zvezda", Some(FAR_AWAY))).await;
        let placeless = yard.site_like(secret("Zvezda nowhere", None)).await;
        yard.task(site, None, "Polish the Zvezda", SECRET_KOPECKS).await;
        // Noon in UTC is 15:00 there.
        let mut slots = Vec::new();
        for days in 1..4 {
            let titled = |slot: &mut workforce::sites::AboutSlot| {
                slot.title = "Zvezda hall".into();
                slot.capacity = 3;
            };
            slots.push(yard.slot(site, 737 + days * 1440, 60, titled).await);
        }
        let zinaida = yard.worker("Zinaida", &[site, placeless], |about| about.allows_spontaneous = true).await;
        let who = person(&yard.firm, &zinaida).await;
        let doors = Shifts::of_app(&yard.firm.app);
        let plan = doors.plan(&yard.owner, who.id, slots[0]).await.unwrap();
        let cancelled = doors.plan(&yard.owner, who.id, slots[1]).await.unwrap();
        let user_id = who.id;
        let excuse = Excuse { reason: Reason::Illness, words: None, document: None, photo: None };
        self.write(move |db| {
            Box::pin(async move {
                let start = Start { user_id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
                shifts::open(db, start).await?;
                shifts::cancel(db, cancelled, (user_id, "Zinaida".into()), excuse, 24, vec![], NOON).await
            })
        })
        .await;
        let yard = &self.yard;
        let mikhail = yard.firm.member("Mikhail", &[Role::Manager]).await;
        zinaida.presses_data("chat:open").await;
        zinaida.sends("Where is the key to the Zvezda?").await;
        mikhail.sees("Zinaida writes");
        let pavel = yard.firm.stage.person("Pavel");
        registration::sends_everything(&pavel).await;
        registration::works(&yard.firm, PNG).await;
        let document = &yard.rows("SELECT id FROM documents WHERE kind <> 'selfie'").await[0][0];
        let applicant = format!("{}:{}", pavel.key().user, &document[..8]);
        let one = async |sql: &str| yard.rows(sql).await.concat();
        self.foreign = BTreeMap::from([
            ("site", vec![site.to_string(), placeless.to_string()]),
            ("slot", slots.iter().map(ToString::to_string).collect()),
            ("plan", vec![plan.to_string()]),
            ("task", one("SELECT id FROM shift_tasks").await),
            ("cancellation", one("SELECT id FROM plan_cancellations").await),
            ("asker", vec![user_id.to_string()]),
            ("applicant", vec![applicant]),
        ]);
        self.others = vec![zinaida, mikhail, pavel];
    }

    async fn hire(&mut self, home: i64, den: i64) {
        let yard = &self.yard;
        let spontaneous = |about: &mut workforce::sites::AboutContract| about.allows_spontaneous = true;
        let emma = yard.worker("Emma", &[home, den], spontaneous).await;
        let planned = yard.slot(home, 3 * 1440, 120, |_| {}).await;
        let emma_id = person(&yard.firm, &emma).await.id;
        let plan = Shifts::of_app(&yard.firm.app).plan(&yard.owner, emma_id, planned).await.unwrap();
        let eva = yard.worker("Eva", &[home], spontaneous).await;
        let user_id = person(&yard.firm, &eva).await.id;
        let max = yard.firm.member("Max", &[Role::Manager]).await;
        let all = [Permission::View, Permission::Edit, Permission::Schedule, Permission::Employees, Permission::Rates];
        let max_id = person(&yard.firm, &max).await.id;
        yard.sites.permit(&yard.owner, max_id, home, all.to_vec()).await.unwrap();
        let bella = yard.worker("Bella", &[home], |_| {}).await;
        let bella_id = person(&yard.firm, &bella).await.id;
        let arina = yard.firm.member("Arina", &[Role::Applicant]).await;
        let arina_id = person(&yard.firm, &arina).await.id;
        self.actors = BTreeMap::from([
            (Actor::Stranger, yard.firm.stage.person("Sara")),
            (Actor::Applicant, arina),
            (Actor::Blocked, bella),
            (Actor::Employee, emma),
            (Actor::AtWork, eva),
            (Actor::Master, yard.firm.member("Maya", &[Role::Master]).await),
            (Actor::Dispatcher, yard.firm.member("Dora", &[Role::Dispatcher]).await),
            (Actor::Manager, max),
            (Actor::Owner, yard.firm.member("Oleg", &[Role::Owner]).await),
        ]);
        self.write(move |db| {
            Box::pin(async move {
                let at_home =
                    Start { user_id, site_id: home, plan_id: None, position: Some(HERE), started_at: NOON, at: NOON };
                shifts::open(db, at_home).await?;
                people::set_status(db, bella_id, Status::Blocked, None, NOON).await?;
                people::set_status(db, arina_id, Status::Pending, None, NOON).await
            })
        })
        .await;
        self.own.insert("plan", plan.to_string());
    }

    pub async fn write<F>(&self, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> futures_util::future::BoxFuture<'w, Result<(), WriteError>>
            + Send
            + 'static,
    {
        self.yard.firm.app.domain.write(run).await.unwrap();
    }

    pub fn of(&self, actor: Actor) -> &Someone {
        &self.actors[&actor]
    }

    /// Does what is written: `/command` and `"text` are said, `@` is a position, everything else is the data of a
    /// button. Names in braces stand for numbers of the actors' own.
    pub async fn does(&self, actor: Actor, step: &str) {
        self.yard.firm.stage.clock().advance(BETWEEN_INPUTS);
        let step = self.own.iter().fold(step.to_owned(), |step, (name, id)| step.replace(&format!("{{{name}}}"), id));
        let someone = self.of(actor);
        match step.strip_prefix('"') {
            Some(text) => someone.sends(text).await,
            None if step.starts_with('/') => someone.sends(&step).await,
            None if step == "@" => someone.sends_location(HERE.latitude, HERE.longitude).await,
            None => someone.presses_data(&step).await,
        }
    }

    /// What an actor is told after a step.
    pub async fn told(&self, actor: Actor, step: &str) -> String {
        let lines = |chat: String| chat.lines().filter(|line| !line.contains("flash  |")).count();
        let before = lines(self.of(actor).transcript());
        self.does(actor, step).await;
        let after = self.of(actor).transcript();
        // The first new line is what the actor did.
        after.lines().skip(before + 1).collect::<Vec<_>>().join("\n")
    }

    /// The state of the conversation.
    pub async fn state(&self, actor: Actor) -> Option<String> {
        self.of(actor).state().await
    }

    /// What the bot has said to the people of Zvezda.
    pub fn heard_by_others(&self) -> Vec<String> {
        self.others.iter().map(Someone::transcript).collect()
    }

    /// Everything in the application's tables.
    pub async fn rows(&self) -> Rows {
        let mut all = Rows::new();
        for row in texts(&self.yard, &self.all_rows).await {
            let (table, row) = row.split_once(' ').unwrap();
            all.entry(table.to_owned()).or_default().push(serde_json::from_str(row).unwrap());
        }
        all
    }

    /// Only what is about Zvezda and its people.
    pub async fn foreign_rows(&self) -> Rows {
        let mut rows = self.rows().await;
        let mut people: BTreeSet<i64> = BTreeSet::new();
        for one in &self.others {
            people.insert(person(&self.yard.firm, one).await.id);
        }
        let sites: BTreeSet<i64> = self.foreign["site"].iter().map(|id| id.parse().unwrap()).collect();
        for (table, rows) in &mut rows {
            rows.retain(|row| {
                let is_of =
                    |column: &str, ids: &BTreeSet<i64>| row[column].as_i64().is_some_and(|id| ids.contains(&id));
                is_of("site_id", &sites)
                    || is_of("user_id", &people)
                    || is_of("in_charge_id", &people)
                    || (table == "sites" && is_of("id", &sites))
                    || (table == "users" && is_of("id", &people))
            });
        }
        rows.retain(|_, rows| !rows.is_empty());
        rows
    }
}

/// One query that answers each row of the application's tables as its table and JSON.
async fn query_for_all(yard: &Yard) -> String {
    let is_own = "type = 'table' AND name NOT LIKE 'opora_%' AND name NOT LIKE 'sqlite_%'";
    let mut parts = Vec::new();
    for table in texts(yard, &format!("SELECT name FROM sqlite_master WHERE {is_own}")).await {
        let columns = texts(yard, &format!("SELECT name FROM pragma_table_info('{table}')")).await;
        let fields: Vec<_> = columns.iter().map(|column| format!("'{column}', \"{column}\"")).collect();
        parts.push(format!("SELECT '{table} ' || json_object({}) FROM {table}", fields.join(", ")));
    }
    parts.join(" UNION ALL ")
}

async fn texts(yard: &Yard, sql: &str) -> Vec<String> {
    let db = yard.firm.app.domain.read();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index::<String>(0).unwrap()).collect()
}
