//! The job that sends a broadcast.
//!
//! A page of recipients is marked as taken in one commit and posted by the library's broadcast, which posts each
//! message once by its name and lets dialogues go first. A task follows the page and stores each result when it is
//! known, however long that takes. After a crash the taken page is posted again: what was posted before counts as
//! [`DeliveryState::Unknown`].

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use opora::bot::HandleError;
use opora::clock::Millis;
use opora::jobs::{Job, JobContext, JobError, NewJob};
use opora::outbox::{Broadcast, Watch};
use opora::prelude::*;
use opora::store::WriteError;
use parking_lot::Mutex;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select, Set};

use super::tables::{broadcast, recipient};
use super::{DeliveryState, event};
use crate::application::App;
use crate::domain::{Transaction, in_ids};
use crate::front::menu_button;
use crate::jobs;
use crate::notices::quiet::quiet_until_of;
use crate::person::{Person, Status};
use crate::sites::Sites;
use crate::text;
use crate::texts::Language;

/// As many as the library posts in a second.
const PAGE_SIZE: u64 = 20;
/// Pages without all results at a time. If Telegram does not answer, the rest waits.
const MAX_FOLLOWED_PAGES: usize = 10;
/// Notices wait meanwhile: the queue runs one job at a time.
const MAX_RUN_TIME: Duration = Duration::from_secs(2);
const RESULT_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often results are stored, unless a page is complete earlier.
const STORE_INTERVAL: Duration = Duration::from_secs(1);

/// The pages whose results this process still waits for: a broadcast and its recipients.
#[derive(Debug, Default)]
pub struct FollowedPages(Mutex<Vec<(i64, Vec<i64>)>>);

/// Sends a broadcast.
#[derive(Debug, Serialize, Deserialize)]
pub struct SendBroadcast {
    pub broadcast: i64,
}

impl Job for SendBroadcast {
    const NAME: &'static str = "broadcast";
    const QUEUE: &'static str = jobs::NOTIFICATIONS;
    const PRIORITY: u8 = NewJob::LOWEST_PRIORITY;
}

/// A page of recipients of one broadcast.
struct TakenPage {
    message: broadcast::Model,
    people: Vec<i64>,
}

/// A message whose result is not known yet.
struct Posted {
    user_id: i64,
    watch: Watch,
}

impl FollowedPages {
    fn add(&self, page: &TakenPage) {
        self.0.lock().push((page.message.id, page.people.clone()));
    }

    fn remove(&self, page: &TakenPage) {
        self.0.lock().retain(|(id, people)| (*id, people) != (page.message.id, &page.people));
    }

    fn is_full(&self) -> bool {
        self.0.lock().len() >= MAX_FOLLOWED_PAGES
    }

    /// The condition that a recipient is on none of these pages.
    fn others(&self) -> Condition {
        self.0.lock().iter().fold(Condition::all(), |others, (id, people)| {
            let page = recipient::Column::BroadcastId.eq(*id);
            others.add(page.and(recipient::Column::UserId.is_in(people.iter().copied())).not())
        })
    }
}

/// The job: posts for a limited time, and comes back until all results are known, and the quiet hours of all recipients
/// are over.
pub async fn run(app: App, SendBroadcast { broadcast }: SendBroadcast, _: JobContext) -> Result<(), JobError> {
    let until = app.clock.now().plus(MAX_RUN_TIME);
    let quiet = quiet_recipients(&app, broadcast).await?;
    let asleep: Vec<i64> = quiet.keys().copied().collect();
    while !app.broadcasts.is_full()
        && let Some(page) = take_page(&app, broadcast, &asleep).await?
    {
        send_page(&app, page).await?;
        if app.clock.now() >= until {
            return Err(JobError::Snooze(Duration::ZERO.into()));
        }
    }
    match quiet.into_values().min() {
        _ if has_unsent(&app, broadcast, &asleep).await? => Err(JobError::Snooze(STORE_INTERVAL.into())),
        Some(morning) => Err(JobError::Snooze(morning.into())),
        None => Ok(()),
    }
}

/// The waiting recipients who have quiet hours now, and the end of these.
async fn quiet_recipients(app: &App, id: i64) -> Result<HashMap<i64, Millis>, DbErr> {
    let waiting = recipient::Entity::find().filter(recipient::Column::BroadcastId.eq(id));
    let waiting = waiting.filter(recipient::Column::State.eq(DeliveryState::Waiting.name()));
    let people: Vec<i64> =
        waiting.select_only().column(recipient::Column::UserId).into_tuple().all(app.domain.read()).await?;
    quiet_until_of(app, &people, app.clock.now()).await
}

/// Whether results of a broadcast are missing, except those of people with quiet hours.
async fn has_unsent(app: &App, id: i64, asleep: &[i64]) -> Result<bool, DbErr> {
    Ok(unsent(id, asleep).limit(1).one(app.domain.read()).await?.is_some())
}

fn unsent(id: i64, asleep: &[i64]) -> Select<recipient::Entity> {
    let waits = recipient::Column::State.eq(DeliveryState::Waiting.name());
    let waits = waits.and(in_ids(recipient::Column::UserId, asleep).not());
    let is_unsent = waits.or(recipient::Column::State.eq(DeliveryState::Posting.name()));
    recipient::Entity::find().filter(recipient::Column::BroadcastId.eq(id)).filter(is_unsent)
}

