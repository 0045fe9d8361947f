//! Documents with a date: noted on the page, shown with a badge, listed before they expire.

use serde_json::json;
use workforce::person::Role;
use workforce::registration::{Registrations, Validity, kind_name};
use workforce::texts::Language;

use super::in_process::{complete_registration, pending_document_id, registration_of};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_every_database};
use crate::kit::sql::run_sql;

on_every_database! {
    a_document_that_expires_is_listed,
}

const VERA: i64 = 1003;

async fn a_document_that_expires_is_listed(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    let registrations = Registrations::of_app(&cabinet.app);
    let anna = cabinet.person(ANNA).await.id;
    registrations.approve(anna, vera.id, pending_document_id(&documents)).await.unwrap();
    let today = registrations.today().await.unwrap();
    let page = format!("/documents/{}", documents[0].id);
    let path = format!("{page}/validity");
    owner.post(&path, &[("seen", ""), ("valid_until", "soon")]).await.is(422, "Enter a date");
    let far = (today + chrono::Days::new(31)).to_string();
    let noted = owner.post(&path, &[("seen", ""), ("valid_until", &far)]).await;
    noted.redirects_to(&page);
    assert!(noted.has_toast());
    assert!(registrations.expiring(today).await.unwrap().is_empty());
    let soon = (today + chrono::Days::new(30)).to_string();
    owner.post(&path, &[("seen", ""), ("valid_until", &soon)]).await.is(409, "");
    owner.post(&path, &[("seen", &far), ("valid_until", &soon)]).await.redirects_to(&page);
    let listed = registrations.expiring(today).await.unwrap();
    assert_eq!((listed.len(), listed[0].validity, listed[0].person.id), (1, Validity::ExpiresSoon, vera.id));
    owner.get(&page).await.is(200, "expires ");
    // Owners see it on the first page, and all of them on the page of registrations.
    let kind = kind_name(documents[0].kind, Language::En);
    let today_page = owner.get("/").await;
    today_page.is(200, "data-testid=\"attention-expiring\"").is(200, &format!("{kind}: Anna Smith"));
    today_page.is(200, &format!("href=\"{page}\""));
    owner.get("/registrations").await.is(200, "id=\"expiring\"").is(200, &format!("href=\"{page}\""));
    let past = (today - chrono::Days::new(1)).to_string();
    owner.post(&path, &[("seen", &soon), ("valid_until", &past)]).await.redirects_to(&page);
    assert_eq!(registrations.expiring(today).await.unwrap()[0].validity, Validity::Expired);
    owner.get(&format!("/people/{}", vera.id)).await.is(200, "expired ").is(200, "Consent to the processing");
    owner.post(&path, &[("seen", &past), ("valid_until", "")]).await.redirects_to(&page);
    assert!(registrations.expiring(today).await.unwrap().is_empty());
    cabinet.hire(1004, "Max", Role::Manager).await;
    for other in [cabinet.signed_in(BORIS).await] {
        other.post(&path, &[("seen", ""), ("valid_until", &soon)]).await.is(403, "You don't have access");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn former_members_do_not_fill_the_list() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let registrations = Registrations::of_app(&cabinet.app);
    let (boris, today) = (cabinet.person(BORIS).await, registrations.today().await.unwrap());
    // A hundred documents of people who were blocked expire before that of a member.
    let blocked =
        "INSERT INTO users (telegram_id, full_name, search_name, language, status, enrolled_by, created_at, updated_at)
        VALUES (5000, 'Glen', 'glen', 'en', 'blocked', 'grant', 0, 0)";
    run_sql(&cabinet.app.domain, blocked.to_owned()).await;
    let glen = cabinet.person(5000).await.id;
    let document = |owner: i64, number: i64, day: chrono::NaiveDate| {
        format!(
            "INSERT INTO documents (id, user_id, kind, status, media_type, size_bytes, created_at, valid_until, sha256)
             VALUES ('document-{owner}-{number}', {owner}, 'passport', 'approved', 'jpeg', 1, 0, '{day}', 'x')"
        )
    };
    for number in 0..100 {
        run_sql(&cabinet.app.domain, document(glen, number, today)).await;
    }
    run_sql(&cabinet.app.domain, document(boris.id, 0, today + chrono::Days::new(1))).await;
    let listed = registrations.expiring(today).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.person.id).collect::<Vec<_>>(), [boris.id]);
    cabinet.close().await;
}
