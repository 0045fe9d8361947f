//! Changes by pages and jobs are told in the chat, once, with a button to the main menu.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sea_orm::{ConnectionTrait, Statement};
use serde_json::Value;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};
use workforce::notices;
use workforce::shifts::{ShiftStart, Shifts, jobs, open};
use workforce::sites::{AboutSlot, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::kit::sql::run_sql;
use crate::overview::business_pages::make_site;
use crate::shifts::about_contract;

/// The messages in Boris' chat with these words.
async fn messages(cabinet: &Cabinet, words: &str) -> Vec<Value> {
    let all = cabinet.emulator.get(&format!("/chats/{BORIS}/messages?after=0&wait=0")).await;
    let all = all.as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|message| message["text"].as_str().is_some_and(|text| text.contains(words))).collect()
}

/// Asserts that a notice arrives once, however often sending runs, and has the menu button.
async fn assert_told_once(cabinet: &Cabinet, words: &str) {
    for _ in 0..3 {
        notices::send_pending(cabinet.app.clone()).await.unwrap();
    }
    let said = cabinet.emulator.until(words, async |_| messages(cabinet, words).await.into_iter().next()).await;
    assert_eq!(said["reply_markup"]["inline_keyboard"][0][0]["text"], "🏠 Main menu", "{said}");
    // Messages arrive in order, so everything posted before this one has arrived.
    let last = format!("After {words}");
    cabinet.app.bot.post(&last, BORIS, last.as_str()).await.unwrap();
    cabinet.emulator.receives(BORIS, &last).await;
    let said = messages(cabinet, words).await;
    assert_eq!(said.iter().filter(|message| message["text"] != last.as_str()).count(), 1, "{said:#?}");
}

#[tokio::test]
async fn a_moved_slot_is_told_to_its_people() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris, site) = prepare_boris(&cabinet).await;
    let sites = Sites::of_app(&cabinet.app);
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(9 * 60, 17 * 60));
    let slot = sites.create_slot(&anna, site, about.clone()).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    let later = AboutSlot { hours: Hours::new(10 * 60, 18 * 60), ..about };
    sites.edit_slot(&anna, slot, 1, later).await.unwrap();
    assert_told_once(&cabinet, "05.01 10:00–18:00").await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_shift_closed_by_the_job_is_told_to_its_person() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (_, boris, site) = prepare_boris(&cabinet).await;
    let start =
        ShiftStart { user_id: boris.id, site_id: site, plan_id: None, position: None, started_at: NOON, at: NOON };
    cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap();
    // It is three in the afternoon, and the site closes at nine in the evening.
    cabinet.clock.advance(Duration::from_secs(8 * 3600));
    for _ in 0..2 {
        jobs::close_overdue(cabinet.app.clone()).await.unwrap();
    }
    assert_told_once(&cabinet, "01.01 21:00").await;
    cabinet.close().await;
}

/// Counts the errors that the application logs. Each test runs in its own process.
#[derive(Clone, Debug, Default)]
struct Errors(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Errors {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        if *about.level() == Level::ERROR && about.target().starts_with("workforce") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn unreadable_notices_stay_and_do_not_block_others() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris, site) = prepare_boris(&cabinet).await;
    // More than one batch: broken notices, and notices of a later version.
    let torn = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
        INSERT INTO notices (user_id, body, created_at)
        SELECT {}, CASE i % 2 WHEN 0 THEN 'torn {{' ELSE '{{\"is\":\"promoted\"}}' END, 0 FROM n",
        boris.id
    );
    run_sql(&cabinet.app.domain, torn).await;
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(9 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    // Planned by a second instance that does not lead, so that only the counted runs send notices.
    let other_instance = cabinet.second_instance().await;
    Shifts::of_app(&other_instance).plan(&anna, boris.id, slot).await.unwrap();
    other_instance.domain.close().await.unwrap();
    let errors = Errors::default();
    tracing::subscriber::set_global_default(Registry::default().with(errors.clone())).unwrap();
    assert_told_once(&cabinet, "05.01 09:00–17:00").await;
    assert_eq!(errors.0.load(Ordering::Relaxed), 3, "one error per run");
    let db = cabinet.app.domain.read();
    let waiting = "SELECT COUNT(*) FROM notices WHERE NOT is_told";
    let waiting = db.query_one_raw(Statement::from_string(db.get_database_backend(), waiting)).await.unwrap();
    assert_eq!(waiting.unwrap().try_get_by_index::<i64>(0).unwrap(), 250, "a later version can send them");
    cabinet.close().await;
}

#[tokio::test]
async fn a_bonus_and_a_payment_are_told_to_their_person() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (month, person) = (("period", "2026-01"), format!("/payroll/people/{boris}"));
    let bonus = [month, ("kind", "bonus"), ("amount", "500"), ("reason", "A <happy> client & more")];
    owner.post(&format!("{person}/amounts"), &bonus).await.redirects_to(&format!("{person}?period=2026-01"));
    // It is sent right after the commit, without waiting for the job.
    let words = "January 2026: you got a bonus, +500\u{a0}₽. Reason: A <happy> client & more";
    cabinet.emulator.receives(BORIS, words).await;
    assert_told_once(&cabinet, words).await;
    let paid = [month, ("version", "1"), ("amount", "120")];
    owner.post(&format!("{person}/paid"), &paid).await.redirects_to(&format!("{person}?period=2026-01"));
    assert_told_once(&cabinet, "January 2026: you were paid 120\u{a0}₽.").await;
    cabinet.close().await;
}

/// A site of Anna's, where Boris has a contract.
async fn prepare_boris(cabinet: &Cabinet) -> (workforce::person::Person, workforce::person::Person, i64) {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let site = make_site(cabinet, &cabinet.signed_in(ANNA).await).await;
    let about = about_contract(&[site], true);
    Sites::of_app(&cabinet.app).create_contract(&anna, boris.id, about).await.unwrap();
    (anna, boris, site)
}
