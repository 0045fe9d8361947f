//! Every store passes the conformance suite, and every broken store fails it.

use std::sync::Arc;

use opora::store::{DecisionStore, MemoryStore, PostgresStore, RedisCode, RedisStore, SqliteStore, Store};
use opora::testing::conformance::Subject;
use opora_testkit::environment;
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::{RedisNamespace, RedisServer};

mod as_aiogram;
mod broken;
mod broken_stores;

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
    opora::store_conformance!(|| super::redis_in_a_namespace(super::RedisCode::Functions));
}

/// Scripts, as a Redis without functions runs them.
mod all_redis_by_scripts {
    opora::store_conformance!(|| super::redis_in_a_namespace(super::RedisCode::Scripts));
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

async fn redis_and_sqlite() -> Subject {
    let both = Arc::new((RedisNamespace::new(), tempfile::tempdir().unwrap()));
    let open = move || {
        let both = Arc::clone(&both);
        async move {
            let file = SqliteStore::open(&both.1.path().join("tables.db")).await.unwrap();
            let redis = RedisStore::open(&both.0.url).await.unwrap();
            Arc::new(DecisionStore::open(redis, file).await.unwrap()) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}

async fn redis_and_postgres() -> Subject {
    let both = Arc::new((RedisNamespace::new(), PostgresSchema::new().await));
    let open = move || {
        let both = Arc::clone(&both);
        async move {
            let database = PostgresStore::open(&both.1.url).await.unwrap();
            let redis = RedisStore::open(&both.0.url).await.unwrap();
            Arc::new(DecisionStore::open(redis, database).await.unwrap()) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}

mod redis_as_aiogram {
    opora::store_conformance!(super::as_aiogram::aiogram_in_a_namespace);
}

/// PostgreSQL, in a schema that no other test has.
async fn postgres_in_a_schema() -> Subject {
    let space = Arc::new(PostgresSchema::new().await);
    let open = move || {
        let space = Arc::clone(&space);
        async move { Arc::new(PostgresStore::open(&space.url).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}

/// Redis, under a prefix that no other test has.
async fn redis_in_a_namespace(code: RedisCode) -> Subject {
    let space = Arc::new(RedisNamespace::new());
    let open = move || {
        let space = Arc::clone(&space);
        async move { Arc::new(RedisStore::open_with(&space.url, code).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}

/// The last version of Redis without functions.
async fn redis_before_functions() -> Subject {
    let server = Arc::new(RedisServer::start_program(environment::old_redis(), &[]));
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

async fn sqlite_in_a_folder() -> Subject {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let open = move || {
        let folder = Arc::clone(&folder);
        async move { Arc::new(SqliteStore::open(&folder.path().join("opora.db")).await.unwrap()) as Arc<dyn Store> }
    };
    Subject::reopening(open().await, open)
}