/// Marks the next recipients as taken; None if no one waits.
async fn take_page(app: &App, id: i64, asleep: &[i64]) -> Result<Option<TakenPage>, JobError> {
    let unsent = unsent(id, asleep).filter(app.broadcasts.others()).order_by_asc(recipient::Column::UserId);
    let people: Vec<i64> =
        unsent.limit(PAGE_SIZE).all(app.domain.read()).await?.into_iter().map(|row| row.user_id).collect();
    if people.is_empty() {
        return Ok(None);
    }
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

/// Posts a page; a task follows its results.
async fn send_page(app: &App, page: TakenPage) -> Result<(), JobError> {
    let site = Sites::of_app(app).site(page.message.site_id).await?;
    let site_name = site.map(|site| site.about.name).unwrap_or_default();
    let members = app.people.with_ids(&page.people).await?;
    let members: Vec<&Person> = members.iter().filter(|person| person.status == Status::Verified).collect();
    let posts = members.iter().map(|person| post(app, &page.message, &site_name, person));
    // Blocked and forgotten people get no message.
    let mut results: HashMap<i64, DeliveryState> = page.people.iter().map(|id| (*id, DeliveryState::Skipped)).collect();
    let mut posted = Vec::with_capacity(members.len());
    for (person, watch) in members.iter().zip(join_all(posts).await) {
        match watch.map_err(jobs::not_posted)? {
            Some(watch) => {
                results.remove(&person.id);
                posted.push(Posted { user_id: person.id, watch });
            }
            None => {
                results.insert(person.id, DeliveryState::Failed);
            }
        }
    }
    store(app, &page.message, results).await.map_err(jobs::failed)?;
    if !posted.is_empty() {
        app.broadcasts.add(&page);
        let app = app.clone();
        tokio::spawn(async move {
            follow(&app, &page.message, posted).await;
            app.broadcasts.remove(&page);
        });
    }
    Ok(())
}

/// Posts the message to one person. None if it can never be sent: it must not hold up the others.
async fn post(
    app: &App,
    message: &broadcast::Model,
    site_name: &str,
    person: &Person,
) -> Result<Option<Watch>, HandleError> {
    let say = Say::text(message_text(message, site_name, person.language)).buttons([[menu_button(person.language)]]);
    let name = format!("site-{}-{}", message.id, person.id);
    let broadcast = Broadcast::new(name, say, [person.telegram_id]);
    let watch = broadcast.watch();
    match app.bot.broadcast(broadcast).await {
        Ok(_) => Ok(Some(watch)),
        Err(HandleError::Message(error)) => {
            tracing::warn!(broadcast = message.id, user = person.id, %error, "a message to staff is invalid");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Stores the results of a page as they become known. Ends when all are, or when the bot does not lead any more.
async fn follow(app: &App, message: &broadcast::Model, mut posted: Vec<Posted>) {
    while !posted.is_empty() && app.bot.is_running() {
        let round = async {
            while posted.iter().any(|one| result(&one.watch).is_none()) {
                tokio::time::sleep(RESULT_POLL_INTERVAL).await;
            }
        };
        // Not an error: the results that are known by now are stored.
        let _ = tokio::time::timeout(STORE_INTERVAL, round).await;
        let known = posted.iter().filter_map(|one| Some((one.user_id, result(&one.watch)?)));
        let results: HashMap<i64, DeliveryState> = known.collect();
        match store(app, message, results.clone()).await {
            Ok(()) => posted.retain(|one| !results.contains_key(&one.user_id)),
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "results of a broadcast cannot be stored; trying again");
                tokio::time::sleep(STORE_INTERVAL).await;
            }
        }
    }
}

/// The result of a message; None while it waits to be sent.
fn result(watch: &Watch) -> Option<DeliveryState> {
    let progress = watch.progress();
    match (progress.sent, progress.failed, progress.unreachable, progress.unknown) {
        (1.., ..) => Some(DeliveryState::Sent),
        (_, 1.., 1.., _) => Some(DeliveryState::Blocked),
        (_, 1.., ..) => Some(DeliveryState::Failed),
        (_, _, _, 1..) => Some(DeliveryState::Unknown),
        _ => None,
    }
}

/// Stores results and shows them on open pages.
async fn store(app: &App, message: &broadcast::Model, results: HashMap<i64, DeliveryState>) -> anyhow::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    let mut by_state: HashMap<DeliveryState, Vec<i64>> = HashMap::new();
    for (user_id, state) in results {
        by_state.entry(state).or_default().push(user_id);
    }
    let id = message.id;
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            for (state, people) in by_state {
                mark(db, id, &people, DeliveryState::Posting, state).await?;
            }
            Ok(())
        })
    });
    write.await?;
    app.events.publish(event(message.site_id));
    Ok(())
}

/// The text that a recipient reads.
fn message_text(message: &broadcast::Model, site_name: &str, language: Language) -> String {
    text!(language, "sites-broadcast-message", site = site_name, text = message.text.as_str())
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
