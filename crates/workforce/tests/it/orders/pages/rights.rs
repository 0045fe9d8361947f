//! Who may see and do what on the pages of orders.

use super::{BORIS, Command, DINA, MAX, MAY, NINA, Office, OrderStatus, Role, act};

#[tokio::test]
async fn masters_see_their_own_orders_only() {
    let office = Office::open().await;
    let (max, nina) = (office.cabinet.signed_in(MAX).await, office.cabinet.signed_in(NINA).await);
    let order = office.new_order("+79990000001").await;
    let path = format!("/orders/{}", order.id);
    max.get(&path).await.is(404, "");
    let order = office.done(&office.dina, &order, Command::Assign { master: office.max.id }).await;
    let page = max.get(&path).await;
    page.is(200, "shown once the order is accepted").is(200, "data-testid=\"accept\"");
    assert!(!page.body.contains("Ленина") && !page.body.contains("+7999"), "address and phone come later");
    for deed in ["assign", "take-back", "edit", "confirm", "reopen"] {
        assert!(!page.body.contains(&format!("data-testid=\"{deed}\"")), "{deed}");
    }
    nina.get(&path).await.is(404, "");
    assert!(!nina.get("/orders").await.is(200, "").body.contains("Anna Petrova"));
    assert!(!nina.get(&format!("/orders?master={}", office.max.id)).await.body.contains("Anna Petrova"));
    act(&nina, &order, "accept", &[]).await.is(404, "");
    act(&max, &order, "refuse", &[("reason", "No time")]).await.is(403, "");
    max.get("/orders/new").await.is(403, "");
    let declined = act(&max, &order, "decline", &[("reason", "No time")]).await;
    declined.redirects_to("/orders");
    assert_eq!(office.order(order.id).await.status, OrderStatus::New);
    office.cabinet.close().await;
}

#[tokio::test]
async fn employees_and_managers_are_refused() {
    let office = Office::open().await;
    let order = office.new_order("+79990000001").await;
    office.cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May"})).await;
    office.cabinet.hire(MAY, "May", Role::Manager).await;
    for stranger in [BORIS, MAY] {
        let browser = office.cabinet.signed_in(stranger).await;
        for path in ["/orders", "/orders/new", &format!("/orders/{}", order.id)] {
            browser.get(path).await.is(403, "");
        }
        act(&browser, &order, "refuse", &[("reason", "x")]).await.is(403, "");
        let home = browser.get("/").await;
        assert!(!home.body.contains("href=\"/orders\""), "{stranger}");
        assert!(!browser.get("/search?q=Petrova").await.body.contains("/orders/"));
    }
    assert_eq!(office.order(order.id).await.status, OrderStatus::New);
    office.cabinet.close().await;
}

#[tokio::test]
async fn an_offer_is_accepted_on_the_page() {
    let office = Office::open().await;
    let (dina, nina) = (office.cabinet.signed_in(DINA).await, office.cabinet.signed_in(NINA).await);
    let order = office.new_order("+79990000001").await;
    let (path, ticked) = (format!("/orders/{}", order.id), format!("master{}", office.nina.id));
    act(&dina, &order, "offer", &[(&ticked, "on"), ("minutes", "15")]).await.redirects_to(&path);
    let order = office.order(order.id).await;
    dina.get(&path).await.is(200, "data-testid=\"withdraw-offers\"").is(200, "data-testid=\"offers\"");
    nina.get(&path).await.is(200, "data-testid=\"accept\"");
    office.cabinet.signed_in(MAX).await.get(&path).await.is(404, "");
    act(&nina, &order, "accept", &[]).await.redirects_to(&path);
    assert_eq!(office.order(order.id).await.master_id, Some(office.nina.id));
    office.cabinet.close().await;
}
