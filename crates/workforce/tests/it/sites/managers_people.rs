//! Managers who look after employees see the people and contracts of their own sites only.

use workforce::person::{Permission, Person, Role};
use workforce::sites::{AboutContract, Contract, ContractStatus, Sites};

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, make_site, site_form_with};
use crate::sites::permissions::hire_may;

const ZOE: i64 = 1005;
const ADA: i64 = 1006;

/// Boris works at one site, Zoe at another, Ada nowhere yet. May is a manager.
struct TwoSites {
    cabinet: Cabinet,
    manager: Browser,
    anna: Person,
    boris: Person,
    may: Person,
    zoe: Person,
    ada: Person,
    here: i64,
    there: i64,
}

impl TwoSites {
    async fn open() -> Self {
        let cabinet = Cabinet::open(StorageKind::Sqlite).await;
        let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
        let zoe = cabinet.hire(ZOE, "Zoe", Role::Employee).await;
        let ada = cabinet.hire(ADA, "Ada", Role::Employee).await;
        let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
        let here = make_site(&cabinet, &owner).await;
        owner.post("/sites", &site_form_with(&[("name", "The other place")])).await;
        let there = Sites::of_app(&cabinet.app).list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
        Self { cabinet, manager, anna, boris, may, zoe, ada, here, there }
    }

    fn sites(&self) -> Sites {
        Sites::of_app(&self.cabinet.app)
    }

    async fn contract(&self, person: &Person, sites: &[i64]) -> i64 {
        let (status, rate_kopecks) = (ContractStatus::Active, Some(30_000));
        let about = AboutContract {
            status,
            rate_kopecks,
            allows_spontaneous: false,
            sites: sites.to_vec(),
            valid_from: None,
            valid_until: None,
        };
        self.sites().create_contract(&self.anna, person.id, about).await.unwrap()
    }

    async fn set_permissions(&self, allowed: &[Permission]) {
        self.sites().set_permissions(&self.anna, self.may.id, self.here, allowed.to_vec()).await.unwrap();
    }

    async fn contract_now(&self, id: i64) -> Contract {
        self.sites().contract(id).await.unwrap().unwrap()
    }
}

fn contracts_of(person: &Person) -> String {
    format!("/people/{}/contracts", person.id)
}

const FORBIDDEN: &str = "You don't have access to this page";

#[tokio::test]
async fn managers_see_only_the_people_of_their_sites() {
    let two_sites = TwoSites::open().await;
    let (manager, boris, zoe) = (&two_sites.manager, &two_sites.boris, &two_sites.zoe);
    let (own, other) =
        (two_sites.contract(boris, &[two_sites.here]).await, two_sites.contract(zoe, &[two_sites.there]).await);
    two_sites.set_permissions(&[Permission::View, Permission::Schedule]).await;
    for path in ["/people", "/contracts/new", &contracts_of(boris)] {
        manager.get(path).await.is(403, FORBIDDEN);
    }
    assert!(!manager.get("/").await.body.contains("href=\"/people\""), "the navigation has no link");

    two_sites.set_permissions(&[Permission::View, Permission::Employees]).await;
    let page = manager.get("/people").await;
    page.is(200, "href=\"/people\"").is(200, &format!("href=\"{}\"", contracts_of(boris))).is(200, "1 person");
    assert!(!page.body.contains("Zoe") && !page.body.contains("Ada"), "{}", page.body);
    manager.get("/people?q=Zoe").await.is(200, "No one found");
    manager.get(&contracts_of(boris)).await.is(200, &format!("contract-{own}"));
    // Other pages of the person, and other people, are refused.
    for path in [
        contracts_of(zoe),
        contracts_of(&two_sites.ada),
        contracts_of(&two_sites.anna),
        "/people/9999/contracts".into(),
    ] {
        manager.get(&path).await.is(403, FORBIDDEN);
    }
    let (ticked, elsewhere) = (format!("site{}", two_sites.here), format!("site{}", two_sites.there));
    let mine = [("status", "active"), (ticked.as_str(), "on"), ("version", "1")];
    manager.get(&format!("/people/{}", boris.id)).await.is(403, FORBIDDEN);
    for path in [
        format!("/people/{}/block", boris.id),
        format!("/contracts/{own}/delete"),
        format!("/contracts/{own}/restore"),
        contracts_of(zoe),
        format!("/contracts/{other}"),
    ] {
        manager.post(&path, &mine).await.is(403, FORBIDDEN);
    }
    let theirs = [("status", "active"), (elsewhere.as_str(), "on"), ("version", "1")];
    manager.post(&contracts_of(boris), &theirs).await.is(422, "Choose at least one site.");
    assert_eq!(two_sites.sites().contracts_of(boris.id).await.unwrap().len(), 1);
    assert_eq!((two_sites.contract_now(own).await.version, two_sites.contract_now(other).await.version), (1, 1));
    // Employees see none of these pages.
    two_sites.cabinet.signed_in(BORIS).await.get(&contracts_of(boris)).await.is(403, FORBIDDEN);
    two_sites.cabinet.close().await;
}

