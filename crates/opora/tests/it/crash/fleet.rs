//! Instances behind a balancer: all take updates, one works. They are killed and replaced in turn while people talk.
//!
//! Some only talk, as the example does; some fetch files, some write to the application's tables, and these are counted.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use opora_testkit::environment;
use opora_testkit::server_process::free_port;
use rustix::process::Signal;

use self::balancer::Balancer;
use super::bots::Part;
use super::keeper::Kind;
use super::kills::Bot;
use super::people::{Crowd, Manner};
use super::process::Process;
use super::stage::{BOT, PATIENCE, Stage, until, until_so};
use super::takeover::pause_between_writes;

mod balancer;

/// The example's; it outlasts everything that is not to end it.
const LONG_LEASE_MS: u64 = 30_000;
/// Short enough to wait for its end, and time enough to renew it on a machine with a lot to do.
const SHORT_LEASE_MS: u64 = 4000;

/// How an instance goes.
#[derive(Clone, Copy, Debug)]
enum End {
    /// By what cannot be caught.
    Killed,
    /// As in a deployment.
    Told,
}

/// Which instance goes.
#[derive(Clone, Copy, Debug)]
enum Who {
    Leader,
    Standby,
}

/// Everybody once in each way.
const ROUNDS: [(Who, End); 4] =
    [(Who::Leader, End::Killed), (Who::Standby, End::Told), (Who::Leader, End::Told), (Who::Standby, End::Killed)];

/// Instances and the balancer before them.
struct Fleet {
    stage: Arc<Stage>,
    balancer: Balancer,
    bot: Bot,
    lease_ms: u64,
    instances: Vec<(Process, String)>,
}

impl Fleet {
    /// Starts instances; one leads when this answers.
    async fn start(kind: Kind, bot: Bot, count: usize) -> Self {
        Self::with_lease(LONG_LEASE_MS, kind, bot, count).await
    }

    /// The same with a lease of another length; the example has no choice there.
    async fn with_lease(lease_ms: u64, kind: Kind, bot: Bot, count: usize) -> Self {
        assert!(bot != Bot::Example || lease_ms == LONG_LEASE_MS);
        let (stage, balancer) = (Stage::on(kind).await, Balancer::start().await);
        let mut fleet = Self { stage, balancer, bot, lease_ms, instances: Vec::new() };
        for _ in 0..count {
            fleet.join("").await;
        }
        until("somebody leads", || fleet.instances.iter().any(|(process, _)| process.led_after().is_some())).await;
        fleet
    }

