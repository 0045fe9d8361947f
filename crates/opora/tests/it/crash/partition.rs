//! A leader that is cut off from its server while a standby still reaches it.

use std::time::Duration;

use opora_testkit::proxy::Proxy;
use tokio::time::Instant;

use super::account::Account;
use super::bots::{Part, writers, written_by};
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{BOT, PATIENCE, Stage, rows};

/// What a takeover takes beyond the lease's time. Who is cut off may be in the midst of a transaction, which PostgreSQL ends
/// after 6 seconds.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(26);
/// People think for a moment, so that there is something left to do for whoever takes over.
const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::from_millis(100) };

/// How the way ends.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Nothing comes through, and nobody is told.
    Silent,
    /// Connections end, and none come about.
    Told,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_from_redis_is_followed_and_writes_nothing_when_it_is_back() {
    is_followed_and_writes_nothing_more(Kind::Redis, Cut::Silent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_connections_to_redis_end_is_followed_and_writes_nothing_when_it_is_back() {
    is_followed_and_writes_nothing_more(Kind::Redis, Cut::Told).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_from_postgres_is_followed_and_writes_nothing_when_it_is_back() {
    is_followed_and_writes_nothing_more(Kind::OwnPostgres, Cut::Silent).await;
}

async fn is_followed_and_writes_nothing_more(kind: Kind, cut: Cut) {
    let stage = Stage::on(kind).await;
    let port = stage.keeper.port();
    let proxy = Proxy::before(port).await;
    let part = Part { lease_ms: 3000, ..Part::of(&stage, Story::Registration) };
    let lease = Duration::from_millis(part.lease_ms);
    // Only the leader's way leads through the proxy.
    let state_url = part.state_url.replace(&format!(":{port}"), &format!(":{}", proxy.port));
    let old = Process::playing(&Part { state_url, ..part.clone() });
    old.leads().await;
    let crowd = Crowd::begin(&stage, 12, MANNER).await;
    let new = Process::playing(&part);
    new.tells("stands by").await;
    assert!(stage.goes_on(60, PATIENCE).await);
    let store = stage.store().await;
    let epoch = async || store.lease(BOT).await.unwrap().map(|lease| lease.epoch);
    let former = epoch().await;
    match cut {
        Cut::Silent => proxy.swallow(),
        Cut::Told => proxy.cut_off(true),
    }
    let began = Instant::now();
    // What it has said and cannot settle may come twice: it notes what it sends under its own way to the server, as on
    // another machine, and whoever follows by another way does not read that.
    let in_the_act = rows(&store).await.len();
    new.tells("took over the lease").await;
    let taken_over = began.elapsed();
    old.tells("lost the lease").await;
    assert!(epoch().await > former);
    // People go on by the standby, while the old leader still reaches nothing.
    assert!(stage.goes_on(60, PATIENCE).await, "{:?}", new.told());
    let handled = old.count("input handled");
    proxy.let_pass();
    old.tells("stands by: another instance holds the lease").await;
    assert!(stage.goes_on(100, PATIENCE).await);
    assert_eq!(old.count("input handled"), handled, "{:?}", old.told());
    let diaries = crowd.finish().await;
    store.close().await.unwrap();
    old.kill().await;
    new.stop(&stage).await;
    let mut account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    account.leases(&writers(&stage).await);
    if stage.keeper.has_tables() {
        account.writes(&written_by(&stage).await, &diaries);
    }
    println!(
        "{kind:?}, {cut:?}: {} dialogues, {} messages repeated of {in_the_act}, taken over {taken_over:?} after the cut",
        account.walks, account.repeats
    );
    account.is_clean();
    // It was renewed at half of its time at the latest.
    assert!(taken_over > lease / 3 && taken_over < lease + BEYOND_THE_LEASE, "{taken_over:?}");
}
