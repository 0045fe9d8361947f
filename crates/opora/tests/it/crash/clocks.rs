//! A wall clock that jumps by an hour between two starts, and time that passes while a bot is down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::prelude::*;
use opora::store::{Answer, Holder, Lease, LeaseAnswer, Store};
use parking_lot::Mutex;
use serde_json::json;

use super::backend::StoreKind;
use super::in_process::{InProcessBot, bot};
use super::stage::{BOT, Stage, until, until_async};

on_every_store! {
    a_clock_jump_ends_nothing_early_and_makes_no_second_leader,
    an_unsent_message_goes_before_a_due_timer,
}

const NOON: Millis = Millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_secs(3600);

/// Long enough to be renewed on a busy machine.
const LEASE: Duration = Duration::from_secs(2);
/// A lease is renewed twice within its time, so a standby that has seen so many has watched for longer than that.
const RENEWALS_SEEN: usize = 4;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "tea")]
#[serde(rename_all = "snake_case")]
enum Tea {
    Brewing,
}

fn tea() -> Dialogue<Tea> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Tea> {
        turn.timer("ready", Duration::from_secs(300), &());
        turn.say("brewing");
        Ok(Next::Go(Tea::Brewing))
    }
    async fn ask(turn: &mut Turn, _: String) -> Step<Tea> {
        turn.say("still brewing");
        Ok(Next::Stay)
    }
    async fn ready(turn: &mut Turn, _: Timer) -> Step<Tea> {
        turn.say("your tea");
        Ok(Next::End)
    }
    let life = Duration::from_secs(3 * 3600);
    Dialogue::new()
        .start(command("start"), start)
        .on(Tea::BREWING, text(), ask)
        .on(Tea::BREWING, timer("ready"), ready)
        .expires_after(life)
}

/// A layer that records the leases that a standby was shown.
#[derive(Debug)]
struct LeaseRecorder {
    inner: Arc<dyn Store>,
    held: Arc<Mutex<Vec<Lease>>>,
}

// By its path, because its methods are named like those of `Store`.
impl opora::store::StoreLayer for LeaseRecorder {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            let answer = self.inner.claim(bot, holder, seen).await?;
            if let LeaseAnswer::Held(lease) = &answer {
                self.held.lock().push((**lease).clone());
            }
            Ok(answer)
        })
    }
}

async fn at(stage: &Stage, clock: &Clock) -> InProcessBot {
    over(stage.store().await, stage, clock)
}

fn over(store: Arc<dyn Store>, stage: &Stage, clock: &Clock) -> InProcessBot {
    let bot = bot(stage, store).dialogue(tea()).clock(clock.clone());
    // After a jump nothing is sent before the next renewal, which comes in real time.
    InProcessBot::run(bot.settings(|settings| {
        settings.lease.ttl = LEASE;
        settings.lease.poll_interval = Duration::from_millis(50);
    }))
}

async fn a_clock_jump_ends_nothing_early_and_makes_no_second_leader(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let person = stage.person("Anna").await;
    let running = at(&stage, &Clock::manual(NOON)).await;
    stage.says(person, "/start").await;
    stage.receives(person, "brewing").await;
    running.stop_when_acknowledged(&stage).await;

    // An hour back: neither the timer nor the expiry is due.
    let clock = Clock::manual(NOON.minus(HOUR));
    let running = at(&stage, &clock).await;
    stage.says(person, "is it ready?").await;
    stage.receives(person, "still brewing").await;
    // A second instance, with a clock an hour ahead, does not take the lease from a live leader.
    let store = stage.store().await;
    let lease = store.lease(BOT).await.unwrap().unwrap();
    // Its clock runs, so it would see a lease run out that is not renewed.
    let ahead = Clock::machine_ahead(NOON.since(Clock::machine().now()));
    let held = Arc::<Mutex<Vec<Lease>>>::default();
    let second = over(Arc::new(LeaseRecorder { inner: stage.store().await, held: Arc::clone(&held) }), &stage, &ahead);
    let renewals = || held.lock().iter().map(|lease| lease.renewals).collect::<BTreeSet<_>>();
    until("the second has asked for longer than a lease's time", || renewals().len() >= RENEWALS_SEEN).await;
    stage.says(person, "and now?").await;
    until_async("the answer", async || stage.transcript(person).await.len() == 3).await;
    assert!(held.lock().iter().all(|held| held.epoch == lease.epoch), "{held:?}");
    assert_eq!(store.lease(BOT).await.unwrap().unwrap().epoch, lease.epoch);
    second.stop().await;

    // Two hours later the timer has fired once, and the expiry has not come.
    clock.advance(HOUR + HOUR);
    stage.receives(person, "your tea").await;
    running.stop_when_acknowledged(&stage).await;
    assert_eq!(stage.transcript(person).await, ["brewing", "still brewing", "still brewing", "your tea"]);
    store.close().await.unwrap();
}

async fn an_unsent_message_goes_before_a_due_timer(kind: StoreKind) {
    let stage = Stage::on(kind).await;
    let person = stage.person("Anna").await;
    let running = at(&stage, &Clock::manual(NOON)).await;
    stage.says(person, "/start").await;
    stage.receives(person, "brewing").await;
    stage.fault(json!({"method": "sendMessage", "times": 1000, "status": 500})).await;
    stage.says(person, "is it ready?").await;
    let store = stage.store().await;
    until_async("the answer is said and not sent", async || {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        (numbers.outbox, numbers.inbox) == (1, 0)
    })
    .await;
    running.stop_when_acknowledged(&stage).await;

    // The timer is due long before Telegram's first answer.
    stage.clear_faults().await;
    stage.fault(json!({"method": "getMe", "delay_ms": 500})).await;
    let running = at(&stage, &Clock::manual(NOON.plus(HOUR))).await;
    stage.receives(person, "your tea").await;
    running.stop_when_acknowledged(&stage).await;
    assert_eq!(stage.transcript(person).await, ["brewing", "still brewing", "your tea"]);
    store.close().await.unwrap();
}
