//! Nothing that was accepted ends without an effect or a trace: the rows of `docs/internals/traces.md` that no handler
//! ends. Messages that Telegram refuses are in `refused`, turns that fail in `errors`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::Clock;
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{LeaseAnswer, ParkedId, ParkedTurn, Store};
use opora::testing::{NOON, clock_at_noon, holder};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;
use serde_json::json;

use super::log_capture::LogCapture;
use super::metrics::Metrics;
use crate::stage::{BOT, Person, Running, Stage, memory, until};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "tour")]
enum Tour {
    On,
    Over,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "guide")]
enum Guide {
    Asked,
}

/// Requests what its argument says, and stays in its state.
async fn ask(turn: &mut Turn, command: Command) -> Step<Tour> {
    match &*command.argument {
        "work" => turn.effect("work", &true),
        "quiet work" => turn.effect_without_outcome("work", &true),
        "quiet failure" => turn.effect_without_outcome("work", &false),
        "timer" => turn.timer("bell", HOUR, &()),
        "alarm" => turn.alarm("bell:7", HOUR, &()),
        _ => {}
    }
    turn.say("Asked.");
    Ok(Next::Stay)
}

async fn begin(turn: &mut Turn, _: Command) -> Step<Tour> {
    turn.timer("bell", HOUR, &());
    turn.say("Begun.");
    Ok(Next::Go(Tour::On))
}

async fn go_on(turn: &mut Turn, _: Tour, text: String) -> Step<Tour> {
    turn.say("On.");
    Ok(if text == "guide" { Next::call(Guide::Asked) } else { Next::Go(Tour::Over) })
}

async fn answer(turn: &mut Turn, text: String) -> Step<Guide> {
    turn.set_return_value(&text);
    Ok(Next::End)
}

async fn worked(turn: &mut Turn, outcome: Outcome) -> Step<Tour> {
    turn.say(format!("Worked: {}.", outcome.result::<i64>()?));
    Ok(Next::Stay)
}

async fn rang(turn: &mut Turn, _: Timer) -> Step<Tour> {
    turn.say("It rang.");
    Ok(Next::Stay)
}

async fn alarmed(turn: &mut Turn, alarm: Alarm) -> Step<Tour> {
    turn.say(format!("Alarm {}.", alarm.rest));
    Ok(Next::Stay)
}

/// Handles commands and texts only.
fn without_handlers() -> Dialogue<Tour> {
    Dialogue::new().start(command("ask"), ask).start(command("begin"), begin).on_any_state(text(), go_on)
}

/// Handles outcomes, timers and alarms, too.
fn with_handlers() -> Dialogue<Tour> {
    without_handlers().on_late_outcome(worked).start(timer("bell"), rang).start(alarm("bell:"), alarmed)
}

fn script(tour: Dialogue<Tour>) -> Script {
    Script::new().dialogue(tour).dialogue(Dialogue::new().on(Guide::ASKED, text(), answer))
}

fn bot(stage: &Stage, store: &Arc<dyn Store>, clock: &Clock, script: Script) -> Bot {
    let bot = stage.bot(store).script(script).clock(clock.clone()).effect("work", |asked| async move {
        if asked.read::<bool>()? { Ok(json!(1)) } else { Err(opora::effects::EffectError::Final("no".into())) }
    });
    // The courier checks its lease by the clock, so the lease is renewed soon after a jump.
    bot.settings(|settings| settings.lease.ttl = Duration::from_secs(1))
}

struct Case<'s> {
    stage: &'s Stage,
    store: Arc<dyn Store>,
    clock: Clock,
    metrics: Metrics,
    log: LogCapture,
}

