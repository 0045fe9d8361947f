//! Clients with equipment and rules, the price list, masters and the report.

use workforce::orders::Command;

use super::super::closes;
use super::{ANNA, Actor, DINA, MAX, Office, QueryCounter};
use crate::kit::cabinet::Browser;

async fn client_of(office: &Office) -> (i64, String) {
    let order = office.new_order("+79990000001").await;
    (order.client_id, format!("/orders/clients/{}", order.client_id))
}

#[tokio::test]
async fn clients_are_found_and_edited() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    dina.get("/orders/clients").await.is(200, "No clients yet");
    let (id, path) = client_of(&office).await;
    for wanted in ["", "Petrova", "8 999 000-00-01", "Ленина"] {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", wanted).finish();
        dina.get(&format!("/orders/clients?{query}")).await.is(200, &format!("data-testid=\"client-{id}\""));
    }
    dina.get("/orders/clients?q=Nobody").await.is(200, "No client found");
    dina.get(&path).await.is(200, "+79990000001").is(200, "data-testid=\"past\"");
    let edited = [("client_name", "Anna Sidorova"), ("notes", "Has a dog"), ("version", "1")];
    dina.post(&path, &edited).await.redirects_to(&path);
    let stale = [("client_name", "Anna Ivanova"), ("notes", ""), ("version", "1")];
    dina.post(&path, &stale).await.is(409, "value=\"Anna Ivanova\"").is(409, "Now: Anna Sidorova");
    dina.post(&path, &[("client_name", "A"), ("version", "2")]).await.is(422, "at least 5 characters");
    dina.get("/orders/clients/99").await.is(404, "");
    office.cabinet.close().await;
}

#[tokio::test]
async fn equipment_is_added_changed_and_deleted() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let (id, path) = client_of(&office).await;
    let new =
        [("equipment_type", "Oven"), ("model", "X1"), ("serial", "77"), ("warranty", "2027-01-31"), ("notes", "")];
    dina.post(&format!("{path}/equipment"), &new).await.redirects_to(&path);
    dina.get(&path).await.is(200, "X1 · 77").is(200, "Jan 31, 2027");
    let card = office.orders().client(&office.dina, id).await.unwrap().unwrap();
    let one = format!("{path}/equipment/{}", card.equipment[0].id);
    let wrong = [("equipment_type", ""), ("warranty", "soon"), ("version", "1")];
    dina.post(&one, &wrong).await.is(422, "What needs repair?");
    dina.post(&one, &[("equipment_type", "Hob"), ("version", "1")]).await.redirects_to(&path);
    dina.post(&one, &[("equipment_type", "Grill"), ("version", "1")]).await.is(409, "value=\"Grill\"");
    dina.post(&format!("{one}/delete"), &[("version", "2")]).await.redirects_to(&path);
    assert!(!dina.get(&path).await.body.contains("Hob"));
    office.cabinet.close().await;
}

#[tokio::test]
async fn a_rule_is_added_and_stopped() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let (id, path) = client_of(&office).await;
    let rule = [
        ("client_phone", "+79990000001"),
        ("client_name", "Anna Petrova"),
        ("client_address", "Lenin street, 5"),
        ("equipment_type", "Boiler"),
        ("description", "The yearly inspection"),
        ("day", "2026-02-02"),
        ("starts", "10:00"),
        ("ends", "12:00"),
        ("frequency", "MONTHLY"),
        ("interval", "3"),
        ("lead_days", "3"),
    ];
    dina.post(&format!("{path}/rules"), &rule).await.redirects_to(&path);
    dina.get(&path).await.is(200, "Next time: Feb 2, 10:00");
    let wrong: Vec<_> =
        rule.iter().map(|(name, value)| (*name, if *name == "interval" { "0" } else { value })).collect();
    dina.post(&format!("{path}/rules"), &wrong).await.is(422, "from 1 to 99");
    let rules = office.orders().recurrences(Some(id)).await.unwrap();
    dina.post(&format!("{path}/rules/{}/stop", rules[0].id), &[]).await.redirects_to(&path);
    dina.get(&path).await.is(200, "No repeating orders");
    office.cabinet.close().await;
}

#[tokio::test]
async fn prices_and_checklists_are_edited() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let prices = "/orders/prices";
    dina.post("/orders/kinds", &[("equipment_type", "Oven")]).await.redirects_to(prices);
    dina.post("/orders/kinds", &[("equipment_type", "oven")]).await.is(409, "This already exists");
    let kind = office.orders().equipment_types().await.unwrap()[0].id.to_string();
    let items = [("items", "* Check the door\nWipe it")];
    dina.post(&format!("/orders/kinds/{kind}/checklist"), &items).await.redirects_to(prices);
    dina.get(prices).await.is(200, "Check the door").is(200, "* Check the door");
    dina.post(prices, &[("name", "Heater"), ("price", "1500"), ("kind", &kind)]).await.redirects_to(prices);
    let unknown = [("name", "Pump"), ("price", "1500"), ("kind", "99")];
    dina.post(prices, &unknown).await.is(422, "value=\"Pump\"");
    let item = office.orders().price_items(None).await.unwrap().remove(0);
    let one = format!("{prices}/{}", item.id);
    for (name, price, said) in
        [("", "5", "up to 200"), ("Heater", "-5", "from 0 to"), ("Heater", "x", "Enter an amount")]
    {
        dina.post(&one, &[("name", name), ("price", price), ("version", "1")]).await.is(422, said);
    }
    dina.post(&one, &[("name", "Heater"), ("price", "1700"), ("version", "1")]).await.redirects_to(prices);
    dina.post(&one, &[("name", "Heater"), ("price", "1800"), ("version", "1")]).await.is(409, "Now: 1700");
    dina.get(prices).await.is(200, "1,700");
    dina.post(&format!("{one}/delete"), &[("name", "Heater"), ("version", "2")]).await.redirects_to(prices);
    dina.post(&format!("/orders/kinds/{kind}/delete"), &[]).await.redirects_to(prices);
    dina.get(prices).await.is(200, "The price list is empty").is(200, "No equipment yet");
    office.cabinet.close().await;
}

