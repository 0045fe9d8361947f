//! Changes by pages and jobs are told in the chat, once, with a button to the main menu.

use std::time::Duration;

use opora::jobs::{JobFilter, JobRequest, JobRow, JobState};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::Value;
use workforce::application::App;
use workforce::notices::{self, SendNotice};
use workforce::shifts::{ShiftStart, Shifts, jobs, open};
use workforce::sites::{AboutSlot, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, until};
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

/// Waits until the jobs of all notices have run.
pub async fn all_are_sent(app: &App) {
    app.bot.wake_jobs();
    let is_done = async || notices::unsent(&app.domain).await.unwrap().is_empty().then_some(());
    until("all notices are sent", is_done).await;
}

/// All jobs of notices, the newest first.
pub async fn jobs_of_notices(app: &App) -> Vec<JobRow> {
    let filter = JobFilter { bot: app.bot_id, name: Some("notice".to_owned()), ..JobFilter::default() };
    app.domain.store().operator().jobs(&filter, None, 1_000).await.unwrap()
}

/// Runs the jobs of all notices again.
pub async fn send_again(app: &App) {
    let ids = jobs_of_notices(app).await.into_iter().map(|job| job.id).collect();
    app.domain.store().operator().request_jobs(app.bot_id, JobRequest::Retry(ids), app.clock.now()).await.unwrap();
    app.bot.wake_jobs();
    let are_done = async || {
        let jobs = jobs_of_notices(app).await;
        jobs.iter().all(|job| job.state == JobState::Completed).then_some(())
    };
    until("all notices are sent again", are_done).await;
}

/// Asserts that a notice arrives once, however often its job runs, and has the menu button.
async fn assert_told_once(cabinet: &Cabinet, words: &str) {
    all_are_sent(&cabinet.app).await;
    for _ in 0..2 {
        send_again(&cabinet.app).await;
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
    assert_told_once(&cabinet, "Jan 5, 10:00–18:00").await;
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
    assert_told_once(&cabinet, "Jan 1, 21:00").await;
    cabinet.close().await;
}

#[tokio::test]
async fn unreadable_notices_stay_and_do_not_block_others() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris, site) = prepare_boris(&cabinet).await;
    // A broken notice, and one of a later version.
    for body in ["torn {", r#"{"is":"promoted"}"#] {
        let torn = format!("INSERT INTO notices (user_id, body, created_at) VALUES ({}, '{body}', 0)", boris.id);
        run_sql(&cabinet.app.domain, torn).await;
    }
    let db = cabinet.app.domain.read();
    let ids = Statement::from_string(db.get_database_backend(), "SELECT id FROM notices WHERE created_at = 0");
    for row in db.query_all_raw(ids).await.unwrap() {
        cabinet.app.bot.enqueue(SendNotice { notice: row.try_get_by_index(0).unwrap() }).await.unwrap();
    }
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(9 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&anna, boris.id, slot).await.unwrap();
    let words = "You've been signed up for a shift at Cafe <One>: Jan 5, 09:00–17:00";
    cabinet.emulator.receives(BORIS, words).await;
    let failed = async || {
        let jobs = jobs_of_notices(&cabinet.app).await;
        let failed: Vec<_> = jobs.into_iter().filter(|job| !job.errors.is_empty()).collect();
        (failed.len() == 2).then_some(failed)
    };
    for job in until("both have failed", failed).await {
        assert_eq!(job.state, JobState::Scheduled, "a later version can send it: {job:?}");
    }
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
