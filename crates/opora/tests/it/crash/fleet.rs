//! Instances behind a balancer: all take updates, one runs turns. They are killed and replaced while people talk.
//!
//! The example only talks. Other bots download files or write to the application's tables, and the audit counts both.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use opora_testkit::environment;
use opora_testkit::server_process::free_port;
use rustix::process::Signal;

use self::balancer::Balancer;
use super::backend::StoreKind;
use super::bots::ChildConfig;
use super::kills::Bot;
use super::people::{Behaviour, Crowd};
use super::process::Process;
use super::stage::{BOT, Stage, TIMEOUT, until, until_async};
use super::takeover::pause_between_writes;

mod balancer;

/// The example's lease. It does not run out during a test.
const LONG_LEASE_MS: u64 = 30_000;
/// Short enough to wait for its end, long enough to be renewed on a busy machine.
const SHORT_LEASE_MS: u64 = 4000;

#[derive(Clone, Copy, Debug)]
enum Ending {
    /// By SIGKILL.
    Killed,
    /// By SIGTERM, as in a deployment.
    Stopped,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Leader,
    Standby,
}

/// Every combination once.
const ROUNDS: [(Role, Ending); 4] = [
    (Role::Leader, Ending::Killed),
    (Role::Standby, Ending::Stopped),
    (Role::Leader, Ending::Stopped),
    (Role::Standby, Ending::Killed),
];

struct Fleet {
    stage: Arc<Stage>,
    balancer: Balancer,
    bot: Bot,
    lease_ms: u64,
    instances: Vec<(Process, String)>,
}

impl Fleet {
    async fn start(kind: StoreKind, bot: Bot, count: usize) -> Self {
        Self::with_lease(LONG_LEASE_MS, kind, bot, count).await
    }

    /// Like [`Self::start`], with a lease of another length, which the example does not support.
    async fn with_lease(lease_ms: u64, kind: StoreKind, bot: Bot, count: usize) -> Self {
        assert!(bot != Bot::Example || lease_ms == LONG_LEASE_MS);
        let (stage, balancer) = (Stage::on(kind).await, Balancer::start().await);
        let mut fleet = Self { stage, balancer, bot, lease_ms, instances: Vec::new() };
        for _ in 0..count {
            fleet.join("").await;
        }
        until("an instance leads", || fleet.instances.iter().any(|(process, _)| process.time_to_lead().is_some()))
            .await;
        fleet
    }

