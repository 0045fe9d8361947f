//! One order with everything that belongs to it.

use std::collections::{BTreeSet, HashMap};

use opora::clock::Millis;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::api::Orders;
use super::clients::Client;
use super::lists::Equipment;
use super::tables::{check, client, equipment, file, history, line, message, offer, order, rating};
use super::visibility::seen_by;
use super::{Actor, Fact, FileKind, FileStage, Order, OrderStatus, SeenOrder};
use crate::money::Money;

/// The most lines of a history, and the most messages, that are read.
const MAX_LINES: u64 = 500;

/// An order with its parts, as a certain person sees it.
#[derive(Clone, Debug)]
pub struct OrderDetails {
    pub seen: SeenOrder,
    /// For dispatchers and owners.
    pub client: Option<Client>,
    pub equipment: Option<Equipment>,
    /// Oldest first. A client gets none.
    pub history: Vec<HistoryLine>,
    pub files: Vec<OrderFile>,
    pub checklist: Vec<ChecklistMark>,
    pub lines: Vec<OrderLine>,
    pub messages: Vec<OrderMessage>,
    pub offers: Vec<Offer>,
    pub rating: Option<Rating>,
    /// The members that are named anywhere here.
    pub names: HashMap<i64, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    pub at: Millis,
    /// None for a client and for jobs.
    pub member_id: Option<i64>,
    pub is_by_client: bool,
    pub fact: Fact,
    pub moved: Option<(OrderStatus, OrderStatus)>,
    /// As [`super::reason_text`] shows it.
    pub reason: Option<String>,
    pub detail: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFile {
    pub id: i64,
    pub stage: FileStage,
    pub kind: FileKind,
    pub telegram_file: String,
    pub at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecklistMark {
    pub id: i64,
    pub text: String,
    pub is_required: bool,
    pub done_at: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderLine {
    pub price_item_id: Option<i64>,
    pub name: String,
    pub quantity: i64,
    pub price: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderMessage {
    pub is_from_client: bool,
    pub member_id: Option<i64>,
    pub text: String,
    pub at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub master_id: i64,
    /// None: the master is not asked yet.
    pub until: Option<Millis>,
    /// `accepted`, `declined`, `expired` or `withdrawn`.
    pub answer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rating {
    pub stars: i64,
    pub comment: Option<String>,
}

impl Orders {
    /// An order as a person sees it; None if there is none, or the person may not see it. At most two queries.
    pub async fn seen_order(&self, actor: &Actor, id: i64) -> Result<Option<SeenOrder>, DbErr> {
        let Some(row) = order::Entity::find_by_id(id).one(self.db()).await? else { return Ok(None) };
        let order = Order::try_from(row)?;
        let is_offered = match actor.member() {
            Some(person) if order.status == OrderStatus::New => self.is_offered(id, person.id).await?,
            _ => false,
        };
        Ok(seen_by(actor, order, is_offered))
    }

    /// The order with this number, as a person sees it.
    pub async fn by_number(&self, actor: &Actor, number: i64) -> Result<Option<SeenOrder>, DbErr> {
        let found = order::Entity::find().filter(order::Column::Number.eq(number)).one(self.db()).await?;
        match found {
            Some(row) => self.seen_order(actor, row.id).await,
            None => Ok(None),
        }
    }

    /// An order with its parts. A fixed number of queries.
    pub async fn details(&self, actor: &Actor, id: i64) -> Result<Option<OrderDetails>, DbErr> {
        let Some(seen) = self.seen_order(actor, id).await? else { return Ok(None) };
        let db = self.db();
        let history = history::Entity::find().filter(history::Column::OrderId.eq(id));
        let files = file::Entity::find().filter(file::Column::OrderId.eq(id)).order_by_asc(file::Column::Id);
        let checks = check::Entity::find().filter(check::Column::OrderId.eq(id)).order_by_asc(check::Column::Place);
        let lines = line::Entity::find().filter(line::Column::OrderId.eq(id)).order_by_asc(line::Column::Place);
        let messages = message::Entity::find().filter(message::Column::OrderId.eq(id));
        let offers = offer::Entity::find().filter(offer::Column::OrderId.eq(id)).order_by_asc(offer::Column::Id);
        let (history, files, checks, lines, messages, offers) = tokio::try_join!(
            history.order_by_asc(history::Column::Id).limit(MAX_LINES).all(db),
            files.all(db),
            checks.all(db),
            lines.all(db),
            messages.order_by_asc(message::Column::Id).limit(MAX_LINES).all(db),
            offers.all(db),
        )?;
        let equipment_id = seen.order.equipment_id.unwrap_or_default();
        let (client, equipment, rating) = tokio::try_join!(
            client::Entity::find_by_id(seen.order.client_id).one(db),
            equipment::Entity::find_by_id(equipment_id).one(db),
            rating::Entity::find_by_id(id).one(db),
        )?;
        let is_staff = actor.member().is_some_and(|person| person.may(crate::person::DISPATCHERS));
        let is_client = matches!(actor, Actor::Client(_));
        // Messages often hold the address or the phone, and the offers to other masters are for dispatchers.
        let reads_messages = is_staff || is_client || seen.shows_address;
        let is_of_offers =
            |fact| matches!(fact, Fact::Offered | Fact::OfferDeclined | Fact::OfferExpired | Fact::Declined);
        let may_read = |line: &HistoryLine| is_staff || !is_of_offers(line.fact) || line.member_id == actor.member_id();
        let mut details = OrderDetails {
            client: client.filter(|_| is_staff).map(Client::from),
            equipment: equipment.map(Equipment::from),
            history: if is_client {
                Vec::new()
            } else {
                history.into_iter().filter_map(history_line).filter(may_read).collect()
            },
            files: files.into_iter().filter_map(order_file).collect(),
            checklist: checks.into_iter().map(mark).collect(),
            lines: lines.into_iter().map(order_line).collect(),
            messages: if reads_messages { messages.into_iter().map(order_message).collect() } else { Vec::new() },
            offers: if is_staff { offers.into_iter().map(order_offer).collect() } else { Vec::new() },
            rating: rating.map(|row| Rating { stars: row.stars, comment: row.comment }),
            names: HashMap::new(),
            seen,
        };
        details.names = self.app.people.names(members_in(&details)).await?;
        Ok(Some(details))
    }

    /// The files of an order that a person may see: for the pages that show them.
    pub async fn file(&self, actor: &Actor, file_id: i64) -> Result<Option<OrderFile>, DbErr> {
        let Some(row) = file::Entity::find_by_id(file_id).one(self.db()).await? else { return Ok(None) };
        let seen = self.seen_order(actor, row.order_id).await?;
        Ok(seen.and_then(|_| order_file(row)))
    }

    async fn is_offered(&self, order_id: i64, master_id: i64) -> Result<bool, DbErr> {
        let open = offer::Entity::find()
            .filter(offer::Column::OrderId.eq(order_id).and(offer::Column::MasterId.eq(master_id)))
            .filter(offer::Column::Answer.is_null())
            .filter(offer::Column::OpenedAt.is_not_null());
        Ok(open.one(self.db()).await?.is_some())
    }
}

fn members_in(details: &OrderDetails) -> BTreeSet<i64> {
    let order = &details.seen.order;
    let own = [order.master_id, order.created_by].into_iter().flatten();
    let acted = details.history.iter().filter_map(|line| line.member_id);
    let wrote = details.messages.iter().filter_map(|message| message.member_id);
    own.chain(acted).chain(wrote).chain(details.offers.iter().map(|offer| offer.master_id)).collect()
}

fn history_line(row: history::Model) -> Option<HistoryLine> {
    let status = |name: Option<String>| name.and_then(|name| name.parse().ok());
    Some(HistoryLine {
        at: Millis(row.at),
        is_by_client: row.actor == "client",
        member_id: row.by_id.filter(|_| row.actor == "member"),
        fact: row.fact.parse().ok()?,
        moved: status(row.from_status).zip(status(row.to_status)),
        reason: row.reason,
        detail: serde_json::from_str(&row.detail).unwrap_or_default(),
    })
}

fn order_file(row: file::Model) -> Option<OrderFile> {
    let (stage, kind) = (row.stage.parse().ok()?, row.kind.parse().ok()?);
    Some(OrderFile { id: row.id, stage, kind, telegram_file: row.telegram_file, at: Millis(row.created_at) })
}

fn mark(row: check::Model) -> ChecklistMark {
    ChecklistMark { id: row.id, text: row.text, is_required: row.is_required, done_at: row.done_at.map(Millis) }
}

fn order_line(row: line::Model) -> OrderLine {
    let price = Money::from_kopecks(row.price_kopecks);
    OrderLine { price_item_id: row.price_item_id, name: row.name, quantity: row.quantity, price }
}

fn order_message(row: message::Model) -> OrderMessage {
    OrderMessage { is_from_client: row.from_client, member_id: row.by_id, text: row.text, at: Millis(row.at) }
}

fn order_offer(row: offer::Model) -> Offer {
    Offer { master_id: row.master_id, until: row.until.map(Millis), answer: row.answer }
}
