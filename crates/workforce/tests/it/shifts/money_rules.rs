//! What a shift and a cancellation cost, rule by rule, through the public functions of the rooms.

use std::collections::BTreeSet;

use workforce::shifts::{self, CancellationDetails, Reason, Shifts};
use workforce::sites::{AboutSite, AboutTask};
use workforce::texts::Language;
use workforce::{money, settings};

use super::{Workplace, about_site, closes, opens, person, plans, task};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! {
    [sqlite Sqlite, postgres Postgres]
    lateness_costs_only_in_planned_strict_slots,
    a_cancellation_costs_only_when_rejected,
    an_unpriced_mandatory_task_costs_the_default_penalty,
}

/// A site where every minute after the fifth costs ten roubles.
fn strict(name: &str) -> AboutSite {
    let rate_kopecks = 36_000;
    AboutSite { rate_kopecks, late_threshold_minutes: 5, late_minute_kopecks: 1_000, ..about_site(name) }
}

async fn lateness_costs_only_in_planned_strict_slots(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (harsh, mild) = (workplace.site_with(strict("Harsh")).await, workplace.site_with(strict("Mild")).await);
    workplace.slot(harsh, 0, 480, |_| {}).await;
    let anna = workplace.worker("Anna", &[harsh], |_| {}).await;
    plans(&anna).await;
    workplace.slot(mild, 0, 480, |slot| slot.penalises_lateness = false).await;
    let boris = workplace.worker("Boris", &[mild], |_| {}).await;
    plans(&boris).await;
    // The five allowed minutes and the incomplete minute are free.
    workplace.seconds_pass(6 * 60 + 59).await;
    opens(&anna, "Harsh").await;
    opens(&boris, "Mild").await;
    let vera = workplace.worker("Vera", &[harsh], |contract| contract.allows_spontaneous = true).await;
    opens(&vera, "Harsh, unscheduled").await;
    workplace.seconds_pass(100).await;
    for someone in [&anna, &boris, &vera] {
        closes(someone).await;
    }
    // A hundred seconds are 0.03 h, at 360 an hour.
    let base = ("shift_base".to_owned(), 1_080);
    assert_eq!(workplace.adjustments().await, [base.clone(), ("late_start".to_owned(), -1_000), base.clone(), base]);
}

async fn a_cancellation_costs_only_when_rejected(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let (user, room) = (person(&workplace.firm, &anna).await, Shifts::of_app(&workplace.firm.app));
    // A plan for tomorrow is short notice, one in three days is not.
    let soon = workplace.slot(site, 20 * 60, 60, |_| {}).await;
    let later = workplace.slot(site, 72 * 60, 60, |_| {}).await;
    let cancel = async |slot| {
        let plan = room.plan(&workplace.owner, user.id, slot).await.unwrap();
        let excuse = CancellationDetails { reason: Reason::Other, words: None, document: None, photo: None };
        let (who, at) = ((user.id, "Anna".to_owned()), workplace.firm.app.clock.now());
        let cancelled = workplace
            .firm
            .app
            .domain
            .write(move |db| Box::pin(shifts::cancel(db, plan, who, excuse, 24, Vec::new(), at)));
        cancelled.await.unwrap();
        room.cancellations(&[site]).await.unwrap().remove(0).0.id
    };
    let accepted = cancel(soon).await;
    room.judge(&workplace.owner, accepted, true).await.unwrap();
    assert!(workplace.adjustments().await.is_empty(), "a good reason costs nothing, however late");
    let early = cancel(later).await;
    room.judge(&workplace.owner, early, false).await.unwrap();
    let invalid = ("cancelled_invalid".to_owned(), -50_000);
    assert_eq!(workplace.adjustments().await, std::slice::from_ref(&invalid), "it came in time");
    workplace.seconds_pass(30).await;
    let late = cancel(soon).await;
    // The notice period at the time of the cancellation counts.
    let (name, at) = (settings::CANCEL_NOTICE_HOURS.name, workplace.firm.app.clock.now());
    workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "12", None, at))).await.unwrap();
    room.judge(&workplace.owner, late, false).await.unwrap();
    assert_eq!(
        workplace.adjustments().await,
        [invalid.clone(), invalid.clone(), ("cancelled_late".to_owned(), -50_000)]
    );
    // Each line tells its reason.
    let month = "2026-01".parse().unwrap();
    let lines = workplace.firm.app.payroll.of_person(user.id, month).await.unwrap().lines;
    let told = |kind, language| {
        let told: BTreeSet<_> = lines.iter().filter(|line| line.kind == kind).map(|line| line.text(language)).collect();
        told.into_iter().collect::<Vec<_>>().join("\n")
    };
    let (reason, notice) = (money::Kind::CancelledInvalid, money::Kind::CancelledLate);
    assert_eq!(told(reason, Language::En), "The reason for cancelling was not accepted");
    assert_eq!(told(reason, Language::Ru), "Причина отмены не принята");
    let words = "Cancelled 19 h 59 min before the start; no penalty up to 24 h before";
    assert_eq!(told(notice, Language::En), words);
    let words = "Отмена за 19 ч 59 мин до начала; без штрафа — не позже чем за 24 ч";
    assert_eq!(told(notice, Language::Ru), words);
    // A cancellation by staff costs nothing.
    let plan = room.plan(&workplace.owner, user.id, soon).await.unwrap();
    room.cancel(&workplace.owner, plan).await.unwrap();
    assert_eq!(workplace.adjustments().await.len(), 3);
    assert!(room.cancellations(&[site]).await.unwrap().is_empty(), "there is nothing to judge");
}

async fn an_unpriced_mandatory_task_costs_the_default_penalty(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 36_000).await;
    for text in ["Lock the door", "Switch off the light"] {
        let about = AboutTask { is_mandatory: true, ..task(text, 0) };
        workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    }
    workplace.task(site, None, "Water the plants", 0).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop, unscheduled").await;
    super::chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Lock the door").await;
    let at = workplace.firm.app.clock.now();
    let name = settings::MANDATORY_TASK_PENALTY.name;
    let set = workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "75,50", None, at)));
    set.await.unwrap();
    workplace.seconds_pass(36).await;
    closes(&anna).await;
    let rows = [("shift_base", 360), ("task_completed", 0), ("task_penalty", -7_550)];
    assert_eq!(workplace.adjustments().await, rows.map(|(kind, amount)| (kind.to_owned(), amount)));
}