    /// Adds an instance; it takes updates when this answers.
    async fn join(&mut self, failpoints: &str) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let process = match self.bot {
            Bot::Example => Process::by_webhook(&self.stage, address, &self.balancer.url, failpoints),
            bot => Process::playing(&Part {
                lease_ms: self.lease_ms,
                webhook: Some((address, self.balancer.url.to_string())),
                ..bot.part(&self.stage, failpoints)
            }),
        };
        process.tells("takes updates, whoever leads").await;
        self.instances.push((process, format!("http://{address}/telegram")));
        self.tell_balancer();
    }

    /// Lets people in.
    async fn crowd(&self, people: usize) -> Crowd {
        self.bot.is_troubled(&self.stage, people).await;
        let manner = Manner { story: self.bot.story(), patience: PATIENCE, thought: Duration::ZERO };
        Crowd::begin(&self.stage, people, manner).await
    }

    fn tell_balancer(&self) {
        self.balancer.lead_to(self.instances.iter().map(|(_, url)| url.clone()).collect());
    }

    /// The one that leads now: of those that ever did the last to begin.
    async fn leader(&self) -> usize {
        let lease = async || {
            let store = self.stage.store().await;
            let lease = store.lease(BOT).await.unwrap();
            store.close().await.unwrap();
            let pid = lease.map(|lease| lease.holder.pid);
            self.instances.iter().position(|(process, _)| Some(process.pid()) == pid)
        };
        until_so("somebody leads", async || lease().await.is_some()).await;
        lease().await.unwrap()
    }

    /// Lets an instance go; gives how many messages were in the act of being sent then. The balancer knows of it only by
    /// what it meets, until a new one takes its place.
    async fn replace(&mut self, who: Who, end: End) -> usize {
        let leader = self.leader().await;
        let place = match who {
            Who::Leader => leader,
            Who::Standby => (leader + 1) % self.instances.len(),
        };
        let (mut process, _) = self.instances.remove(place);
        let in_the_act = match (who, end) {
            (Who::Leader, End::Killed) => {
                let others: Vec<_> = self.instances.iter().map(|(process, _)| process).collect();
                process.kill_beside(&others, &self.stage).await
            }
            // It sends nothing.
            (Who::Standby, End::Killed) => {
                process.kill().await;
                0
            }
            (_, End::Told) => {
                process.signal(Signal::TERM);
                let status = process.ended().await;
                assert!(status.success(), "{status}:\n{}", process.told().join("\n"));
                0
            }
        };
        self.join("").await;
        in_the_act
    }

    /// Lets people finish, stops everything once nothing waits any more, and looks at what came of it.
    async fn end(self, crowd: Crowd, in_the_act: usize) {
        let diaries = crowd.finish().await;
        let store = self.stage.store().await;
        until_so("nothing waits", async || {
            let numbers = store.statistics(Some(BOT)).await.unwrap();
            self.stage.unacknowledged() == 0 && (numbers.inbox, numbers.outbox) == (0, 0)
        })
        .await;
        store.close().await.unwrap();
        for (process, _) in self.instances {
            process.stop(&self.stage).await;
        }
        let account = self.bot.account(&self.stage, &diaries, in_the_act).await;
        println!(
            "{:?}: {} dialogues, {} messages repeated of {in_the_act} in the act, {} calls to another instance",
            self.bot,
            account.walks,
            account.repeats,
            self.balancer.retried()
        );
        account.is_clean();
    }
}

/// Two instances or more, replaced in turn.
async fn goes_on_while_instances_come_and_go(kind: Kind, bot: Bot, count: usize) {
    let people = environment::people().unwrap_or(12);
    let rounds = environment::kills().unwrap_or(ROUNDS.len());
    let mut fleet = Fleet::start(kind, bot, count).await;
    let crowd = fleet.crowd(people).await;
    let mut in_the_act = 0;
    for (who, end) in ROUNDS.into_iter().cycle().take(rounds) {
        assert!(fleet.stage.goes_on(i64::try_from(people).unwrap(), PATIENCE).await, "before {who:?} is {end:?}");
        in_the_act += fleet.replace(who, end).await;
    }
    fleet.end(crowd, in_the_act).await;
}

macro_rules! come_and_go {
    ($($name:ident: $count:literal $bot:ident on $kind:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            goes_on_while_instances_come_and_go(Kind::$kind, Bot::$bot, $count).await;
        })*
    };
}

come_and_go! {
    three_instances_on_redis_serve_people_while_they_are_killed_and_replaced: 3 Example on Redis,
    three_instances_on_postgres_serve_people_while_they_are_killed_and_replaced: 3 Example on Postgres,
    two_instances_on_redis_fetch_every_file_once_while_they_are_killed_and_replaced: 2 Errand on Redis,
    two_instances_on_redis_and_postgres_write_once_while_they_are_killed_and_replaced: 2 Registration on RedisAndPostgres,
    three_instances_on_postgres_write_once_while_they_are_killed_and_replaced: 3 Registration on Postgres,
}

mod all_of_five_instances {
    use super::*;

