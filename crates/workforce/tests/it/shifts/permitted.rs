//! Rates and contracts of managers: what they may change, and at whose sites.

use workforce::person::{Permission, Person, Role};
use workforce::sites::{AboutContract, AboutSite, AboutSlot, ContractStatus, Hours, NotDone, Why};

use super::{Yard, person};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_slots_own_rate_is_for_those_who_may_change_rates,
    when_somebody_is_late_is_for_those_who_may_change_rates,
    a_contract_is_changed_by_those_who_are_in_charge_wherever_it_counts,
}

async fn manager(yard: &Yard) -> Person {
    let someone = yard.firm.member("Max", &[Role::Manager]).await;
    person(&yard.firm, &someone).await
}

async fn permit(yard: &Yard, manager: &Person, site: i64, allowed: &[Permission]) {
    yard.sites.permit(&yard.owner, manager.id, site, allowed.to_vec()).await.unwrap();
}

fn refused<T: std::fmt::Debug>(done: Result<T, NotDone>) {
    assert!(matches!(done, Err(NotDone::Refused(Why::NotAllowed))), "{done:?}");
}

async fn a_slots_own_rate_is_for_those_who_may_change_rates(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (site, max) = (yard.site("Shop", 10_000).await, manager(&yard).await);
    permit(&yard, &max, site, &[Permission::View, Permission::Schedule]).await;
    let day = "2026-01-05".parse().unwrap();
    let plain = AboutSlot::usual(day, Hours::new(540, 1080));
    let dear = AboutSlot { rate_kopecks: Some(100_000), title: "dear".into(), ..plain.clone() };
    yard.sites.create_slot(&max, site, plain.clone()).await.unwrap();
    refused(yard.sites.create_slot(&max, site, dear.clone()).await);
    refused(yard.sites.fill(&max, site, (day, day), dear.clone()).await);
    // What an owner has set stays, whatever else is changed.
    let id = yard.sites.create_slot(&yard.owner, site, dear.clone()).await.unwrap();
    yard.sites.edit_slot(&max, id, 1, AboutSlot { capacity: 2, ..dear.clone() }).await.unwrap();
    refused(yard.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: Some(200_000), ..dear.clone() }).await);
    refused(yard.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: None, ..dear.clone() }).await);
    // Nor is it copied into weeks for which nobody has set it.
    let copies = async |by: &Person, monday: &str| {
        yard.sites.copy_week(by, site, day, monday.parse().unwrap()).await.unwrap();
        let rates = format!("SELECT rate_kopecks FROM time_slots WHERE day = '{monday}' AND title = 'dear'");
        yard.rows(&rates).await.concat()
    };
    assert_eq!(copies(&max, "2026-01-12").await, ["-"]);
    assert_eq!(copies(&yard.owner, "2026-01-19").await, ["100000"]);
    permit(&yard, &max, site, &[Permission::View, Permission::Schedule, Permission::Rates]).await;
    yard.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: None, ..dear }).await.unwrap();
    let more = AboutSlot { rate_kopecks: Some(1), title: "more".into(), ..plain };
    yard.sites.create_slot(&max, site, more).await.unwrap();
}

/// By this somebody would pay nothing for coming late.
async fn when_somebody_is_late_is_for_those_who_may_change_rates(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (site, max) = (yard.site("Shop", 10_000).await, manager(&yard).await);
    permit(&yard, &max, site, &[Permission::View, Permission::Edit]).await;
    let about = yard.sites.of(site).await.unwrap().unwrap().about;
    let lenient = AboutSite { late_threshold_minutes: about.late_threshold_minutes + 60, ..about.clone() };
    refused(yard.sites.edit(&max, site, 1, lenient.clone()).await);
    yard.sites.edit(&max, site, 1, AboutSite { name: "The shop".into(), ..about }).await.unwrap();
    permit(&yard, &max, site, &[Permission::View, Permission::Edit, Permission::Rates]).await;
    yard.sites.edit(&max, site, 2, lenient).await.unwrap();
}

async fn a_contract_is_changed_by_those_who_are_in_charge_wherever_it_counts(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (here, there, max) = (yard.site("Here", 10_000).await, yard.site("There", 10_000).await, manager(&yard).await);
    let anna = yard.firm.member("Anna", &[Role::Employee]).await;
    let anna = person(&yard.firm, &anna).await.id;
    permit(&yard, &max, here, &[Permission::View, Permission::Employees]).await;
    let about = AboutContract {
        status: ContractStatus::Active,
        rate_kopecks: None,
        allows_spontaneous: false,
        sites: vec![here],
    };
    let dear = AboutContract { rate_kopecks: Some(100_000), ..about.clone() };
    refused(yard.sites.create_contract(&max, anna, dear.clone()).await);
    let own = yard.sites.create_contract(&max, anna, about.clone()).await.unwrap();
    refused(yard.sites.edit_contract(&max, own, 1, dear.clone()).await);
    refused(yard.sites.edit_contract(&max, own, 1, AboutContract { sites: vec![here, there], ..about.clone() }).await);
    yard.sites.edit_contract(&max, own, 1, AboutContract { allows_spontaneous: true, ..about.clone() }).await.unwrap();

    // One that counts elsewhere too is neither ended from here, nor taken from there.
    let both = AboutContract { sites: vec![here, there], ..about.clone() };
    let ended = AboutContract { status: ContractStatus::Terminated, ..both.clone() };
    let id = yard.sites.create_contract(&yard.owner, anna, both.clone()).await.unwrap();
    refused(yard.sites.edit_contract(&max, id, 1, ended.clone()).await);
    refused(yard.sites.edit_contract(&max, id, 1, about.clone()).await);
    permit(&yard, &max, there, &[Permission::Employees, Permission::Rates]).await;
    yard.sites.edit_contract(&max, id, 1, ended.clone()).await.unwrap();
    yard.sites.edit_contract(&max, id, 2, both).await.unwrap();
    // A rate counts at all of its sites as well.
    let dear = AboutContract { rate_kopecks: Some(100_000), ..ended };
    refused(yard.sites.edit_contract(&max, id, 3, dear.clone()).await);
    yard.sites.edit_contract(&yard.owner, id, 3, dear).await.unwrap();
}
