//! A store that lets a test commit something between a reader's read and its own commit.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use opora::store::{Answer, Store, StoreLayer, WriteError};
use parking_lot::Mutex;
use workforce::domain::{Domain, Transaction};

use crate::kit::firm::TestStorage;

/// A store that runs a prepared write right before the next commit.
pub struct InterleavingStore {
    inner: Arc<dyn Store>,
    pending: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl InterleavingStore {
    pub fn new(store: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(store), pending: Mutex::default() })
    }

    /// Prepares a write that runs right before the next commit of a turn or a page.
    pub async fn commit_before_next<F>(&self, storage: &TestStorage, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let domain = Domain::with_store(&storage.database, Arc::clone(&self.inner)).await.unwrap();
        *self.pending.lock() = Some(Box::pin(async move { domain.write(run).await.unwrap() }));
    }

    /// Whether the prepared write has run.
    pub fn has_committed(&self) -> bool {
        self.pending.lock().is_none()
    }
}

impl StoreLayer for InterleavingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        let is_commit = matches!(method, "commit" | "write");
        let pending = is_commit.then(|| self.pending.lock().take()).flatten();
        Box::pin(async move {
            if let Some(pending) = pending {
                pending.await;
            }
            call().await
        })
    }
}

impl fmt::Debug for InterleavingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterleavingStore").finish_non_exhaustive()
    }
}
