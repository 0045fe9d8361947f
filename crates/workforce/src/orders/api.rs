//! The public functions of this room outside of turns: commands of pages and jobs. Queries are in their own files.

use std::iter::repeat;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::DatabaseConnection;

use super::change::check_actor;
use super::events::OrderEvent;
use super::{ActionError, Actor, Command, NewOrder, Order, OrderRefusal, creating, executing};
use crate::application::App;
use crate::domain::{FormKey, NotWritten, Transaction};

/// The refusal of a commit that was only tried.
const TRIED: &str = "only tried";

/// The public functions of this room.
#[derive(Clone, Debug)]
pub struct Orders {
    pub(super) app: App,
    once: FormKey,
}

impl Orders {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone(), once: FormKey::default() }
    }

    /// These functions for a form that counts once: a second submission is refused.
    #[must_use]
    pub fn once(self, once: FormKey) -> Self {
        Self { once, ..self }
    }

    /// Creates an order.
    pub async fn create(&self, actor: &Actor, new: NewOrder) -> Result<Order, ActionError> {
        let actor = actor.clone();
        let order = self.write(move |db, at| Box::pin(creating::create(db, actor, new, at))).await?;
        OrderEvent::of(order.id).publish(&self.app, Some(order.status.name()));
        Ok(order)
    }

    /// Carries out a command. `version` is what the person saw.
    pub async fn execute(
        &self,
        actor: &Actor,
        id: i64,
        version: Option<i64>,
        command: Command,
    ) -> Result<Order, ActionError> {
        let actor = actor.clone();
        let execute = self.write(move |db, at| Box::pin(executing::execute(db, actor, (id, version), command, at)));
        let order = execute.await?;
        OrderEvent::of(order.id).publish(&self.app, Some(order.status.name()));
        Ok(order)
    }

    /// Carries out several commands for one order in one commit. `version` is what the person saw.
    pub async fn execute_all(
        &self,
        actor: &Actor,
        id: i64,
        version: i64,
        commands: Vec<Command>,
    ) -> Result<(), ActionError> {
        let actor = actor.clone();
        let executed = self.write(move |db, at| {
            Box::pin(async move {
                let mut last = None;
                for (command, at_first) in commands.into_iter().zip([Some(version)].into_iter().chain(repeat(None))) {
                    last = Some(executing::execute(db, actor.clone(), (id, at_first), command, at).await?);
                }
                Ok(last)
            })
        });
        if let Some(order) = executed.await? {
            OrderEvent::of(id).publish(&self.app, Some(order.status.name()));
        }
        Ok(())
    }

    /// Whether a command would be carried out now. Dialogues ask before they say anything; the commit checks again.
    pub async fn check(
        &self,
        actor: &Actor,
        id: i64,
        version: Option<i64>,
        command: Command,
    ) -> Result<(), ActionError> {
        let (actor, at) = (actor.clone(), self.app.clock.now());
        let tried = self.app.domain.write(move |db| {
            Box::pin(async move {
                executing::execute(db, actor, (id, version), command, at).await?;
                Err(Refusal::because(TRIED))
            })
        });
        match tried.await {
            Err(NotWritten::Refused(why)) if why == TRIED => Ok(()),
            other => other.map_err(Into::into),
        }
    }

    pub(super) fn db(&self) -> &DatabaseConnection {
        self.app.domain.read()
    }

    /// Writes on behalf of dispatchers and owners only, and tells open pages: for lists and clients.
    pub(super) async fn write_as_staff<T, F>(&self, actor: &Actor, run: F) -> Result<T, ActionError>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>, Millis) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let actor = actor.clone();
        let written = self.write(move |db, at| {
            Box::pin(async move {
                check_actor(db, &actor).await?;
                let may = actor.member().is_some_and(|person| person.may(crate::person::DISPATCHERS));
                if !may {
                    return Err(OrderRefusal::NotAllowed.refusal());
                }
                run(db, at).await
            })
        });
        let got = written.await?;
        self.app.events.publish(crate::web::Event::to_roles(super::TOPIC, crate::person::DISPATCHERS));
        Ok(got)
    }

    async fn write<T, F>(&self, run: F) -> Result<T, ActionError>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>, Millis) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let (once, at) = (self.once.clone(), self.app.clock.now());
        let written = self.app.domain.write_and_get(move |db| {
            Box::pin(async move {
                once.store(db, at).await?;
                run(db, at).await
            })
        });
        Ok(written.await?)
    }
}
