//! The pages of contracts: a second active contract, dates, history, and choosing the person from a list.

use workforce::notices;
use workforce::person::{Permission, Role};
use workforce::settings::TIME_ZONE;
use workforce::shifts::Shifts;
use workforce::sites::ContractStatus::{Active, Draft, Suspended};
use workforce::sites::{AboutContract, AboutSite, AboutSlot, Hours, Sites};

use crate::kit::cabinet::{Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, make_site};
use crate::shifts::{Workplace, is_notified, person};

#[tokio::test]
async fn a_refused_contract_names_the_existing_one() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about = AboutContract { valid_from: "2026-03-01".parse().ok(), ..AboutContract::active(vec![site]) };
    let first = room.create_contract(&anna, boris.id, about).await.unwrap();
    let (page, ticked) = (format!("/people/{}/contracts", boris.id), format!("site{site}"));
    let active = [("status", "active"), (ticked.as_str(), "on")];
    let refused = owner.post(&page, &active).await;
    refused.is(409, "already has an active contract for this site");
    refused.is(409, &format!("{page}#contract-{first}")).is(409, &format!("Contract No. {first}"));
    refused.is(409, "from Mar 1, 2026");
    let who = BORIS.to_string();
    let refused = owner.post("/contracts/new", &[&active[..], &[("who", &who)]].concat()).await;
    refused.is(409, &format!("Contract No. {first}"));
    owner.post(&page, &active[..1]).await.is(422, "Choose at least one site.");
    // Days that do not overlap are accepted.
    let before = [&active[..], &[("valid_until", "2026-02-28")]].concat();
    owner.post(&page, &before).await.redirects_to(&page);
    let wrong = [&active[..], &[("valid_from", "2026-02-02"), ("valid_until", "2026-02-01")]].concat();
    owner.post(&page, &wrong).await.is(422, "Enter a date that is not before the start");
    cabinet.close().await;
}

#[tokio::test]
async fn a_person_is_told_of_a_contract_made_active() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (owner, room) = (&workplace.owner, &workplace.sites);
    let shop = workplace.site("Shop", 10_000).await;
    let anna = workplace.firm.member("Anna", &[Role::Employee]).await;
    let about = |status| AboutContract { status, ..AboutContract::active(vec![shop]) };
    let id = room.create_contract(owner, person(&workplace.firm, &anna).await.id, about(Draft)).await.unwrap();
    let told = async || notices::unsent(&workplace.firm.app.domain).await.unwrap().len();
    assert_eq!(told().await, 0, "a draft gives no right to work");
    room.edit_contract(owner, id, 1, about(Active)).await.unwrap();
    is_notified(&workplace, &anna, "You have a new contract. Your site: Shop.").await;
    room.edit_contract(owner, id, 2, AboutContract { rate_kopecks: Some(500), ..about(Active) }).await.unwrap();
    room.edit_contract(owner, id, 3, about(Suspended)).await.unwrap();
    assert_eq!(told().await, 1);
    room.edit_contract(owner, id, 4, about(Active)).await.unwrap();
    is_notified(&workplace, &anna, "Your contract is active again. Your site: Shop.").await;
}

#[tokio::test]
async fn a_contract_shows_its_history() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about = AboutContract { rate_kopecks: Some(30_000), ..AboutContract::active(vec![site]) };
    let id = room.create_contract(&anna, boris.id, about).await.unwrap();
    let (page, ticked) = (format!("/people/{}/contracts", boris.id), format!("site{site}"));
    let changed = [
        ("status", "suspended"),
        ("rate", "350"),
        ("valid_until", "2026-12-31"),
        (ticked.as_str(), "on"),
        ("version", "1"),
    ];
    owner.post(&format!("/contracts/{id}"), &changed).await.redirects_to(&page);
    let shown = owner.get(&page).await;
    shown.is(200, &format!("contract-history-{id}")).is(200, "Contract changed").is(200, "Contract added");
    shown.is(200, "active → suspended").is(200, "Hourly rate: 300").is(200, "Valid until: – → Dec 31, 2026");
    cabinet.close().await;
}

