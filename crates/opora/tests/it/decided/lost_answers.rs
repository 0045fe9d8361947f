//! Answers that are lost on their way: the caller looks again, and nothing happens twice.

use opora::store::{Store, StoreError, Version};
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;

use super::{Bench, Tables, claim, is_taken, standing, unsent, writing_turn};

super::on_both_databases! {
    an_answer_of_redis_that_is_lost_is_found_out,
}

async fn an_answer_of_redis_that_is_lost_is_found_out(tables: Tables) {
    let bench = Bench::new(tables).await;
    let url = bench.redis_url();
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok()).unwrap();
    let proxy = Proxy::before(port).await;
    let store = bench.store_at(&format!("redis://127.0.0.1:{}/0", proxy.port), &bench.tables.url()).await;
    let epoch = claim(&store, "first").await;
    proxy.cut_after(b"_carry_out");
    let lost = store.commit(epoch, writing_turn(1, 11, Version(0))).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))) && proxy.has_cut(), "{lost:?}");
    assert!(is_taken(&store, 1, 11).await);
    assert_eq!(standing(&store, 1).await, (Version(1), Some("after-11".into())));
    assert_eq!(unsent(&store).await, ["after-11"]);
    let again = store.commit(epoch, writing_turn(1, 11, Version(1))).await;
    assert!(matches!(again, Err(StoreError::AlreadyTaken)), "{again:?}");
    assert_eq!(bench.tables.notes().await, 1);
}

#[tokio::test]
async fn a_commit_of_postgres_whose_answer_is_lost_is_found_out() {
    let server = PostgresServer::start(&[]);
    let proxy = Proxy::before(server.port()).await;
    let bench = Bench::new(Tables::Server(server)).await;
    let behind = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let store = bench.store_at(&bench.redis_url(), &behind).await;
    let epoch = claim(&store, "first").await;
    for update_id in 11..=13 {
        let from = standing(&store, 1).await.0;
        proxy.cut_after(b"COMMIT");
        let lost = store.commit(epoch, writing_turn(1, update_id, from)).await;
        assert!(matches!(lost, Err(StoreError::Unavailable(_))) && proxy.has_cut(), "{lost:?}");
        // What the runtime does then: it opens the conversation anew, with the mark.
        assert!(is_taken(&store, 1, update_id).await);
        assert_eq!(standing(&store, 1).await, (Version(from.0 + 1), Some(format!("after-{update_id}"))));
    }
    assert_eq!(unsent(&store).await.len(), 3);
    assert_eq!(bench.tables.notes().await, 3);
}
