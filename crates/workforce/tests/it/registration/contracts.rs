//! Approval and contract in one step, on the page and in the bot.

use serde_json::json;
use workforce::people::blocking;
use workforce::person::{Role, Status};
use workforce::registration::{Approval, DecisionError, Registrations, give_contract};
use workforce::sites::{ActionError, ChangedBy, SiteRefusal, Sites};

use super::in_process::{complete_registration, pending_document_id, registration_of};
use super::{person, registered_person};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};
use crate::shifts::{about_site, person as member};

on_every_database! {
    an_approval_gives_a_contract_and_one_message,
    a_refused_contract_leaves_the_registration_pending,
    a_contract_in_the_bot_is_given_once,
    a_blocked_person_gets_no_contract_at_the_commit,
}

const VERA: i64 = 1003;

async fn an_approval_gives_a_contract_and_one_message(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    let sites = Sites::of_app(&cabinet.app);
    let site = sites.create(&cabinet.person(ANNA).await, about_site("Coffee House")).await.unwrap();
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    let path = format!("/registrations/{}/approve", vera.id);
    let mark = ("mark", pending_document_id(&documents));
    let ticked = format!("site{site}");
    // A mistake keeps what was typed.
    let again = owner.post(&path, &[mark, (&ticked, "on"), ("rate", "abc")]).await;
    again.is(422, "value=\"abc\"");
    assert!(again.body.contains("checked"), "{}", again.body);
    let fields = [mark, (&*ticked, "on"), ("rate", "300"), ("valid_until", "2030-12-31")];
    let next = format!("/registrations?decided={}", vera.id);
    owner.post(&path, &fields).await.redirects_to(&next);
    let page = owner.get(&next).await;
    page.is(200, "Anna Smith is approved and has a contract (Coffee House).");
    page.is(200, &format!("/people/{}", vera.id));
    cabinet.emulator.receives(VERA, "Welcome to the team!").await;
    let texts = cabinet.emulator.texts(VERA).await;
    let told: Vec<_> = texts.iter().filter(|text| text.contains("Welcome to the team!")).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("Your site: Coffee House."), "{told:?}");
    let contract = sites.contracts_of(vera.id).await.unwrap().remove(0);
    assert_eq!(contract.about.rate_kopecks, Some(30_000));
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    assert_eq!(vera.status, Status::Verified);
    assert_eq!(documents[0].valid_until.map(|day| day.to_string()).as_deref(), Some("2030-12-31"));
    cabinet.close().await;
}

/// The site was deleted while the page was open: neither the decision nor the contract is written.
async fn a_refused_contract_leaves_the_registration_pending(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let olga = member(&firm, &olga).await;
    let anna = registered_person(&firm, "Anna").await;
    let anna = person(&firm, &anna).await.unwrap();
    let sites = Sites::of_app(&firm.app);
    let site = sites.create(&olga, about_site("Coffee House")).await.unwrap();
    let version = sites.site(site).await.unwrap().unwrap().version;
    sites.delete(&olga, site, version).await.unwrap();
    let registrations = Registrations::of_app(&firm.app);
    let documents = registrations.documents_of(anna.id).await.unwrap();
    let looked_at = pending_document_id(&documents);
    for gone in [site, 999_999] {
        let approval = Approval { sites: vec![gone], ..Approval::default() };
        let refused = registrations.approve_with(olga.id, anna.id, looked_at, approval).await;
        assert!(matches!(refused, Err(DecisionError::Contract(SiteRefusal::Gone))), "{refused:?}");
    }
    let now = firm.app.people.by_id(anna.id).await.unwrap().unwrap();
    assert_eq!(now.status, Status::Pending);
    assert!(sites.contracts_of(anna.id).await.unwrap().is_empty());
    assert_eq!(registrations.last_decision(anna.id).await.unwrap(), None);
}

async fn a_contract_in_the_bot_is_given_once(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let sites = Sites::of_app(&firm.app);
    let site = sites.create(&member(&firm, &olga).await, about_site("Coffee House")).await.unwrap();
    let anna = registered_person(&firm, "Anna").await;
    olga.presses("✅ Approve").await;
    olga.sees("Approved: Anna Smith");
    olga.sees("Which site will they work at?");
    anna.sees("You'll be assigned a site soon");
    let id = person(&firm, &anna).await.unwrap().id;
    olga.presses("Coffee House").await;
    olga.sees("Contract created: Anna Smith, Coffee House.");
    anna.sees("Your site: Coffee House.");
    olga.presses_data(&format!("reg:contract:{id}:{site}")).await;
    assert_eq!(sites.contracts_of(id).await.unwrap().len(), 1, "a second press gives no second contract");
    for forged in [format!("reg:contract:{id}:999999"), format!("reg:contract:999999:{site}")] {
        olga.presses_data(&forged).await;
        olga.sees_toast("This registration has changed since.");
    }
    assert_eq!(sites.contracts_of(id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn every_site_is_offered_in_the_bot() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let owner = member(&firm, &olga).await;
    let sites = Sites::of_app(&firm.app);
    for number in 1..=22 {
        sites.create(&owner, about_site(&format!("Shop {number:02}"))).await.unwrap();
    }
    let anna = registered_person(&firm, "Anna").await;
    olga.presses("✅ Approve").await;
    olga.sees_button("Shop 20");
    assert!(!olga.transcript().contains("Shop 21"), "{}", olga.transcript());
    olga.presses("More ▸").await;
    olga.sees("Approved: Anna Smith");
    olga.presses("◂ Previous").await;
    olga.sees_button("Shop 01");
    olga.presses("More ▸").await;
    olga.presses("Shop 22").await;
    olga.sees("Contract created: Anna Smith, Shop 22.");
    let id = person(&firm, &anna).await.unwrap().id;
    assert_eq!(sites.contracts_of(id).await.unwrap().len(), 1);
    for forged in ["reg:sites:999999:0".to_owned(), format!("reg:sites:{id}:x"), format!("reg:sites:{id}")] {
        olga.presses_data(&forged).await;
        olga.sees_toast("This registration has changed since.");
    }
}

/// The person was blocked between the owner's tap and the commit.
async fn a_blocked_person_gets_no_contract_at_the_commit(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let olga = member(&firm, &olga).await;
    let anna = firm.member("Anna", &[Role::Employee]).await;
    let anna = member(&firm, &anna).await.id;
    let sites = Sites::of_app(&firm.app);
    let site = sites.create(&olga, about_site("Coffee House")).await.unwrap();
    let by = ChangedBy { person: Some(olga.id), at: NOON };
    let block = firm.app.domain.write_and_get(move |db| Box::pin(blocking::block(db, anna, None, NOON)));
    block.await.unwrap();
    let approval = Approval { sites: vec![site], ..Approval::default() };
    let given = firm.app.domain.write(move |db| Box::pin(give_contract(db, anna, approval, by)));
    let refused: ActionError = given.await.unwrap_err().into();
    assert!(matches!(refused, ActionError::Refused(SiteRefusal::NotMember)), "{refused:?}");
    assert!(sites.contracts_of(anna).await.unwrap().is_empty());
}
