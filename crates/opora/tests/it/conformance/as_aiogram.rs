//! Redis with states in aiogram's keys, for cases that store anything at all.
//!
//! Such a store has to understand what it keeps, and the cases keep texts that are nobody's dialogue. So each is put into
//! a conversation in which nothing is open, and nothing of it comes to aiogram's keys.

use std::sync::Arc;

use opora::aiogram::{AiogramLayout, AiogramStore, Strategy, Translate};
use opora::key::DialogueKey;
use opora::store::{
    Answer, Commit, Committed, ConversationRow, Epoch, Filter, Mark, Opened, StateChange, Store, StoreLayer, Stored,
};
use opora::testing::conformance::Subject;
use opora_testkit::redis_server::RedisSpace;
use serde_json::{Value, json};

#[derive(Debug)]
struct InConversations(AiogramStore);

impl StoreLayer for InConversations {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    fn open<'a>(&'a self, key: &'a DialogueKey, mark: Option<&'a Mark>) -> Answer<'a, Opened> {
        Box::pin(async move {
            Ok(match Store::open(&self.0, key, mark).await? {
                Opened::At { version, stored } => Opened::At { version, stored: stored.map(taken_out) },
                Opened::AlreadyTaken => Opened::AlreadyTaken,
            })
        })
    }

    fn commit<'a>(&'a self, epoch: Epoch, mut commit: Commit) -> Answer<'a, Committed> {
        if let StateChange::Set(stored) = commit.state {
            commit.state = StateChange::Set(put_in(stored));
        }
        Store::commit(&self.0, epoch, commit)
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<&'a DialogueKey>,
        limit: usize,
    ) -> Answer<'a, Vec<ConversationRow>> {
        Box::pin(async move {
            let rows = Store::list(&self.0, filter, after, limit).await?;
            let plain = |row: ConversationRow| ConversationRow { stored: row.stored.map(taken_out), ..row };
            Ok(rows.into_iter().map(plain).collect())
        })
    }

    fn import<'a>(&'a self, row: &'a ConversationRow, replace: bool) -> Answer<'a, bool> {
        let row = ConversationRow { stored: row.stored.clone().map(put_in), ..row.clone() };
        Box::pin(async move { self.0.operator().import(&row, replace).await })
    }
}

fn put_in(stored: Stored) -> Stored {
    Stored { value: json!({"slots": [], "kept": stored.value}).to_string().into(), ..stored }
}

fn taken_out(stored: Stored) -> Stored {
    let value: Value = serde_json::from_str(&stored.value).unwrap();
    Stored { value: value["kept"].as_str().unwrap().into(), ..stored }
}

/// Under a prefix that no other test has; each of aiogram's keys is one conversation's.
pub async fn aiogram_in_a_space() -> Subject {
    let space = Arc::new(RedisSpace::new());
    let layout = AiogramLayout::new().strategy(Strategy::UserInTopic).with_bot_id().with_business_connection_id();
    let open = move || {
        let (space, layout, nothing) = (Arc::clone(&space), layout.clone(), Vec::<Box<dyn Translate>>::new());
        async move {
            let store = AiogramStore::open_with(&space.url, layout, nothing).await.unwrap();
            Arc::new(InConversations(store)) as Arc<dyn Store>
        }
    };
    Subject::reopening(open().await, open)
}
