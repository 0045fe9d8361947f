//! Lost answers: the caller asks again, and nothing happens twice.

use opora::store::{Store, StoreError, Version};
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;

use super::{Fixture, Tables, claim, is_processed, unsent, version_and_state, writing_turn};

super::on_both_databases! {
    a_lost_answer_of_redis_is_noticed,
}

async fn a_lost_answer_of_redis_is_noticed(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let url = fixture.redis_url();
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok()).unwrap();
    let proxy = Proxy::in_front_of(port).await;
    let store = fixture.store_at(&format!("redis://127.0.0.1:{}/0", proxy.port), &fixture.tables.url()).await;
    let epoch = claim(&store, "first").await;
    proxy.drop_reply_to(b"_carry_out");
    let lost = store.commit(epoch, writing_turn(1, 11, Version(0))).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))) && proxy.has_dropped_reply(), "{lost:?}");
    assert!(is_processed(&store, 1, 11).await);
    assert_eq!(version_and_state(&store, 1).await, (Version(1), Some("after-11".into())));
    assert_eq!(unsent(&store).await, ["after-11"]);
    let again = store.commit(epoch, writing_turn(1, 11, Version(1))).await;
    assert!(matches!(again, Err(StoreError::AlreadyProcessed)), "{again:?}");
    assert_eq!(fixture.tables.notes().await, 1);
}

#[tokio::test]
async fn a_lost_answer_of_postgres_is_noticed() {
    let server = PostgresServer::start(&[]);
    let proxy = Proxy::in_front_of(server.port()).await;
    let fixture = Fixture::new(Tables::Server(server)).await;
    let behind = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
    let store = fixture.store_at(&fixture.redis_url(), &behind).await;
    let epoch = claim(&store, "first").await;
    for update_id in 11..=13 {
        let from = version_and_state(&store, 1).await.0;
        proxy.drop_reply_to(b"COMMIT");
        let lost = store.commit(epoch, writing_turn(1, update_id, from)).await;
        assert!(matches!(lost, Err(StoreError::Unavailable(_))) && proxy.has_dropped_reply(), "{lost:?}");
        // The runtime then opens the conversation again, with the mark.
        assert!(is_processed(&store, 1, update_id).await);
        assert_eq!(version_and_state(&store, 1).await, (Version(from.0 + 1), Some(format!("after-{update_id}"))));
    }
    assert_eq!(unsent(&store).await.len(), 3);
    assert_eq!(fixture.tables.notes().await, 3);
}
