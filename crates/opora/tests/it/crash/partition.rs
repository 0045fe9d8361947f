//! A leader that is cut off from its server while a standby still reaches it.

use std::time::Duration;

use opora_testkit::proxy::Proxy;
use tokio::time::Instant;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::{ChildConfig, writers, writing_people};
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{BOT, Stage, TIMEOUT, unsent_rows};

/// How long a takeover may take beyond the lease. The leader may be cut off within a transaction, which PostgreSQL ends
/// after 6 seconds.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(26);
/// People pause before they answer, so that work is left for the next leader.
const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::from_millis(100) };

#[derive(Clone, Copy, Debug)]
enum Cut {
    Silent,
    /// Connections are closed, and new ones refused.
    Closed,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_loses_redis_silently_writes_nothing_more() {
    cut_off_leader_writes_nothing_more(StoreKind::Redis, Cut::Silent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_redis_connections_end_writes_nothing_more() {
    cut_off_leader_writes_nothing_more(StoreKind::Redis, Cut::Closed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_loses_postgres_silently_writes_nothing_more() {
    cut_off_leader_writes_nothing_more(StoreKind::OwnPostgres, Cut::Silent).await;
}

async fn cut_off_leader_writes_nothing_more(kind: StoreKind, cut: Cut) {
    let stage = Stage::on(kind).await;
    let port = stage.backend.port();
    let proxy = Proxy::in_front_of(port).await;
    let config = ChildConfig { lease_ms: 3000, ..ChildConfig::of(&stage, Scenario::Registration) };
    let lease = Duration::from_millis(config.lease_ms);
    // Only the leader connects through the proxy.
    let state_url = config.state_url.replace(&format!(":{port}"), &format!(":{}", proxy.port));
    let old = Process::child(&ChildConfig { state_url, ..config.clone() });
    old.wait_until_leading().await;
    let crowd = Crowd::begin(&stage, 12, BEHAVIOUR).await;
    let new = Process::child(&config);
    new.wait_for_log("standing by").await;
    assert!(stage.sees_messages(60, TIMEOUT).await);
    let store = stage.store().await;
    let epoch = async || store.lease(BOT).await.unwrap().map(|lease| lease.epoch);
    let former = epoch().await;
    match cut {
        Cut::Silent => proxy.blackhole(),
        Cut::Closed => proxy.cut_off(true),
    }
    let began = Instant::now();
    // Unsettled messages may come twice: the sent log belongs to the leader's address of the server, as on another
    // machine, so the standby does not read it.
    let unrecorded = unsent_rows(&store).await.len();
    new.wait_for_log("took over the lease").await;
    let taken_over = began.elapsed();
    old.wait_for_log("lost the lease").await;
    assert!(epoch().await > former);
    // People continue with the standby, while the old leader reaches nothing.
    assert!(stage.sees_messages(60, TIMEOUT).await, "{:?}", new.log_lines());
    let handled = old.count("input handled");
    proxy.resume();
    old.wait_for_log("standing by: another instance holds the lease").await;
    assert!(stage.sees_messages(100, TIMEOUT).await);
    assert_eq!(old.count("input handled"), handled, "{:?}", old.log_lines());
    let diaries = crowd.finish().await;
    store.close().await.unwrap();
    old.kill().await;
    new.stop(&stage).await;
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    audit.check_writers(&writers(&stage).await);
    if stage.backend.has_tables() {
        audit.check_writes(&writing_people(&stage).await, &diaries);
    }
    println!(
        "{kind:?}, {cut:?}: {} dialogues, {} messages repeated of {unrecorded}, taken over {taken_over:?} after it",
        audit.walks, audit.repeats
    );
    audit.assert_clean();
    // The last renewal was at most half the lease before the cut.
    assert!(taken_over > lease / 3 && taken_over < lease + BEYOND_THE_LEASE, "{taken_over:?}");
}