    come_and_go! {
        five_instances_on_redis_serve_people_while_they_are_killed_and_replaced: 5 Example on Redis,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_long_form_so_do_others() {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    for (kind, bot, count) in [
        (Kind::Redis, Bot::Example, 2),
        (Kind::Postgres, Bot::Example, 2),
        (Kind::Redis, Bot::Errand, 3),
        (Kind::Postgres, Bot::Errand, 2),
        (Kind::RedisAndPostgres, Bot::Errand, 2),
        (Kind::RedisAndPostgres, Bot::Registration, 3),
        (Kind::Postgres, Bot::Registration, 2),
    ] {
        goes_on_while_instances_come_and_go(kind, bot, count).await;
    }
}

/// An instance stands still in the middle of everything; what it may have stored comes again to another one.
async fn goes_on_while_an_instance_stands_still(kind: Kind) {
    let people = environment::people().unwrap_or(12);
    let fleet = Fleet::start(kind, Bot::Example, 2).await;
    let crowd = fleet.crowd(people).await;
    let more = i64::try_from(people).unwrap();
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    let (standby, _) = &fleet.instances[(fleet.leader().await + 1) % 2];
    standby.signal(Signal::STOP);
    until("it stands still", || standby.stands_still()).await;
    until("another one is asked", || fleet.balancer.retried() > 0).await;
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    standby.signal(Signal::CONT);
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    fleet.end(crowd, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_on_redis_that_stands_still_holds_nobody_up_for_long() {
    goes_on_while_an_instance_stands_still(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_on_postgres_that_stands_still_holds_nobody_up_for_long() {
    goes_on_while_an_instance_stands_still(Kind::Postgres).await;
}

/// The leader stands still for longer than its lease; others take updates all the while, and one of them takes over.
async fn writes_nothing_more_after_its_lease(lease_ms: u64, kind: Kind, bot: Bot) {
    let people = environment::people().unwrap_or(12);
    let more = i64::try_from(people).unwrap();
    let fleet = Fleet::with_lease(lease_ms, kind, bot, 2).await;
    let crowd = fleet.crowd(people).await;
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    let place = fleet.leader().await;
    let ((leader, _), (standby, _)) = (&fleet.instances[place], &fleet.instances[1 - place]);
    let store = fleet.stage.store().await;
    pause_between_writes(leader, async || fleet.stage.keeper.is_free().await).await;
    // What it was about to send, it may send when it goes on.
    let in_the_act = fleet.stage.unsettled(&store).await.len();
    store.close().await.unwrap();
    standby.tells("took over the lease").await;
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    leader.signal(Signal::CONT);
    leader.tells("does not lead any more").await;
    assert!(fleet.stage.goes_on(2 * more, PATIENCE).await);
    fleet.end(crowd, in_the_act).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_redis_that_stands_still_past_its_lease_spoils_no_file() {
    writes_nothing_more_after_its_lease(SHORT_LEASE_MS, Kind::Redis, Bot::Errand).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_on_redis_and_postgres_that_stands_still_past_its_lease_writes_nothing_more() {
    writes_nothing_more_after_its_lease(SHORT_LEASE_MS, Kind::RedisAndOwnPostgres, Bot::Registration).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_long_form_nor_does_any_other() {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    writes_nothing_more_after_its_lease(LONG_LEASE_MS, Kind::Redis, Bot::Example).await;
    writes_nothing_more_after_its_lease(LONG_LEASE_MS, Kind::OwnPostgres, Bot::Example).await;
    writes_nothing_more_after_its_lease(SHORT_LEASE_MS, Kind::OwnPostgres, Bot::Registration).await;
    writes_nothing_more_after_its_lease(SHORT_LEASE_MS, Kind::OwnPostgres, Bot::Errand).await;
}

/// Killed after an update was stored, before anybody was answered or told of it.
async fn finds_what_nobody_told_of(kind: Kind) {
    let people = environment::people().unwrap_or(12);
    let mut fleet = Fleet::start(kind, Bot::Example, 1).await;
    let crowd = fleet.crowd(people).await;
    for kill in 0..environment::kills().unwrap_or(2) {
        fleet.join(&format!("intake.after_receive=pause@{}", 5 + kill % 7)).await;
        let (standby, _) = fleet.instances.pop().unwrap();
        standby.tells("failpoint intake.after_receive").await;
        standby.kill().await;
        fleet.tell_balancer();
    }
    fleet.end(crowd, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_on_redis_stored_before_it_was_killed_is_found() {
    finds_what_nobody_told_of(Kind::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_on_postgres_stored_before_it_was_killed_is_found() {
    finds_what_nobody_told_of(Kind::Postgres).await;
}
