//! The store that a case runs on.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::store::Store;

type Reopen = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;

/// An empty store, and how to reopen it if it outlives its process.
pub struct Subject {
    store: Arc<dyn Store>,
    reopen: Option<Reopen>,
}

impl Subject {
    /// A store that loses its data with the process: restarts are only simulated.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, reopen: None }
    }

    /// A store that persists. `reopen` opens it again on the same data after it was closed, and owns what the data
    /// needs, such as a temporary folder.
    #[must_use]
    pub fn reopening<F, R>(store: Arc<dyn Store>, reopen: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Arc<dyn Store>> + Send + 'static,
    {
        Self { store, reopen: Some(Box::new(move || Box::pin(reopen()))) }
    }

    /// The open store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Closes the store and opens it again.
    pub async fn restart(&mut self) {
        if let Some(reopen) = &self.reopen {
            self.store.close().await.expect("the store closes");
            self.store = reopen().await;
        }
    }
}

/// What a case starts from.
pub trait Start: Sized {
    /// Makes it of an empty store.
    fn from_subject(subject: Subject) -> impl Future<Output = Self> + Send;
}

impl Start for Subject {
    async fn from_subject(subject: Subject) -> Self {
        subject
    }
}

impl<S: Store> From<S> for Subject {
    fn from(store: S) -> Self {
        Self::new(Arc::new(store))
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("store", &self.store).field("reopens", &self.reopen.is_some()).finish()
    }
}
