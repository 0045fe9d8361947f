//! Every store keeps every promise, and a store that breaks one is found out.

use std::sync::Arc;

use opora::store::{DecidedStore, MemoryStore, PostgresStore, RedisCode, RedisStore, SqliteStore, Store};
use opora::testing::conformance::Subject;
use opora_testkit::environment;
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::{RedisServer, RedisSpace};

mod as_aiogram;
mod broken;
mod twins;

mod memory {
    opora::store_conformance!(|| async { super::MemoryStore::new() });
}

mod sqlite {
    opora::store_conformance!(super::sqlite_in_a_folder);
}

mod postgres {
    opora::store_conformance!(super::postgres_in_a_schema);
}

mod redis {
    opora::store_conformance!(|| super::redis_in_a_space(super::RedisCode::Functions));
}

/// The Redis without functions runs the same scripts.
mod all_redis_by_scripts {
    opora::store_conformance!(|| super::redis_in_a_space(super::RedisCode::Scripts));
}

mod redis_before_functions {
    opora::store_conformance!(super::redis_before_functions);
}

mod redis_and_sqlite {
    opora::store_conformance!(super::redis_and_sqlite);
}

mod redis_and_postgres {
    opora::store_conformance!(super::redis_and_postgres);
}

/// Redis, with the application's tables in a file.
async fn redis_and_sqlite() -> Subject {
    let both = Arc::new((RedisSpace::new(), tempfile::tempdir().unwrap()));
    let open = move || {
        let both = Arc::clone(&both);
        async move {
            let file = SqliteStore::open(&both.1.path().join("tables.db")).await.unwrap();
            let redis = RedisStore::open(&both.0.url).await.unwrap();
            Arc::new(DecidedStore::open(redis, file).await.unwrap()) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}

/// Redis, with the application's tables in PostgreSQL.
async fn redis_and_postgres() -> Subject {
    let both = Arc::new((RedisSpace::new(), PostgresSpace::new().await));
    let open = move || {
        let both = Arc::clone(&both);
        async move {
            let database = PostgresStore::open(&both.1.url).await.unwrap();
            let redis = RedisStore::open(&both.0.url).await.unwrap();
            Arc::new(DecidedStore::open(redis, database).await.unwrap()) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}

mod redis_as_aiogram {
    opora::store_conformance!(super::as_aiogram::aiogram_in_a_space);
}

/// PostgreSQL, in a schema that no other test has.
async fn postgres_in_a_schema() -> Subject {
    let space = Arc::new(PostgresSpace::new().await);
    let open = move || {
        let space = Arc::clone(&space);
        async move { Arc::new(PostgresStore::open(&space.url).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}

/// Redis, under a prefix that no other test has.
async fn redis_in_a_space(code: RedisCode) -> Subject {
    let space = Arc::new(RedisSpace::new());
    let open = move || {
        let space = Arc::clone(&space);
        async move { Arc::new(RedisStore::open_with(&space.url, code).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}

/// A Redis of the last version that knew no functions.
async fn redis_before_functions() -> Subject {
    let server = Arc::new(RedisServer::of(environment::old_redis(), &[]));
    let open = move || {
        let server = Arc::clone(&server);
        async move {
            let store = RedisStore::open(&server.url()).await.unwrap();
            assert!(store.describe().contains("by scripts"), "{}", store.describe());
            Arc::new(store) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}

/// SQLite in a folder that goes with the test.
async fn sqlite_in_a_folder() -> Subject {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let open = move || {
        let folder = Arc::clone(&folder);
        async move { Arc::new(SqliteStore::open(&folder.path().join("opora.db")).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}
