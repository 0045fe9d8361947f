//! The journal's tables, in a file of their own and in an application's database.

use sqlx::{Connection, SqliteConnection};

use super::*;
use crate::clock::Millis;
use crate::store::{Commit, DecisionStore, Holder, LeaseAnswer, Version};
use crate::testing::holder;

#[tokio::test]
async fn an_outage_token_lasts_until_everything_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = JournalDatabase::open(&path).await.unwrap();
    for bot in [7, 8] {
        journal.begin_outage(bot).await.unwrap();
    }
    let of_7 = journal.outage_token(7).await.unwrap();
    let of_8 = journal.outage_token(8).await.unwrap();
    assert_ne!(of_7, of_8);
    let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    sqlx::raw_sql("INSERT INTO opora_labels VALUES (8, 5, 'label', 1, 0)").execute(&mut file).await.unwrap();
    for bot in [7, 8] {
        journal.begin_outage(bot).await.unwrap();
    }
    assert_ne!(journal.outage_token(7).await.unwrap(), of_7, "another outage");
    assert_eq!(journal.outage_token(8).await.unwrap(), of_8, "its replay may have been interrupted");
    journal.clear(7, Epoch(0)).await.unwrap();
    assert_eq!(journal.outage_token(8).await.unwrap(), of_8, "the other bot's end is not its own");
    journal.clear(8, Epoch(0)).await.unwrap();
    journal.begin_outage(8).await.unwrap();
    assert_ne!(journal.outage_token(8).await.unwrap(), of_8);
}

/// An instance was paused during a replay, and Redis is away again when it wakes up.
#[tokio::test]
async fn a_fenced_instance_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = JournalDatabase::open(&path).await.unwrap();
    let mine = claimed(&journal, &holder("t")).await;
    assert_eq!(journal.epoch(7).await.unwrap(), mine);
    let another = holder("another");
    let theirs = claimed(&journal, &another).await;
    let key = ConversationKey::private(7, 5);
    let keys = ["7:5:5".to_owned()];
    let entry = Entry::of_turn(&Commit::new(key.clone(), Version(3), Millis(1)), false);
    journal.database().write(JournalDatabase::entry_write(&entry, None).unwrap()).await.unwrap();
    for refused in [
        journal.set_effects_aside(7, mine).await,
        journal.remove_replayed(7, mine, &keys).await,
        journal.remove_conflict(&key, mine, 0).await,
        journal.remove_inputs(7, mine, &[1]).await,
        journal.clear(7, mine).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        assert_eq!(journal.entries(7, 0, 9).await.unwrap().len(), 1);
    }
    journal.clear(7, theirs).await.unwrap();
    assert!(journal.is_empty(7).await.unwrap());
}

#[tokio::test]
async fn stored_conversations_prevent_a_journal() {
    const LEFT: [&str; 4] = [
        "INSERT INTO opora_parked (id, bot, key, kind, body, reason, attempts, at, retry)
        VALUES (1, 7, '7:5:5', 'update', '{}', 'it fails', 1, 0, 0)",
        "INSERT INTO opora_failed (id, bot, key, method, body, reason, at)
        VALUES (1, 7, '7:5:5', 'sendMessage', '{}', 'blocked', 0)",
        "INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, states, updated_at)
        VALUES ('7:5:5', 7, 5, 5, 0, '', 3, '[]', 0)",
        "INSERT INTO opora_labels VALUES (7, 5, 'menu', 1, 0)",
    ];
    for left in LEFT {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opora.db");
        let database = Arc::new(SqlDatabase::from(SqliteStore::open(&path).await.unwrap()));
        let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
        sqlx::raw_sql(left).execute(&mut file).await.unwrap();
        let refused = JournalDatabase::in_database(database).await;
        assert!(matches!(refused, Err(StoreError::Unsupported(KEEPS_CONVERSATIONS))), "{left}: {refused:?}");
    }
}

async fn claimed(journal: &JournalDatabase, holder: &Holder) -> Epoch {
    let seen = journal.store().lease(7).await.unwrap();
    let claimed = journal.store().claim(7, holder, seen.as_ref()).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    epoch
}

#[tokio::test]
async fn stored_conversations_can_be_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opora.db");
    let database = Arc::new(SqlDatabase::from(SqliteStore::open(&path).await.unwrap()));
    let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    let waits = "INSERT INTO opora_inbox (seq, bot, key, body, at) VALUES (1, 7, '7:5:5', '{}', 0)";
    sqlx::raw_sql(waits).execute(&mut file).await.unwrap();
    let refused = JournalDatabase::in_database(Arc::clone(&database)).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(KEEPS_CONVERSATIONS))), "{refused:?}");
    let held = database.store().claim(7, &holder("t"), None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = held else { panic!("{held:?}") };
    let refused = JournalDatabase::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(NOT_IN_REDIS))), "{refused:?}");
    DecisionStore::create_tables(&database).await.unwrap();
    sqlx::raw_sql("INSERT INTO opora_fences VALUES (7, 1, 'redis')").execute(&mut file).await.unwrap();
    let refused = JournalDatabase::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(IS_IN_USE))), "{refused:?}");
    database.store().release(7, epoch).await.unwrap();
    assert_eq!(JournalDatabase::discard(&database).await.unwrap(), [7]);
    JournalDatabase::in_database(Arc::clone(&database)).await.unwrap();
    let refused = JournalDatabase::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(IS_A_JOURNAL))), "{refused:?}");
    // From now on the inbox belongs to the journal.
    sqlx::raw_sql(waits).execute(&mut file).await.unwrap();
    assert!(!JournalDatabase::in_database(database).await.unwrap().is_empty(7).await.unwrap());
}
