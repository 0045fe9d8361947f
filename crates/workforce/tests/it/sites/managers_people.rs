//! Managers who look after employees: they see the people of their sites and their contracts, and of nobody else.

use workforce::person::{Permission, Person, Role};
use workforce::sites::{AboutContract, Contract, ContractStatus, Sites};

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::Kind;
use crate::overview::running_a_business::{MAY, changed, make_site};
use crate::sites::permissions::hire_may;

const ZOE: i64 = 1005;
const ADA: i64 = 1006;

/// Boris works at one site, Zoe at another, Ada nowhere yet. May is a manager.
struct Chain {
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

impl Chain {
    async fn open() -> Self {
        let cabinet = Cabinet::open(Kind::Sqlite).await;
        let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
        let zoe = cabinet.hire(ZOE, "Zoe", Role::Employee).await;
        let ada = cabinet.hire(ADA, "Ada", Role::Employee).await;
        let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
        let here = make_site(&cabinet, &owner).await;
        owner.post("/sites", &changed(&[("name", "The other place")])).await;
        let there = Sites::of_app(&cabinet.app).list().await.unwrap().iter().find(|site| site.id != here).unwrap().id;
        Self { cabinet, manager, anna, boris, may, zoe, ada, here, there }
    }

    fn sites(&self) -> Sites {
        Sites::of_app(&self.cabinet.app)
    }

    async fn contract(&self, person: &Person, sites: &[i64]) -> i64 {
        let (status, rate_kopecks) = (ContractStatus::Active, Some(30_000));
        let about = AboutContract { status, rate_kopecks, allows_spontaneous: false, sites: sites.to_vec() };
        self.sites().create_contract(&self.anna, person.id, about).await.unwrap()
    }

    async fn permit(&self, allowed: &[Permission]) {
        self.sites().permit(&self.anna, self.may.id, self.here, allowed.to_vec()).await.unwrap();
    }

