//! Finds orders by number, phone, name and address, and clients by phone.
//!
//! Every word of the search has to begin a word of the order. If one of them is rare, the search reads its entries and
//! looks the others up; otherwise it goes through the orders from the newest on, where common words are found soon. So
//! it does not slow down with the number of orders.

use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, SelectStatement, UnionType};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::api::Orders;
use super::board::OrderFilter;
use super::clients::Client;
use super::lists::Equipment;
use super::tables::{client, equipment, order, word};
use super::{Actor, Order, OrderStatus, SeenOrder, fields, words};
use crate::person::{DISPATCHERS, Person};

/// The most orders that a search shows.
pub const MAX_FOUND: u64 = 50;
/// Words of a search beyond these are not looked at.
const MAX_WORDS: usize = 5;
/// A word with at least as many entries is common.
const COUNTED: u64 = 2_000;
/// Orders on the card of a client.
const MAX_PAST: u64 = 20;

/// A client with what is known of earlier orders.
#[derive(Clone, Debug)]
pub struct ClientCard {
    pub client: Client,
    /// Newest first.
    pub orders: Vec<SeenOrder>,
    pub equipment: Vec<Equipment>,
}

impl Orders {
    /// The newest orders that have all words of the search. Masters find their own.
    pub async fn search(&self, viewer: &Person, text: &str) -> Result<Vec<SeenOrder>, DbErr> {
        let Some(filter) = self.permitted(viewer, &OrderFilter::default()) else { return Ok(Vec::new()) };
        let mut wanted = words::searched(text);
        wanted.truncate(MAX_WORDS);
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let (rarest, count) = self.rarest(&wanted).await?;
        let own = filter.master_id.map(|master| {
            let own = order::Column::MasterId.eq(master);
            Query::select().column(order::Column::Id).from(order::Entity).and_where(own).take()
        });
        let ids = if count < COUNTED {
            wanted.swap(0, rarest);
            self.ids_with(&wanted, own).await?
        } else {
            self.newest_with(&wanted, own).await?
        };
        let mut found = self.seen(viewer, self.with_ids(&ids).await?);
        // Hidden fields are no words for a master: a hit would tell what they are.
        if filter.master_id.is_some() {
            found.retain(|seen| words::has_all(&seen.order, &wanted));
        }
        Ok(found)
    }

    /// The card of the client with this phone, for dispatchers and owners.
    pub async fn client_card(&self, viewer: &Person, phone: &str) -> Result<Option<ClientCard>, DbErr> {
        let Ok(phone) = fields::phone(phone) else { return Ok(None) };
        let by_phone = client::Entity::find().filter(client::Column::Phone.eq(phone));
        let rows = by_phone.order_by_desc(client::Column::PhoneIsKnown).order_by_asc(client::Column::Id);
        match rows.one(self.db()).await? {
            Some(row) => self.card(viewer, row).await,
            None => Ok(None),
        }
    }

    /// The card of a client, for dispatchers and owners.
    pub async fn client(&self, viewer: &Person, id: i64) -> Result<Option<ClientCard>, DbErr> {
        match client::Entity::find_by_id(id).one(self.db()).await? {
            Some(row) => self.card(viewer, row).await,
            None => Ok(None),
        }
    }

    /// A client's own orders, newest first.
    pub async fn orders_of_client(&self, client_id: i64) -> Result<Vec<SeenOrder>, DbErr> {
        let own = order::Entity::find().filter(order::Column::ClientId.eq(client_id));
        let rows = own.order_by_desc(order::Column::Id).limit(MAX_PAST).all(self.db()).await?;
        let orders: Vec<Order> = rows.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        let actor = Actor::Client(client_id);
        Ok(orders.into_iter().filter_map(|order| super::seen_by(&actor, order, false)).collect())
    }