#[tokio::test]
async fn a_person_is_chosen_from_a_list() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let (one, two) = (
        cabinet.hire(2001, "Vera Orlova", Role::Employee).await,
        cabinet.hire(2002, "Vera Orlova", Role::Employee).await,
    );
    let choice = format!("Vera Orlova (№ {})", two.id);
    let form = owner.get("/contracts/new").await;
    form.is(200, &format!("<option value=\"{choice}\">")).is(200, "list=\"contract-people\"");
    assert!(!form.body.contains("<option value=\"Anna"), "an owner has no contract");
    let ticked = format!("site{site}");
    let offer = async |who: &str| {
        owner.post("/contracts/new", &[("who", who), ("status", "active"), (ticked.as_str(), "on")]).await
    };
    offer("Vera Orlova").await.is(422, "value=\"Vera Orlova\"");
    offer(&format!("Anna (№ {})", cabinet.person(ANNA).await.id)).await.is(422, "");
    offer(&choice).await.redirects_to(&format!("/people/{}/contracts", two.id));
    offer("boris").await.redirects_to(&format!("/people/{}/contracts", cabinet.person(BORIS).await.id));
    let room = Sites::of_app(&cabinet.app);
    assert_eq!(room.contracts_of(two.id).await.unwrap().len(), 1);
    assert!(room.contracts_of(one.id).await.unwrap().is_empty());
    cabinet.close().await;
}

#[tokio::test]
async fn a_contract_from_a_sites_page_begins_with_that_site() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = cabinet.hire(MAY, "May", Role::Manager).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    let (owner, anna) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let about =
        AboutSite { name: "Bar".into(), address: "Bar street, 1".into(), ..AboutSite::usual(TIME_ZONE.default) };
    let other = room.create(&anna, about).await.unwrap();
    let link = format!("/contracts/new?site={other}");
    owner.get(&format!("/sites/{other}/staff")).await.is(200, &format!("href=\"{link}\""));
    let is_ticked = |page: &PageResponse, site: i64| {
        let (_, field) = page.body.split_once(&format!("name=\"site{site}\"")).expect("a checkbox of the site");
        field.split_once('>').unwrap().0.contains("checked")
    };
    let form = owner.get(&link).await;
    assert!(is_ticked(&form, other) && !is_ticked(&form, site), "{}", form.body);
    let form = owner.get("/contracts/new").await;
    assert!(!is_ticked(&form, other), "{}", form.body);
    // A site of which she does not manage the employees is not even named.
    room.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Employees]).await.unwrap();
    let form = cabinet.signed_in(MAY).await.get(&link).await;
    form.is(200, &format!("name=\"site{site}\""));
    assert!(!is_ticked(&form, site) && !form.body.contains(&format!("name=\"site{other}\"")), "{}", form.body);
    cabinet.close().await;
}

#[tokio::test]
async fn deleting_a_contract_names_the_planned_shifts() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, anna, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    // The second contract begins after the shift.
    let until = |day: &str| AboutContract { valid_until: day.parse().ok(), ..AboutContract::active(vec![site]) };
    let first = room.create_contract(&anna, boris.id, until("2026-01-31")).await.unwrap();
    let later = AboutContract { valid_from: "2026-02-01".parse().ok(), ..AboutContract::active(vec![site]) };
    let second = room.create_contract(&anna, boris.id, later).await.unwrap();
    let slot = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = room.create_slot(&anna, site, slot).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&anna, boris.id, slot).await.unwrap();
    let page = owner.get(&format!("/people/{}/contracts", boris.id)).await.body;
    let question = |contract: i64| {
        let dialog = page.split_once(&format!("<dialog class=\"dialog\" id=\"delete-contract-{contract}\"")).unwrap().1;
        dialog.split_once("</dialog>").unwrap().0.to_owned()
    };
    assert!(question(first).contains("1 planned shift depends on it"), "{}", question(first));
    assert!(question(first).contains(&format!("action=\"/contracts/{first}/delete\"")), "{}", question(first));
    assert!(question(second).contains("No planned shifts depend on it."), "{}", question(second));
    cabinet.close().await;
}
