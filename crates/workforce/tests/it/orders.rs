//! Service orders below dialogues and pages: transitions, money, offers, deadlines, search, personal data.

use chrono::NaiveDate;
use opora::clock::Millis;
use workforce::domain::ActionError;
use workforce::money::Money;
use workforce::notices;
use workforce::orders::{
    self, AboutOrder, Actor, Bill, Command, Completion, NewOrder, Order, OrderRefusal, OrderStatus, Orders,
    TelegramClient,
};
use workforce::person::{Person, Role};
use workforce::settings;
use workforce::sites::{Period, Position};
use workforce::texts::Language;

use crate::kit::firm::{Firm, NOON, StorageKind};
use crate::shifts::person;

mod board;
mod clients;
mod closing_chat;
mod database_rules;
mod deadlines;
mod killed;
mod money;
mod new_order;
mod offers;
mod pages;
mod parts;
mod personal_data;
mod random_operations;
mod recurrences;
mod search;
mod staff_chat;
mod transitions;
mod visibility;

/// A dispatch desk: an owner, a dispatcher, two masters, a manager and a client of the bot.
pub struct Desk {
    pub firm: Firm,
    pub owner: Actor,
    pub dispatcher: Actor,
    pub max: Actor,
    pub nina: Actor,
    pub manager: Actor,
    pub client: Actor,
}

impl Desk {
    pub async fn open(kind: StorageKind) -> Self {
        let firm = Firm::open(kind).await;
        let owner = member(&firm, "Olga", Role::Owner).await;
        let dispatcher = member(&firm, "Dina", Role::Dispatcher).await;
        let max = member(&firm, "Max", Role::Master).await;
        let nina = member(&firm, "Nina", Role::Master).await;
        let manager = member(&firm, "Mary", Role::Manager).await;
        let client = client(&firm, 900, "Carl Client", "+79990000001", true).await;
        let desk = Self { firm, owner, dispatcher, max, nina, manager, client: Actor::Client(client) };
        desk.set(settings::ORDERS_FROM_CLIENTS.name, "true").await;
        desk
    }

    pub fn orders(&self) -> Orders {
        Orders::of_app(&self.firm.app)
    }

    pub async fn set(&self, name: &'static str, value: &'static str) {
        let by = self.owner.member_id();
        let set = self.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, value, by, NOON)));
        set.await.unwrap();
    }

    /// A new order of the client of the bot.
    pub async fn clients_order(&self) -> Order {
        self.orders().create(&self.client, new_order("+79990000001")).await.unwrap()
    }

    /// A new order of a client of the office.
    pub async fn new_order(&self) -> Order {
        self.orders().create(&self.dispatcher, new_order("8 (999) 123-45-67")).await.unwrap()
    }

    pub async fn does(&self, who: &Actor, order: &Order, command: Command) -> Result<Order, orders::ActionError> {
        self.orders().execute(who, order.id, Some(order.version), command).await
    }

    /// The order after a command that has to succeed.
    pub async fn done(&self, who: &Actor, order: &Order, command: Command) -> Order {
        self.does(who, order, command.clone()).await.unwrap_or_else(|error| panic!("{command:?}: {error:?}"))
    }

    /// Leads a new order of a client to a status, with Max as its master.
    pub async fn order_in(&self, status: OrderStatus) -> Order {
        let order = self.clients_order().await;
        let path: &[OrderStatus] = match status {
            OrderStatus::New => &[],
            OrderStatus::Assigned => &[OrderStatus::Assigned],
            OrderStatus::Accepted => &[OrderStatus::Assigned, OrderStatus::Accepted],
            OrderStatus::OnSite => &[OrderStatus::Assigned, OrderStatus::Accepted, OrderStatus::OnSite],
            OrderStatus::LongRepair => &[OrderStatus::Assigned, OrderStatus::Accepted, OrderStatus::LongRepair],
            OrderStatus::Closed => {
                &[OrderStatus::Assigned, OrderStatus::Accepted, OrderStatus::OnSite, OrderStatus::Closed]
            }
            OrderStatus::Refused => &[OrderStatus::Assigned, OrderStatus::Refused],
        };
        let mut order = order;
        for to in path {
            let who =
                if matches!(to, OrderStatus::Assigned | OrderStatus::Refused) { &self.dispatcher } else { &self.max };
            order = self.done(who, &order, self.leads(order.status, *to)).await;
        }
        assert_eq!(order.status, status);
        order
    }

    /// A command that leads from one status to another.
    pub fn leads(&self, from: OrderStatus, to: OrderStatus) -> Command {
        match to {
            OrderStatus::Assigned => Command::Assign { master: id(&self.max) },
            OrderStatus::Accepted => Command::Accept,
            OrderStatus::New if from == OrderStatus::Refused => Command::Reopen,
            OrderStatus::New => Command::TakeBack { reason: "Another plan".into() },
            OrderStatus::OnSite if from == OrderStatus::LongRepair => Command::Resume,
            OrderStatus::OnSite => Command::Arrive,
            OrderStatus::LongRepair => Command::LongRepair { until: day(20), prepayment: roubles(500) },
            OrderStatus::Closed => closes(10_000, 2_000),
            OrderStatus::Refused => Command::Refuse { reason: "The client is away".into() },
        }
    }

    /// The unsent news of a member, in English.
    pub async fn news_of(&self, who: &Actor) -> Vec<String> {
        let unsent = notices::unsent(&self.firm.app.domain).await.unwrap();
        let own = unsent.into_iter().filter(|(_, user, _)| *user == id(who));
        own.map(|(.., notice)| notice.text(Language::En)).collect()
    }

    pub async fn is_told(&self, who: &Actor, words: &str) {
        let news = self.news_of(who).await;
        assert!(news.iter().any(|text| text.contains(words)), "no {words:?} in {news:?}");
    }

    /// The numbers of a query.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        use sea_orm::{ConnectionTrait, Statement};
        let db = self.firm.app.domain.read();
        let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
        rows.iter().map(|row| row.try_get_by_index::<i64>(0).unwrap()).collect()
    }

    pub async fn hours_pass(&self, hours: u64) {
        self.minutes_pass(60 * hours).await;
    }

    pub async fn minutes_pass(&self, minutes: u64) {
        self.firm.stage.advance(std::time::Duration::from_secs(60 * minutes)).await;
    }
}

