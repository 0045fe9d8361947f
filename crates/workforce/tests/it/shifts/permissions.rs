//! Rates and contracts: what managers may change, and at which sites.

use workforce::person::{Permission, Person, Role};
use workforce::sites::{
    AboutContract, AboutSite, AboutSlot, ActionError, ContractStatus, FillDays, Hours, SiteRefusal, WhichDays,
};

use super::{Workplace, about_contract, person};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_slots_rate_needs_the_rates_permission,
    the_late_threshold_needs_the_rates_permission,
    a_contract_needs_permission_at_all_its_sites,
}

async fn manager(workplace: &Workplace) -> Person {
    let someone = workplace.firm.member("Max", &[Role::Manager]).await;
    person(&workplace.firm, &someone).await
}

async fn permit(workplace: &Workplace, manager: &Person, site: i64, allowed: &[Permission]) {
    workplace.sites.set_permissions(&workplace.owner, manager.id, site, allowed.to_vec()).await.unwrap();
}

fn assert_refused<T: std::fmt::Debug>(done: Result<T, ActionError>) {
    assert!(matches!(done, Err(ActionError::Refused(SiteRefusal::NotAllowed))), "{done:?}");
}

async fn a_slots_rate_needs_the_rates_permission(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (site, max) = (workplace.site("Shop", 10_000).await, manager(&workplace).await);
    permit(&workplace, &max, site, &[Permission::View, Permission::Schedule]).await;
    let day = "2026-01-05".parse().unwrap();
    let plain = AboutSlot::usual(day, Hours::new(540, 1080));
    let dear = AboutSlot { rate_kopecks: Some(100_000), title: "dear".into(), ..plain.clone() };
    workplace.sites.create_slot(&max, site, plain.clone()).await.unwrap();
    assert_refused(workplace.sites.create_slot(&max, site, dear.clone()).await);
    assert_refused(workplace.sites.fill(&max, site, working_days(day, day), dear.clone()).await);
    // A manager keeps the rate that an owner has set.
    let id = workplace.sites.create_slot(&workplace.owner, site, dear.clone()).await.unwrap();
    workplace.sites.edit_slot(&max, id, 1, AboutSlot { capacity: 2, ..dear.clone() }).await.unwrap();
    assert_refused(
        workplace.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: Some(200_000), ..dear.clone() }).await,
    );
    assert_refused(workplace.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: None, ..dear.clone() }).await);
    // The rate is not copied by a manager who may not set it.
    let copies = async |by: &Person, monday: &str| {
        workplace.sites.copy_week(by, site, day, monday.parse().unwrap()).await.unwrap();
        let rates = format!("SELECT rate_kopecks FROM time_slots WHERE day = '{monday}' AND title = 'dear'");
        workplace.rows(&rates).await.concat()
    };
    assert_eq!(copies(&max, "2026-01-12").await, ["-"]);
    assert_eq!(copies(&workplace.owner, "2026-01-19").await, ["100000"]);
    permit(&workplace, &max, site, &[Permission::View, Permission::Schedule, Permission::Rates]).await;
    workplace.sites.edit_slot(&max, id, 2, AboutSlot { rate_kopecks: None, ..dear }).await.unwrap();
    let more = AboutSlot { rate_kopecks: Some(1), title: "more".into(), ..plain };
    workplace.sites.create_slot(&max, site, more).await.unwrap();
}

/// A longer tolerance would waive the penalty for lateness.
async fn the_late_threshold_needs_the_rates_permission(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (site, max) = (workplace.site("Shop", 10_000).await, manager(&workplace).await);
    permit(&workplace, &max, site, &[Permission::View, Permission::Edit]).await;
    let about = workplace.sites.site(site).await.unwrap().unwrap().about;
    let lenient = AboutSite { late_threshold_minutes: about.late_threshold_minutes + 60, ..about.clone() };
    assert_refused(workplace.sites.edit(&max, site, 1, lenient.clone()).await);
    workplace.sites.edit(&max, site, 1, AboutSite { name: "The shop".into(), ..about }).await.unwrap();
    permit(&workplace, &max, site, &[Permission::View, Permission::Edit, Permission::Rates]).await;
    workplace.sites.edit(&max, site, 2, lenient).await.unwrap();
}

async fn a_contract_needs_permission_at_all_its_sites(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (here, there, max) =
        (workplace.site("Here", 10_000).await, workplace.site("There", 10_000).await, manager(&workplace).await);
    let anna = workplace.firm.member("Anna", &[Role::Employee]).await;
    let anna = person(&workplace.firm, &anna).await.id;
    permit(&workplace, &max, here, &[Permission::View, Permission::Employees]).await;
    let about = about_contract(&[here], false);
    let dear = AboutContract { rate_kopecks: Some(100_000), ..about.clone() };
    assert_refused(workplace.sites.create_contract(&max, anna, dear.clone()).await);
    let own = workplace.sites.create_contract(&max, anna, about.clone()).await.unwrap();
    assert_refused(workplace.sites.edit_contract(&max, own, 1, dear.clone()).await);
    assert_refused(
        workplace.sites.edit_contract(&max, own, 1, AboutContract { sites: vec![here, there], ..about.clone() }).await,
    );
    workplace
        .sites
        .edit_contract(&max, own, 1, AboutContract { allows_spontaneous: true, ..about.clone() })
        .await
        .unwrap();

    workplace.sites.delete_contract(&workplace.owner, own, 2).await.unwrap();
    // A contract for several sites needs the permission at each of them.
    let both = AboutContract { sites: vec![here, there], ..about.clone() };
    let ended = AboutContract { status: ContractStatus::Terminated, ..both.clone() };
    let id = workplace.sites.create_contract(&workplace.owner, anna, both.clone()).await.unwrap();
    assert_refused(workplace.sites.edit_contract(&max, id, 1, ended.clone()).await);
    assert_refused(workplace.sites.edit_contract(&max, id, 1, about.clone()).await);
    permit(&workplace, &max, there, &[Permission::Employees, Permission::Rates]).await;
    workplace.sites.edit_contract(&max, id, 1, ended.clone()).await.unwrap();
    workplace.sites.edit_contract(&max, id, 2, both).await.unwrap();
    // A rate applies at all sites of the contract.
    let dear = AboutContract { rate_kopecks: Some(100_000), ..ended };
    assert_refused(workplace.sites.edit_contract(&max, id, 3, dear.clone()).await);
    workplace.sites.edit_contract(&workplace.owner, id, 3, dear).await.unwrap();
}

fn working_days(first: chrono::NaiveDate, last: chrono::NaiveDate) -> FillDays {
    FillDays { first, last, which: WhichDays::Working }
}
