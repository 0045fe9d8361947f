//! Lists of orders: the board, pages of a list, and a master's own day. Each takes a fixed number of queries.

use std::collections::{BTreeMap, HashMap};

use opora::clock::Millis;
use sea_orm::sea_query::{ExprTrait, NullOrdering, Query};
use sea_orm::{
    ColumnTrait, Condition, DbErr, EntityTrait, FromQueryResult, Order as Sort, PaginatorTrait, QueryFilter,
    QueryOrder, QuerySelect, QueryTrait,
};

use super::api::Orders;
use super::tables::{offer, order};
use super::visibility::seen_by;
use super::{Actor, Order, OrderStatus, SeenOrder};
use crate::person::{DISPATCHERS, Person};
use crate::sites::Period;

/// The most open orders on the board, and the most ended ones.
pub const MAX_BOARD: u64 = 400;
pub const MAX_ENDED: u64 = 60;
/// The most orders on a page of a list.
pub const PAGE_SIZE: u64 = 50;
/// How long a closed or refused order stays on the board.
const ENDED_MS: i64 = 24 * 60 * 60 * 1000;

/// Which orders are listed. The default has all.
#[derive(Clone, Debug, Default)]
pub struct OrderFilter {
    /// Empty: all.
    pub statuses: Vec<OrderStatus>,
    pub master_id: Option<i64>,
    pub client_id: Option<i64>,
    pub equipment_id: Option<i64>,
    pub equipment_type: Option<String>,
    /// Those whose window begins within this time.
    pub scheduled: Option<Period>,
    /// Those that were created within this time.
    pub created: Option<Period>,
    /// Those that a dispatcher has still to confirm.
    pub is_unconfirmed: bool,
}

/// The board: orders by status.
#[derive(Clone, Debug, Default)]
pub struct Board {
    pub orders: BTreeMap<OrderStatus, Vec<SeenOrder>>,
    /// How many open orders each status has, also those that are not listed.
    pub counts: BTreeMap<OrderStatus, i64>,
    /// The masters of the orders, by id.
    pub names: HashMap<i64, String>,
    /// The orders with an open offer, each with the masters who are asked.
    pub offered: HashMap<i64, Vec<i64>>,
}

/// A page of a list, newest first.
#[derive(Clone, Debug, Default)]
pub struct OrderPage {
    pub orders: Vec<SeenOrder>,
    pub names: HashMap<i64, String>,
    /// The id after which the next page begins; None for the last page.
    pub next: Option<i64>,
}

/// A master's own orders.
#[derive(Clone, Debug, Default)]
pub struct MasterDay {
    /// Open orders in order of time, those without a time last.
    pub orders: Vec<SeenOrder>,
    /// New orders that he may take, each with the deadline.
    pub offers: Vec<(SeenOrder, Millis)>,
}

impl OrderFilter {
    fn condition(&self) -> Condition {
        let within = |column: order::Column, period: Period| column.gte(period.from.0).and(column.lt(period.to.0));
        Condition::all()
            .add_option(
                (!self.statuses.is_empty())
                    .then(|| order::Column::Status.is_in(self.statuses.iter().map(|status| status.name()))),
            )
            .add_option(self.master_id.map(|id| order::Column::MasterId.eq(id)))
            .add_option(self.client_id.map(|id| order::Column::ClientId.eq(id)))
            .add_option(self.equipment_id.map(|id| order::Column::EquipmentId.eq(id)))
            .add_option(self.equipment_type.as_ref().map(|name| order::Column::EquipmentType.eq(name.as_str())))
            .add_option(self.scheduled.map(|period| within(order::Column::ScheduledFrom, period)))
            .add_option(self.created.map(|period| within(order::Column::CreatedAt, period)))
            .add_option(self.is_unconfirmed.then(|| order::Column::ConfirmedAt.is_null()))
    }
}

