//! Parts of an order: files, checklist, messages, rating, and what the settings require of them.

use workforce::orders::{
    ChecklistItem, Command, FieldChange, FileKind, FileStage, MAX_FILES, NewFile, OrderRefusal, OrderStatus,
};
use workforce::settings;

use super::{Desk, assert_refused, closes, window};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

on_every_database! {
    what_a_stage_requires_is_enforced,
    the_checklist_is_taken_at_arrival,
    files_are_limited_and_counted_once,
    messages_reach_the_other_side,
    a_client_rates_once_and_a_low_rating_is_told,
    fields_are_edited_one_by_one,
    an_order_is_rescheduled_with_a_reason,
    the_way_to_the_client_is_a_fact,
}

fn photo(stage: FileStage, unique_id: &str) -> Command {
    let file = NewFile {
        stage,
        kind: FileKind::Photo,
        telegram_file: format!("file-{unique_id}"),
        unique_id: unique_id.into(),
        is_too_large: false,
        asked_at: Some(NOON),
    };
    Command::AttachFile { file }
}

async fn what_a_stage_requires_is_enforced(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    desk.set(settings::ORDER_NEEDS_PHOTO_BEFORE.name, "true").await;
    desk.set(settings::ORDER_NEEDS_PHOTO_AFTER.name, "true").await;
    let order = desk.order_in(OrderStatus::OnSite).await;
    assert_refused(desk.does(&desk.max, &order, closes(100, 0)).await, OrderRefusal::NeedsPhotoBefore);
    let order = desk.done(&desk.max, &order, photo(FileStage::Before, "a")).await;
    assert_refused(desk.does(&desk.max, &order, closes(100, 0)).await, OrderRefusal::NeedsPhotoAfter);
    let order = desk.done(&desk.max, &order, photo(FileStage::After, "b")).await;
    assert_eq!(desk.done(&desk.max, &order, closes(100, 0)).await.status, OrderStatus::Closed);
}

async fn the_checklist_is_taken_at_arrival(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let washer = desk.orders().add_equipment_type(&desk.owner, "washing MACHINE").await.unwrap();
    let item = |text: &str, is_required| ChecklistItem { text: text.into(), is_required };
    let items = vec![item("Check the hoses", true), item("Wipe the floor", false)];
    desk.orders().set_checklist(&desk.dispatcher, washer, items).await.unwrap();
    let order = desk.order_in(OrderStatus::OnSite).await;
    // A later change does not concern this order.
    desk.orders().set_checklist(&desk.dispatcher, washer, vec![item("Something else", true)]).await.unwrap();
    let checklist = desk.orders().details(&desk.max, order.id).await.unwrap().unwrap().checklist;
    assert_eq!(
        checklist.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(),
        ["Check the hoses", "Wipe the floor"]
    );
    assert_refused(desk.does(&desk.max, &order, closes(100, 0)).await, OrderRefusal::NeedsChecklist);
    let mark = |item, is_done| Command::MarkItem { item, is_done };
    assert_refused(desk.does(&desk.max, &order, mark(999, true)).await, OrderRefusal::NoItem);
    assert_refused(desk.does(&desk.dispatcher, &order, mark(checklist[0].id, true)).await, OrderRefusal::NotAllowed);
    let order = desk.done(&desk.max, &order, mark(checklist[0].id, true)).await;
    let again = desk.done(&desk.max, &order, mark(checklist[0].id, true)).await;
    assert_eq!(again.version, order.version, "a second mark changes nothing");
    assert_eq!(desk.done(&desk.max, &again, closes(100, 0)).await.status, OrderStatus::Closed);
}

async fn files_are_limited_and_counted_once(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let mut order = desk.order_in(OrderStatus::OnSite).await;
    for number in 0..MAX_FILES {
        order = desk.done(&desk.max, &order, photo(FileStage::Before, &number.to_string())).await;
    }
    let again = desk.done(&desk.max, &order, photo(FileStage::Before, "0")).await;
    assert_eq!(again.version, order.version, "the same photo counts once");
    assert_refused(desk.does(&desk.max, &order, photo(FileStage::Before, "x")).await, OrderRefusal::TooManyFiles);
    let by_client = desk.does(&desk.client, &order, photo(FileStage::After, "y")).await;
    assert_refused(by_client, OrderRefusal::NotAllowed);
}

