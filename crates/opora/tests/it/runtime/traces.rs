//! Nothing that was accepted ends without an effect or a trace: the rows of `docs/internals/traces.md` that end without one of
//! the application's handlers. Messages that Telegram refuses are in `refused`, turns that fail in `errors`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::{Clock, Millis};
use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::{Holder, LeaseAnswer, Parked, ParkedId, Store};
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;
use serde_json::json;

use super::journal::Journal;
use super::numbers::Numbers;
use crate::stage::{BOT, Person, Running, Stage, memory, until};

const HOUR: Duration = Duration::from_secs(3600);
const NOON: Millis = Millis(1_800_000_000_000);

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

/// Asks for what its argument says, and stays where it is.
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
    turn.give_back(&text);
    Ok(Next::End)
}

async fn worked(turn: &mut Turn, outcome: Outcome) -> Step<Tour> {
    turn.say(format!("Worked: {}.", outcome.read::<i64>()?));
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

/// Hears commands and texts only.
fn deaf() -> Dialogue<Tour> {
    Dialogue::new().start(command("ask"), ask).start(command("begin"), begin).anywhere(text(), go_on)
}

/// Hears what comes back, too.
fn attentive() -> Dialogue<Tour> {
    deaf().late(worked).start(timer("bell"), rang).start(alarm("bell:"), alarmed)
}

fn script(tour: Dialogue<Tour>) -> Script {
    Script::new().dialogue(tour).dialogue(Dialogue::new().on(Guide::ASKED, text(), answer))
}

fn bot(stage: &Stage, store: &Arc<dyn Store>, clock: &Clock, script: Script) -> Bot {
    let bot = stage.bot(store).script(script).clock(clock.clone()).effect("work", |asked| async move {
        if asked.read::<bool>()? { Ok(json!(1)) } else { Err(opora::effects::EffectError::Final("no".into())) }
    });
    // The courier trusts its lease by the clock, so it is renewed soon after a jump.
    bot.settings(|settings| settings.lease.ttl = Duration::from_secs(1))
}

/// A bot whose numbers and log are watched.
struct Case<'s> {
    stage: &'s Stage,
    store: Arc<dyn Store>,
    clock: Clock,
    numbers: Numbers,
    journal: Journal,
}

impl Case<'_> {
    fn run(test: impl AsyncFnOnce(Case<'_>)) {
        let numbers = Numbers::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&numbers, || {
            runtime.block_on(async {
                let (stage, clock) = (Stage::new().await, Clock::set_by_hand(NOON));
                let (store, journal) = (memory(), Journal::begin());
                test(Case { stage: &stage, store, clock, numbers: numbers.clone(), journal }).await;
            });
        });
    }

    fn start(&self, script: Script) -> Running {
        Running::start(bot(self.stage, &self.store, &self.clock, script))
    }

    fn lines(&self, words: &str) -> usize {
        self.journal.lines().iter().filter(|line| line.contains(words)).count()
    }

    async fn unheard(&self, input: &str, why: &str, count: f64) {
        self.numbers.show(&format!("opora_unheard_total{{input={input},why={why}}}"), count).await;
    }

    async fn rows(&self) -> Vec<Parked> {
        self.store.parked(None, 99).await.unwrap()
    }
}

#[test]
fn unheard_messages_leave_a_number_and_one_line_a_minute() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        for text in ["one", "two", "three"] {
            anna.says(text).await;
        }
        case.unheard("message", "no_handler", 3.0).await;
        assert_eq!(case.lines("no handler hears an input"), 1, "{:#?}", case.journal.lines());
        assert_eq!(case.lines("input handled"), 0);
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}

fn closed<'t>(_: &'t mut Turn, _: &'t Input) -> BoxFuture<'t, Result<bool, BoxError>> {
    Box::pin(async { Ok(false) })
}

#[test]
fn messages_that_a_guard_holds_back_are_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf()).guard(closed)));
        anna.says("/begin").await;
        case.unheard("message", "guard", 1.0).await;
        assert_eq!(case.lines("input handled"), 0);
        bot.stops().await;
    });
}

#[test]
fn commands_for_other_bots_are_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        anna.says("/begin@another_bot").await;
        case.unheard("message", "another_bot", 1.0).await;
        assert_eq!(case.lines("input handled"), 0);
        bot.stops().await;
    });
}

async fn asks_for_everything(anna: &Person<'_>) {
    for what in ["work", "timer", "alarm"] {
        anna.says(&format!("/ask {what}")).await;
    }
    anna.hears_just(&["Asked."; 3]).await;
}

#[test]
fn unheard_outcomes_timers_and_alarms_are_warned_of_and_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        asks_for_everything(&anna).await;
        case.unheard("outcome", "no_handler", 1.0).await;
        case.clock.advance(HOUR);
        case.unheard("timer", "no_handler", 2.0).await;
        case.numbers.show("opora_turns_total{outcome=unheard}", 3.0).await;
        assert_eq!(case.lines("no handler hears an input; it is kept as parked"), 3);
        assert_eq!(case.lines("input handled"), 3, "the commands alone are handled");
        assert_eq!(case.rows().await.len(), 3);
        bot.stops().await;
    });
}

