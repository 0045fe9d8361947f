//! Clients: found by phone, joined only by a proved one, and never shown to each other.

use workforce::orders::{self, AboutEquipment, Actor, NewOrder, OrderRefusal, OrderSource};
use workforce::settings;

use super::{Desk, assert_refused, client, day, new_order, who};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

on_every_database! {
    a_known_phone_shows_the_card_and_past_orders,
    a_typed_phone_opens_nobodys_orders,
    a_proved_phone_joins_the_client_of_the_office,
    clients_order_only_if_the_setting_is_on,
    fields_are_checked_again_in_the_commit,
    the_same_phone_or_address_is_a_duplicate,
    equipment_belongs_to_its_client,
}

async fn a_known_phone_shows_the_card_and_past_orders(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let first = desk.new_order().await;
    let second = desk.new_order().await;
    assert_eq!(first.client_id, second.client_id);
    let card = desk.orders().client_card(who(&desk.dispatcher), "8 999 123 45 67").await.unwrap().unwrap();
    assert_eq!(card.client.name, "Anna Petrova");
    assert_eq!(card.orders.iter().map(|seen| seen.order.number).collect::<Vec<_>>(), [2, 1]);
    assert!(desk.orders().client_card(who(&desk.dispatcher), "+79997654321").await.unwrap().is_none());
}

async fn a_typed_phone_opens_nobodys_orders(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let liar = client(&desk.firm, 905, "Liar Liar", "+79991234567", false).await;
    assert_ne!(liar, order.client_id);
    assert!(desk.orders().orders_of_client(liar).await.unwrap().is_empty());
    assert!(desk.orders().seen_order(&Actor::Client(liar), order.id).await.unwrap().is_none());
    let own = desk.orders().create(&Actor::Client(liar), new_order("+79991234567")).await.unwrap();
    assert_eq!((own.client_id, own.source), (liar, OrderSource::Client));
    // The office still finds its own client.
    assert_eq!(desk.new_order().await.client_id, order.client_id);
}

async fn a_proved_phone_joins_the_client_of_the_office(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let typed = client(&desk.firm, 905, "Anna Petrova", "+79991234567", false).await;
    let own = desk.orders().create(&Actor::Client(typed), new_order("+79991234567")).await.unwrap();
    let proved = client(&desk.firm, 905, "Anna Petrova", "+79991234567", true).await;
    assert_eq!(proved, order.client_id);
    let orders = desk.orders().orders_of_client(proved).await.unwrap();
    assert_eq!(orders.iter().map(|seen| seen.order.id).collect::<Vec<_>>(), [own.id, order.id]);
}

async fn clients_order_only_if_the_setting_is_on(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.clients_order().await;
    assert_eq!(order.progress.confirmed_at, None);
    desk.is_told(&desk.dispatcher, "A client placed order no. 1").await;
    let confirmed = desk.done(&desk.dispatcher, &order, orders::Command::Confirm).await;
    assert!(confirmed.progress.confirmed_at.is_some());
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM client_notices").await, [1]);
    desk.set(settings::ORDERS_FROM_CLIENTS.name, "false").await;
    let refused = desk.orders().create(&desk.client, new_order("+79990000001")).await;
    assert_refused(refused, OrderRefusal::ClientsOff);
    let by_master = desk.orders().create(&desk.max, new_order("+79990000001")).await;
    assert_refused(by_master, OrderRefusal::NotAllowed);
}

async fn fields_are_checked_again_in_the_commit(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let good = new_order("+79991234567");
    let with = |change: &dyn Fn(&mut NewOrder)| {
        let mut new = good.clone();
        change(&mut new);
        new
    };
    let bad = [
        with(&|new| new.about.equipment_type = " ".into()),
        with(&|new| new.about.description = "leaks".into()),
        with(&|new| new.about.client_name = "Anna".into()),
        with(&|new| new.about.address = "Somewhere in the town".into()),
        with(&|new| new.about.phone = "+49 30 901820".into()),
        with(&|new| new.about.notes = Some("x".repeat(1001))),
        with(&|new| new.about.window = Some(super::window(-5))),
    ];
    for new in bad {
        let [mistake] = orders::mistakes(&new.about, NOON)[..] else { panic!("{new:?}") };
        assert_refused(desk.orders().create(&desk.dispatcher, new).await, OrderRefusal::Field(mistake));
    }
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM orders").await, [0]);
    assert_eq!(desk.new_order().await.number, 1, "a refused order takes no number");
}

async fn the_same_phone_or_address_is_a_duplicate(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let (orders, dina) = (desk.orders(), who(&desk.dispatcher));
    for (phone, address) in [("89991234567", "Another street 7"), ("+79990000009", "улица Ленина 5, квартира 12")]
    {
        let found = orders.duplicates(dina, phone, address).await.unwrap();
        assert_eq!(found.iter().map(|seen| seen.order.id).collect::<Vec<_>>(), [order.id], "{phone} {address}");
    }
    assert!(orders.duplicates(dina, "+79990000009", "ул. Ленина, д. 6").await.unwrap().is_empty());
    assert!(orders.duplicates(who(&desk.max), "89991234567", "").await.unwrap().is_empty());
}

async fn equipment_belongs_to_its_client(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.new_order().await;
    let about = AboutEquipment {
        equipment_type: "Washing machine".into(),
        serial: Some("SN 123".into()),
        warranty_until: Some(day(31)),
        ..AboutEquipment::default()
    };
    let machine = desk.orders().add_equipment(&desk.dispatcher, order.client_id, about.clone()).await.unwrap();
    let own = NewOrder { equipment_id: Some(machine), ..new_order("+79991234567") };
    assert_eq!(desk.orders().create(&desk.dispatcher, own.clone()).await.unwrap().equipment_id, Some(machine));
    let others = NewOrder { about: super::about("+79990000009"), ..own };
    assert_refused(desk.orders().create(&desk.dispatcher, others).await, OrderRefusal::NoItem);
    let card = desk.orders().client(who(&desk.owner), order.client_id).await.unwrap().unwrap();
    assert_eq!(card.equipment[0].about, about);
    assert_refused(desk.orders().add_equipment(&desk.max, order.client_id, about).await, OrderRefusal::NotAllowed);
}
