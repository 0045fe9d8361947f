//! The journal's tables, in a file of their own and in an application's database.

use sqlx::{Connection, SqliteConnection};

use super::*;
use crate::store::{Commit, DecidedStore, Holder, LeaseAnswer, Version};
use crate::testing::holder;

#[tokio::test]
async fn the_name_of_an_outage_is_one_bots_and_stays_until_everything_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let book = Book::open(&path).await.unwrap();
    for bot in [7, 8] {
        book.begin(bot).await.unwrap();
    }
    let of_7 = book.token(7).await.unwrap();
    let of_8 = book.token(8).await.unwrap();
    assert_ne!(of_7, of_8);
    let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    sqlx::raw_sql("INSERT INTO opora_labels VALUES (8, 5, 'label', 1, 0)").execute(&mut file).await.unwrap();
    for bot in [7, 8] {
        book.begin(bot).await.unwrap();
    }
    assert_ne!(book.token(7).await.unwrap(), of_7, "another outage");
    assert_eq!(book.token(8).await.unwrap(), of_8, "its replay may have been cut off");
    book.empty(7, Epoch(0)).await.unwrap();
    assert_eq!(book.token(8).await.unwrap(), of_8, "the other one's end is not its own");
    book.empty(8, Epoch(0)).await.unwrap();
    book.begin(8).await.unwrap();
    assert_ne!(book.token(8).await.unwrap(), of_8);
}

/// It stood still in the midst of a replay, and Redis is away again when it wakes.
#[tokio::test]
async fn whoever_lost_the_lease_takes_nothing_of_what_another_one_has_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let book = Book::open(&path).await.unwrap();
    let mine = claimed(&book, &holder("t")).await;
    assert_eq!(book.epoch(7).await.unwrap(), mine);
    let another = holder("another");
    let theirs = claimed(&book, &another).await;
    let key = DialogueKey::private(7, 5);
    let keys = ["7:5:5".to_owned()];
    let entry = Entry::of_turn(&Commit::new(key.clone(), Version(3), Millis(1)), false);
    book.database().write(Book::writing(&entry, None).unwrap()).await.unwrap();
    for refused in [
        book.set_effects_aside(7, mine).await,
        book.remove_replayed(7, mine, &keys).await,
        book.give_up(&key, mine, 0).await,
        book.remove_inputs(7, mine, &[1]).await,
        book.empty(7, mine).await,
    ] {
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        assert_eq!(book.entries(7, 0, 9).await.unwrap().len(), 1);
    }
    book.empty(7, theirs).await.unwrap();
    assert!(book.is_empty(7).await.unwrap());
}

#[tokio::test]
async fn whatever_is_left_of_a_databases_own_conversations_is_in_the_way_of_a_journal() {
    const LEFT: [&str; 4] = [
        "INSERT INTO opora_parked (id, bot, key, kind, body, reason, attempts, at, retry)
        VALUES (1, 7, '7:5:5', 'update', '{}', 'it fails', 1, 0, 0)",
        "INSERT INTO opora_failed (id, bot, key, method, body, reason, at)
        VALUES (1, 7, '7:5:5', 'sendMessage', '{}', 'blocked', 0)",
        "INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, places, updated_at)
        VALUES ('7:5:5', 7, 5, 5, 0, '', 3, '[]', 0)",
        "INSERT INTO opora_labels VALUES (7, 5, 'menu', 1, 0)",
    ];
    for left in LEFT {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opora.db");
        let database = Arc::new(SqlDatabase::from(SqliteStore::open(&path).await.unwrap()));
        let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
        sqlx::raw_sql(left).execute(&mut file).await.unwrap();
        let refused = Book::beside(database).await;
        assert!(matches!(refused, Err(StoreError::Unsupported(KEEPS_CONVERSATIONS))), "{left}: {refused:?}");
    }
}

async fn claimed(book: &Book, holder: &Holder) -> Epoch {
    let seen = book.store().lease(7).await.unwrap();
    let claimed = book.store().claim(7, holder, seen.as_ref()).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("{claimed:?}") };
    epoch
}

#[tokio::test]
async fn a_database_that_keeps_conversations_itself_is_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opora.db");
    let database = Arc::new(SqlDatabase::from(SqliteStore::open(&path).await.unwrap()));
    let mut file = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    let waits = "INSERT INTO opora_inbox (seq, bot, key, body, at) VALUES (1, 7, '7:5:5', '{}', 0)";
    sqlx::raw_sql(waits).execute(&mut file).await.unwrap();
    let refused = Book::beside(Arc::clone(&database)).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(KEEPS_CONVERSATIONS))), "{refused:?}");
    let held = database.store().claim(7, &holder("t"), None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = held else { panic!("{held:?}") };
    let refused = Book::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(NOT_IN_REDIS))), "{refused:?}");
    DecidedStore::make_tables(&database).await.unwrap();
    sqlx::raw_sql("INSERT INTO opora_fences VALUES (7, 1, 'redis')").execute(&mut file).await.unwrap();
    let refused = Book::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(IS_IN_USE))), "{refused:?}");
    database.store().release(7, epoch).await.unwrap();
    assert_eq!(Book::discard(&database).await.unwrap(), [7]);
    Book::beside(Arc::clone(&database)).await.unwrap();
    let refused = Book::discard(&database).await;
    assert!(matches!(refused, Err(StoreError::Unsupported(IS_A_JOURNAL))), "{refused:?}");
    // From now on what waits there is the journal's own.
    sqlx::raw_sql(waits).execute(&mut file).await.unwrap();
    assert!(!Book::beside(database).await.unwrap().is_empty(7).await.unwrap());
}