/// What was kept runs again once a handler is there.
async fn unheard_inputs_are_kept_and_run_again(stage: &Stage, store: Arc<dyn Store>) {
    let (anna, clock) = (stage.person("Anna").await, Clock::set_by_hand(NOON));
    let rows = async || store.parked(Some(BOT), 99).await.unwrap();
    let running = Running::start(bot(stage, &store, &clock, script(deaf())));
    asks_for_everything(&anna).await;
    until("the outcome's row", async || rows().await.len() == 1).await;
    clock.advance(HOUR);
    until("three rows", async || rows().await.len() == 3).await;
    let kept = rows().await;
    let kinds: Vec<_> = kept.iter().map(|row| &*row.kind).collect();
    assert_eq!(kinds, ["unheard_outcome", "unheard_timer", "unheard_timer"]);
    let left = store.statistics(Some(BOT)).await.unwrap();
    assert_eq!((left.inbox, left.timers), (0, 0), "they have left their queues");
    running.stops().await;
    let running = Running::start(bot(stage, &store, &clock, script(attentive())));
    for row in kept {
        assert!(store.operator().retry_parked(row.id).await.unwrap());
    }
    for words in ["Worked: 1.", "It rang.", "Alarm 7."] {
        anna.hears(words).await;
    }
    until("no rows", async || rows().await.is_empty()).await;
    running.stops().await;
}

#[tokio::test]
async fn unheard_inputs_are_kept_in_memory() {
    unheard_inputs_are_kept_and_run_again(&Stage::new().await, memory()).await;
}

#[tokio::test]
async fn unheard_inputs_are_kept_in_sqlite() {
    let stage = Stage::new().await;
    unheard_inputs_are_kept_and_run_again(&stage, stage.sqlite().await).await;
}

#[tokio::test]
async fn unheard_inputs_are_kept_in_redis() {
    let (stage, space) = (Stage::new().await, RedisSpace::new());
    unheard_inputs_are_kept_and_run_again(&stage, opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn unheard_inputs_are_kept_in_postgres() {
    let (stage, space) = (Stage::new().await, PostgresSpace::new().await);
    unheard_inputs_are_kept_and_run_again(&stage, opora::store::open(&space.url).await.unwrap()).await;
}

#[test]
fn rows_of_unheard_inputs_go_with_their_age() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
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
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(attentive())));
        anna.says("/begin").await;
        anna.says("on").await;
        anna.hears_just(&["Begun.", "On."]).await;
        case.clock.advance(HOUR);
        case.numbers.show("opora_timers_over_total", 1.0).await;
        assert_eq!(case.lines("input handled"), 2);
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}

#[test]
fn a_timer_that_its_open_state_does_not_hear_is_kept() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        anna.says("/begin").await;
        anna.hears_just(&["Begun."]).await;
        case.clock.advance(HOUR);
        case.unheard("timer", "no_handler", 1.0).await;
        assert_eq!(case.rows().await[0].kind, "unheard_timer");
        bot.stops().await;
    });
}

#[test]
fn work_without_outcome_is_kept_only_if_it_fails() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        anna.says("/ask quiet work").await;
        case.numbers.show("opora_effects_total{outcome=done}", 1.0).await;
        anna.says("/ask quiet failure").await;
        case.unheard("outcome", "no_handler", 1.0).await;
        assert_eq!(case.rows().await.len(), 1);
        bot.stops().await;
    });
}

#[test]
fn a_result_of_a_child_that_no_handler_hears_is_told() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        for text in ["/begin", "guide", "the answer"] {
            anna.says(text).await;
        }
        case.unheard("returned", "no_handler", 1.0).await;
        assert_eq!(case.lines("no handler hears what a child dialogue has given back"), 1);
        bot.stops().await;
    });
}

#[test]
fn a_post_under_a_known_name_is_counted() {
    Case::run(async |case| {
        let (anna, bot) = (case.stage.person("Anna").await, case.start(script(deaf())));
        until("a post", async || bot.handle.post("news", anna.id, "News.").await.is_ok()).await;
        bot.handle.post("news", anna.id, "News.").await.unwrap();
        assert_eq!(case.numbers.of("opora_posts_known_total"), Some(1.0));
        anna.hears_just(&["News."]).await;
        bot.stops().await;
    });
}

#[test]
fn a_question_to_repeat_where_nothing_is_open_is_counted() {
    Case::run(async |case| {
        let holder = Holder {
            host: String::new(),
            pid: 1,
            process_start: 1,
            boot_id: String::new(),
            pid_namespace: String::new(),
            since: NOON,
            token: "t".into(),
            ttl_ms: 1000,
        };
        let Ok(LeaseAnswer::Granted(epoch)) = case.store.claim(BOT, &holder, None).await else { panic!("no lease") };
        let (key, kind) = (DialogueKey::private(BOT, 7), "again".to_owned());
        let (body, reason) = (String::new(), String::new());
        let parked = Parked { id: ParkedId(0), key, kind, body, reason, attempts: 1, at: NOON, retry: false };
        let aside = case.store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap();
        case.store.release(BOT, epoch).await.unwrap();
        let bot = case.start(script(deaf()));
        assert!(case.store.operator().retry_parked(aside.id).await.unwrap());
        case.unheard("again", "nothing_open", 1.0).await;
        assert!(case.rows().await.is_empty());
        bot.stops().await;
    });
}
