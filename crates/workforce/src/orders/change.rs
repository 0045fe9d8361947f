//! One change of one order, within a commit: the row under its lock, its history, the audit line and the news.
//!
//! A change compares the version, checks the actor again, and writes the status step by step along the table of
//! transitions. [`OrderChange::finish`] writes everything that people read.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Set};
use serde_json::{Value, json};

use super::client_notices;
use super::status::may_go;
use super::tables::{client, history, offer, order};
use super::visibility::roles_on;
use super::{Actor, Fact, Order, OrderRefusal, OrderRole, OrderStatus};
use crate::audit;
use crate::domain::Transaction;
use crate::notices::{self, Notice, OrderNews, OrderNewsKind};
use crate::people;
use crate::person::{DISPATCHERS, Role};
use crate::settings::{OrderRules, order_rules};
use crate::sites::Period;
use crate::texts::LocalPeriod;

/// The state of a change.
pub struct OrderChange<'a, 'd, 'c> {
    pub db: &'a Transaction<'d, 'c>,
    pub order: Order,
    pub actor: Actor,
    pub roles: Vec<OrderRole>,
    /// Whether the order is offered to the actor now.
    pub is_offered: bool,
    pub rules: OrderRules,
    pub at: Millis,
    history: Vec<history::ActiveModel>,
    audit: Vec<audit::Entry>,
    to_members: Vec<(i64, OrderNewsKind)>,
    to_client: Vec<OrderNewsKind>,
    to_dispatchers: Vec<OrderNewsKind>,
}

/// Checks in the commit that the actor may still act. An unknown or forgotten client may not.
pub async fn check_actor(db: &Transaction<'_, '_>, actor: &Actor) -> Result<(), WriteError> {
    match actor {
        Actor::Member(person) => people::require_unchanged(db, person).await,
        Actor::Client(id) => {
            let found = client::Entity::find_by_id(*id).one(db).await?;
            let is_known = found.is_some_and(|client| client.forgotten_at.is_none());
            if is_known { Ok(()) } else { Err(OrderRefusal::NotAllowed.refusal()) }
        }
        Actor::Job => Ok(()),
    }
}

impl<'a, 'd, 'c> OrderChange<'a, 'd, 'c> {
    /// Locks the order. Refused if the actor may not see it, or if it has another version than the actor saw.
    pub async fn open(
        db: &'a Transaction<'d, 'c>,
        actor: Actor,
        id: i64,
        version: Option<i64>,
        at: Millis,
    ) -> Result<Self, WriteError> {
        check_actor(db, &actor).await?;
        let row = order::Entity::find_by_id(id).lock_exclusive().one(db).await?;
        let order = Order::try_from(row.ok_or_else(|| OrderRefusal::Gone.refusal())?)?;
        let is_offered = is_offered_to(db, &actor, id).await?;
        let roles = roles_on(&actor, &order, is_offered);
        if roles.is_empty() && !matches!(actor, Actor::Job) {
            let lost = was_offered_to(db, &actor, id).await?;
            return Err(if lost { OrderRefusal::Taken } else { OrderRefusal::Gone }.refusal());
        }
        if version.is_some_and(|seen| seen != order.version) {
            return Err(OrderRefusal::Stale.refusal());
        }
        let rules = order_rules(db).await?;
        Ok(Self {
            db,
            order,
            actor,
            roles,
            is_offered,
            rules,
            at,
            history: Vec::new(),
            audit: Vec::new(),
            to_members: Vec::new(),
            to_client: Vec::new(),
            to_dispatchers: Vec::new(),
        })
    }

    /// Whether the actor has one of these roles. Jobs may do everything that they are written for.
    pub fn is_any(&self, roles: &[OrderRole]) -> bool {
        matches!(self.actor, Actor::Job) || roles.iter().any(|role| self.roles.contains(role))
    }

    pub fn require(&self, roles: &[OrderRole]) -> Result<(), WriteError> {
        if self.is_any(roles) { Ok(()) } else { Err(OrderRefusal::NotAllowed.refusal()) }
    }

    pub fn require_status(&self, statuses: &[OrderStatus]) -> Result<(), WriteError> {
        if statuses.contains(&self.order.status) { Ok(()) } else { Err(OrderRefusal::WrongStatus.refusal()) }
    }

    /// Leads the order to a status, with other columns, if the actor may do so.
    pub async fn step(
        &mut self,
        to: OrderStatus,
        fact: Fact,
        reason: Option<&str>,
        change: order::ActiveModel,
    ) -> Result<(), WriteError> {
        let from = self.order.status;
        let is_job = matches!(self.actor, Actor::Job);
        if !may_go(from, to, if is_job { &OrderRole::ALL } else { &self.roles }) {
            let is_possible = may_go(from, to, &OrderRole::ALL);
            let why = if is_possible { OrderRefusal::NotAllowed } else { OrderRefusal::WrongStatus };
            return Err(why.refusal());
        }
        let change = order::ActiveModel {
            status: Set(to.name().to_owned()),
            status_since: Set(self.at.0),
            overdue_noted_at: Set(None),
            unaccepted_noted_at: Set(None),
            ..change
        };
        self.update(change).await?;
        self.note(fact, Some((from, to)), reason, json!({}));
        Ok(())
    }

    /// Changes columns within the status, and notes a fact.
    pub async fn fact(
        &mut self,
        fact: Fact,
        reason: Option<&str>,
        detail: Value,
        change: order::ActiveModel,
    ) -> Result<(), WriteError> {
        self.update(change).await?;
        self.note(fact, None, reason, detail);
        Ok(())
    }

