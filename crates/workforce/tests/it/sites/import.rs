//! Import of staff and sites: a preview that writes nothing, every mistake named, nothing twice.

use axum::http::Method;
use workforce::people::blocking;
use workforce::person::Role;
use workforce::sites::import::{MAX_ROWS, Table, read_staff};
use workforce::sites::{ActionError, SiteRefusal, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_every_database};

const SITES: &str = "name;address;opens;closes;rate\nShop;Street 1;8:00;20:00;300\nBar;Street 2;;;";
const STAFF: &str = "name;telegram id;phone;role;site;rate\n\
    Vera Orlova;3001;8 999 123-45-67;;Shop;350\nIvan Petrov;3002;;manager;;\nBoris;1002;;;bar;";

on_every_database! {
    a_table_is_imported_once,
    people_without_access_get_no_contract,
}

async fn a_table_is_imported_once(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, room) = (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app));
    owner.get("/people").await.is(200, "href=\"/import\"");
    owner.get("/import").await.is(200, "Example file").is(200, "multipart/form-data");
    owner.post("/import/sites", &[("text", SITES)]).await.is(200, "2 rows will add something").is(200, "Import 2");
    assert!(room.list().await.unwrap().is_empty(), "a preview writes nothing");
    owner.post("/import/sites/now", &[("text", SITES)]).await.redirects_to("/sites");
    let sites: Vec<_> =
        room.list().await.unwrap().into_iter().map(|site| (site.about.name, site.about.rate_kopecks)).collect();
    assert_eq!(sites, [("Bar".to_owned(), 0), ("Shop".to_owned(), 30_000)]);

    let preview = owner.post("/import/staff", &[("text", STAFF)]).await;
    preview.is(200, "Vera Orlova").is(200, "new person").is(200, "new contract").is(200, "3 rows will add something");
    assert!(cabinet.app.people.by_telegram(3001).await.unwrap().is_none(), "a preview writes nothing");
    owner.post("/import/staff/now", &[("text", STAFF)]).await.redirects_to("/people");
    let vera = cabinet.person(3001).await;
    assert_eq!((vera.phone.as_deref(), vera.may(&[Role::Employee])), (Some("+79991234567"), true));
    assert_eq!(room.contracts_of(vera.id).await.unwrap()[0].about.rate_kopecks, Some(35_000));
    assert!(cabinet.person(3002).await.may(&[Role::Manager]));
    assert_eq!(room.contracts_of(cabinet.person(BORIS).await.id).await.unwrap().len(), 1);
    cabinet.emulator.receives(BORIS, "You have a new contract. Your site: Bar.").await;

    // The same file again adds nothing, not even when it is sent straight to the import.
    owner.post("/import/staff", &[("text", STAFF)]).await.is(200, "Everything in this table exists already");
    owner.post("/import/staff/now", &[("text", STAFF)]).await.redirects_to("/people");
    owner.post("/import/sites/now", &[("text", SITES)]).await.redirects_to("/sites");
    assert_eq!((room.list().await.unwrap().len(), room.contracts_of(vera.id).await.unwrap().len()), (2, 1));
    cabinet.close().await;
}

async fn people_without_access_get_no_contract(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, room, boris) =
        (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app), cabinet.person(BORIS).await);
    owner.post("/import/sites/now", &[("text", SITES)]).await.redirects_to("/sites");
    let (id, at) = (boris.id, cabinet.app.clock.now());
    let blocked = cabinet.app.domain.write_and_get(move |db| Box::pin(blocking::block(db, id, None, at)));
    blocked.await.unwrap();
    let preview = owner.post("/import/staff", &[("text", STAFF)]).await;
    preview.is(200, "no access, no contract").is(200, "2 rows will add something");
    owner.post("/import/staff/now", &[("text", STAFF)]).await.redirects_to("/people");
    assert!(room.contracts_of(boris.id).await.unwrap().is_empty());
    cabinet.close().await;
}

/// The site was deleted between the check of the table and the commit.
#[tokio::test]
async fn a_contract_for_a_deleted_site_is_not_imported() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, room, anna) = (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    owner.post("/import/sites/now", &[("text", SITES)]).await.redirects_to("/sites");
    let sites = room.list().await.unwrap();
    let lines = read_staff(&Table::read(STAFF).unwrap(), &sites).unwrap();
    let shop = sites.iter().find(|site| site.about.name == "Shop").unwrap();
    room.delete(&anna, shop.id, shop.version).await.unwrap();
    let refused = room.import_staff(&anna, lines).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::Gone))), "{refused:?}");
    assert!(cabinet.app.people.by_telegram(3001).await.unwrap().is_none(), "all or nothing");
    cabinet.close().await;
}

#[tokio::test]
async fn a_page_lists_every_mistake() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let bad = format!("name,telegram id\n{}", "Ivan Petrov,soon\n".repeat(MAX_ROWS));
    let refused = owner.post("/import/staff", &[("text", &bad)]).await;
    refused.is(422, &format!("There are {MAX_ROWS} mistakes"));
    assert_eq!(refused.body.matches("digits only").count(), MAX_ROWS);
    let wide = format!("name,telegram id\n{}", ",".repeat(40));
    owner.post("/import/staff", &[("text", &wide)]).await.is(422, "A row has too many columns: 30 at most.");
    cabinet.close().await;
}

#[tokio::test]
async fn a_table_with_a_mistake_is_not_imported() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let bad = "name,telegram id,site\nVera Orlova,3001,\nIvan Petrov,soon,Nowhere";
    for path in ["/import/staff", "/import/staff/now"] {
        let refused = owner.post(path, &[("text", bad)]).await;
        refused.is(422, "There are 2 mistakes. Nothing was imported").is(422, "digits only").is(422, "Nowhere");
    }
    assert!(cabinet.app.people.by_telegram(3001).await.unwrap().is_none());
    owner.post("/import/staff", &[("text", "")]).await.is(422, "There is no table here");
    owner.post("/import/nothing", &[("text", bad)]).await.is(404, "");
    cabinet.signed_in(BORIS).await.post("/import/staff/now", &[("text", STAFF)]).await.is(403, "");
    let example = owner.get("/import/staff/example").await;
    example.is(200, "name,telegram id,phone,role,site,rate");
    owner.post("/import/staff", &[("text", &example.body)]).await.is(200, "Anna Petrova");
    cabinet.close().await;
}

#[tokio::test]
async fn a_file_is_uploaded_with_its_token() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/import").await;
    let body = |token: &str| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{token}\r\n--x\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"sites.csv\"\r\n\
             Content-Type: text/csv\r\n\r\n{SITES}\r\n--x--\r\n"
        )
    };
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let uploaded = owner.send(Method::POST, "/import/sites", &body(&owner.csrf_token()), &kind).await;
    uploaded.is(200, "2 rows will add something");
    owner.send(Method::POST, "/import/sites", &body("guess"), &kind).await.is(403, "This form is out of date");
    cabinet.close().await;
}