    /// Adds an instance and waits until it takes updates.
    async fn join(&mut self, failpoints: &str) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let process = match self.bot {
            Bot::Example => Process::by_webhook(&self.stage, address, &self.balancer.url, failpoints),
            bot => Process::child(&ChildConfig {
                lease_ms: self.lease_ms,
                webhook: Some((address, self.balancer.url.to_string())),
                ..bot.config(&self.stage, failpoints)
            }),
        };
        process.wait_for_log("accepting updates on this instance").await;
        self.instances.push((process, format!("http://{address}/telegram")));
        self.update_balancer();
    }

    async fn crowd(&self, people: usize) -> Crowd {
        self.bot.add_faults(&self.stage, people).await;
        let behaviour = Behaviour { scenario: self.bot.scenario(), timeout: TIMEOUT, think_time: Duration::ZERO };
        Crowd::begin(&self.stage, people, behaviour).await
    }

    fn update_balancer(&self) {
        self.balancer.set_targets(self.instances.iter().map(|(_, url)| url.clone()).collect());
    }

    /// The index of the present leader.
    async fn leader(&self) -> usize {
        let lease = async || {
            let store = self.stage.store().await;
            let lease = store.lease(BOT).await.unwrap();
            store.close().await.unwrap();
            let pid = lease.map(|lease| lease.holder.pid);
            self.instances.iter().position(|(process, _)| Some(process.pid()) == pid)
        };
        until_async("an instance leads", async || lease().await.is_some()).await;
        lease().await.unwrap()
    }

    /// Ends an instance and starts a new one. Returns the number of unrecorded sends. Until the new one has started,
    /// the balancer only sees failing calls.
    async fn replace(&mut self, role: Role, end: Ending) -> usize {
        let leader = self.leader().await;
        let place = match role {
            Role::Leader => leader,
            Role::Standby => (leader + 1) % self.instances.len(),
        };
        let (mut process, _) = self.instances.remove(place);
        let unrecorded = match (role, end) {
            (Role::Leader, Ending::Killed) => {
                let others: Vec<_> = self.instances.iter().map(|(process, _)| process).collect();
                process.kill_with_others_paused(&others, &self.stage).await
            }
            // A standby sends nothing.
            (Role::Standby, Ending::Killed) => {
                process.kill().await;
                0
            }
            (_, Ending::Stopped) => {
                process.signal(Signal::TERM);
                let status = process.wait_for_exit().await;
                assert!(status.success(), "{status}:\n{}", process.log_lines().join("\n"));
                0
            }
        };
        self.join("").await;
        unrecorded
    }

    /// Lets people finish, stops everything when nothing waits, and audits the result.
    async fn end(self, crowd: Crowd, unrecorded: usize) {
        let diaries = crowd.finish().await;
        let store = self.stage.store().await;
        until_async("nothing waits", async || {
            let numbers = store.statistics(Some(BOT)).await.unwrap();
            self.stage.unacknowledged() == 0 && (numbers.inbox, numbers.outbox) == (0, 0)
        })
        .await;
        store.close().await.unwrap();
        for (process, _) in self.instances {
            process.stop(&self.stage).await;
        }
        let audit = self.bot.audit(&self.stage, &diaries, unrecorded).await;
        println!(
            "{:?}: {} dialogues, {} messages repeated of {unrecorded} unrecorded, {} calls to another instance",
            self.bot,
            audit.walks,
            audit.repeats,
            self.balancer.retried()
        );
        audit.assert_clean();
    }
}

async fn replace_instances(kind: StoreKind, bot: Bot, count: usize) {
    let people = environment::soak_people().unwrap_or(12);
    let rounds = environment::soak_kills().unwrap_or(ROUNDS.len());
    let mut fleet = Fleet::start(kind, bot, count).await;
    let crowd = fleet.crowd(people).await;
    let mut unrecorded = 0;
    for (role, end) in ROUNDS.into_iter().cycle().take(rounds) {
        assert!(fleet.stage.sees_messages(i64::try_from(people).unwrap(), TIMEOUT).await, "before {role:?} is {end:?}");
        unrecorded += fleet.replace(role, end).await;
    }
    fleet.end(crowd, unrecorded).await;
}

macro_rules! replaced {
    ($($name:ident: $count:literal $bot:ident on $kind:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            replace_instances(StoreKind::$kind, Bot::$bot, $count).await;
        })*
    };
}

replaced! {
    three_instances_on_redis_are_replaced_under_load: 3 Example on Redis,
    three_instances_on_postgres_are_replaced_under_load: 3 Example on Postgres,
    replaced_instances_on_redis_download_every_file_once: 2 Errand on Redis,
    replaced_instances_on_redis_and_postgres_write_once: 2 Registration on RedisAndPostgres,
    replaced_instances_on_postgres_write_once: 3 Registration on Postgres,
}

on_every_store! {
    in redis on Redis:
    a_paused_instance_delays_people_only_briefly,
    an_update_stored_before_a_kill_is_found,
}
on_every_store! {
    in postgres on Postgres:
    a_paused_instance_delays_people_only_briefly,
    an_update_stored_before_a_kill_is_found,
}

mod all_of_five_instances {
    use super::*;

