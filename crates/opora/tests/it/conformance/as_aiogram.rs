//! Redis with states in aiogram's keys, for conformance cases that store arbitrary texts.
//!
//! Such a store must understand its states, and the texts of the cases are no dialogue's states. So each text is
//! wrapped in a conversation without an open dialogue, and nothing of it is written to aiogram's keys.

use std::sync::Arc;

use opora::aiogram::{AiogramLayout, AiogramStore, Strategy, Translate};
use opora::key::ConversationKey;
use opora::store::{
    Answer, Commit, Committed, ConversationRow, Epoch, Filter, Mark, Opened, StateChange, Store, StoreLayer,
    StoredState,
};
use opora::testing::conformance::Subject;
use opora_testkit::redis_server::RedisNamespace;
use serde_json::{Value, json};

#[derive(Debug)]
struct WrappedStates(AiogramStore);

impl StoreLayer for WrappedStates {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    fn open<'a>(&'a self, key: &'a ConversationKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(async move {
            Ok(match Store::open(&self.0, key, mark).await? {
                Opened::At { version, stored } => Opened::At { version, stored: stored.map(unwrap_state) },
                Opened::AlreadyProcessed => Opened::AlreadyProcessed,
            })
        })
    }

    fn commit<'a>(&'a self, epoch: Epoch, mut commit: Commit) -> Answer<'a, Committed> {
        if let StateChange::Set(stored) = commit.state {
            commit.state = StateChange::Set(wrap(stored));
        }
        Store::commit(&self.0, epoch, commit)
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a ConversationKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(async move {
            let rows = Store::list(&self.0, filter, after, limit).await?;
            let plain = |row: ConversationRow| ConversationRow { stored: row.stored.map(unwrap_state), ..row };
            Ok(rows.into_iter().map(plain).collect())
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        let row = ConversationRow { stored: row.stored.clone().map(wrap), ..row.clone() };
        Box::pin(async move { self.0.operator().import(&row, replace).await })
    }
}

fn wrap(stored: StoredState) -> StoredState {
    StoredState { value: json!({"tracks": [], "kept": stored.value}).to_string().into(), ..stored }
}

fn unwrap_state(stored: StoredState) -> StoredState {
    let value: Value = serde_json::from_str(&stored.value).unwrap();
    StoredState { value: value["kept"].as_str().unwrap().into(), ..stored }
}

/// Under a prefix of its own. Each of aiogram's keys belongs to one conversation.
pub async fn aiogram_in_a_namespace() -> Subject {
    let space = Arc::new(RedisNamespace::new());
    let layout = AiogramLayout::new().strategy(Strategy::UserInTopic).with_bot_id().with_business_connection_id();
    let open = move || {
        let (space, layout, nothing) = (Arc::clone(&space), layout.clone(), Vec::<Box<dyn Translate>>::new());
        async move {
            let store = AiogramStore::open_with(&space.url, layout, nothing).await.unwrap();
            Arc::new(WrappedStates(store)) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}
