//! The job that sends broadcasts.
//!
//! A page of recipients is marked as taken in one commit, posted by the library's broadcast, and marked with its
//! results. The library posts each message once by its name and lets dialogues go first. After a crash the taken page
//! is posted again: what was posted before counts as [`DeliveryState::Unknown`].

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use opora::bot::HandleError;
use opora::outbox::{Broadcast, Watch};
use opora::prelude::*;
use opora::store::{OutboxId, WriteError};
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::tables::{broadcast, recipient};
use super::{DeliveryState, event};
use crate::application::App;
use crate::domain::Transaction;
use crate::front::menu_button;
use crate::jobs;
use crate::person::{Person, Status};
use crate::sites::Sites;
use crate::text;
use crate::texts::Language;
use opora::clock::Millis;

pub const JOB: &str = "broadcasts";
/// As many as the library posts in a second.
const PAGE_SIZE: u64 = 20;
const MAX_RUN_TIME: Duration = Duration::from_secs(25);
const RESULT_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the job waits for the results of a page.
const MAX_RESULT_WAIT: Duration = Duration::from_secs(20);
const FAILED_PAGE: usize = 200;
/// Parts of Telegram's descriptions of chats that cannot be reached any more.
const UNREACHABLE: [&str; 4] = ["blocked", "deactivated", "chat not found", "can't initiate conversation"];

/// A page of recipients of one broadcast.
struct TakenPage {
    message: broadcast::Model,
    people: Vec<i64>,
}

/// The job: sends what waits, for a limited time.
pub async fn send_pending(app: App) -> anyhow::Result<()> {
    let until = app.clock.now().plus(MAX_RUN_TIME);
    while let Some(page) = take_page(&app).await? {
        send_page(&app, page).await?;
        if app.clock.now() >= until {
            jobs::run_soon(&app, JOB);
            break;
        }
    }
    Ok(())
}

/// Marks the next recipients as taken; None if nobody waits.
async fn take_page(app: &App) -> anyhow::Result<Option<TakenPage>> {
    let unsent = recipient::Column::State.is_in([DeliveryState::Waiting.name(), DeliveryState::Posting.name()]);
    let unsent = recipient::Entity::find().filter(unsent).order_by_asc(recipient::Column::BroadcastId);
    let rows = unsent.order_by_asc(recipient::Column::UserId).limit(PAGE_SIZE).all(app.domain.read()).await?;
    let Some(id) = rows.first().map(|row| row.broadcast_id) else { return Ok(None) };
    let people: Vec<i64> = rows.iter().filter(|row| row.broadcast_id == id).map(|row| row.user_id).collect();
    let taken = app.domain.write_and_get(move |db| Box::pin(take(db, id, people))).await?;
    let message = broadcast::Entity::find_by_id(id).one(app.domain.read()).await?;
    Ok(message.map(|message| TakenPage { message, people: taken }))
}

/// Takes those that still wait: staff may have cancelled the rest just now.
async fn take(db: &Transaction<'_, '_>, id: i64, people: Vec<i64>) -> Result<Vec<i64>, WriteError> {
    mark(db, id, &people, DeliveryState::Waiting, DeliveryState::Posting).await?;
    let own = recipient::Column::BroadcastId.eq(id).and(recipient::Column::UserId.is_in(people));
    let taken = recipient::Entity::find().filter(own);
    let taken = taken.filter(recipient::Column::State.eq(DeliveryState::Posting.name())).all(db).await?;
    Ok(taken.into_iter().map(|row| row.user_id).collect())
}

