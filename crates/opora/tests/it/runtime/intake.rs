//! Long polling: what is requested, what is acknowledged, and what happens when Telegram fails.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::BotError;
use opora::prelude::*;
use opora::store::Store;
use opora::testing::faulty::{Fault, FaultyStore};
use serde_json::json;

use super::form::{self, AGE, Form, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{Running, Stage, memory, until};

#[tokio::test]
async fn an_update_is_acknowledged_after_it_is_stored() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    faulty.fail_until_cleared("receive", Fault::Before);
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(stage.inbox_first(&store).dialogue(form()));
    anna.says("/start").await;
    until("the third try to store it", async || faulty.calls("receive") >= 3).await;
    assert_eq!(stage.unacknowledged(), 1);
    faulty.clear_faults("receive");
    anna.receives_exactly(&[NAME]).await;
    until("the acknowledgement", async || stage.unacknowledged() == 0).await;
    bot.stops().await;
}

/// The store can neither commit the turn nor store its update.
#[tokio::test]
async fn a_direct_update_is_acknowledged_after_it_is_durable() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    faulty.fail_until_cleared("commit", Fault::Before);
    faulty.fail_until_cleared("receive", Fault::Before);
    anna.says("/start").await;
    until("the third try to store it", async || faulty.calls("receive") >= 3).await;
    assert_eq!(stage.unacknowledged(), 1);
    // The inbox is enough.
    faulty.clear_faults("receive");
    until("the acknowledgement", async || stage.unacknowledged() == 0).await;
    assert_eq!(anna.received().await.len(), 0);
    faulty.clear_faults("commit");
    anna.receives_exactly(&[NAME]).await;
    until("an empty inbox", async || store.statistics(None).await.unwrap().inbox == 0).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_direct_update_needs_no_inbox() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    // A lost answer does not process it twice.
    faulty.fail_next("commit", 1, Fault::After);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    until("the acknowledgement", async || stage.unacknowledged() == 0).await;
    assert_eq!(store.statistics(None).await.unwrap().inbox, 0);
    bot.stops().await;
}

/// If the second were stored alone, a crash would put it before the first.
#[tokio::test]
async fn an_update_behind_a_direct_one_is_stored_after_it() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    faulty.fail_until_cleared("commit", Fault::Before);
    anna.says("/start").await;
    anna.says("Anna").await;
    until("both in the inbox", async || store.statistics(None).await.unwrap().inbox == 2).await;
    let rows = store.waiting(crate::stage::BOT, opora::store::Seq(i64::MIN), 10).await.unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.incoming.origin.clone()).collect();
    assert!(
        matches!(&ids[..], [opora::store::Origin::Update(first), opora::store::Origin::Update(second)]
        if first.update_id < second.update_id),
        "{ids:?}"
    );
    faulty.clear_faults("commit");
    anna.receives_exactly(&[NAME, AGE]).await;
    bot.stops().await;
}

#[tokio::test]
async fn polling_deletes_an_old_webhook() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let anna = stage.person("Anna").await;
    assert_eq!(stage.call("setWebhook", json!({"url": "http://127.0.0.1:9/hook"})).await, true);
    // If it is unknown whether there is a webhook, it is deleted too.
    stage.fault(json!({"method": "getWebhookInfo", "status": 502})).await;
    let bot = Running::start(stage.bot(&memory()).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert_eq!(stage.call("getWebhookInfo", json!({})).await["url"], "");
    assert!(log.has(&["the webhook is deleted"]), "{:#?}", log.lines());
    bot.stops().await;
}

async fn edited(turn: &mut Turn, _: Form, _: opora::input::Other) -> Step<Form> {
    turn.say("You have changed your mind.");
    Ok(Next::Stay)
}

#[tokio::test]
async fn polling_requests_only_handled_kinds_of_updates() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let asked_for = async || stage.calls("getUpdates").await.last().map(|call| call["parameters"].to_string());
    let store = memory();
    // The emulator logs a poll only after its answer.
    let hasty = |bot: Bot| bot.settings(|settings| settings.polling.timeout = Duration::from_secs(1));
    let bot = Running::start(hasty(stage.bot(&store).dialogue(form())));
    until("the first poll", async || stage.polls() > 0).await;
    let sent = anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    anna.sends(json!({"edit": sent["message_id"], "text": "/start now"})).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    let parameters = asked_for().await.unwrap();
    assert!(parameters.contains("callback_query") && !parameters.contains("edited_message"), "{parameters}");
    bot.stops().await;

    let listens = form().on_any_state(other("edited_message"), edited);
    let bot = Running::start(hasty(stage.bot(&store).dialogue(listens)));
    until("a poll for edits", async || asked_for().await.unwrap_or_default().contains("edited_message")).await;
    anna.sends(json!({"edit": sent["message_id"], "text": "/start later"})).await;
    anna.receives("You have changed your mind.").await;
    bot.stops().await;
}

#[tokio::test]
async fn another_poller_is_logged_and_waited_for() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let anna = stage.person("Anna").await;
    stage.fault(json!({"method": "getUpdates", "status": 409, "times": 2})).await;
    let bot = Running::start(stage.bot(&memory()).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let me = format!("process {}", std::process::id());
    assert!(log.has(&["another program takes this bot's updates", "same token", &me]), "{:#?}", log.lines());
    bot.stops().await;
}

#[tokio::test]
async fn a_refused_token_ends_the_bot_with_an_error() {
    for (method, status) in [("getMe", 401), ("getMe", 404), ("getUpdates", 401)] {
        let stage = Stage::new().await;
        stage.fault(json!({"method": method, "status": status})).await;
        let error = Running::start(stage.bot(&memory()).dialogue(form())).ends().await.unwrap_err();
        assert!(matches!(error, BotError::Unauthorized(_)), "{method}: {error:?}");
        assert!(error.to_string().starts_with("Telegram refuses the token"), "{error}");
        assert!(!format!("{error:?}").contains("AAtest"), "{error:?}");
    }
}

#[tokio::test]
async fn bad_settings_are_refused_before_any_call() {
    let bad = Bot::new("no token").dialogue(form()).run_until(opora::bot::Stop::new()).await.unwrap_err();
    assert!(matches!(bad, BotError::BadToken), "{bad:?}");
    let deaf = Dialogue::<Form>::new().start(command("start"), form::start);
    let stage = Stage::new().await;
    let error = Running::start(stage.bot(&memory()).dialogue(deaf)).ends().await.unwrap_err();
    assert!(error.to_string().contains("state `name` of dialogue `form` has no handler"), "{error}");
    assert_eq!(stage.calls("getMe").await.len(), 0);
}

#[tokio::test]
async fn telegram_may_be_away_at_the_start_and_later() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let anna = stage.person("Anna").await;
    stage.fault(json!({"method": "getMe", "status": 502})).await;
    stage.fault(json!({"method": "getMe", "cut": "before"})).await;
    let bot = Running::start(stage.bot(&memory()).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert!(log.has(&["call to Telegram failed; trying again", "getMe"]), "{:#?}", log.lines());
    stage.fault(json!({"method": "getUpdates", "cut": "after"})).await;
    stage.fault(json!({"method": "getUpdates", "status": 502})).await;
    stage.fault(json!({"method": "sendMessage", "status": 500, "times": 2})).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn duplicates_and_restarting_ids_are_processed_once() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
    stage.fault(json!({"updates": "duplicate", "times": 2})).await;
    anna.says("/start").await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    stage.fault(json!({"updates": "restart_ids"})).await;
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 7."]).await;
    bot.stops().await;
}
