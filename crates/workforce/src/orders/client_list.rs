//! The list of clients, for those who dispatch.

use std::collections::BTreeSet;

use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};

use super::api::Orders;
use super::tables::client;
use super::{ActionError, Actor, Client, clients, fields};
use crate::person::{DISPATCHERS, Person};

/// The most clients on a page of the list.
const PAGE_SIZE: u64 = 50;

/// A page of the list of clients, newest first.
#[derive(Clone, Debug, Default)]
pub struct ClientPage {
    pub clients: Vec<Client>,
    /// The id after which the next page begins; None for the last page.
    pub next: Option<i64>,
}

impl Orders {
    /// Clients, newest first; with a search those who have such orders or this phone.
    pub async fn clients(&self, viewer: &Person, wanted: &str, before: Option<i64>) -> Result<ClientPage, DbErr> {
        if !viewer.may(DISPATCHERS) {
            return Ok(ClientPage::default());
        }
        let found = if wanted.is_empty() { None } else { Some(self.searched(viewer, wanted).await?) };
        let rows = client::Entity::find()
            .filter(client::Column::ForgottenAt.is_null())
            .apply_if(found, QueryFilter::filter)
            .apply_if(before, |query, before| query.filter(client::Column::Id.lt(before)))
            .order_by_desc(client::Column::Id)
            .limit(PAGE_SIZE + 1);
        let mut clients: Vec<Client> = rows.all(self.db()).await?.into_iter().map(Client::from).collect();
        let has_more = clients.len() as u64 > PAGE_SIZE;
        clients.truncate(usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX));
        let next = clients.last().filter(|_| has_more).map(|client| client.id);
        Ok(ClientPage { clients, next })
    }

    /// Changes the name and the notes of a client.
    pub async fn edit_client(
        &self,
        by: &Actor,
        seen: (i64, i64),
        name: String,
        notes: String,
    ) -> Result<(), ActionError> {
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move { clients::edit_client(db, seen, &name, &notes, at).await })
        })
        .await
    }

    /// The condition of clients that a search finds.
    async fn searched(&self, viewer: &Person, wanted: &str) -> Result<Condition, DbErr> {
        let orders = self.search(viewer, wanted).await?;
        let ids: BTreeSet<i64> = orders.iter().map(|seen| seen.order.client_id).collect();
        let phone = fields::phone(wanted).ok().map(|phone| client::Column::Phone.eq(phone));
        Ok(Condition::any().add(client::Column::Id.is_in(ids)).add_option(phone))
    }
}
