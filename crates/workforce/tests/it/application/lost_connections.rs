//! Pages recover when their connections to PostgreSQL are lost silently (half-open): no error arrives, and no data.

use std::time::Duration;

use futures_util::future::join_all;
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use sea_orm::{ConnectionTrait, Statement};
use workforce::domain::{Address, Domain};

/// The number of concurrent readers.
const READERS: usize = 8;

/// The application's reads go through a proxy that can be cut. Everything else connects directly.
struct ProxiedDatabase {
    domain: Domain,
    proxy: Proxy,
    _server: PostgresServer,
}

impl ProxiedDatabase {
    async fn open() -> Self {
        let server = PostgresServer::start(&[]);
        let proxy = Proxy::in_front_of(server.port()).await;
        let through = server.url().replace(&format!(":{}", server.port()), &format!(":{}", proxy.port));
        Domain::migrate(&Address::parse(&server.url()).unwrap()).await.unwrap();
        let store = opora::store::open(&server.url()).await.unwrap();
        let domain = Domain::with_store(&Address::parse(&through).unwrap(), store).await.unwrap();
        Self { domain, proxy, _server: server }
    }

    /// All readers run a query at the same time.
    async fn read(&self, seconds: f64) {
        let read = async |_| {
            let db = self.domain.read();
            let sql = Statement::from_string(db.get_database_backend(), format!("SELECT pg_sleep({seconds})"));
            db.query_one_raw(sql).await.unwrap();
        };
        join_all((0..READERS).map(read)).await;
    }

    /// Makes the present connections half-open. New connections work.
    async fn make_half_open(&self) {
        self.proxy.blackhole();
        // Connection tasks notice it when they are polled.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.proxy.resume();
    }
}

#[tokio::test]
async fn lost_idle_connections_are_replaced() {
    let database = ProxiedDatabase::open().await;
    database.read(0.2).await;
    database.make_half_open().await;
    database.read(0.0).await;
}

#[tokio::test]
async fn lost_connections_of_cancelled_readers_are_freed() {
    let database = ProxiedDatabase::open().await;
    database.read(0.2).await;
    let reading = tokio::time::timeout(Duration::from_millis(500), database.read(30.0));
    assert!(reading.await.is_err(), "it took long");
    database.make_half_open().await;
    database.read(0.0).await;
}
