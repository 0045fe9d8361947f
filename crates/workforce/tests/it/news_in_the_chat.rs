//! What pages and jobs have done is told in the chat, once, with the way to the main menu.

use std::time::Duration;

use serde_json::Value;
use workforce::shifts::{Shifts, Start, jobs, open};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites, notices};

use crate::cabinet::Cabinet;
use crate::demo::{ANNA, BORIS};
use crate::firm::{Kind, NOON};
use crate::running_a_business::make_site;

/// The messages of Boris' chat that have these words.
async fn messages(cabinet: &Cabinet, words: &str) -> Vec<Value> {
    let all = cabinet.emulator.get(&format!("/chats/{BORIS}/messages?after=0&wait=0")).await;
    let all = all.as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|message| message["text"].as_str().is_some_and(|text| text.contains(words))).collect()
}

/// It is said once, however often it is tried, and one button leads on.
async fn is_told_once(cabinet: &Cabinet, words: &str) {
    for _ in 0..3 {
        notices::tell(cabinet.app.clone()).await.unwrap();
    }
    let said = cabinet.emulator.until(words, async |_| messages(cabinet, words).await.into_iter().next()).await;
    assert_eq!(said["reply_markup"]["inline_keyboard"][0][0]["text"], "🏠 Main menu", "{said}");
    // Whatever was posted before this is in the chat before it.
    let last = format!("After {words}");
    cabinet.app.bot.post(&last, BORIS, last.as_str()).await.unwrap();
    cabinet.emulator.hears(BORIS, &last).await;
    let said = messages(cabinet, words).await;
    assert_eq!(said.iter().filter(|message| message["text"] != last.as_str()).count(), 1, "{said:#?}");
}

#[tokio::test]
async fn a_slot_that_was_moved_is_told_to_whoever_has_planned_to_come() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (anna, boris, site) = at_work(&cabinet).await;
    let sites = Sites::of_app(&cabinet.app);
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(9 * 60, 17 * 60));
    let slot = sites.create_slot(&anna, site, about.clone()).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    let later = AboutSlot { hours: Hours::new(10 * 60, 18 * 60), ..about };
    sites.edit_slot(&anna, slot, 1, later).await.unwrap();
    is_told_once(&cabinet, "05.01 10:00–18:00").await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_shift_that_closed_by_itself_is_told_to_whoever_forgot_it() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (_, boris, site) = at_work(&cabinet).await;
    let start = Start { user_id: boris.id, site_id: site, plan_id: None, position: None, at: NOON };
    cabinet.app.domain.write_and_get(move |db| Box::pin(open(db, start))).await.unwrap();
    // It is three in the afternoon, and the site closes at nine in the evening.
    cabinet.clock.advance(Duration::from_secs(8 * 3600));
    for _ in 0..2 {
        jobs::close_overdue(cabinet.app.clone()).await.unwrap();
    }
    is_told_once(&cabinet, "01.01 21:00").await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_bonus_and_a_payment_on_the_pages_are_told_to_whose_they_are() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (month, person) = (("period", "2026-01"), format!("/payroll/people/{boris}"));
    let bonus = [month, ("kind", "bonus"), ("amount", "500"), ("reason", "A <happy> client & more")];
    owner.post(&format!("{person}/amounts"), &bonus).await.leads_to(&format!("{person}?period=2026-01"));
    // It is told right after the commit, whenever the job would come.
    let words = "January 2026: a bonus for you, +500.00\u{a0}₽. Reason: A <happy> client & more";
    cabinet.emulator.hears(BORIS, words).await;
    is_told_once(&cabinet, words).await;
    let paid = [month, ("version", "1"), ("amount", "120")];
    owner.post(&format!("{person}/paid"), &paid).await.leads_to(&format!("{person}?period=2026-01"));
    is_told_once(&cabinet, "January 2026: 120.00\u{a0}₽ was paid to you.").await;
    cabinet.close().await;
}

/// A site of Anna's, where Boris works by a contract.
async fn at_work(cabinet: &Cabinet) -> (workforce::people::Person, workforce::people::Person, i64) {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let site = make_site(cabinet, &cabinet.signed_in(ANNA).await).await;
    let status = ContractStatus::Active;
    let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: true, sites: vec![site] };
    Sites::of_app(&cabinet.app).create_contract(&anna, boris.id, about).await.unwrap();
    (anna, boris, site)
}
