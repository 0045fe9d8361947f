//! Pages read on when connections to PostgreSQL were lost without a word: nobody is told, and nothing comes any more.

use std::time::Duration;

use futures_util::future::join_all;
use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::proxy::Proxy;
use sea_orm::{ConnectionTrait, Statement};
use workforce::domain::{Address, Domain};

/// As many as read at once.
const READERS: usize = 8;

/// Pages read through a line that can be cut, and everything else goes another way.
struct Scene {
    domain: Domain,
    line: Proxy,
    _server: PostgresServer,
}

impl Scene {
    async fn open() -> Self {
        let server = PostgresServer::start(&[]);
        let line = Proxy::before(server.port()).await;
        let through = server.url().replace(&format!(":{}", server.port()), &format!(":{}", line.port));
        Domain::migrate(&Address::parse(&server.url()).unwrap()).await.unwrap();
        let store = opora::store::open(&server.url()).await.unwrap();
        let domain = Domain::over(&Address::parse(&through).unwrap(), store).await.unwrap();
        Self { domain, line, _server: server }
    }

    /// All of them read at once.
    async fn read(&self, seconds: f64) {
        let read = async |_| {
            let db = self.domain.read();
            let sql = Statement::from_string(db.get_database_backend(), format!("SELECT pg_sleep({seconds})"));
            db.query_one_raw(sql).await.unwrap();
        };
        join_all((0..READERS).map(read)).await;
    }

    /// What is connected now is dead from now on, and new connections come about.
    async fn lose_all(&self) {
        self.line.swallow();
        // Whatever passes has seen it once it is asked for its turn.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.line.let_pass();
    }
}

#[tokio::test]
async fn connections_that_rested_when_they_were_lost_are_replaced_while_somebody_waits() {
    let scene = Scene::open().await;
    scene.read(0.2).await;
    scene.lose_all().await;
    scene.read(0.0).await;
}

#[tokio::test]
async fn connections_that_were_lost_under_a_reader_who_went_give_their_places_back() {
    let scene = Scene::open().await;
    scene.read(0.2).await;
    let reading = tokio::time::timeout(Duration::from_millis(500), scene.read(30.0));
    assert!(reading.await.is_err(), "it took long");
    scene.lose_all().await;
    scene.read(0.0).await;
}
