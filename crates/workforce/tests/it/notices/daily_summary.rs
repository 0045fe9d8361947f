//! The summary of the day: off until an owner asks for it, then once a day at the chosen hour.

use std::time::Duration;

use chrono::Days;
use workforce::front;
use workforce::notices::{self, Notice, daily_summary};
use workforce::person::Role;
use workforce::texts::{self, Language};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_databases};
use crate::shifts::{Workplace, chooses_from_menu, closes, opens, person, plans};

on_databases! { [sqlite Sqlite, postgres Postgres]
    an_owner_gets_the_day_at_the_chosen_hour_once,
    a_summary_that_was_missed_is_sent_the_next_day,
}

const HOUR: Duration = Duration::from_secs(3600);

async fn summaries(workplace: &Workplace) -> Vec<(i64, String)> {
    let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    let summaries = unsent.into_iter().filter(|(.., notice)| matches!(notice, Notice::DailySummary(_)));
    summaries.map(|(_, user, notice)| (user, notice.text(Language::En))).collect()
}

async fn asks_for(workplace: &Workplace, hour: i64) {
    let (app, owner) = (&workplace.firm.app, workplace.owner.id);
    let today = app.payroll.local_now().await.unwrap().date_naive();
    let write = app.domain.write(move |db| Box::pin(daily_summary::set_hour(db, owner, Some(hour), today)));
    write.await.unwrap();
}

/// The product does not run in the evening: its first run of the next day makes up for one day.
async fn a_summary_that_was_missed_is_sent_the_next_day(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let clock = workplace.firm.stage.clock();
    let day = workplace.firm.app.payroll.local_now().await.unwrap().date_naive();
    asks_for(&workplace, 22).await;
    workplace.firm.run_job("daily-summary").await;
    assert!(summaries(&workplace).await.is_empty(), "not yesterday's, which nobody has asked for");
    clock.advance(3 * 24 * HOUR);
    for _ in 0..2 {
        workplace.firm.run_job("daily-summary").await;
        let sent = summaries(&workplace).await;
        let expected = texts::day(day.checked_add_days(Days::new(2)).unwrap(), Language::En);
        assert!(sent.len() == 1 && sent[0].1.contains(&expected), "no {expected} in {sent:?}");
    }
}

async fn an_owner_gets_the_day_at_the_chosen_hour_once(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    let boris = workplace.worker("Boris", &[site], |_| {}).await;
    // Boris does not come. Tomorrow there are two free places.
    workplace.slot(site, 60, 60, |_| {}).await;
    plans(&boris).await;
    workplace.slot(site, 24 * 60, 60, |slot| slot.capacity = 2).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.clock().advance(2 * HOUR);
    closes(&anna).await;
    let clock = workplace.firm.stage.clock();
    // It is 17:00 in Moscow.
    let mut at = Vec::new();
    workplace.firm.run_job("daily-summary").await;
    assert!(summaries(&workplace).await.is_empty(), "nobody has asked for it");
    asks_for(&workplace, 20).await;
    for hour in 17..24 {
        workplace.firm.run_job("daily-summary").await;
        if !summaries(&workplace).await.is_empty() {
            at.push(hour);
        }
        clock.advance(HOUR);
    }
    assert_eq!(at.first(), Some(&20));
    let sent = summaries(&workplace).await;
    assert_eq!(sent.len(), 1, "once a day: {sent:?}");
    let (user, text) = &sent[0];
    assert_eq!(*user, workplace.owner.id);
    for words in ["1 shift", "Paid hours: 2", "Pay of the day: 200", "No-shows: 1", "expected – 0, open spots – 2"]
    {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    clock.advance(21 * HOUR);
    workplace.firm.run_job("daily-summary").await;
    assert_eq!(summaries(&workplace).await.len(), 2, "the next day has its own");
}

#[tokio::test]
async fn an_owner_chooses_the_hour_in_the_chat() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    let id = person(&workplace.firm, &owner).await.id;
    let stored = async || daily_summary::hour_of(&workplace.firm.app.domain, id).await.unwrap();
    chooses_from_menu(&owner, "📬 Daily summary").await;
    owner.sees("Daily summary: No summary");
    owner.sees_button("🏠 Main menu");
    owner.presses("20:00").await;
    owner.sees("Done. Daily summary: 20:00");
    assert_eq!(stored().await, Some(20));
    owner.sends("/summary").await;
    owner.sees("Daily summary: 20:00");
    owner.presses("No summary").await;
    owner.sees("Done. Daily summary: No summary");
    assert_eq!(stored().await, None);
    let employee = workplace.firm.member("Emma", &[Role::Employee]).await;
    employee.sends("/start").await;
    assert!(!employee.transcript().contains("Daily summary"), "{}", employee.transcript());
    employee.sends("/summary").await;
    employee.sees("You don't have permission to do this.");
}

#[tokio::test]
async fn owners_find_the_daily_summary() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, employee) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    owner.get("/me").await.is(200, "Currently: No summary.");
    let page = employee.get("/me").await;
    assert!(!page.body.contains("own-summary"), "{}", page.body);
    cabinet.close().await;
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (owner, employee) =
        (workplace.firm.member("Olaf", &[Role::Owner]).await, workplace.firm.member("Emma", &[Role::Employee]).await);
    for command in ["/help", "/me"] {
        owner.sends(command).await;
        owner.sees("/summary");
    }
    employee.sends("/me").await;
    assert!(!employee.transcript().contains("/summary"), "{}", employee.transcript());
    for call in front::commands(Language::En) {
        assert!(call.to_string().contains("summary"), "{call}");
    }
}
