//! Service orders: from the client's message to the paid master.
//!
//! [`execute`] carries out a [`Command`] in one commit: rights, version, status, history, audit and news, and pay when
//! an order is closed. [`Orders`] has the queries, and the commands outside of turns. Which transition is allowed to
//! whom is [`TRANSITIONS`] and nothing else.

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::Script;
use opora::store::{BoxError, WriteError};
use sea_orm::DbErr;
use serde_json::Value;

pub use self::api::Orders;
pub use self::assigning::{CLIENT_GONE, HANDED_OVER, MASTER_GONE};
pub use self::board::{Board, MasterDay, OrderFilter, OrderPage};
pub use self::client_list::ClientPage;
pub use self::clients::{Client, TelegramClient, client_of_telegram, edit_client, enrol_client, note_blocked_bot};
pub use self::closing::shares;
pub use self::command::{Actor, Bill, BillLine, Command, Completion, FieldChange, NewFile};
pub use self::creating::{NewOrder, create, mistakes};
pub use self::events::OrderEvent;
pub use self::executing::execute;
pub use self::facts::Fact;
pub use self::fields::FieldMistake;
pub use self::lists::{AboutEquipment, ChecklistItem, Equipment, EquipmentType, PriceItem};
pub use self::masters::{MasterLoad, MasterResults};
pub use self::parts::MAX_FILES;
pub use self::personal_data::{export_client, forget_client};
pub use self::reading::{ChecklistMark, HistoryLine, Offer, OrderDetails, OrderFile, OrderLine, OrderMessage, Rating};
pub use self::records::{
    AboutOrder, AmountConfirmation, FileKind, FileStage, Order, OrderMoney, OrderSource, Progress,
};
pub use self::recurrences::{NewRecurrence, Recurrence, next_time};
pub use self::refusal::{ActionError, OrderRefusal};
pub use self::search::{ClientCard, MAX_FOUND};
pub use self::status::{OrderRole, OrderStatus, TRANSITIONS, Transition, may_go, next_statuses};
pub use self::visibility::{SeenOrder, roles_on, seen_by};
pub use self::words::search_name;
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::person::Person;
use crate::rooms::{MenuItem, MenuPart, Room};
use crate::texts::Language;
use crate::web::{Card, NavItem, PageError, Routes, SearchGroups, Section};

mod api;
mod assigning;
mod billing;
mod board;
mod change;
mod client_list;
mod client_notices;
mod clients;
mod closing;
mod command;
mod creating;
mod editing;
mod events;
mod executing;
mod facts;
pub mod fields;
mod import;
pub mod jobs;
mod lists;
mod masters;
mod offering;
mod pages;
mod parts;
mod personal_data;
mod reading;
mod records;
mod recurrences;
mod refusal;
mod report;
mod search;
mod staff;
mod status;
mod tables;
mod visibility;
mod words;
mod working;

/// The topic that pages name in `data-live` to follow orders.
pub const TOPIC: &str = "orders";

#[derive(Debug)]
pub struct OrdersRoom;

impl Room for OrdersRoom {
    fn name(&self) -> &'static str {
        "orders"
    }

    fn dialogues(&self, script: Script) -> Script {
        staff::dialogues(script)
    }

    fn menu(&self) -> Vec<MenuItem> {
        staff::menu()
    }

    fn menu_now<'a>(
        &'a self,
        app: &'a App,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<MenuPart, BoxError>> {
        Box::pin(staff::menu_now(app, person))
    }

    fn effects(&self, app: &App, bot: Bot) -> Bot {
        events::register_effect(app, bot)
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        pages::nav()
    }

    fn nav_badges<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<(&'static str, u64)>, DbErr>> {
        Box::pin(pages::badges(app, viewer))
    }

    fn search<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        words: &'a str,
    ) -> BoxFuture<'a, Result<SearchGroups, PageError>> {
        Box::pin(pages::search(app, viewer, words))
    }

    fn home_cards<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, PageError>> {
        Box::pin(pages::home_cards(app, viewer))
    }

    fn person_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(pages::person_sections(app, viewer, person))
    }

    fn cancel_pending_work<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        _: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        Box::pin(assigning::release_all(db, person_id, at))
    }

    fn after_block(&self, app: &App, _: i64) {
        OrderEvent { order_id: None }.publish(app, None);
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(personal_data::export(domain, person))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(personal_data::forget(db, person, at))
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.worker(client_notices::send)
            .scheduled(jobs::NoteOverdue {}, "*/30 * * * *", jobs::note_overdue)
            .scheduled(jobs::ExpireOffers {}, "* * * * *", jobs::expire_offers)
            .scheduled(recurrences::MakeRecurring {}, "0 * * * *", recurrences::make_recurring)
    }
}

/// A stored reason as people read it. Reasons of the room itself are text keys.
pub fn reason_text(reason: &str, language: Language) -> String {
    let is_own = [CLIENT_GONE, HANDED_OVER, MASTER_GONE].contains(&reason);
    if is_own { language.text(reason) } else { reason.to_owned() }
}