impl Orders {
    /// The board. Dispatchers and owners see all orders, masters their own.
    pub async fn board(&self, viewer: &Person, filter: &OrderFilter) -> Result<Board, DbErr> {
        let Some(filter) = self.permitted(viewer, filter) else { return Ok(Board::default()) };
        let open = order::Entity::find()
            .filter(filter.condition())
            .filter(order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name)));
        let counts = open.clone().select_only().column(order::Column::Status).column_as(order::Column::Id.count(), "n");
        let counts = counts.group_by(order::Column::Status).into_tuple::<(String, i64)>();
        let listed = open
            .order_by_with_nulls(order::Column::ScheduledFrom, Sort::Asc, NullOrdering::Last)
            .order_by_asc(order::Column::Id)
            .limit(MAX_BOARD);
        let since = self.app.clock.now().0 - ENDED_MS;
        let ended = order::Entity::find()
            .filter(filter.condition())
            .filter(order::Column::Status.is_in([OrderStatus::Closed.name(), OrderStatus::Refused.name()]))
            .filter(order::Column::UpdatedAt.gte(since))
            .order_by_desc(order::Column::UpdatedAt)
            .limit(MAX_ENDED);
        let (counts, open, ended) =
            tokio::try_join!(counts.all(self.db()), listed.all(self.db()), ended.all(self.db()))?;
        let orders: Vec<Order> = open.into_iter().chain(ended).map(Order::try_from).collect::<Result<_, _>>()?;
        let (names, offered) = tokio::try_join!(self.names_of(&orders), self.open_offers(&orders))?;
        let mut board = Board { names, offered, ..Board::default() };
        let counted = counts.into_iter().filter_map(|(status, count)| Some((status.parse().ok()?, count)));
        board.counts = counted.collect();
        for order in self.seen(viewer, orders) {
            board.orders.entry(order.order.status).or_default().push(order);
        }
        Ok(board)
    }

    /// A page of a list, newest first. `before` is the `next` of the page before.
    pub async fn page(&self, viewer: &Person, filter: &OrderFilter, before: Option<i64>) -> Result<OrderPage, DbErr> {
        let Some(filter) = self.permitted(viewer, filter) else { return Ok(OrderPage::default()) };
        let rows = order::Entity::find()
            .filter(filter.condition())
            .apply_if(before, |query, before| query.filter(order::Column::Id.lt(before)))
            .order_by_desc(order::Column::Id)
            .limit(PAGE_SIZE + 1);
        let mut orders: Vec<Order> =
            rows.all(self.db()).await?.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        let has_more = orders.len() as u64 > PAGE_SIZE;
        orders.truncate(usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX));
        let next = orders.last().filter(|_| has_more).map(|order| order.id);
        let names = self.names_of(&orders).await?;
        Ok(OrderPage { orders: self.seen(viewer, orders), names, next })
    }

    /// A master's open orders in order of time, and the offers to him.
    pub async fn day_of_master(&self, master: &Person) -> Result<MasterDay, DbErr> {
        let own = order::Entity::find()
            .filter(order::Column::MasterId.eq(master.id))
            .filter(order::Column::Status.is_in(OrderStatus::AT_MASTER.map(OrderStatus::name)))
            .order_by_with_nulls(order::Column::ScheduledFrom, Sort::Asc, NullOrdering::Last)
            .order_by_asc(order::Column::Id)
            .limit(MAX_BOARD);
        let offers = offer::Entity::find()
            .filter(offer::Column::MasterId.eq(master.id))
            .filter(offer::Column::Answer.is_null())
            .filter(offer::Column::OpenedAt.is_not_null())
            .order_by_asc(offer::Column::Until);
        let (own, offers) = tokio::try_join!(own.all(self.db()), offers.all(self.db()))?;
        let own: Vec<Order> = own.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        let ids: Vec<i64> = offers.iter().map(|row| row.order_id).collect();
        let offered: HashMap<i64, Order> =
            self.with_ids(&ids).await?.into_iter().map(|order| (order.id, order)).collect();
        let actor = Actor::Member(master.clone());
        let offers = offers.into_iter().filter_map(|row| {
            let order = seen_by(&actor, offered.get(&row.order_id)?.clone(), true)?;
            Some((order, Millis(row.until?)))
        });
        Ok(MasterDay { offers: offers.collect(), orders: self.seen(master, own) })
    }

    /// Open orders by status, and those that a dispatcher has to confirm: for menus and badges. One query.
    pub async fn counts(&self, viewer: &Person) -> Result<BTreeMap<OrderStatus, i64>, DbErr> {
        let Some(filter) = self.permitted(viewer, &OrderFilter::default()) else { return Ok(BTreeMap::new()) };
        let open = order::Entity::find().filter(filter.condition());
        let open = open.filter(order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name)));
        let counts = open.select_only().column(order::Column::Status).column_as(order::Column::Id.count(), "n");
        let counts: Vec<(String, i64)> = counts.group_by(order::Column::Status).into_tuple().all(self.db()).await?;
        Ok(counts.into_iter().filter_map(|(status, count)| Some((status.parse().ok()?, count))).collect())
    }

    /// How many orders need a look: new and overdue ones, and for masters those that wait for an answer. One query.
    pub async fn waiting(&self, viewer: &Person) -> Result<u64, DbErr> {
        let Some(filter) = self.permitted(viewer, &OrderFilter::default()) else { return Ok(0) };
        let first = if filter.master_id.is_some() { OrderStatus::Assigned } else { OrderStatus::New };
        let waits = super::jobs::is_overdue(self.app.clock.now()).add(order::Column::Status.eq(first.name()));
        let open = order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name));
        order::Entity::find().filter(filter.condition()).filter(open).filter(waits).count(self.db()).await
    }

    /// Orders that have been in a status for too long: see [`super::jobs::LIMITS`]. The oldest first.
    pub async fn overdue(&self, viewer: &Person) -> Result<Vec<SeenOrder>, DbErr> {
        let Some(filter) = self.permitted(viewer, &OrderFilter::default()) else { return Ok(Vec::new()) };
        let rows = order::Entity::find()
            .filter(filter.condition())
            .filter(super::jobs::is_overdue(self.app.clock.now()))
            .order_by_asc(order::Column::StatusSince)
            .limit(MAX_BOARD);
        let orders: Vec<Order> =
            rows.all(self.db()).await?.into_iter().map(Order::try_from).collect::<Result<_, _>>()?;
        Ok(self.seen(viewer, orders))
    }

    /// Orders with these ids.
    pub(super) async fn with_ids(&self, ids: &[i64]) -> Result<Vec<Order>, DbErr> {
        let rows = order::Entity::find().filter(order::Column::Id.is_in(ids.iter().copied()));
        rows.order_by_desc(order::Column::Id).all(self.db()).await?.into_iter().map(Order::try_from).collect()
    }

    /// The filter within what the viewer may see; None if that is nothing.
    pub(super) fn permitted(&self, viewer: &Person, filter: &OrderFilter) -> Option<OrderFilter> {
        if viewer.may(DISPATCHERS) {
            return Some(filter.clone());
        }
        let is_own = viewer.may(crate::person::MASTERS) && filter.master_id.is_none_or(|id| id == viewer.id);
        is_own.then(|| OrderFilter { master_id: Some(viewer.id), ..filter.clone() })
    }

    /// The orders as the viewer sees them.
    pub(super) fn seen(&self, viewer: &Person, orders: Vec<Order>) -> Vec<SeenOrder> {
        let actor = Actor::Member(viewer.clone());
        orders.into_iter().filter_map(|order| seen_by(&actor, order, false)).collect()
    }

    /// The names of the masters of these orders.
    pub(super) async fn names_of(&self, orders: &[Order]) -> Result<HashMap<i64, String>, DbErr> {
        let ids: std::collections::BTreeSet<i64> = orders.iter().filter_map(|order| order.master_id).collect();
        self.app.people.names(ids).await
    }

    /// Open offers of new orders among these.
    async fn open_offers(&self, orders: &[Order]) -> Result<HashMap<i64, Vec<i64>>, DbErr> {
        #[derive(FromQueryResult)]
        struct Row {
            order_id: i64,
            master_id: i64,
        }
        let ids = orders.iter().filter(|order| order.status == OrderStatus::New).map(|order| order.id);
        let rows = offer::Entity::find()
            .select_only()
            .columns([offer::Column::OrderId, offer::Column::MasterId])
            .filter(offer::Column::OrderId.is_in(ids))
            .filter(offer::Column::Answer.is_null())
            .filter(offer::Column::OpenedAt.is_not_null());
        let mut offered: HashMap<i64, Vec<i64>> = HashMap::new();
        for Row { order_id, master_id } in rows.into_model().all(self.db()).await? {
            offered.entry(order_id).or_default().push(master_id);
        }
        Ok(offered)
    }
}

/// A subquery with the ids of the orders of a client.
pub fn ids_of_client(client_id: i64) -> sea_orm::sea_query::SelectStatement {
    let own = order::Column::ClientId.eq(client_id);
    Query::select().column(order::Column::Id).from(order::Entity).and_where(own).take()
}