    async fn stands(&self, id: i64) -> Contract {
        self.sites().contract(id).await.unwrap().unwrap()
    }
}

fn contracts_of(person: &Person) -> String {
    format!("/people/{}/contracts", person.id)
}

const OTHERS: &str = "This page is for others";

#[tokio::test]
async fn managers_see_the_people_of_their_sites_and_reach_nobody_else_by_a_direct_link() {
    let chain = Chain::open().await;
    let (manager, boris, zoe) = (&chain.manager, &chain.boris, &chain.zoe);
    let (own, other) = (chain.contract(boris, &[chain.here]).await, chain.contract(zoe, &[chain.there]).await);
    chain.permit(&[Permission::View, Permission::Schedule]).await;
    for path in ["/people", "/contracts/new", &contracts_of(boris)] {
        manager.get(path).await.is(403, OTHERS);
    }
    assert!(!manager.get("/").await.body.contains("href=\"/people\""), "there is nothing to go to");

    chain.permit(&[Permission::View, Permission::Employees]).await;
    let page = manager.get("/people").await;
    page.is(200, "href=\"/people\"").is(200, &format!("href=\"{}\"", contracts_of(boris))).is(200, "1 person");
    assert!(!page.body.contains("Zoe") && !page.body.contains("Ada"), "{}", page.body);
    manager.get("/people?q=Zoe").await.is(200, "Nobody was found.");
    manager.get(&contracts_of(boris)).await.is(200, &format!("contract-{own}"));
    // What else there is of a person, and other people, are not theirs.
    for path in
        [contracts_of(zoe), contracts_of(&chain.ada), contracts_of(&chain.anna), "/people/9999/contracts".into()]
    {
        manager.get(&path).await.is(403, OTHERS);
    }
    let (ticked, elsewhere) = (format!("site{}", chain.here), format!("site{}", chain.there));
    let mine = [("status", "active"), (ticked.as_str(), "on"), ("version", "1")];
    manager.get(&format!("/people/{}", boris.id)).await.is(403, OTHERS);
    for path in [
        format!("/people/{}/block", boris.id),
        format!("/contracts/{own}/delete"),
        format!("/contracts/{own}/restore"),
        contracts_of(zoe),
        format!("/contracts/{other}"),
    ] {
        manager.post(&path, &mine).await.is(403, OTHERS);
    }
    let theirs = [("status", "active"), (elsewhere.as_str(), "on"), ("version", "1")];
    manager.post(&contracts_of(boris), &theirs).await.is(422, "Please check this.");
    assert_eq!(chain.sites().contracts_of(boris.id).await.unwrap().len(), 1);
    assert_eq!((chain.stands(own).await.version, chain.stands(other).await.version), (1, 1));
    // Employees reach none of it.
    chain.cabinet.signed_in(BORIS).await.get(&contracts_of(boris)).await.is(403, OTHERS);
    chain.cabinet.close().await;
}

#[tokio::test]
async fn managers_change_contracts_of_their_sites_and_rates_only_where_they_may() {
    let chain = Chain::open().await;
    let (manager, boris) = (&chain.manager, &chain.boris);
    let (own, both) =
        (chain.contract(boris, &[chain.here]).await, chain.contract(boris, &[chain.here, chain.there]).await);
    let (page, ticked) = (contracts_of(boris), format!("site{}", chain.here));
    chain.permit(&[Permission::View, Permission::Employees]).await;
    let shown = manager.get(&page).await;
    shown.is(200, "This contract counts at other sites too").is(200, &format!("contract-{both}"));
    for hidden in ["300.00", "name=\"rate\"", "The other place", "delete-contract", &format!("\"/contracts/{both}\"")] {
        assert!(!shown.body.contains(hidden), "{hidden} in {}", shown.body);
    }
    let edit = async |id: i64, more: &[(&str, &str)]| {
        let fields = [&[("status", "suspended"), (ticked.as_str(), "on")], more].concat();
        manager.post(&format!("/contracts/{id}"), &fields).await
    };
    edit(own, &[("version", "1")]).await.leads_to(&page);
    let stands = chain.stands(own).await.about;
    assert_eq!((stands.status, stands.rate_kopecks), (ContractStatus::Suspended, Some(30_000)), "the rate stays");
    edit(own, &[("version", "2"), ("rate", "999")]).await.is(403, OTHERS);
    edit(both, &[("version", "1")]).await.is(403, OTHERS);
    assert_eq!(chain.stands(both).await.about.status, ContractStatus::Active);

    chain.permit(&[Permission::View, Permission::Employees, Permission::Rates]).await;
    manager.get(&page).await.is(200, "value=\"300.00\"");
    edit(own, &[("version", "2"), ("rate", "350")]).await.leads_to(&page);
    assert_eq!(chain.stands(own).await.about.rate_kopecks, Some(35_000));
    chain.cabinet.close().await;
}

#[tokio::test]
async fn managers_offer_a_contract_to_somebody_who_is_verified_by_number() {
    let chain = Chain::open().await;
    let (manager, ada) = (&chain.manager, &chain.ada);
    chain.permit(&[Permission::View, Permission::Employees]).await;
    manager.get("/people").await.is(200, "/contracts/new");
    manager.get("/contracts/new").await.is(200, "Telegram number, phone or @username");
    let (ticked, elsewhere) = (format!("site{}", chain.here), format!("site{}", chain.there));
    let offer = async |who: &str, site: &str| {
        manager.post("/contracts/new", &[("who", who), ("status", "active"), (site, "on")]).await
    };
    offer("5555", &ticked).await.is(422, "Please check this.").is(422, "value=\"5555\"");
    offer(&ADA.to_string(), &elsewhere).await.is(422, "Please check this.");
    // An owner needs no contract of a manager's.
    offer(&ANNA.to_string(), &ticked).await.is(422, "Please check this.");
    assert!(chain.sites().contracts_of(ada.id).await.unwrap().is_empty());
    offer(&ADA.to_string(), &ticked).await.leads_to(&contracts_of(ada));
    let made = chain.sites().contracts_of(ada.id).await.unwrap().remove(0);
    assert_eq!((made.about.sites, made.about.rate_kopecks), (vec![chain.here], None));
    manager.get("/people").await.is(200, "Ada");
    manager.get(&contracts_of(ada)).await.is(200, "Contracts: Ada");
    chain.cabinet.close().await;
}

#[tokio::test]
async fn rates_are_read_by_managers_who_may_not_change_them_and_saved_with_the_rest() {
    let chain = Chain::open().await;
    let (manager, site) = (&chain.manager, format!("/sites/{}", chain.here));
    let calendar = format!("/calendar?site={}&day=2026-01-05", chain.here);
    let is_fixed = |body: &str, name: &str| {
        let field = body.split("<input").find(|field| field.contains(&format!("name=\"{name}\""))).unwrap();
        field.split('>').next().unwrap().contains(" readonly")
    };
    let may = [Permission::View, Permission::Edit, Permission::Schedule];
    for (allowed, fixed) in [(may.to_vec(), true), ([&may[..], &[Permission::Rates]].concat(), false)] {
        chain.permit(&allowed).await;
        let page = manager.get(&site).await;
        assert_eq!((is_fixed(&page.body, "rate"), is_fixed(&page.body, "late_minute")), (fixed, fixed));
        assert!(!is_fixed(&page.body, "name"));
        assert_eq!(is_fixed(&manager.get(&calendar).await.body, "rate"), fixed);
    }
    // What is sent as it was shown goes.
    chain.permit(&may).await;
    let renamed = [&changed(&[("name", "Renamed")])[..], &[("version", "1")]].concat();
    manager.post(&site, &renamed).await.leads_to(&site);
    let dearer = [&changed(&[("rate", "999")])[..], &[("version", "2")]].concat();
    manager.post(&site, &dearer).await.is(403, OTHERS);
    chain.cabinet.close().await;
}