    replaced! {
        five_instances_on_redis_are_replaced_under_load: 5 Example on Redis,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_other_fleets_are_replaced_under_load() {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    for (kind, bot, count) in [
        (StoreKind::Redis, Bot::Example, 2),
        (StoreKind::Postgres, Bot::Example, 2),
        (StoreKind::Redis, Bot::Errand, 3),
        (StoreKind::Postgres, Bot::Errand, 2),
        (StoreKind::RedisAndPostgres, Bot::Errand, 2),
        (StoreKind::RedisAndPostgres, Bot::Registration, 3),
        (StoreKind::Postgres, Bot::Registration, 2),
    ] {
        replace_instances(kind, bot, count).await;
    }
}

/// An instance is paused in the middle of its work. What it may have stored comes again to another one.
async fn a_paused_instance_delays_people_only_briefly(kind: StoreKind) {
    let people = environment::soak_people().unwrap_or(12);
    let fleet = Fleet::start(kind, Bot::Example, 2).await;
    let crowd = fleet.crowd(people).await;
    let more = i64::try_from(people).unwrap();
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    let (standby, _) = &fleet.instances[(fleet.leader().await + 1) % 2];
    standby.signal(Signal::STOP);
    until("it is paused", || standby.is_paused()).await;
    until("another one is asked", || fleet.balancer.retried() > 0).await;
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    standby.signal(Signal::CONT);
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    fleet.end(crowd, 0).await;
}

/// The leader is paused for longer than its lease. Other instances take updates meanwhile, and one takes over.
async fn pause_the_leader_past_its_lease(lease_ms: u64, kind: StoreKind, bot: Bot) {
    let people = environment::soak_people().unwrap_or(12);
    let more = i64::try_from(people).unwrap();
    let fleet = Fleet::with_lease(lease_ms, kind, bot, 2).await;
    let crowd = fleet.crowd(people).await;
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    let place = fleet.leader().await;
    let ((leader, _), (standby, _)) = (&fleet.instances[place], &fleet.instances[1 - place]);
    let store = fleet.stage.store().await;
    pause_between_writes(leader, async || fleet.stage.backend.is_idle().await).await;
    // What it was about to send, it may send after the pause.
    let unrecorded = fleet.stage.unsettled(&store).await.len();
    store.close().await.unwrap();
    standby.wait_for_log("took over the lease").await;
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    leader.signal(Signal::CONT);
    leader.wait_for_log("no longer the leader").await;
    assert!(fleet.stage.sees_messages(2 * more, TIMEOUT).await);
    fleet.end(crowd, unrecorded).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_paused_past_its_lease_damages_no_file() {
    pause_the_leader_past_its_lease(SHORT_LEASE_MS, StoreKind::Redis, Bot::Errand).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_paused_past_its_lease_writes_nothing_more() {
    pause_the_leader_past_its_lease(SHORT_LEASE_MS, StoreKind::RedisAndOwnPostgres, Bot::Registration).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_other_paused_leaders_write_nothing_more() {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    pause_the_leader_past_its_lease(LONG_LEASE_MS, StoreKind::Redis, Bot::Example).await;
    pause_the_leader_past_its_lease(LONG_LEASE_MS, StoreKind::OwnPostgres, Bot::Example).await;
    pause_the_leader_past_its_lease(SHORT_LEASE_MS, StoreKind::OwnPostgres, Bot::Registration).await;
    pause_the_leader_past_its_lease(SHORT_LEASE_MS, StoreKind::OwnPostgres, Bot::Errand).await;
}

/// An instance is killed after it stored an update, before it answered or announced it.
async fn an_update_stored_before_a_kill_is_found(kind: StoreKind) {
    let people = environment::soak_people().unwrap_or(12);
    let mut fleet = Fleet::start(kind, Bot::Example, 1).await;
    let crowd = fleet.crowd(people).await;
    for kill in 0..environment::soak_kills().unwrap_or(2) {
        fleet.join(&format!("intake.after_receive=pause@{}", 5 + kill % 7)).await;
        let (standby, _) = fleet.instances.pop().unwrap();
        standby.wait_for_log("failpoint intake.after_receive").await;
        standby.kill().await;
        fleet.update_balancer();
    }
    fleet.end(crowd, 0).await;
}