impl Case<'_> {
    fn run(test: impl AsyncFnOnce(Case<'_>)) {
        let metrics = Metrics::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&metrics, || {
            runtime.block_on(async {
                let (stage, clock) = (Stage::new().await, clock_at_noon());
                let (store, log) = (memory(), LogCapture::begin());
                test(Case { stage: &stage, store, clock, metrics: metrics.clone(), log }).await;
            });
        });
    }

    fn start(&self, script: Script) -> Running {
        Running::start(bot(self.stage, &self.store, &self.clock, script))
    }

    fn lines(&self, words: &str) -> usize {
        self.log.lines().iter().filter(|line| line.contains(words)).count()
    }

    async fn unhandled(&self, input: &str, why: &str, count: f64) {
        self.metrics.show(&format!("opora_unhandled_total{{input={input},why={why}}}"), count).await;
    }

    async fn rows(&self) -> Vec<ParkedTurn> {
        self.store.parked(None, 99).await.unwrap()
    }
}

#[test]
fn unhandled_messages_are_counted_and_logged_once_a_minute() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        for text in ["one", "two", "three"] {
            anna.says(text).await;
        }
        case.unhandled("message", "no_handler", 3.0).await;
        assert_eq!(case.lines("input without a handler"), 1, "{:#?}", case.log.lines());
        assert_eq!(case.lines("input handled"), 0);
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}

fn closed<'t>(_: &'t mut Turn, _: &'t Input) -> BoxFuture<'t, Result<bool, BoxError>> {
    Box::pin(async { Ok(false) })
}

#[test]
fn messages_refused_by_a_guard_are_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers()).guard(closed)));
        anna.says("/begin").await;
        case.unhandled("message", "guard", 1.0).await;
        assert_eq!(case.lines("input handled"), 0);
        bot.stops().await;
    });
}

#[test]
fn commands_for_other_bots_are_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        anna.says("/begin@another_bot").await;
        case.unhandled("message", "another_bot", 1.0).await;
        assert_eq!(case.lines("input handled"), 0);
        bot.stops().await;
    });
}

async fn asks_for_everything(anna: &Person<'_>) {
    for what in ["work", "timer", "alarm"] {
        anna.says(&format!("/ask {what}")).await;
    }
    anna.receives_exactly(&["Asked."; 3]).await;
}

#[test]
fn unhandled_outcomes_timers_and_alarms_are_reported() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        asks_for_everything(&anna).await;
        case.unhandled("outcome", "no_handler", 1.0).await;
        case.clock.advance(HOUR);
        case.unhandled("timer", "no_handler", 2.0).await;
        case.metrics.show("opora_turns_total{outcome=unhandled}", 3.0).await;
        assert_eq!(case.lines("input without a handler is parked"), 3);
        assert_eq!(case.lines("input handled"), 3, "the commands alone are handled");
        assert_eq!(case.rows().await.len(), 3);
        bot.stops().await;
    });
}

/// Parked inputs run again once there is a handler.
async fn unhandled_inputs_are_parked_and_retried(stage: &Stage, store: Arc<dyn Store>) {
    let (anna, clock) = (stage.person("Anna").await, clock_at_noon());
    let rows = async || store.parked(Some(BOT), 99).await.unwrap();
    let running = Running::start(bot(stage, &store, &clock, script(without_handlers())));
    asks_for_everything(&anna).await;
    until("the outcome's row", async || rows().await.len() == 1).await;
    clock.advance(HOUR);
    until("three rows", async || rows().await.len() == 3).await;
    let kept = rows().await;
    let kinds: Vec<_> = kept.iter().map(|row| &*row.kind).collect();
    assert_eq!(kinds, ["unhandled_outcome", "unhandled_timer", "unhandled_timer"]);
    let left = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((left.inbox, left.timers), (0, 0), "they have left their queues");
    running.stops().await;
    let running = Running::start(bot(stage, &store, &clock, script(with_handlers())));
    for row in kept {
        assert!(store.operator().retry_parked(row.id).await.unwrap());
    }
    for words in ["Worked: 1.", "It rang.", "Alarm 7."] {
        anna.receives(words).await;
    }
    until("no rows", async || rows().await.is_empty()).await;
    running.stops().await;
}

