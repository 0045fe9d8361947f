//! Somebody else's commit comes between what a handler or a page has read and its own commit.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use opora::store::{Answer, Store, StoreLayer, WriteError};
use parking_lot::Mutex;
use workforce::domain::{Domain, Writing};

use crate::kit::firm::Ground;

/// A store before whose next commit another one is made.
pub struct Overtaken {
    inner: Arc<dyn Store>,
    meanwhile: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Overtaken {
    pub fn over(store: &Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(store), meanwhile: Mutex::default() })
    }

    /// Has this written right before the next commit of a turn or a page.
    pub async fn by<F>(&self, ground: &Ground, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let domain = Domain::over(&ground.database, Arc::clone(&self.inner)).await.unwrap();
        *self.meanwhile.lock() = Some(Box::pin(async move { domain.write(run).await.unwrap() }));
    }

    /// The other commit was made.
    pub fn has_happened(&self) -> bool {
        self.meanwhile.lock().is_none()
    }
}

impl StoreLayer for Overtaken {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        let is_commit = matches!(method, "commit" | "write");
        let meanwhile = is_commit.then(|| self.meanwhile.lock().take()).flatten();
        Box::pin(async move {
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            call().await
        })
    }
}

impl fmt::Debug for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overtaken").finish_non_exhaustive()
    }
}