    /// Adds a line to the history, and one to the audit log.
    pub fn note(&mut self, fact: Fact, moved: Option<(OrderStatus, OrderStatus)>, reason: Option<&str>, detail: Value) {
        self.history.push(history::ActiveModel {
            order_id: Set(self.order.id),
            at: Set(self.at.0),
            actor: Set(self.actor.kind().to_owned()),
            by_id: Set(self.actor.id()),
            fact: Set(fact.name().to_owned()),
            from_status: Set(moved.map(|(from, _)| from.name().to_owned())),
            to_status: Set(moved.map(|(_, to)| to.name().to_owned())),
            reason: Set(reason.map(ToOwned::to_owned)),
            detail: Set(detail.to_string()),
            ..Default::default()
        });
        // The audit log has no texts of people: they are in the history, where they can be forgotten.
        let (actor, subject) = (self.actor.member_id(), ("order", self.order.id));
        self.audit.push(audit::Entry { at: self.at, actor, action: fact.name(), subject, detail: json!({}) });
    }

    async fn update(&mut self, change: order::ActiveModel) -> Result<(), WriteError> {
        let updated = order::Entity::update_many()
            .set(order::ActiveModel { updated_at: Set(self.at.0), ..change })
            .col_expr(order::Column::Version, Expr::col(order::Column::Version).add(1))
            .filter(order::Column::Id.eq(self.order.id))
            .filter(order::Column::Version.eq(self.order.version))
            .exec(self.db)
            .await?;
        if updated.rows_affected == 0 {
            return Err(OrderRefusal::Stale.refusal());
        }
        let row = order::Entity::find_by_id(self.order.id).one(self.db).await?;
        self.order = Order::try_from(row.ok_or_else(|| OrderRefusal::Gone.refusal())?)?;
        Ok(())
    }

    /// News for a member, unless the member is the actor.
    pub fn tell(&mut self, member: i64, what: OrderNewsKind) {
        if self.actor.member_id() != Some(member) {
            self.to_members.push((member, what));
        }
    }

    /// News for the master of the order.
    pub fn tell_master(&mut self, what: OrderNewsKind) {
        if let Some(master) = self.order.master_id {
            self.tell(master, what);
        }
    }

    pub fn tell_dispatchers(&mut self, what: OrderNewsKind) {
        self.to_dispatchers.push(what);
    }

    /// News for the client, unless the client is the actor.
    pub fn tell_client(&mut self, what: OrderNewsKind) {
        if !matches!(self.actor, Actor::Client(_)) {
            self.to_client.push(what);
        }
    }

    /// A window by the clock of the business.
    pub fn local(&self, window: Option<Period>) -> Option<LocalPeriod> {
        window.map(|window| window.local(self.rules.zone))
    }

    /// Writes history, audit and news, and returns the order.
    pub async fn finish(self) -> Result<Order, WriteError> {
        let (db, at) = (self.db, self.at);
        if !self.history.is_empty() {
            history::Entity::insert_many(self.history).exec_without_returning(db).await?;
        }
        audit::record_all(db, self.audit).await?;
        let news = |what| OrderNews { order: self.order.id, number: self.order.number, what };
        let mut to_members: Vec<_> =
            self.to_members.into_iter().map(|(member, what)| (member, Notice::Order(news(what)))).collect();
        if !self.to_dispatchers.is_empty() {
            let dispatchers = dispatchers(db).await?;
            let others = dispatchers.into_iter().filter(|id| self.actor.member_id() != Some(*id));
            let kinds = &self.to_dispatchers;
            to_members
                .extend(others.flat_map(|id| kinds.iter().map(move |what| (id, Notice::Order(news(what.clone()))))));
        }
        notices::write(db, to_members, at).await?;
        let to_client = self.to_client.into_iter().map(news).collect();
        client_notices::write(db, self.order.client_id, to_client, at).await?;
        Ok(self.order)
    }
}

/// The people who are told what needs a decision: dispatchers, or owners if there are none.
pub async fn dispatchers(db: &Transaction<'_, '_>) -> Result<Vec<i64>, WriteError> {
    let people = people::with_any(db, DISPATCHERS).await?;
    let dispatch: Vec<i64> =
        people.iter().filter(|person| person.roles.has(Role::Dispatcher)).map(|person| person.id).collect();
    let all = || people.iter().map(|person| person.id).collect();
    Ok(if dispatch.is_empty() { all() } else { dispatch })
}

async fn is_offered_to(db: &Transaction<'_, '_>, actor: &Actor, order: i64) -> Result<bool, WriteError> {
    let Some(person) = actor.member() else { return Ok(false) };
    let open = offer::Entity::find()
        .filter(offer::Column::OrderId.eq(order))
        .filter(offer::Column::MasterId.eq(person.id))
        .filter(offer::Column::Answer.is_null())
        .filter(offer::Column::OpenedAt.is_not_null());
    Ok(open.one(db).await?.is_some())
}

/// Whether the order was offered to the actor before, so that the actor may know that it is gone.
async fn was_offered_to(db: &Transaction<'_, '_>, actor: &Actor, order: i64) -> Result<bool, WriteError> {
    let Some(person) = actor.member() else { return Ok(false) };
    let past = offer::Entity::find()
        .filter(offer::Column::OrderId.eq(order))
        .filter(offer::Column::MasterId.eq(person.id))
        .filter(offer::Column::OpenedAt.is_not_null());
    Ok(past.one(db).await?.is_some())
}
