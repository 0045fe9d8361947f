//! Every store keeps every promise, and a store that breaks one is found out.

use std::sync::Arc;

use opora::store::{MemoryStore, SqliteStore, Store};
use opora::testing::conformance::Subject;

mod broken;
mod twins;

mod memory {
    opora::store_conformance!(|| async { super::MemoryStore::new() });
}

mod sqlite {
    opora::store_conformance!(super::sqlite_in_a_folder);
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
