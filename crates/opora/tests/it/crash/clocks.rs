//! A wall clock that jumps by an hour between two starts, either way; and time that has passed while a bot was down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use opora::clock::{Clock, Millis};
use opora::prelude::*;
use opora::store::{Answer, Holder, Lease, LeaseAnswer, Store};
use parking_lot::Mutex;
use serde_json::json;

use super::inside::{Inside, bot};
use super::keeper::Kind;
use super::stage::{BOT, Stage, until, until_so};

on_every_store! {
    a_clock_that_jumps_ends_nothing_early_and_makes_no_second_leader,
    what_was_left_unsent_goes_before_what_time_has_to_say,
}

const NOON: Millis = Millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_secs(3600);

/// Long enough to be renewed in time on a machine with a lot to do.
const LEASE: Duration = Duration::from_secs(2);
/// It is renewed twice in its time: who has seen so many has asked for longer than that.
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
        .life(life)
}

/// A store that remembers the leases for which whoever asked for them was told to stand by.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn Store>,
    held: Arc<Mutex<Vec<Lease>>>,
}

// Named by its path, for its methods have the names of `Store`'s.
impl opora::store::StoreLayer for Watched {
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

async fn at(stage: &Stage, clock: &Clock) -> Inside {
    over(stage.store().await, stage, clock)
}

fn over(store: Arc<dyn Store>, stage: &Stage, clock: &Clock) -> Inside {
    let bot = bot(stage, store).dialogue(tea()).clock(clock.clone());
    // After a jump nothing is sent before the next renewal, which comes in real time.
    Inside::run(bot.settings(|settings| {
        settings.lease.ttl = LEASE;
        settings.lease.look_every = Duration::from_millis(50);
    }))
}

async fn a_clock_that_jumps_ends_nothing_early_and_makes_no_second_leader(kind: Kind) {
    let stage = Stage::on(kind).await;
    let person = stage.person("Anna").await;
    let running = at(&stage, &Clock::set_by_hand(NOON)).await;
    stage.says(person, "/start").await;
    stage.hears(person, "brewing").await;
    running.end_when_quiet(&stage).await;

    // An hour back: neither the timer nor the dialogue's life has come to its end.
    let clock = Clock::set_by_hand(NOON.minus(HOUR));
    let running = at(&stage, &clock).await;
    stage.says(person, "is it ready?").await;
    stage.hears(person, "still brewing").await;
    // A second instance, whose clock is an hour ahead, does not take the lease from one that lives.
    let store = stage.store().await;
    let lease = store.lease(BOT).await.unwrap().unwrap();
    // It goes on, so that it would see a lease run out that nobody renews.
    let ahead = Clock::machine_ahead(NOON.since(Clock::machine().now()));
    let held = Arc::<Mutex<Vec<Lease>>>::default();
    let second = over(Arc::new(Watched { inner: stage.store().await, held: Arc::clone(&held) }), &stage, &ahead);
    let renewals = || held.lock().iter().map(|lease| lease.renewals).collect::<BTreeSet<_>>();
    until("the second has asked for longer than a lease's time", || renewals().len() >= RENEWALS_SEEN).await;
    stage.says(person, "and now?").await;
    until_so("the answer", async || stage.transcript(person).await.len() == 3).await;
    assert!(held.lock().iter().all(|held| held.epoch == lease.epoch), "{held:?}");
    assert_eq!(store.lease(BOT).await.unwrap().unwrap().epoch, lease.epoch);
    second.end().await;

    // The rest of the time, and an hour more: it is ready, once, and the life that was left was long enough.
    clock.advance(HOUR + HOUR);
    stage.hears(person, "your tea").await;
    running.end_when_quiet(&stage).await;
    assert_eq!(stage.transcript(person).await, ["brewing", "still brewing", "still brewing", "your tea"]);
    store.close().await.unwrap();
}

async fn what_was_left_unsent_goes_before_what_time_has_to_say(kind: Kind) {
    let stage = Stage::on(kind).await;
    let person = stage.person("Anna").await;
    let running = at(&stage, &Clock::set_by_hand(NOON)).await;
    stage.says(person, "/start").await;
    stage.hears(person, "brewing").await;
    stage.fault(json!({"method": "sendMessage", "times": 1000, "status": 500})).await;
    stage.says(person, "is it ready?").await;
    let store = stage.store().await;
    until_so("the answer is said and not sent", async || {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        (numbers.outbox, numbers.inbox) == (1, 0)
    })
    .await;
    running.end_when_quiet(&stage).await;

    // The timer is due long before Telegram has answered for the first time.
    stage.clear_faults().await;
    stage.fault(json!({"method": "getMe", "delay_ms": 500})).await;
    let running = at(&stage, &Clock::set_by_hand(NOON.plus(HOUR))).await;
    stage.hears(person, "your tea").await;
    running.end_when_quiet(&stage).await;
    assert_eq!(stage.transcript(person).await, ["brewing", "still brewing", "your tea"]);
    store.close().await.unwrap();
}
