//! What operators see: the log and the metrics.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use opora::prelude::*;
use parking_lot::Mutex;
use serde_json::json;
use tracing::Level;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
use crate::stage::{BOT, Running, Stage, TOKEN, memory, until};

#[tokio::test]
async fn transitions_and_inputs_are_logged_without_texts() {
    let (stage, log) = (Stage::new().await, LogCapture::begin());
    let anna = stage.person_with(json!({"first_name": "Annabella", "username": "annabella_7"})).await;
    let store = memory();
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.says("Quetzalcoatl").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    anna.says("7").await;
    anna.receives_exactly(&[NAME, AGE, "Quetzalcoatl is 7."]).await;
    bot.stops().await;
    let moves = ["none -> form:name", "form:name -> form:age", "form:age -> none"];
    let places = moves.map(|step| log.find(&[&format!("FSM State [CHANGED] user={} {step}", anna.id)]));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{:#?}", log.lines());
    let (user, chat) = (format!("user={}", anna.id), format!("chat={}", anna.id));
    let handled = ["input handled", &user, &chat, "chat_type=\"private\"", "input=\"message\"", "took_us="];
    assert!(log.has(&handled), "{:#?}", log.lines());
    for private in ["Quetzalcoatl", "Annabella", "annabella_7", NAME, TOKEN, "AAtest"] {
        assert!(!log.has(&[private]), "{private} is in {:#?}", log.lines());
    }
    let records = store.operator().transitions(BOT, 0, 10).await.unwrap();
    let shown: Vec<_> = records.iter().map(|row| (row.by.as_str(), row.to.as_ref().map(ToString::to_string))).collect();
    assert_eq!(
        shown,
        [("command", Some("form:name".to_owned())), ("text", Some("form:age".to_owned())), ("text", None)]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "bell")]
enum Bell {
    Set,
}

async fn set(turn: &mut Turn, _: Command) -> Step<Bell> {
    turn.timer("bell", Duration::from_millis(1), &());
    Ok(Next::Go(Bell::Set))
}

async fn rang(turn: &mut Turn, _: Timer) -> Step<Bell> {
    turn.say("It rang.");
    Ok(Next::End)
}

/// The log from a level on while a person sets a timer and the timer fires.
async fn logged_at(level: Level) -> LogCapture {
    let (stage, log) = (Stage::new().await, LogCapture::begin_at(level));
    let anna = stage.person("Anna").await;
    let bell = Dialogue::new().start(command("set"), set).on(Bell::SET, timer("bell"), rang);
    let bot = Running::start(stage.bot(&memory()).dialogue(bell));
    anna.says("/set").await;
    anna.receives_exactly(&["It rang."]).await;
    bot.stops().await;
    log
}

#[tokio::test]
async fn inputs_without_a_person_are_logged_at_debug() {
    let info = logged_at(Level::INFO).await;
    assert!(info.has(&["input handled", "input=\"message\""]), "{:#?}", info.lines());
    assert!(!info.has(&["input=\"timer\""]), "{:#?}", info.lines());
    assert!(info.has(&["FSM State [CHANGED]", "bell:set -> none"]), "{:#?}", info.lines());
    drop(info);
    let debug = logged_at(Level::DEBUG).await;
    assert!(debug.has(&["input handled", "input=\"timer\""]), "{:#?}", debug.lines());
}

#[derive(Clone, Default)]
struct MetricNames(Arc<Mutex<BTreeSet<String>>>);

impl MetricNames {
    fn note(&self, key: &Key) {
        self.0.lock().insert(key.name().to_owned());
    }
}

impl Recorder for MetricNames {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.note(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.note(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.note(key);
        Histogram::noop()
    }
}

#[test]
fn turns_latencies_queues_and_the_lease_are_measured() {
    let (names, runtime) = (MetricNames::default(), tokio::runtime::Builder::new_current_thread().enable_all().build());
    metrics::with_local_recorder(&names, || {
        runtime.unwrap().block_on(async {
            let stage = Stage::new().await;
            let anna = stage.person("Anna").await;
            let bot = stage.bot(&memory()).dialogue(form());
            let short = Duration::from_secs(1);
            let bot = Running::start(bot.settings(|settings| settings.lease.ttl = short));
            anna.says("/start").await;
            anna.receives_exactly(&[NAME]).await;
            until("a renewal", async || names.0.lock().contains("opora_lease_remaining_seconds")).await;
            bot.stops().await;
        });
    });
    let names = names.0.lock();
    for name in [
        "opora_updates_total",
        "opora_turns_total",
        "opora_turn_seconds",
        "opora_transitions_total",
        "opora_active_dialogues",
        "opora_inbox_rows",
        "opora_outbox_rows",
        "opora_outbox_oldest_seconds",
        "opora_failed_sends",
        "opora_timers",
        "opora_effects",
        "opora_parked_turns",
        "opora_lease_remaining_seconds",
        "opora_sends_total",
        "opora_send_retries_total",
        "opora_outbox_waiting",
    ] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
}