pub async fn member(firm: &Firm, name: &str, role: Role) -> Actor {
    let someone = firm.member(name, &[role]).await;
    Actor::Member(person(firm, &someone).await)
}

/// A client of the bot; returns the id.
pub async fn client(firm: &Firm, telegram_id: i64, name: &str, phone: &str, is_own_contact: bool) -> i64 {
    let (name, phone) = (name.to_owned(), phone.to_owned());
    let new = TelegramClient { telegram_id, name, phone, is_own_contact, language: Language::En };
    firm.app.domain.write_and_get(move |db| Box::pin(orders::enrol_client(db, new, NOON))).await.unwrap()
}

pub fn id(who: &Actor) -> i64 {
    who.member_id().unwrap()
}

pub fn who(actor: &Actor) -> &Person {
    actor.member().unwrap()
}

pub fn roubles(roubles: i64) -> Money {
    Money::from_roubles(roubles)
}

/// A day of the month in which the tests play.
pub fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

pub fn window(after_hours: i64) -> Period {
    let from = NOON.0 + after_hours * 3_600_000;
    Period { from: Millis(from), to: Millis(from + 3 * 3_600_000) }
}

pub fn about(phone: &str) -> AboutOrder {
    AboutOrder {
        equipment_type: "Washing machine".into(),
        description: "It leaks and makes a noise".into(),
        client_name: "Anna Petrova".into(),
        phone: phone.into(),
        address: "ул. Ленина, д. 5, кв. 12".into(),
        position: Some(Position { latitude: 55.75, longitude: 37.61 }),
        notes: None,
        window: Some(window(2)),
    }
}

pub fn new_order(phone: &str) -> NewOrder {
    NewOrder { about: about(phone), equipment_id: None, files: Vec::new() }
}

/// Closes with a total and materials, in roubles, paid in cash.
pub fn closes(total: i64, materials: i64) -> Command {
    Command::Complete { completion: completion(total, materials) }
}

pub fn completion(total: i64, materials: i64) -> Completion {
    let bill = Bill::of_total(roubles(total), roubles(materials));
    Completion { bill, is_cash: true, ..Completion::default() }
}

#[track_caller]
pub fn assert_refused<T: std::fmt::Debug>(done: Result<T, orders::ActionError>, why: OrderRefusal) {
    assert!(matches!(&done, Err(ActionError::Refused(said)) if *said == why), "{why:?} expected: {done:?}");
}