    /// Open orders with the same phone or at the same address: a new one may be the same repair.
    pub async fn duplicates(&self, viewer: &Person, phone: &str, address: &str) -> Result<Vec<SeenOrder>, DbErr> {
        if !viewer.may(DISPATCHERS) {
            return Ok(Vec::new());
        }
        let phone = fields::phone(phone).unwrap_or_default();
        let same = order::Column::Phone.eq(phone).or(order::Column::AddressKey.eq(words::address_key(address)));
        let open = order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name));
        let rows = order::Entity::find().filter(same).filter(open).order_by_desc(order::Column::Id).limit(MAX_PAST);
        let orders: Vec<Order> =
            rows.all(self.db()).await?.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        Ok(self.seen(viewer, orders))
    }

    async fn card(&self, viewer: &Person, row: client::Model) -> Result<Option<ClientCard>, DbErr> {
        if !viewer.may(DISPATCHERS) || row.forgotten_at.is_some() {
            return Ok(None);
        }
        let orders = order::Entity::find().filter(order::Column::ClientId.eq(row.id));
        let orders = orders.order_by_desc(order::Column::Id).limit(MAX_PAST);
        let owned = equipment::Entity::find().filter(equipment::Column::ClientId.eq(row.id));
        let owned = owned.filter(equipment::Column::DeletedAt.is_null()).order_by_asc(equipment::Column::Id);
        let (orders, owned) = tokio::try_join!(orders.all(self.db()), owned.all(self.db()))?;
        let orders: Vec<Order> = orders.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        let equipment = owned.into_iter().map(Equipment::from).collect();
        Ok(Some(ClientCard { client: row.into(), orders: self.seen(viewer, orders), equipment }))
    }

    /// The position of the word that the fewest orders have, and how many entries it has, counted in one query up to a
    /// limit.
    async fn rarest(&self, wanted: &[String]) -> Result<(usize, u64), DbErr> {
        let mut counts = wanted.iter().zip(0_i64..).map(|(word, at)| {
            let some = Query::select()
                .expr_as(Expr::cust("1"), Alias::new("one"))
                .from(word::Entity)
                .and_where(begins(word))
                .limit(COUNTED)
                .take();
            Query::select()
                .expr_as(Expr::cust(format!("CAST({at} AS BIGINT)")), Alias::new("at"))
                .expr_as(Expr::cust("COUNT(*)"), Alias::new("n"))
                .from_subquery(some, Alias::new("some"))
                .take()
        });
        let Some(mut counted) = counts.next() else { return Ok((0, 0)) };
        for count in counts {
            counted.union(UnionType::All, count);
        }
        let statement = self.db().get_database_backend().build(&counted);
        let mut rarest = (0, u64::MAX);
        for row in self.db().query_all_raw(statement).await? {
            let (at, count): (i64, i64) = (row.try_get("", "at")?, row.try_get("", "n")?);
            let (at, count) = (usize::try_from(at).unwrap_or_default(), u64::try_from(count).unwrap_or_default());
            if count < rarest.1 {
                rarest = (at, count);
            }
        }
        Ok(rarest)
    }

    /// The newest orders with all words, read from the few entries of the first one.
    async fn ids_with(&self, wanted: &[String], own: Option<SelectStatement>) -> Result<Vec<i64>, DbErr> {
        let Some((first, others)) = wanted.split_first() else { return Ok(Vec::new()) };
        let mut found = word::Entity::find().select_only().column(word::Column::OrderId).filter(begins(first));
        for other in others {
            let with = Query::select().column(word::Column::OrderId).from(word::Entity).and_where(begins(other)).take();
            found = found.filter(word::Column::OrderId.in_subquery(with));
        }
        if let Some(own) = own {
            found = found.filter(word::Column::OrderId.in_subquery(own));
        }
        found.distinct().order_by_desc(word::Column::OrderId).limit(MAX_FOUND).into_tuple().all(self.db()).await
    }

    /// The newest orders with all words, which many orders have: read from the newest order on.
    async fn newest_with(&self, wanted: &[String], own: Option<SelectStatement>) -> Result<Vec<i64>, DbErr> {
        let mut found = order::Entity::find().select_only().column(order::Column::Id);
        for one in wanted {
            let of_order = Expr::col((word::Entity, word::Column::OrderId)).equals((order::Entity, order::Column::Id));
            let with = Query::select()
                .expr(Expr::cust("1"))
                .from(word::Entity)
                .and_where(of_order)
                .and_where(begins(one))
                .take();
            found = found.filter(Expr::exists(with));
        }
        if let Some(own) = own {
            found = found.filter(order::Column::Id.in_subquery(own));
        }
        found.order_by_desc(order::Column::Id).limit(MAX_FOUND).into_tuple().all(self.db()).await
    }
}

/// The condition that a word begins with this. A range, so that the index is used in both databases.
fn begins(word: &str) -> Expr {
    let end = format!("{word}\u{10ffff}");
    word::Column::Word.gte(word).and(word::Column::Word.lte(end))
}
