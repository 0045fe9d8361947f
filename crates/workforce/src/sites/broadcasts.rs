//! Messages of staff to the people who work at a site.
//!
//! A commit stores the message with its recipients. The [job](sending) sends it in the background, page by page, and
//! stores the result of each recipient, so a restart continues where it stopped. Only people with an active contract
//! for the site can be recipients; the commit checks that.

use std::collections::{BTreeSet, HashMap};

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::{Value, json};

use self::tables::{broadcast, recipient};
use super::api::Sites;
use super::{ActionError, ChangedBy, SiteRefusal, changes, contracts, local};
use crate::domain::{Domain, Transaction, user_text};
use crate::person::{Permission, Person};
use crate::web::Event;

pub mod sending;
mod tables;

/// The topic that pages name in `data-live` to follow the progress.
pub const TOPIC: &str = "broadcasts";
pub const MAX_TEXT_LENGTH: usize = 3500;
const MAX_RECIPIENTS: usize = 1000;
/// How many broadcasts of a site are listed.
const MAX_LISTED: u64 = 20;

/// The state of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    Waiting,
    /// Taken by the job; the result is not known yet.
    Posting,
    Sent,
    Failed,
    /// The person has blocked the bot or deleted the account.
    Blocked,
    /// Handed to the bot before a restart, which lost the result. It was most likely sent.
    Unknown,
    /// Staff cancelled the broadcast before it was this person's turn.
    Cancelled,
    /// The person is not a member any more.
    Skipped,
}

/// A broadcast with the number of its recipients by state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteBroadcast {
    pub id: i64,
    pub author_id: i64,
    pub text: String,
    pub created_at: Millis,
    pub cancelled_at: Option<Millis>,
    counts: HashMap<DeliveryState, u64>,
}

/// A message and the people who are to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastDraft {
    pub text: String,
    pub recipients: Vec<i64>,
}

impl DeliveryState {
    const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Posting,
        Self::Sent,
        Self::Failed,
        Self::Blocked,
        Self::Unknown,
        Self::Cancelled,
        Self::Skipped,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Posting => "posting",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

impl SiteBroadcast {
    pub fn count(&self, state: DeliveryState) -> u64 {
        self.counts.get(&state).copied().unwrap_or_default()
    }

    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Recipients without a result yet.
    pub fn left(&self) -> u64 {
        self.count(DeliveryState::Waiting) + self.count(DeliveryState::Posting)
    }
}

impl BroadcastDraft {
    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        // Telegram counts UTF-16 units.
        let length = user_text::lines(&self.text).encode_utf16().count();
        let text = (!(1..=MAX_TEXT_LENGTH).contains(&length)).then_some("text");
        let recipients = (!(1..=MAX_RECIPIENTS).contains(&self.recipients.len())).then_some("recipients");
        text.into_iter().chain(recipients).collect()
    }
}

impl Sites {
    /// The last broadcasts of a site, newest first.
    pub async fn broadcasts(&self, site_id: i64) -> Result<Vec<SiteBroadcast>, DbErr> {
        let rows = broadcast::Entity::find().filter(broadcast::Column::SiteId.eq(site_id));
        let rows = rows.order_by_desc(broadcast::Column::Id).limit(MAX_LISTED).all(self.db()).await?;
        let counted: Vec<(i64, String, i64)> = recipient::Entity::find()
            .select_only()
            .column(recipient::Column::BroadcastId)
            .column(recipient::Column::State)
            .column_as(recipient::Column::UserId.count(), "people")
            .filter(recipient::Column::BroadcastId.is_in(rows.iter().map(|row| row.id)))
            .group_by(recipient::Column::BroadcastId)
            .group_by(recipient::Column::State)
            .into_tuple()
            .all(self.db())
            .await?;
        Ok(rows.into_iter().map(|row| with_counts(row, &counted)).collect())
    }

    /// Stores a broadcast; a job sends it soon. Needs the permission for employees.
    pub async fn send_broadcast(&self, by: &Person, site_id: i64, draft: BroadcastDraft) -> Result<i64, ActionError> {
        let rights = self.require_permission(by, Permission::Employees, site_id).await?;
        let run = self.change(by, rights, [event(site_id)], move |db, by| Box::pin(create(db, site_id, draft, by)));
        let id = run.await?;
        self.app.bot.wake_jobs();
        Ok(id)
    }

    /// Cancels what is not sent yet.
    pub async fn cancel_broadcast(&self, by: &Person, site_id: i64, id: i64) -> Result<(), ActionError> {
        let rights = self.require_permission(by, Permission::Employees, site_id).await?;
        self.change(by, rights, [event(site_id)], move |db, by| Box::pin(cancel(db, site_id, id, by))).await
    }
}