#[tokio::test]
async fn unhandled_inputs_are_parked_in_memory() {
    unhandled_inputs_are_parked_and_retried(&Stage::new().await, memory()).await;
}

#[tokio::test]
async fn unhandled_inputs_are_parked_in_sqlite() {
    let stage = Stage::new().await;
    unhandled_inputs_are_parked_and_retried(&stage, stage.sqlite().await).await;
}

#[tokio::test]
async fn unhandled_inputs_are_parked_in_redis() {
    let (stage, space) = (Stage::new().await, RedisNamespace::new());
    unhandled_inputs_are_parked_and_retried(&stage, opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn unhandled_inputs_are_parked_in_postgres() {
    let (stage, space) = (Stage::new().await, PostgresSchema::new().await);
    unhandled_inputs_are_parked_and_retried(&stage, opora::store::open(&space.url).await.unwrap()).await;
}

#[test]
fn parked_unhandled_inputs_are_removed_with_age() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        anna.says("/ask work").await;
        until("the row", async || case.rows().await.len() == 1).await;
        case.clock.advance(31 * 24 * HOUR);
        until("no row", async || case.rows().await.is_empty()).await;
        bot.stops().await;
    });
}

#[test]
fn a_timer_whose_state_is_over_is_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(with_handlers())));
        anna.says("/begin").await;
        anna.says("on").await;
        anna.receives_exactly(&["Begun.", "On."]).await;
        case.clock.advance(HOUR);
        case.metrics.show("opora_timers_over_total", 1.0).await;
        assert_eq!(case.lines("input handled"), 2);
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}

#[test]
fn a_timer_that_its_open_state_does_not_handle_is_parked() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        anna.says("/begin").await;
        anna.receives_exactly(&["Begun."]).await;
        case.clock.advance(HOUR);
        case.unhandled("timer", "no_handler", 1.0).await;
        assert_eq!(case.rows().await[0].kind, "unhandled_timer");
        bot.stops().await;
    });
}

#[test]
fn an_effect_without_outcome_is_parked_only_if_it_fails() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        anna.says("/ask quiet work").await;
        case.metrics.show("opora_effects_total{outcome=done}", 1.0).await;
        anna.says("/ask quiet failure").await;
        case.unhandled("outcome", "no_handler", 1.0).await;
        assert_eq!(case.rows().await.len(), 1);
        bot.stops().await;
    });
}

#[test]
fn an_unhandled_result_of_a_child_is_reported() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        for text in ["/begin", "guide", "the answer"] {
            anna.says(text).await;
        }
        case.unhandled("returned", "no_handler", 1.0).await;
        assert_eq!(case.lines("no handler for the result of a child dialogue"), 1);
        bot.stops().await;
    });
}

#[test]
fn a_post_under_a_known_name_is_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(without_handlers())));
        until("a post", async || bot.handle.post("news", anna.id, "News.").await.is_ok()).await;
        bot.handle.post("news", anna.id, "News.").await.unwrap();
        assert_eq!(case.metrics.of("opora_posts_known_total"), Some(1.0));
        anna.receives_exactly(&["News."]).await;
        bot.stops().await;
    });
}

#[test]
fn a_repeated_question_without_a_dialogue_is_counted() {
    Case::run(async |case| {
        let Ok(LeaseAnswer::Granted(epoch)) = case.store.claim(BOT, &holder("t"), None).await else {
            panic!("no lease")
        };
        let (key, kind) = (ConversationKey::private(BOT, 7), "again".to_owned());
        let (body, reason) = (String::new(), String::new());
        let parked = ParkedTurn { id: ParkedId(0), key, kind, body, reason, attempts: 1, at: NOON, retry: false };
        let aside = case.store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap();
        case.store.release(BOT, epoch).await.unwrap();
        let bot = case.start(script(without_handlers()));
        assert!(case.store.operator().retry_parked(aside.id).await.unwrap());
        case.unhandled("again", "nothing_open", 1.0).await;
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}
