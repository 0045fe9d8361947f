//! Export and deletion of what orders know of clients and masters. Amounts and times stay.

use workforce::domain::NotWritten;
use workforce::orders::{self, Actor, Command, OrderRefusal, OrderStatus};
use workforce::people;

use super::{Desk, who};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::kit::stored_data;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_client_is_exported_and_forgotten,
    a_forgotten_master_leaves_numbers_only,
}

async fn a_client_is_exported_and_forgotten(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let Actor::Client(id) = desk.client else { panic!("the client is a client") };
    let order = desk.order_in(OrderStatus::Closed).await;
    let order = desk.done(&desk.client, &order, Command::Message { text: "Zaphodwords".into() }).await;
    desk.done(&desk.client, &order, Command::Rate { stars: 4, comment: Some("Zaphodpraise".into()) }).await;
    let domain = &desk.firm.app.domain;
    let known = orders::export_client(domain, id).await.unwrap();
    assert_eq!((&known["name"], &known["phone"]), (&"Carl Client".into(), &"+79990000001".into()));
    assert_eq!(known["orders"][0]["address"], "ул. Ленина, д. 5, кв. 12");
    assert_eq!((&known["messages"][0]["text"], &known["ratings"][0]["stars"]), (&"Zaphodwords".into(), &4.into()));

    let open = desk.clients_order().await;
    let forget =
        move || domain.write(move |db| Box::pin(async move { orders::forget_client(db, id, NOON).await.map(drop) }));
    let refused = forget().await;
    assert!(matches!(&refused, Err(NotWritten::Refused(why)) if why == OrderRefusal::WrongStatus.key()), "{refused:?}");
    desk.done(&desk.client, &open, Command::Refuse { reason: "Zaphodreason".into() }).await;
    forget().await.unwrap();
    assert_eq!(desk.numbers("SELECT share_kopecks FROM orders WHERE status = 'closed'").await, [400_000]);
    let all = stored_data::dump(&desk.firm.storage).await;
    for gone in ["Carl Client", "Zaphod", "79990000001", "9990000001", "Petrova", "Ленина"] {
        assert!(!all.contains(gone), "{gone} is kept");
    }
    let refused = desk.orders().create(&desk.client, super::new_order("+79990000001")).await;
    super::assert_refused(refused, OrderRefusal::NotAllowed);
}

async fn a_forgotten_master_leaves_numbers_only(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.order_in(OrderStatus::Closed).await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    let order = desk.done(&desk.max, &order, Command::Message { text: "Maxwords".into() }).await;
    let app = &desk.firm.app;
    let known = people::export(&app.domain, &app.rooms, who(&desk.max), None, NOON).await.unwrap();
    assert_eq!(known["orders"]["worked"][0]["share_kopecks"], 400_000);
    people::forget(&app.domain, &app.rooms, &app.files, who(&desk.max), None, NOON).await.unwrap();
    let now = desk.orders().seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order;
    assert_eq!((now.status, now.master_id), (OrderStatus::New, None));
    let details = desk.orders().details(&desk.dispatcher, order.id).await.unwrap().unwrap();
    assert!(details.messages.iter().all(|one| !one.text.contains("Maxwords")));
    assert_eq!(desk.numbers("SELECT amount_kopecks FROM adjustments").await, [400_000]);
}