/// The progress of a site's broadcasts has changed: to people who may see them.
fn event(site_id: i64) -> Event {
    Event::to_permitted(TOPIC, Permission::Employees, &[site_id])
}

fn with_counts(row: broadcast::Model, counted: &[(i64, String, i64)]) -> SiteBroadcast {
    let own = counted.iter().filter(|(id, ..)| *id == row.id);
    let counts = own.filter_map(|(_, state, people)| {
        let state = DeliveryState::ALL.into_iter().find(|one| one.name() == state)?;
        Some((state, u64::try_from(*people).ok()?))
    });
    SiteBroadcast {
        id: row.id,
        author_id: row.author_id,
        text: row.text,
        created_at: Millis(row.created_at),
        cancelled_at: row.cancelled_at.map(Millis),
        counts: counts.collect(),
    }
}

async fn create(
    db: &Transaction<'_, '_>,
    site_id: i64,
    draft: BroadcastDraft,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    changes::refuse_mistakes(&draft.invalid_fields())?;
    let site = changes::site(db, site_id).await?.filter(|site| site.deleted_at.is_none());
    let site = site.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let today = local(by.at, site.about.time_zone).date();
    // A contract may have ended since the page was loaded.
    let workers = contracts::people_with_contract(db, site_id, today).await?;
    let recipients: BTreeSet<i64> = draft.recipients.into_iter().filter(|id| workers.contains(id)).collect();
    if recipients.is_empty() {
        return Err(SiteRefusal::NoContract.refusal());
    }
    let row = broadcast::ActiveModel {
        site_id: Set(site_id),
        author_id: Set(by.person.unwrap_or_default()),
        text: Set(user_text::lines(&draft.text)),
        created_at: Set(by.at.0),
        ..Default::default()
    };
    let id = row.insert(db).await?.id;
    let count = recipients.len();
    let rows = recipients.into_iter().map(|user_id| recipient::ActiveModel {
        broadcast_id: Set(id),
        user_id: Set(user_id),
        state: Set(DeliveryState::Waiting.name().to_owned()),
    });
    recipient::Entity::insert_many(rows).exec_without_returning(db).await?;
    db.enqueue([sending::SendBroadcast { broadcast: id }], by.at).await?;
    by.audit(db, "broadcast sent", ("site", site_id), json!({ "broadcast": id, "count": count })).await?;
    Ok(id)
}

async fn cancel(db: &Transaction<'_, '_>, site_id: i64, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    let row = broadcast::Entity::find_by_id(id).filter(broadcast::Column::SiteId.eq(site_id)).one(db).await?;
    row.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let waiting = recipient::Column::BroadcastId.eq(id).and(recipient::Column::State.eq(DeliveryState::Waiting.name()));
    let stopped = recipient::Entity::update_many()
        .set(recipient::ActiveModel { state: Set(DeliveryState::Cancelled.name().to_owned()), ..Default::default() })
        .filter(waiting)
        .exec(db)
        .await?;
    // Everything is sent already, or another person has cancelled it.
    if stopped.rows_affected == 0 {
        return Ok(());
    }
    let cancelled = broadcast::ActiveModel { cancelled_at: Set(Some(by.at.0)), ..Default::default() };
    broadcast::Entity::update_many().set(cancelled).filter(broadcast::Column::Id.eq(id)).exec(db).await?;
    let detail = json!({ "broadcast": id, "count": stopped.rows_affected });
    by.audit(db, "broadcast cancelled", ("site", site_id), detail).await
}

/// The messages that a person wrote or got.
pub(super) async fn export(domain: &Domain, user_id: i64) -> Result<Vec<Value>, DbErr> {
    let got = recipient::Entity::find().filter(recipient::Column::UserId.eq(user_id)).all(domain.read()).await?;
    let is_own = broadcast::Column::AuthorId.eq(user_id);
    let is_own = is_own.or(broadcast::Column::Id.is_in(got.iter().map(|row| row.broadcast_id)));
    let rows = broadcast::Entity::find().filter(is_own).order_by_asc(broadcast::Column::Id).all(domain.read()).await?;
    let shown = rows.iter().map(|row| {
        let state = got.iter().find(|one| one.broadcast_id == row.id).map(|one| one.state.as_str());
        json!({ "at_ms": row.created_at, "text": row.text, "is_author": row.author_id == user_id, "state": state })
    });
    Ok(shown.collect())
}

/// Removes a person from the recipients. What the person wrote to others stays theirs.
pub(super) async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    recipient::Entity::delete_many().filter(recipient::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_as_telegram_counts_it() {
        let draft = |count: usize| BroadcastDraft { text: "🙂".repeat(count), recipients: vec![1] };
        assert!(draft(MAX_TEXT_LENGTH / 2).invalid_fields().is_empty());
        assert_eq!(draft(MAX_TEXT_LENGTH / 2 + 1).invalid_fields(), ["text"]);
    }
}
