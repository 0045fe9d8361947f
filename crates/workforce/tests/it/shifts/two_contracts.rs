//! A person has one active contract for a site on a day, and it counts only on its days by the site's clock.

use workforce::sites::{AboutContract, ActionError, ContractStatus, SiteRefusal};

use super::{Workplace, about_contract, chooses_from_menu, person, shares_position};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_second_active_contract_for_a_site_is_refused,
    a_contract_counts_on_its_days_only,
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, ActionError>, why: SiteRefusal) -> bool {
    matches!(&result, Err(ActionError::Refused(refusal)) if *refusal == why) || panic!("{result:?}")
}

async fn a_second_active_contract_for_a_site_is_refused(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (here, there) = (workplace.site("Shop", 10_000).await, workplace.site("Bar", 10_000).await);
    let anna = workplace.worker("Anna", &[here], |_| {}).await;
    let (id, room, owner) = (person(&workplace.firm, &anna).await.id, &workplace.sites, &workplace.owner);
    let refused = SiteRefusal::ContractExists;
    assert!(is_refused(room.create_contract(owner, id, about_contract(&[there, here], false)).await, refused));
    // Another site, another status, or other days are fine.
    let other = room.create_contract(owner, id, about_contract(&[there], false)).await.unwrap();
    let draft = AboutContract { status: ContractStatus::Draft, ..about_contract(&[here], false) };
    let draft = room.create_contract(owner, id, draft).await.unwrap();
    assert!(is_refused(room.edit_contract(owner, draft, 1, about_contract(&[here], false)).await, refused));
    assert!(is_refused(room.edit_contract(owner, other, 1, about_contract(&[here], false)).await, refused));
    let first = room.contracts_of(id).await.unwrap().remove(0);
    let until = AboutContract { valid_until: "2026-01-31".parse().ok(), ..first.about.clone() };
    room.edit_contract(owner, first.id, first.version, until).await.unwrap();
    let later = AboutContract { valid_from: "2026-02-01".parse().ok(), ..about_contract(&[here], false) };
    room.edit_contract(owner, draft, 1, later).await.unwrap();
    // A deleted contract gives way, and cannot come back beside the new one.
    room.delete_contract(owner, other, 1).await.unwrap();
    room.create_contract(owner, id, about_contract(&[there], false)).await.unwrap();
    assert!(is_refused(room.restore_contract(owner, other).await, refused));
    // No active contract without a site.
    assert!(is_refused(room.create_contract(owner, id, about_contract(&[], false)).await, SiteRefusal::bad("sites")));
}

async fn a_contract_counts_on_its_days_only(kind: StorageKind) {
    // It is noon on 1 January in UTC, and 15:00 in Moscow.
    let workplace = Workplace::open(kind).await;
    let (old, new) = (workplace.site("Old shop", 10_000).await, workplace.site("New shop", 10_000).await);
    let anna = workplace
        .worker("Anna", &[old], |contract| {
            contract.allows_spontaneous = true;
            contract.valid_until = "2026-01-01".parse().ok();
        })
        .await;
    let (id, room, owner) = (person(&workplace.firm, &anna).await.id, &workplace.sites, &workplace.owner);
    let later = AboutContract {
        valid_from: "2026-01-02".parse().ok(),
        rate_kopecks: Some(20_000),
        ..about_contract(&[old, new], true)
    };
    room.create_contract(owner, id, later).await.unwrap();
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees_button("Old shop, unscheduled");
    assert!(!anna.transcript().contains("New shop"), "{}", anna.transcript());
    // After midnight by the site's clock the other contract counts, with its rate.
    workplace.minutes_pass(9 * 60 + 1).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.presses("New shop, unscheduled").await;
    shares_position(&anna).await;
    anna.sees("You clocked in at New shop");
    assert_eq!(workplace.rows("SELECT rate_kopecks FROM shifts").await, [["20000"]]);
    // Planning goes by the day of the slot.
    let shifts = workforce::shifts::Shifts::of_app(&workplace.firm.app);
    let boris = workplace.worker("Boris", &[old], |contract| contract.valid_until = "2026-01-02".parse().ok()).await;
    let boris = person(&workplace.firm, &boris).await;
    let (tomorrow, after) = (24 * 60, 48 * 60);
    let last_day = workplace.slot(old, tomorrow, 60, |_| {}).await;
    let too_late = workplace.slot(old, after, 60, |_| {}).await;
    shifts.plan(&boris, boris.id, last_day).await.unwrap();
    assert!(is_refused(shifts.plan(&boris, boris.id, too_late).await, SiteRefusal::NoContract));
}
