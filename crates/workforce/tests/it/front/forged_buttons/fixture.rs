//! A firm with two sites whose people know nothing of each other: Home with the actors, and Zvezda with its own people.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use opora::store::WriteError;
use opora::testing::chat::ChatUser;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::Value;
use workforce::domain::Transaction;
use workforce::orders::{self, AboutOrder, NewOrder, Orders};
use workforce::people;
use workforce::person::{Permission, Role, Status};
use workforce::registration::consent;
use workforce::shifts::{self, CancellationDetails, Reason, ShiftStart, Shifts};
use workforce::sites::{AboutSite, Position};
use workforce::texts::Language;

use crate::kit::firm::{NOON, StorageKind};
use crate::registration;
use crate::shifts::{HERE, Workplace, about_site, person};

/// The actors of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// Not registered.
    Stranger,
    /// Registered, and waits for a decision.
    Applicant,
    Blocked,
    /// Has a contract for Home and for Den, and a plan at Home.
    Employee,
    /// Has an open shift at Home.
    AtWork,
    /// Has no contract.
    Master,
    Dispatcher,
    /// Has all permissions at Home.
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

pub struct ForgeryFixture {
    pub workplace: Workplace,
    actors: BTreeMap<Actor, ChatUser>,
    /// People of Zvezda.
    pub others: Vec<ChatUser>,
    /// Ids of the actors' own things, by name.
    pub own: BTreeMap<&'static str, String>,
    /// Ids of Zvezda and of an applicant, by kind.
    pub foreign: BTreeMap<&'static str, Vec<String>>,
    /// The query for all rows of all tables.
    all_rows: String,
}

/// No answer to anyone but owners may contain these: names, the address, the rate and bonus, hours, the distance.
pub const SECRETS: [&str; 8] = ["Zvezda", "Tainaya", "741", "Zinaida", "Mikhail", "Smith", "03:17", " km"];
const SECRET_KOPECKS: i64 = 874_100;
const FAR_AWAY: Position = Position { latitude: 59.93, longitude: 30.31 };
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";
/// Stays within the limit of a hundred inputs a minute.
const BETWEEN_INPUTS: Duration = Duration::from_millis(600);

impl ForgeryFixture {
    pub async fn open() -> Self {
        let workplace = Workplace::open(StorageKind::Sqlite).await;
        let mut own = BTreeMap::new();
        let home = workplace.site("Home", 10_000).await;
        let den = workplace.site("Den", 10_000).await;
        own.extend([("home", home.to_string()), ("den", den.to_string())]);
        workplace.task(home, None, "Sweep", 500).await;
        let slot = workplace.slot(home, 2 * 1440, 120, |slot| slot.capacity = 5).await;
        let day = workplace.sites.slot(slot).await.unwrap().unwrap().about.day;
        own.extend([("slot", slot.to_string()), ("day", day.to_string())]);
        let consent = consent::current_text(&workplace.firm.app, Language::En).await.unwrap();
        own.insert("consent", consent::version(&consent));
        let all_rows = query_for_all(&workplace).await;
        let (actors, others, foreign) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let mut fixture = Self { workplace, actors, others, own, foreign, all_rows };
        fixture.create_zvezda().await;
        fixture.create_actors(home, den).await;
        fixture
    }

