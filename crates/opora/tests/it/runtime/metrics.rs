//! Metrics and whether their values are right.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use opora::clock::Clock;
use opora::prelude::*;
use opora::store::Store;
use opora::testing::clock_at_noon;
use opora::testing::faulty::{Fault, FaultyStore};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::stage::{Running, Stage, memory, until};

/// Every metric by name and labels: a counter's sum, a gauge's last value, the number of a histogram's samples.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<BTreeMap<String, f64>>>);

struct Metric {
    all: Metrics,
    name: String,
}

impl Metrics {
    fn number(&self, key: &Key) -> Arc<Metric> {
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name =
            if labels.is_empty() { key.name().to_owned() } else { format!("{}{{{}}}", key.name(), labels.join(",")) };
        Arc::new(Metric { all: self.clone(), name })
    }

    pub fn of(&self, name: &str) -> Option<f64> {
        self.0.lock().get(name).copied()
    }

    pub async fn shows(&self, name: &str, is_right: impl Fn(f64) -> bool) {
        let waiting = until(name, async || self.of(name).is_some_and(&is_right));
        if tokio::time::timeout(Duration::from_secs(20), waiting).await.is_err() {
            panic!("{name} is {:?} among {:#?}", self.of(name), self.0.lock());
        }
    }

    pub async fn show(&self, name: &str, value: f64) {
        self.shows(name, |now| (now - value).abs() < 1e-9).await;
    }
}

