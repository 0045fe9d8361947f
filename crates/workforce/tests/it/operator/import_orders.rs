//! An order that was half entered in an aiogram bot is imported and finished here.

use opora::key::ConversationKey;
use opora_testkit::aiogram_storage::aiogram;
use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};
use workforce::person::Role;

use super::run;
use crate::kit::firm::{Firm, StorageKind, on_every_database};
use crate::shifts::prepared_tables::first_column;

on_every_database! {
    a_half_entered_order_of_aiogram_is_finished,
}

/// The states of a bot for dispatchers, by the names that both have.
fn map() -> Value {
    let names = [
        "equipment_type",
        "description",
        "client_name",
        "client_address",
        "client_phone",
        "notes",
        "scheduled_time",
        "confirm",
    ];
    let state = |name: &&str| {
        let target = json!({"dialogue": "CreateOrderStates", "state": name});
        (format!("CreateOrderStates:{name}"), target)
    };
    let states: serde_json::Map<_, _> = names.iter().map(state).collect();
    json!({
        "dialogues": {"CreateOrderStates": {"version": 1, "tag": "at", "rename_all": "snake_case"}},
        "states": states,
    })
}

async fn a_half_entered_order_of_aiogram_is_finished(kind: StorageKind) {
    let (firm, redis) = (Firm::open(kind).await, RedisServer::start(&[]));
    let dora = firm.member("Dora", &[Role::Dispatcher]).await;
    let (bot, user) = (dora.key().bot, dora.key().user);
    let data = json!({
        "equipment_type": "Стиральная машина",
        "description": "Течёт и шумит при отжиме",
        "client_name": "Анна Петрова",
        "client_address": "ул. Ленина, д. 5",
        "client_phone": "+79991234567",
        "notes": null,
        "dispatcher_id": user,
    });
    let put = |chat: i64, user: i64, state: &str, data: &Value| {
        let (bot, chat, user) = (bot.to_string(), chat.to_string(), user.to_string());
        aiogram(&["put", &redis.url(), &bot, &chat, &user], &json!({"state": state, "data": data}).to_string());
    };
    put(user, user, "CreateOrderStates:scheduled_time", &data);
    put(123, 456, "CreateOrderStates:equipment_type", &json!({}));

    let file = firm.storage.folder.path().join("map.json");
    std::fs::write(&file, map().to_string()).unwrap();
    let (url, bot, file) = (redis.url(), bot.to_string(), file.display().to_string());
    let import = ["state", "import", "--from", "aiogram", "--redis", &url, "--bot", &bot, "--dialogue-map", &file];
    run(&[("STATE_URL", &firm.storage.state)], &import).await.success();

    let seed = ConversationKey { chat: 123, ..ConversationKey::private(bot.parse().unwrap(), 456) };
    let stage = firm.stage.restart().await;
    assert_eq!(stage.state(&seed).await.as_deref(), Some("CreateOrderStates:equipment_type"));

    let dora = dora.on(&stage);
    assert_eq!(dora.state().await.as_deref(), Some("CreateOrderStates:scheduled_time"));
    dora.sends("tomorrow 10:00-14:00").await;
    dora.sees("Анна Петрова");
    dora.sees("10:00–14:00");
    dora.presses("✅ Create the order").await;
    let created = "SELECT COUNT(*) FROM orders WHERE phone = '+79991234567' AND scheduled_from IS NOT NULL";
    assert_eq!(first_column::<i64>(&firm.app.domain, created).await, [1]);
}