#[tokio::test]
async fn managers_change_contracts_within_their_permissions() {
    let two_sites = TwoSites::open().await;
    let (manager, boris) = (&two_sites.manager, &two_sites.boris);
    let own = two_sites.contract(boris, &[two_sites.here]).await;
    let until = AboutContract { valid_until: "2026-01-31".parse().ok(), ..two_sites.contract_now(own).await.about };
    two_sites.sites().edit_contract(&two_sites.anna, own, 1, until).await.unwrap();
    let both = AboutContract {
        valid_from: "2026-02-01".parse().ok(),
        rate_kopecks: Some(30_000),
        ..AboutContract::active(vec![two_sites.here, two_sites.there])
    };
    let both = two_sites.sites().create_contract(&two_sites.anna, boris.id, both).await.unwrap();
    let (page, ticked) = (contracts_of(boris), format!("site{}", two_sites.here));
    two_sites.set_permissions(&[Permission::View, Permission::Employees]).await;
    let shown = manager.get(&page).await;
    shown.is(200, "This contract also covers other sites").is(200, &format!("contract-{both}"));
    for hidden in [
        "300\u{a0}₽",
        "300.00",
        "name=\"rate\"",
        "The other place",
        "delete-contract",
        &format!("\"/contracts/{both}\""),
    ] {
        assert!(!shown.body.contains(hidden), "{hidden} in {}", shown.body);
    }
    let edit = async |id: i64, more: &[(&str, &str)]| {
        let fields = [&[("status", "suspended"), (ticked.as_str(), "on")], more].concat();
        manager.post(&format!("/contracts/{id}"), &fields).await
    };
    edit(own, &[("version", "2")]).await.redirects_to(&page);
    let current = two_sites.contract_now(own).await.about;
    assert_eq!((current.status, current.rate_kopecks), (ContractStatus::Suspended, Some(30_000)), "the rate stays");
    edit(own, &[("version", "3"), ("rate", "999")]).await.is(403, FORBIDDEN);
    edit(both, &[("version", "1")]).await.is(403, FORBIDDEN);
    assert_eq!(two_sites.contract_now(both).await.about.status, ContractStatus::Active);

    two_sites.set_permissions(&[Permission::View, Permission::Employees, Permission::Rates]).await;
    manager.get(&page).await.is(200, "value=\"300\"");
    edit(own, &[("version", "3"), ("rate", "350")]).await.redirects_to(&page);
    assert_eq!(two_sites.contract_now(own).await.about.rate_kopecks, Some(35_000));
    two_sites.cabinet.close().await;
}

#[tokio::test]
async fn managers_give_contracts_to_verified_people() {
    let two_sites = TwoSites::open().await;
    let (manager, ada) = (&two_sites.manager, &two_sites.ada);
    two_sites.set_permissions(&[Permission::View, Permission::Employees]).await;
    manager.get("/people").await.is(200, "/contracts/new");
    manager.get("/contracts/new").await.is(200, "Telegram ID, phone or @username");
    let (ticked, elsewhere) = (format!("site{}", two_sites.here), format!("site{}", two_sites.there));
    let offer = async |who: &str, site: &str| {
        manager.post("/contracts/new", &[("who", who), ("status", "active"), (site, "on")]).await
    };
    offer("5555", &ticked).await.is(422, "No such employee.").is(422, "value=\"5555\"");
    offer(&ADA.to_string(), &elsewhere).await.is(422, "Choose at least one site.");
    // A manager cannot give an owner a contract.
    offer(&ANNA.to_string(), &ticked).await.is(422, "No such employee.");
    assert!(two_sites.sites().contracts_of(ada.id).await.unwrap().is_empty());
    offer(&ADA.to_string(), &ticked).await.redirects_to(&contracts_of(ada));
    let made = two_sites.sites().contracts_of(ada.id).await.unwrap().remove(0);
    assert_eq!((made.about.sites, made.about.rate_kopecks), (vec![two_sites.here], None));
    manager.get("/people").await.is(200, "Ada");
    manager.get(&contracts_of(ada)).await.is(200, "Contracts: Ada");
    two_sites.cabinet.close().await;
}

#[tokio::test]
async fn rates_are_read_only_without_the_permission() {
    let two_sites = TwoSites::open().await;
    let (manager, site) = (&two_sites.manager, format!("/sites/{}", two_sites.here));
    let calendar = format!("/calendar?site={}&day=2026-01-05&panel=new", two_sites.here);
    let is_fixed = |body: &str, name: &str| {
        let field = body.split("<input").find(|field| field.contains(&format!("name=\"{name}\""))).unwrap();
        field.split('>').next().unwrap().contains(" readonly")
    };
    let may = [Permission::View, Permission::Edit, Permission::Schedule];
    for (allowed, fixed) in [(may.to_vec(), true), ([&may[..], &[Permission::Rates]].concat(), false)] {
        two_sites.set_permissions(&allowed).await;
        let page = manager.get(&format!("{site}/settings")).await;
        assert_eq!((is_fixed(&page.body, "rate"), is_fixed(&page.body, "late_minute")), (fixed, fixed));
        assert!(!is_fixed(&page.body, "name"));
        assert_eq!(is_fixed(&manager.get(&calendar).await.body, "rate"), fixed);
    }
    // A form that is sent back as shown is accepted.
    two_sites.set_permissions(&may).await;
    let renamed = [&site_form_with(&[("name", "Renamed")])[..], &[("version", "1")]].concat();
    manager.post(&site, &renamed).await.redirects_to(&site);
    let dearer = [&site_form_with(&[("rate", "999")])[..], &[("version", "2")]].concat();
    manager.post(&site, &dearer).await.is(403, FORBIDDEN);
    two_sites.cabinet.close().await;
}