    /// Zvezda is known to no actor but the owner.
    async fn create_zvezda(&mut self) {
        let workplace = &self.workplace;
        let secret = |name: &str, position: Option<Position>| AboutSite {
            address: "Tainaya 8".into(),
            rate_kopecks: SECRET_KOPECKS,
            position,
            ..about_site(name)
        };
        let site = workplace.site_with(secret("Zvezda", Some(FAR_AWAY))).await;
        let placeless = workplace.site_with(secret("Zvezda nowhere", None)).await;
        workplace.task(site, None, "Polish the Zvezda", SECRET_KOPECKS).await;
        // Noon in UTC is 15:00 there.
        let mut slots = Vec::new();
        for days in 1..4 {
            let titled = |slot: &mut workforce::sites::AboutSlot| {
                slot.title = "Zvezda hall".into();
                slot.capacity = 3;
            };
            slots.push(workplace.slot(site, 737 + days * 1440, 60, titled).await);
        }
        let zinaida = workplace.worker("Zinaida", &[site, placeless], |about| about.allows_spontaneous = true).await;
        let who = person(&workplace.firm, &zinaida).await;
        let room = Shifts::of_app(&workplace.firm.app);
        let plan = room.plan(&workplace.owner, who.id, slots[0]).await.unwrap();
        let cancelled = room.plan(&workplace.owner, who.id, slots[1]).await.unwrap();
        let user_id = who.id;
        let excuse = CancellationDetails { reason: Reason::Illness, words: None, document: None, photo: None };
        self.write(move |db| {
            Box::pin(async move {
                let start =
                    ShiftStart { user_id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
                shifts::open(db, start).await?;
                shifts::cancel(db, cancelled, (user_id, "Zinaida".into()), excuse, 24, vec![], NOON).await
            })
        })
        .await;
        let workplace = &self.workplace;
        let mikhail = workplace.firm.member("Mikhail", &[Role::Manager]).await;
        zinaida.presses_data("chat:open").await;
        zinaida.sends("Where is the key to the Zvezda?").await;
        mikhail.sees("Zinaida writes");
        let pavel = workplace.firm.stage.person("Pavel");
        registration::sends_everything(&pavel).await;
        registration::finish_effects(&workplace.firm, PNG).await;
        let document = &workplace.rows("SELECT id FROM documents WHERE kind <> 'selfie'").await[0][0];
        let applicant = format!("{}:{}", pavel.key().user, &document[..8]);
        let [order, others] = self.create_orders().await;
        self.own.insert("order", order);
        let workplace = &self.workplace;
        let one = async |sql: &str| workplace.rows(sql).await.concat();
        self.foreign = BTreeMap::from([
            ("site", vec![site.to_string(), placeless.to_string()]),
            ("slot", slots.iter().map(ToString::to_string).collect()),
            ("plan", vec![plan.to_string()]),
            ("task", one("SELECT id FROM shift_tasks").await),
            ("cancellation", one("SELECT id FROM plan_cancellations").await),
            ("asker", vec![user_id.to_string()]),
            ("applicant", vec![applicant]),
            ("order", vec![others]),
        ]);
        self.others = vec![zinaida, mikhail, pavel];
    }

    /// Orders of two clients: of the one with the phone 89991234567, and of another one.
    async fn create_orders(&self) -> [String; 2] {
        let about = |phone: &str| AboutOrder {
            equipment_type: "Oven".into(),
            description: "It does not get warm".into(),
            client_name: "Anna Petrova".into(),
            phone: phone.into(),
            address: "Lenin street 5, flat 12".into(),
            position: None,
            notes: None,
            window: None,
        };
        let (orders, owner) = (Orders::of_app(&self.workplace.firm.app), self.workplace.owner.clone());
        let owner = orders::Actor::Member(owner);
        let new = |phone: &str| NewOrder { about: about(phone), equipment_id: None, files: Vec::new() };
        let create = async |phone| orders.create(&owner, new(phone)).await.unwrap().id.to_string();
        [create("89991234567").await, create("89997654321").await]
    }

    async fn create_actors(&mut self, home: i64, den: i64) {
        let workplace = &self.workplace;
        let spontaneous = |about: &mut workforce::sites::AboutContract| about.allows_spontaneous = true;
        let emma = workplace.worker("Emma", &[home, den], spontaneous).await;
        let planned = workplace.slot(home, 3 * 1440, 120, |_| {}).await;
        let emma_id = person(&workplace.firm, &emma).await.id;
        let plan = Shifts::of_app(&workplace.firm.app).plan(&workplace.owner, emma_id, planned).await.unwrap();
        let eva = workplace.worker("Eva", &[home], spontaneous).await;
        let user_id = person(&workplace.firm, &eva).await.id;
        let max = workplace.firm.member("Max", &[Role::Manager]).await;
        let all = [Permission::View, Permission::Edit, Permission::Schedule, Permission::Employees, Permission::Rates];
        let max_id = person(&workplace.firm, &max).await.id;
        workplace.sites.set_permissions(&workplace.owner, max_id, home, all.to_vec()).await.unwrap();
        let bella = workplace.worker("Bella", &[home], |_| {}).await;
        let bella_id = person(&workplace.firm, &bella).await.id;
        let arina = workplace.firm.member("Arina", &[Role::Applicant]).await;
        let arina_id = person(&workplace.firm, &arina).await.id;
        self.actors = BTreeMap::from([
            (Actor::Stranger, workplace.firm.stage.person("Sara")),
            (Actor::Applicant, arina),
            (Actor::Blocked, bella),
            (Actor::Employee, emma),
            (Actor::AtWork, eva),
            (Actor::Master, workplace.firm.member("Maya", &[Role::Master]).await),
            (Actor::Dispatcher, workplace.firm.member("Dora", &[Role::Dispatcher]).await),
            (Actor::Manager, max),
            (Actor::Owner, workplace.firm.member("Oleg", &[Role::Owner]).await),
        ]);
        self.write(move |db| {
            Box::pin(async move {
                let at_home = ShiftStart {
                    user_id,
                    site_id: home,
                    plan_id: None,
                    position: Some(HERE),
                    started_at: NOON,
                    at: NOON,
                };
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
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> futures_util::future::BoxFuture<'w, Result<(), WriteError>>
            + Send
            + 'static,
    {
        self.workplace.firm.app.domain.write(run).await.unwrap();
    }

    pub fn person(&self, actor: Actor) -> &ChatUser {
        &self.actors[&actor]
    }

    /// Performs a step: `/command` and `"text` are sent, `@` is a position, everything else is button data.
    /// Placeholders in braces stand for the actors' own ids.
    pub async fn perform(&self, actor: Actor, step: &str) {
        self.workplace.firm.stage.clock().advance(BETWEEN_INPUTS);
        let step = self.own.iter().fold(step.to_owned(), |step, (name, id)| step.replace(&format!("{{{name}}}"), id));
        let someone = self.person(actor);
        match step.strip_prefix('"') {
            Some(text) => someone.sends(text).await,
            None if step.starts_with('/') => someone.sends(&step).await,
            None if step == "@" => someone.sends_location(HERE.latitude, HERE.longitude).await,
            None => someone.presses_data(&step).await,
        }
    }

    /// What the bot tells an actor after a step.
    pub async fn answer_to(&self, actor: Actor, step: &str) -> String {
        let lines = |chat: String| chat.lines().filter(|line| !line.contains("toast  |")).count();
        let before = lines(self.person(actor).transcript());
        self.perform(actor, step).await;
        let after = self.person(actor).transcript();
        // The first new line is the actor's own step.
        after.lines().skip(before + 1).collect::<Vec<_>>().join("\n")
    }

    pub async fn state(&self, actor: Actor) -> Option<String> {
        self.person(actor).state().await
    }

    /// What the bot has said to the people of Zvezda.
    pub fn transcripts_of_others(&self) -> Vec<String> {
        self.others.iter().map(ChatUser::transcript).collect()
    }

    /// All rows of the application's tables.
    pub async fn rows(&self) -> Rows {
        let mut all = Rows::new();
        for row in texts(&self.workplace, &self.all_rows).await {
            let (table, row) = row.split_once(' ').unwrap();
            all.entry(table.to_owned()).or_default().push(serde_json::from_str(row).unwrap());
        }
        all
    }

    /// Only the rows of Zvezda and its people.
    pub async fn foreign_rows(&self) -> Rows {
        let mut rows = self.rows().await;
        let mut people: BTreeSet<i64> = BTreeSet::new();
        for one in &self.others {
            people.insert(person(&self.workplace.firm, one).await.id);
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

/// One query that returns each row of the application's tables as its table name and JSON.
async fn query_for_all(workplace: &Workplace) -> String {
    let is_own = "type = 'table' AND name NOT LIKE 'opora_%' AND name NOT LIKE 'sqlite_%'";
    let mut parts = Vec::new();
    for table in texts(workplace, &format!("SELECT name FROM sqlite_master WHERE {is_own}")).await {
        let columns = texts(workplace, &format!("SELECT name FROM pragma_table_info('{table}')")).await;
        let fields: Vec<_> = columns.iter().map(|column| format!("'{column}', \"{column}\"")).collect();
        parts.push(format!("SELECT '{table} ' || json_object({}) FROM {table}", fields.join(", ")));
    }
    parts.join(" UNION ALL ")
}

async fn texts(workplace: &Workplace, sql: &str) -> Vec<String> {
    let db = workplace.firm.app.domain.read();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index::<String>(0).unwrap()).collect()
}
