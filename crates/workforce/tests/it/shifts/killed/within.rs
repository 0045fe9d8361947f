//! Killed within a step: at a named place of the turn that opens a shift, takes a photo, marks a task or closes the shift,
//! or just after it has said so. Whatever the place, the deed happens once.
//!
//! The deed waits with Telegram before the process starts, so that its turn is the first to come to the place. No timer may
//! come before it: the schedule of these processes is paused as well.

use super::super::phone::{Deed, Phone, Step};
use super::super::premises::Premises;
use super::{DEEDS, has_worked_once, prepare};
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};

embedded_and_on_servers! {
    a_kill_before_the_commit_of_a_deed_lets_it_happen_once,
    a_kill_after_the_commit_of_a_deed_lets_it_happen_once,
    a_kill_after_a_deed_was_answered_lets_it_happen_once,
}

/// Which of [`DEEDS`] write something, and how many rows tell of it then.
const WRITING: [(usize, &str); 4] = [
    (3, "SELECT COUNT(*) FROM shifts"),
    (6, "SELECT COUNT(*) FROM task_media"),
    (7, "SELECT COUNT(*) FROM shift_tasks WHERE done_at IS NOT NULL AND NOT needs_media"),
    (10, "SELECT COUNT(*) FROM shifts WHERE status = 'completed'"),
];
const NO_TIMERS: &str = "schedule.before_fire=pause";

/// Where a process ends, and what is seen there.
#[derive(Clone, Copy)]
struct Place {
    name: &'static str,
    /// The database has the deed already.
    is_written: bool,
    /// The person has heard something of it.
    is_told: bool,
}

/// One process after another, and what people do meanwhile.
struct World {
    ground: Ground,
    emulator: Demo,
    premises: Premises,
}

async fn a_kill_before_the_commit_of_a_deed_lets_it_happen_once(kind: Kind) {
    dies_at(kind, Place { name: "turn.before_commit", is_written: false, is_told: false }).await;
}

async fn a_kill_after_the_commit_of_a_deed_lets_it_happen_once(kind: Kind) {
    dies_at(kind, Place { name: "turn.after_commit", is_written: true, is_told: false }).await;
}

async fn a_kill_after_a_deed_was_answered_lets_it_happen_once(kind: Kind) {
    dies_at(kind, Place { name: "outbox.after_send", is_written: true, is_told: true }).await;
}

/// Only there are two stores, of which one has it.
#[tokio::test]
async fn a_kill_between_postgres_and_redis_lets_a_deed_happen_once() {
    dies_at(Kind::RedisAndPostgres, Place { name: "store.after_writes", is_written: true, is_told: false }).await;
}

/// A shift in which each step that writes is begun by a process that dies there, and ended by the next one.
async fn dies_at(kind: Kind, place: Place) {
    let world = World::new(kind).await;
    let (anna, mut run, mut walked) = (Phone::of(ANNA, &world.emulator), world.run(NO_TIMERS), 0);
    for (number, rows) in WRITING {
        anna.takes(&DEEDS[walked..number]).await;
        world.is_at_rest().await;
        run.dies().await;
        world.dies_in(&DEEDS[number], rows, place).await;
        run = world.run(NO_TIMERS);
        anna.shows(DEEDS[number].1).await;
        world.is_at_rest().await;
        assert_eq!(world.premises.numbers(rows).await, [1], "{} at {}", DEEDS[number].1, place.name);
        let said = anna.count(DEEDS[number].1).await;
        assert!(said == 1 || place.is_told && said == 2, "{} was said {said} times", DEEDS[number].1);
        walked = number + 1;
    }
    run.dies().await;
    has_worked_once(&world.ground, Run::start(&world.ground, &world.emulator, &[])).await;
    world.close().await;
}

impl World {
    async fn new(kind: Kind) -> Self {
        let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
        prepare(&ground).await;
        let premises = Premises::of(&ground).await;
        Self { ground, emulator, premises }
    }

    fn run(&self, failpoints: &str) -> Run {
        Run::start(&self.ground, &self.emulator, &[("OPORA_FAILPOINTS", failpoints)])
    }

    /// Nothing is left that a later process would have to do.
    async fn is_at_rest(&self) {
        let store = opora::store::open_existing(&self.ground.state).await.unwrap();
        until("nothing is under way", async || {
            let numbers = store.statistics(None).await.unwrap();
            ((numbers.inbox, numbers.outbox, numbers.effects) == (0, 0, 0)).then_some(())
        })
        .await;
        store.close().await.unwrap();
    }

    /// Anna does something, and the process that hears it ends in the midst of that.
    async fn dies_in(&self, (deed, heard): &Step, rows: &str, place: Place) {
        let said = self.emulator.texts(ANNA).await;
        Phone::of(ANNA, &self.emulator).does(*deed).await;
        let run = self.run(&format!("{NO_TIMERS},{}=pause", place.name));
        run.logs(&format!("failpoint {}", place.name)).await;
        self.hears_others().await;
        let expected = i64::from(place.is_written);
        assert_eq!(self.premises.numbers(rows).await, [expected], "{heard} at {}", place.name);
        if !place.is_told {
            assert_eq!(self.emulator.texts(ANNA).await, said, "{heard} at {}", place.name);
        }
        run.dies().await;
    }

    /// So it is Anna's turn that stands still: without it, hers would have been over before.
    async fn hears_others(&self) {
        let (boris, answer) = (Phone::of(BORIS, &self.emulator), "Your Telegram number: 1002");
        let answered = boris.count(answer).await;
        boris.does(Deed::Says("/me")).await;
        until("Boris is answered", async || (boris.count(answer).await > answered).then_some(())).await;
    }

    async fn close(self) {
        self.premises.close().await;
        self.emulator.stop().await;
    }
}
