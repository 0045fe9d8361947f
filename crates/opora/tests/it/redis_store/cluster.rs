//! A cluster node refuses calls with keys of two slots: no call of the store may have them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opora::store::{RedisCode, RedisStore, Store};
use opora::testing::conformance::{CASES, Subject, run};
use opora_testkit::redis_server::RedisServer;
use opora_testkit::server_process::free_port;

/// A cluster of one node with all slots. It takes about two seconds until it answers.
fn a_cluster() -> RedisServer {
    // The default port of the cluster bus, ten thousand higher, may not exist.
    let bus = free_port().to_string();
    let server = RedisServer::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let began = Instant::now();
    while server.try_command(&["SET", "is-there", "1"]).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "the cluster does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

fn run_conformance_on_a_cluster(code: RedisCode) {
    let server = a_cluster();
    assert!(
        server.try_command(&["MSET", "one", "1", "another", "2"]).is_err(),
        "this node takes keys of all slots at once"
    );
    for (number, case) in CASES.iter().enumerate() {
        println!("{}", case.name);
        let url = format!("{}?prefix=case{number}", server.url());
        let open = move || {
            let url = url.clone();
            async move { Arc::new(RedisStore::open_with(&url, code).await.unwrap()) as Arc<dyn Store> }
        };
        run(case.check, || async { Subject::reopening(open().await, open) });
    }
}

#[test]
fn no_function_touches_keys_of_two_slots() {
    run_conformance_on_a_cluster(RedisCode::Functions);
}

#[test]
fn no_script_touches_keys_of_two_slots() {
    run_conformance_on_a_cluster(RedisCode::Scripts);
}