#[tokio::test]
async fn masters_and_the_report_show_what_was_closed() {
    let office = Office::open().await;
    let (owner, dina) = (office.cabinet.signed_in(ANNA).await, office.cabinet.signed_in(DINA).await);
    owner.get("/orders/reports").await.is(200, "No orders were closed in this month");
    let order = office.on_site().await;
    office.done(&office.max, &order, closes(10_000, 2_000)).await;
    dina.get("/orders/masters").await.is(200, "100%").is(200, "10,000");
    assert!(!dina.get("/orders/masters").await.body.contains("4,000"), "pay is for owners");
    owner.get("/orders/masters").await.is(200, "4,000");
    let report = owner.get("/orders/reports").await;
    report.is(200, "data-testid=\"by-master\"").is(200, "Washing machine").is(200, "data-testid=\"sum-margin\">4,000");
    report.is(200, "data-testid=\"chart-revenue\"");
    let csv = owner.get("/orders/reports/export.csv?period=2026-01").await;
    csv.is(200, "\"Max\",\"Washing machine\",1,10000.00,2000.00,4000.00,4000.00");
    let xlsx = owner.get("/orders/reports/export.xlsx").await;
    assert!(xlsx.header("content-disposition").contains("orders-2026-01.xlsx"));
    owner.get("/orders/reports?period=2025-12").await.is(200, "No orders were closed");
    dina.get("/orders/reports").await.is(403, "");
    office.cabinet.close().await;
}

#[tokio::test]
async fn clients_are_imported_after_a_preview() {
    let office = Office::open().await;
    let dina = office.cabinet.signed_in(DINA).await;
    let (_, path) = client_of(&office).await;
    let import = "/orders/clients/import";
    let bad = [("text", "name,phone\nAnna Petrova,112\nAl,+79990000005")];
    dina.post(import, &bad).await.is(422, "data-testid=\"mistakes\"").is(422, "at least 5 characters");
    dina.post(&format!("{import}/now"), &bad).await.is(422, "with 10 digits");
    let good = [("text", "name,phone,notes\nBoris Berg,8 999 000-00-05,Ring twice\nAnna Other,+79990000001,")];
    dina.post(import, &good).await.is(200, "new client").is(200, "exists, no change").is(200, "Import 1");
    dina.get("/orders/clients").await.is(200, &path);
    assert!(!dina.get("/orders/clients").await.body.contains("Boris Berg"), "a preview writes nothing");
    dina.post(&format!("{import}/now"), &good).await.redirects_to("/orders/clients");
    dina.get("/orders/clients").await.is(200, "Boris Berg").is(200, "Anna Petrova");
    dina.post(&format!("{import}/now"), &good).await.redirects_to("/orders/clients");
    assert_eq!(office.orders().clients(&office.dina, "", None).await.unwrap().clients.len(), 2);
    dina.get(&format!("{import}/example")).await.is(200, "Anna Petrova");
    office.cabinet.close().await;
}

#[tokio::test]
async fn masters_do_not_see_lists_of_the_office() {
    let office = Office::open().await;
    let max = office.cabinet.signed_in(MAX).await;
    let (_, path) = client_of(&office).await;
    let pages =
        ["/orders/clients", "/orders/clients/import", "/orders/prices", "/orders/masters", "/orders/reports", &path];
    for page in pages {
        max.get(page).await.is(403, "");
    }
    let edits = [&path, "/orders/prices", "/orders/kinds", "/orders/clients/import/now"];
    for form in edits {
        max.post(form, &[("client_name", "Max Master"), ("text", "name,phone\nMax Master,+79990000009")])
            .await
            .is(403, "");
    }
    office.cabinet.close().await;
}

#[tokio::test]
async fn lists_run_a_fixed_number_of_queries() {
    let queries = QueryCounter::install();
    let office = Office::open().await;
    let owner = office.cabinet.signed_in(ANNA).await;
    let (_, path) = client_of(&office).await;
    let pages =
        ["/orders/clients", "/orders/clients?q=Petrova", &path, "/orders/prices", "/orders/masters", "/orders/reports"];
    let count = async |browser: &Browser| {
        let mut counts = Vec::new();
        for page in pages {
            counts.push(queries.count(async || browser.get(page).await).await);
        }
        counts
    };
    let few = count(&owner).await;
    let dina = Actor::Member(office.dina.clone());
    for at in 0..20 {
        let order = office.new_order(&format!("+799900001{at:02}")).await;
        office.done(&office.dina, &order, Command::Assign { master: office.max.id }).await;
        office.orders().add_equipment_type(&dina, &format!("Kind {at}")).await.unwrap();
    }
    assert_eq!(count(&owner).await, few, "of {pages:?}");
    assert!(few.iter().all(|count| *count <= 25), "{few:?}");
    office.cabinet.close().await;
}
