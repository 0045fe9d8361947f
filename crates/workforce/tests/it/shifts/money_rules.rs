//! What a shift and a cancellation cost, rule by rule, through the doors that everybody uses.

use std::collections::BTreeSet;
use std::time::Duration;

use workforce::shifts::{self, Excuse, Reason, Shifts};
use workforce::sites::{AboutSite, AboutTask};
use workforce::texts::Language;
use workforce::{money, settings};

use super::{Yard, about_site, closes, opens, person, plans, task};
use crate::kit::firm::{Kind, on_databases};

on_databases! {
    [sqlite Sqlite, postgres Postgres]
    lateness_costs_only_those_who_planned_a_slot_that_penalises_it,
    a_cancellation_costs_what_was_wrong_with_it_and_only_once_it_was_rejected,
    a_mandatory_task_without_a_price_costs_what_the_setting_says_when_the_shift_closes,
}

/// A site where every minute past the fifth costs ten roubles.
fn strict(name: &str) -> AboutSite {
    let rate_kopecks = 36_000;
    AboutSite { rate_kopecks, late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site(name) }
}

async fn passes(yard: &Yard, seconds: u64) {
    yard.firm.stage.passes(Duration::from_secs(seconds)).await;
}

async fn lateness_costs_only_those_who_planned_a_slot_that_penalises_it(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (harsh, mild) = (yard.site_like(strict("Harsh")).await, yard.site_like(strict("Mild")).await);
    yard.slot(harsh, 0, 480, |_| {}).await;
    let anna = yard.worker("Anna", &[harsh], |_| {}).await;
    plans(&anna).await;
    yard.slot(mild, 0, 480, |slot| slot.penalises_lateness = false).await;
    let boris = yard.worker("Boris", &[mild], |_| {}).await;
    plans(&boris).await;
    // Of the site's five minutes and of the minute that is not whole nothing is taken.
    passes(&yard, 6 * 60 + 59).await;
    opens(&anna, "Harsh").await;
    opens(&boris, "Mild").await;
    let vera = yard.worker("Vera", &[harsh], |contract| contract.allows_spontaneous = true).await;
    opens(&vera, "Harsh, without a plan").await;
    passes(&yard, 100).await;
    for someone in [&anna, &boris, &vera] {
        closes(someone).await;
    }
    // A hundred seconds are 0.03 h, at 360 an hour.
    let base = ("shift_base".to_owned(), 1_080);
    assert_eq!(yard.amounts().await, [base.clone(), ("late_start".to_owned(), -1_000), base.clone(), base]);
}

async fn a_cancellation_costs_what_was_wrong_with_it_and_only_once_it_was_rejected(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let (user, doors) = (person(&yard.firm, &anna).await, Shifts::of_app(&yard.firm.app));
    // Tomorrow's slot is short notice, that in three days is not.
    let soon = yard.slot(site, 20 * 60, 60, |_| {}).await;
    let later = yard.slot(site, 72 * 60, 60, |_| {}).await;
    let cancel = async |slot| {
        let plan = doors.plan(&yard.owner, user.id, slot).await.unwrap();
        let excuse = Excuse { reason: Reason::Other, words: None, document: None, photo: None };
        let (who, at) = ((user.id, "Anna".to_owned()), yard.firm.app.clock.now());
        let cancelled =
            yard.firm.app.domain.write(move |db| Box::pin(shifts::cancel(db, plan, who, excuse, 24, Vec::new(), at)));
        cancelled.await.unwrap();
        doors.cancellations(&[site]).await.unwrap().remove(0).0.id
    };
    let accepted = cancel(soon).await;
    doors.judge(&yard.owner, accepted, true).await.unwrap();
    assert!(yard.amounts().await.is_empty(), "a good reason costs nothing, however late");
    let early = cancel(later).await;
    doors.judge(&yard.owner, early, false).await.unwrap();
    let invalid = ("cancelled_invalid".to_owned(), -50_000);
    assert_eq!(yard.amounts().await, std::slice::from_ref(&invalid), "it came in time");
    passes(&yard, 30).await;
    let late = cancel(soon).await;
    // Who judges it later judges by the notice that was asked for then.
    let (name, at) = (settings::CANCEL_NOTICE_HOURS.name, yard.firm.app.clock.now());
    yard.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "12", None, at))).await.unwrap();
    doors.judge(&yard.owner, late, false).await.unwrap();
    assert_eq!(yard.amounts().await, [invalid.clone(), invalid.clone(), ("cancelled_late".to_owned(), -50_000)]);
    // Each says what it was for.
    let month = "2026-01".parse().unwrap();
    let lines = yard.firm.app.payroll.of_person(user.id, month).await.unwrap().lines;
    let told = |kind, language| {
        let told: BTreeSet<_> =
            lines.iter().filter(|line| line.kind == kind).map(|line| line.words(language)).collect();
        told.into_iter().collect::<Vec<_>>().join("\n")
    };
    let (reason, notice) = (money::Kind::CancelledInvalid, money::Kind::CancelledLate);
    assert_eq!(told(reason, Language::En), "The reason for cancelling was not accepted");
    assert_eq!(told(reason, Language::Ru), "Причина отмены не принята");
    let words = "Cancelled 19 h 59 min before the start; less than 24 h is short notice";
    assert_eq!(told(notice, Language::En), words);
    let words = "Отмена за 19 ч 59 мин до начала; поздней считается отмена меньше чем за 24 ч";
    assert_eq!(told(notice, Language::Ru), words);
    // What staff cancels costs nobody anything.
    let plan = doors.plan(&yard.owner, user.id, soon).await.unwrap();
    doors.cancel(&yard.owner, plan).await.unwrap();
    assert_eq!(yard.amounts().await.len(), 3);
    assert!(doors.cancellations(&[site]).await.unwrap().is_empty(), "and nobody has to judge it");
}

async fn a_mandatory_task_without_a_price_costs_what_the_setting_says_when_the_shift_closes(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 36_000).await;
    for text in ["Lock the door", "Switch off the light"] {
        let about = AboutTask { is_mandatory: true, ..task(text, 0) };
        yard.sites.create_task(&yard.owner, site, None, about).await.unwrap();
    }
    yard.task(site, None, "Water the plants", 0).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop, without a plan").await;
    super::chooses(&anna, "✅ My tasks").await;
    anna.presses("⬜ Lock the door").await;
    let at = yard.firm.app.clock.now();
    let name = settings::MANDATORY_TASK_PENALTY.name;
    let set = yard.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "75,50", None, at)));
    set.await.unwrap();
    passes(&yard, 36).await;
    closes(&anna).await;
    let rows = [("shift_base", 360), ("task_completed", 0), ("task_penalty", -7_550)];
    assert_eq!(yard.amounts().await, rows.map(|(kind, amount)| (kind.to_owned(), amount)));
}