async fn send_page(app: &App, page: TakenPage) -> anyhow::Result<()> {
    let TakenPage { message, people } = page;
    let site = Sites::of_app(app).site(message.site_id).await?;
    let site_name = site.map(|site| site.about.name).unwrap_or_default();
    let members = app.people.with_ids(&people).await?;
    let members: Vec<&Person> = members.iter().filter(|person| person.status == Status::Verified).collect();
    let sends = members.iter().map(|person| send(app, &message, &site_name, person));
    // Blocked and forgotten people get no message.
    let mut results: HashMap<i64, DeliveryState> = people.iter().map(|id| (*id, DeliveryState::Skipped)).collect();
    for (person, result) in members.iter().zip(join_all(sends).await) {
        results.insert(person.id, result?);
    }
    let id = message.id;
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            for (user_id, state) in results {
                mark(db, id, &[user_id], DeliveryState::Posting, state).await?;
            }
            Ok(())
        })
    });
    write.await?;
    app.events.publish(event(message.site_id));
    Ok(())
}

/// Posts the message to one person and waits for its result.
async fn send(
    app: &App,
    message: &broadcast::Model,
    site_name: &str,
    person: &Person,
) -> Result<DeliveryState, HandleError> {
    let say = Say::text(message_text(message, site_name, person.language)).buttons([[menu_button(person.language)]]);
    let name = format!("site-{}-{}", message.id, person.id);
    let broadcast = Broadcast::new(name, say, [person.telegram_id]);
    let watch = broadcast.watch();
    match app.bot.broadcast(broadcast).await {
        // A message that can never be sent must not hold up the others.
        Err(HandleError::Message(error)) => {
            tracing::warn!(broadcast = message.id, user = person.id, %error, "a message to staff is invalid");
            return Ok(DeliveryState::Failed);
        }
        posted => posted?,
    };
    match result(&watch).await {
        DeliveryState::Failed => Ok(reason(app, person.telegram_id, Millis(message.created_at)).await),
        known => Ok(known),
    }
}

/// The text that a recipient reads.
fn message_text(message: &broadcast::Model, site_name: &str, language: Language) -> String {
    text!(language, "sites-broadcast-message", site = site_name, text = message.text.as_str())
}

/// Waits until the message is sent or has failed. If that takes too long, only the outbox knows the result.
async fn result(watch: &Watch) -> DeliveryState {
    let wait = async {
        loop {
            let progress = watch.progress();
            match (progress.sent, progress.failed, progress.unknown) {
                (1.., ..) => return DeliveryState::Sent,
                (_, 1.., _) => return DeliveryState::Failed,
                (_, _, 1..) => return DeliveryState::Unknown,
                _ => tokio::time::sleep(RESULT_POLL_INTERVAL).await,
            }
        }
    };
    tokio::time::timeout(MAX_RESULT_WAIT, wait).await.unwrap_or(DeliveryState::Unknown)
}

/// Why a message failed, from the failed messages that the store keeps.
async fn reason(app: &App, chat: i64, since: Millis) -> DeliveryState {
    let mut after = Some((Millis(since.0.saturating_sub(1)), OutboxId(0)));
    loop {
        let store = app.domain.store();
        let Ok(rows) = store.operator().failed(app.bot_id, after, FAILED_PAGE).await else {
            return DeliveryState::Failed;
        };
        let is_unreachable = |reason: &str| UNREACHABLE.iter().any(|part| reason.contains(part));
        if rows.iter().any(|row| row.key.chat == chat && is_unreachable(&row.reason)) {
            return DeliveryState::Blocked;
        }
        after = rows.last().map(opora::store::FailedRow::cursor);
        if rows.len() < FAILED_PAGE {
            return DeliveryState::Failed;
        }
    }
}

async fn mark(
    db: &Transaction<'_, '_>,
    id: i64,
    people: &[i64],
    from: DeliveryState,
    to: DeliveryState,
) -> Result<(), WriteError> {
    let own = recipient::Column::BroadcastId.eq(id).and(recipient::Column::UserId.is_in(people.iter().copied()));
    recipient::Entity::update_many()
        .set(recipient::ActiveModel { state: Set(to.name().to_owned()), ..Default::default() })
        .filter(own.and(recipient::Column::State.eq(from.name())))
        .exec(db)
        .await?;
    Ok(())
}