async fn messages_reach_the_other_side(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::New).await;
    let says = |text: &str| Command::Message { text: text.into() };
    let order = desk.done(&desk.client, &order, says("Please ring twice")).await;
    desk.is_told(&desk.dispatcher, "Please ring twice").await;
    let assign = desk.leads(OrderStatus::New, OrderStatus::Assigned);
    let order = desk.done(&desk.dispatcher, &order, assign).await;
    let order = desk.done(&desk.client, &order, says("The lift is broken")).await;
    desk.is_told(&desk.max, "The lift is broken").await;
    let order = desk.done(&desk.max, &order, says("On the stairs")).await;
    let told = "SELECT COUNT(*) FROM client_notices WHERE body LIKE '%On the stairs%'";
    assert_eq!(desk.numbers(told).await, [1]);
    let empty = desk.does(&desk.client, &order, says("  ")).await;
    assert_refused(empty, OrderRefusal::Field(workforce::orders::FieldMistake::MessageBad));
    let messages = desk.orders().details(&desk.client, order.id).await.unwrap().unwrap().messages;
    assert_eq!(messages.iter().map(|one| one.is_from_client).collect::<Vec<_>>(), [true, true, false]);
}

async fn a_client_rates_once_and_a_low_rating_is_told(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Closed).await;
    let rate = |stars| Command::Rate { stars, comment: Some("Late".into()) };
    assert_refused(desk.does(&desk.client, &order, rate(6)).await, OrderRefusal::Stars);
    assert_refused(desk.does(&desk.dispatcher, &order, rate(5)).await, OrderRefusal::NotAllowed);
    let rated = desk.done(&desk.client, &order, rate(2)).await;
    desk.is_told(&desk.dispatcher, "a low rating: 2 of 5").await;
    assert_refused(desk.does(&desk.client, &rated, rate(5)).await, OrderRefusal::Exists);
    let results = desk.orders().results(None).await.unwrap();
    assert_eq!((results[&super::id(&desk.max)].stars, results[&super::id(&desk.max)].ratings), (2, 1));
}

async fn fields_are_edited_one_by_one(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let mut order = desk.new_order().await;
    for change in [
        FieldChange::EquipmentType("Fridge".into()),
        FieldChange::Description("It does not cool any more".into()),
        FieldChange::ClientName("Boris Ivanov".into()),
        FieldChange::Phone("8 999 765 43 21".into()),
        FieldChange::Address("Main Street 77".into(), None),
        FieldChange::Notes("Ring twice".into()),
        FieldChange::Window(Some(window(30))),
    ] {
        order = desk.done(&desk.dispatcher, &order, Command::Edit { change }).await;
    }
    assert_eq!((order.about.phone.as_str(), order.about.position), ("+79997654321", None));
    assert_eq!(desk.orders().search(super::who(&desk.owner), "ivanov 77").await.unwrap().len(), 1);
    assert!(desk.orders().search(super::who(&desk.owner), "petrova").await.unwrap().is_empty());
    let short = Command::Edit { change: FieldChange::Address("Main 1".into(), None) };
    let why = OrderRefusal::Field(workforce::orders::FieldMistake::AddressShort);
    assert_refused(desk.does(&desk.dispatcher, &order, short).await, why);
    let by_client = Command::Edit { change: FieldChange::Notes("x".into()) };
    let own = desk.clients_order().await;
    assert_refused(desk.does(&desk.client, &own, by_client).await, OrderRefusal::NotAllowed);
}

async fn an_order_is_rescheduled_with_a_reason(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Accepted).await;
    let moves = |hours, reason: &str| Command::Reschedule { window: Some(window(hours)), reason: reason.into() };
    let past = OrderRefusal::Field(workforce::orders::FieldMistake::TimePast);
    assert_refused(desk.does(&desk.max, &order, moves(-3, "Traffic")).await, past);
    let without_reason = OrderRefusal::Field(workforce::orders::FieldMistake::ReasonBad);
    assert_refused(desk.does(&desk.max, &order, moves(26, " ")).await, without_reason);
    let moved = desk.done(&desk.dispatcher, &order, moves(26, "The client is away")).await;
    assert_eq!((moved.status, moved.about.window), (OrderStatus::Accepted, Some(window(26))));
    desk.is_told(&desk.max, "New time: Jan 2, 17:00–20:00. The client is away").await;
}

async fn the_way_to_the_client_is_a_fact(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let order = desk.order_in(OrderStatus::Accepted).await;
    let arrives_at = opora::clock::Millis(NOON.0 + 30 * 60_000);
    let order = desk.done(&desk.max, &order, Command::OnTheWay { arrives_at }).await;
    assert_eq!((order.status, order.progress.arrives_at), (OrderStatus::Accepted, Some(arrives_at)));
    let past = Command::OnTheWay { arrives_at: opora::clock::Millis(NOON.0 - 1) };
    assert_refused(desk.does(&desk.max, &order, past).await, OrderRefusal::Past);
    let told = "SELECT COUNT(*) FROM client_notices WHERE body LIKE '%on_the_way%'";
    assert_eq!(desk.numbers(told).await, [1]);
    assert_refused(desk.does(&desk.client, &order, Command::OnTheWay { arrives_at }).await, OrderRefusal::NotAllowed);
}
