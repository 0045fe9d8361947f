//! The application's writes commit with its turns.

use futures_util::future::join_all;
use opora::store::{Commit, Database, DomainWrites, Refusal, Store, StoreError, Version, WriteError};
use opora_testkit::postgres_server::{PostgresSchema, query};
use sqlx::{Connection, PgConnection};

use super::{Fixture, person, talk, version};

const TABLES: &str = "
CREATE TABLE slots (number BIGINT PRIMARY KEY);
CREATE TABLE notes (text TEXT, slot BIGINT REFERENCES slots DEFERRABLE INITIALLY DEFERRED)";

async fn fixture() -> Fixture<PostgresSchema> {
    let fixture = Fixture::new().await;
    query(&fixture.server.url, TABLES).await;
    fixture
}

async fn count(fixture: &Fixture<PostgresSchema>) -> i64 {
    let mut connection = PgConnection::connect(&fixture.server.url).await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM notes").fetch_one(&mut connection).await.unwrap()
}

async fn insert(database: &mut Database<'_>, text: &str, slot: Option<i64>) -> Result<(), WriteError> {
    let insert = sqlx::query("INSERT INTO notes VALUES ($1, $2)").bind(text).bind(slot);
    insert.execute(database.postgres()).await?;
    Ok(())
}

fn note(text: &'static str) -> DomainWrites {
    DomainWrites::new(move |db| Box::pin(insert(db, text, None)))
}

fn with(user: i64, writes: DomainWrites) -> Commit {
    Commit { writes: Some(writes), ..talk(person(user), Version(0)) }
}

#[tokio::test]
async fn a_refused_write_is_undone_and_others_commit() {
    let fixture = fixture().await;
    let refuse = DomainWrites::new(|db| {
        Box::pin(async move {
            insert(db, "gone", None).await?;
            Err(Refusal::because("the slot is full"))
        })
    });
    let fail = DomainWrites::new(|db| {
        Box::pin(async move {
            insert(db, "gone", None).await?;
            sqlx::query("INSERT INTO nowhere VALUES (1)").execute(db.postgres()).await?;
            Ok(())
        })
    });
    // A deferred constraint would otherwise fail all of them at the commit.
    let dangle = DomainWrites::new(|db| Box::pin(insert(db, "gone", Some(5))));
    let panic = DomainWrites::new(|db| {
        Box::pin(async move {
            assert!(db.is_postgres());
            sqlx::query("SELECT 1").execute(db.sqlite()).await?;
            Ok(())
        })
    });
    let turns = vec![
        with(1, note("kept")),
        with(2, refuse),
        with(3, fail),
        with(4, dangle),
        with(5, panic),
        with(6, note("too")),
    ];
    // They fall into few groups.
    let answers = join_all(turns.into_iter().map(|turn| fixture.store.commit(fixture.epoch, turn))).await;
    assert!(answers[0].is_ok() && answers[5].is_ok(), "{answers:?}");
    assert!(matches!(&answers[1], Err(StoreError::Refused(Refusal(why))) if why == "the slot is full"));
    for failed in &answers[2..5] {
        assert!(matches!(failed, Err(StoreError::WritesFailed(_))), "{failed:?}");
    }
    assert_eq!(count(&fixture).await, 2);
    assert_eq!(fixture.store.statistics(None).await.unwrap().active, 2);
}

#[tokio::test]
async fn a_deferred_constraint_is_checked_at_the_commit() {
    let fixture = fixture().await;
    let writes = || {
        DomainWrites::new(|db| {
            Box::pin(async move {
                insert(db, "first the note", Some(5)).await?;
                sqlx::query("INSERT INTO slots VALUES (5) ON CONFLICT DO NOTHING").execute(db.postgres()).await?;
                Ok(())
            })
        })
    };
    let done =
        join_all([with(1, writes()), with(1001, writes())].map(|turn| fixture.store.commit(fixture.epoch, turn)));
    assert!(done.await.iter().all(Result::is_ok));
    assert_eq!(count(&fixture).await, 2);
}

#[tokio::test]
async fn a_transaction_within_the_writes_is_part_of_the_turn() {
    let fixture = fixture().await;
    let writes = DomainWrites::new(|db| {
        Box::pin(async move {
            insert(db, "kept", None).await?;
            let mut inner = db.postgres().begin().await?;
            sqlx::query("INSERT INTO notes VALUES ('gone')").execute(&mut *inner).await?;
            inner.rollback().await?;
            Err(Refusal::because("and then not"))
        })
    });
    assert!(matches!(fixture.store.commit(fixture.epoch, with(1, writes)).await, Err(StoreError::Refused(_))));
    assert_eq!(count(&fixture).await, 0);
    assert_eq!(version(&fixture.store, &person(1)).await.unwrap(), Version(0));
}

#[tokio::test]
async fn writes_that_end_the_transaction_fail_for_good() {
    let fixture = fixture().await;
    for damage in ["ROLLBACK", "COMMIT"] {
        let writes = DomainWrites::new(move |db| {
            Box::pin(async move {
                sqlx::raw_sql(damage).execute(db.postgres()).await?;
                Ok(())
            })
        });
        let spoilt = fixture.store.commit(fixture.epoch, with(1, writes)).await;
        assert!(matches!(spoilt, Err(StoreError::WritesFailed(_))), "{spoilt:?}");
        assert_eq!(version(&fixture.store, &person(1)).await.unwrap(), Version(0));
    }
    fixture.store.commit(fixture.epoch, with(1, note("kept"))).await.unwrap();
    fixture.store.write(note("outside of a turn")).await.unwrap();
    assert_eq!(count(&fixture).await, 2);
}

#[tokio::test]
async fn writes_of_an_overtaken_turn_are_not_run() {
    let fixture = fixture().await;
    let late = Commit { writes: Some(note("gone")), ..talk(person(1), Version(4)) };
    assert!(matches!(fixture.store.commit(fixture.epoch, late).await, Err(StoreError::Overtaken(_))));
    assert_eq!(count(&fixture).await, 0);
}