impl Metric {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut all = self.all.0.lock();
        let number = all.entry(self.name.clone()).or_default();
        *number = change(*number);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a test counts no further")]
impl CounterFn for Metric {
    fn increment(&self, by: u64) {
        self.change(|before| before + by as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Metric {
    fn increment(&self, by: f64) {
        self.change(|before| before + by);
    }

    fn decrement(&self, by: f64) {
        self.change(|before| before - by);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Metric {
    fn record(&self, seconds: f64) {
        assert!(seconds >= 0.0, "{} took {seconds}", self.name);
        self.change(|before| before + 1.0);
    }
}

impl Recorder for Metrics {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.number(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.number(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.number(key))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "day")]
enum Day {
    Open,
}

async fn begin(turn: &mut Turn, _: Command) -> Step<Day> {
    turn.say("Begun.");
    Ok(Next::Go(Day::Open))
}

async fn text_comes(turn: &mut Turn, text: String) -> Step<Day> {
    match &*text {
        "fail" => return Err("a bad day".into()),
        "hang" => turn.context::<Arc<Semaphore>>().acquire().await?.forget(),
        "work" => turn.effect("work", &true),
        "idle" => turn.effect("work", &false),
        _ => {}
    }
    turn.say(format!("Heard {text}."));
    Ok(Next::Stay)
}

fn day() -> Dialogue<Day> {
    Dialogue::new().start(command("start"), begin).on(Day::OPEN, text(), text_comes).on_error(OnError::Stay)
}

struct Case<'s> {
    stage: &'s Stage,
    metrics: Metrics,
    clock: Clock,
    store: Arc<FaultyStore>,
    permits: Arc<Semaphore>,
}

impl Case<'_> {
    /// Runs a test in its own runtime, whose metrics go nowhere else.
    fn run(test: impl AsyncFnOnce(Case<'_>)) {
        let metrics = Metrics::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&metrics, || {
            runtime.block_on(async {
                let stage = Stage::new().await;
                let case = Case {
                    stage: &stage,
                    metrics: metrics.clone(),
                    clock: clock_at_noon(),
                    store: Arc::new(FaultyStore::new(memory())),
                    permits: Arc::new(Semaphore::new(0)),
                };
                test(case).await;
            });
        });
    }

    fn start(&self) -> Running {
        let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
        let bot = self.stage.inbox_first(&store).dialogue(day()).clock(self.clock.clone());
        let bot = bot.context(Arc::clone(&self.permits)).effect("work", |asked| async move {
            if asked.read::<bool>()? { Ok(Value::Null) } else { Err(opora::effects::EffectError::Final("no".into())) }
        });
        // After a jump of the clock nothing is sent before the next renewal, which comes in real time.
        Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_millis(500)))
    }

    /// Advances the clock past the interval at which rows are counted.
    fn passes(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

#[test]
fn failures_and_parked_turns_are_counted() {
    Case::run(async |case| {
        let (anna, metrics) = (case.stage.person("Anna").await, &case.metrics);
        let bot = case.start();
        anna.says("/start").await;
        anna.receives_exactly(&["Begun."]).await;
        metrics.show("opora_turns_total{outcome=committed}", 1.0).await;
        assert_eq!(metrics.of("opora_turn_failures_total"), None);
        anna.says("fail").await;
        metrics.show("opora_turns_total{outcome=parked}", 1.0).await;
        metrics.show("opora_turn_failures_total", 3.0).await;
        // The turn with the failure notice counts too.
        metrics.show("opora_turns_total{outcome=committed}", 2.0).await;
        case.passes(15);
        metrics.show("opora_parked_turns", 1.0).await;
        metrics.show("opora_active_dialogues", 1.0).await;
        metrics.show("opora_dialogues{dialogue=day,state=open}", 1.0).await;
        metrics.show("opora_turn_seconds{dialogue=day}", 2.0).await;
        metrics.show("opora_commit_seconds", 2.0).await;
        metrics.show("opora_input_seconds", 1.0).await;
        metrics.show("opora_transitions_total", 1.0).await;
        metrics.shows("opora_lease_remaining_seconds", |left| left > 0.0).await;
        bot.stops().await;
        for gauge in ["opora_parked_turns", "opora_active_dialogues", "opora_dialogues{dialogue=day,state=open}"] {
            metrics.show(gauge, 0.0).await;
        }
        assert_eq!(metrics.of("opora_lease_remaining_seconds"), Some(0.0), "it does not lead any more");
    });
}

#[test]
fn waiting_messages_their_age_and_attempts_are_measured() {
    Case::run(async |case| {
        let (anna, metrics) = (case.stage.person("Anna").await, &case.metrics);
        let bot = case.start();
        anna.says("/start").await;
        anna.receives_exactly(&["Begun."]).await;
        metrics.show("opora_sends_total{outcome=sent}", 1.0).await;
        assert_eq!(metrics.of("opora_send_retries_total"), None, "nothing was tried again");
        case.stage.fault(json!({"method": "sendMessage", "status": 500, "times": 1000})).await;
        anna.says("hello").await;
        metrics.shows("opora_send_retries_total", |tries| tries >= 2.0).await;
        metrics.show("opora_outbox_waiting", 1.0).await;
        case.passes(100);
        metrics.show("opora_outbox_rows", 1.0).await;
        metrics.shows("opora_outbox_oldest_seconds", |age| (100.0..200.0).contains(&age)).await;
        assert_eq!(metrics.of("opora_sends_total{outcome=sent}"), Some(1.0));
        assert_eq!(metrics.of("opora_failed_sends"), Some(0.0));
        bot.stops().await;
    });
}

#[test]
fn waiting_inputs_and_effects_are_counted() {
    Case::run(async |case| {
        let (anna, metrics) = (case.stage.person("Anna").await, &case.metrics);
        let bot = case.start();
        anna.says("/start").await;
        anna.receives_exactly(&["Begun."]).await;
        case.passes(15);
        metrics.show("opora_mailbox_waiting", 0.0).await;
        for text in ["hang", "work", "idle"] {
            anna.says(text).await;
        }
        until("they have come", async || case.stage.unacknowledged() == 0).await;
        case.passes(15);
        metrics.show("opora_mailbox_waiting", 3.0).await;
        metrics.show("opora_inbox_rows", 3.0).await;
        case.permits.add_permits(1);
        metrics.show("opora_effects_total{outcome=done}", 1.0).await;
        metrics.show("opora_effects_total{outcome=failed}", 1.0).await;
        case.passes(15);
        for name in ["opora_mailbox_waiting", "opora_inbox_rows", "opora_effects", "opora_outbox_rows"] {
            metrics.show(name, 0.0).await;
        }
        bot.stops().await;
    });
}

#[test]
fn duplicates_and_failures_of_the_intake_are_counted() {
    Case::run(async |case| {
        let (anna, metrics) = (case.stage.person("Anna").await, &case.metrics);
        case.stage.fault(json!({"method": "getUpdates", "status": 500, "times": 2})).await;
        case.store.fail_next("receive", 2, Fault::Before);
        let bot = case.start();
        case.stage.fault(json!({"updates": "duplicate", "times": 1})).await;
        anna.says("/start").await;
        anna.receives_exactly(&["Begun."]).await;
        metrics.show("opora_polling_failures_total", 2.0).await;
        metrics.show("opora_intake_failures_total", 2.0).await;
        metrics.show("opora_updates_known_total", 1.0).await;
        metrics.shows("opora_updates_total", |updates| updates >= 2.0).await;
        bot.stops().await;
    });
}
