//! Which addresses go together.

use opora::store::{OpenError, Store, open_with_database};

use super::{Bench, Tables};

#[tokio::test]
async fn a_redis_goes_with_a_database_and_a_database_with_itself() {
    let bench = Bench::new(Tables::in_a_file()).await;
    let (redis, file) = (bench.redis_url(), bench.tables.url());
    let both = open_with_database(&redis, Some(&file)).await.unwrap();
    assert!(both.describe().contains("Redis") && both.describe().contains("tables.db"), "{}", both.describe());
    both.close().await.unwrap();
    for (state, database) in [(&redis, None), (&file, None), (&file, Some(&*file))] {
        let one = open_with_database(state, database).await.unwrap();
        assert!(!one.describe().contains("what turns write"), "{}", one.describe());
        one.close().await.unwrap();
    }
    let other = format!("sqlite:{}", bench.tables.path().unwrap().with_extension("other").display());
    for (state, database) in [(&file, &other), (&redis, &"memory:".to_owned()), (&"memory:".to_owned(), &file)] {
        let apart = open_with_database(state, Some(database)).await;
        assert!(matches!(apart, Err(OpenError::Apart)), "{apart:?}");
    }
    let unknown = open_with_database(&redis, Some("mysql://here")).await;
    assert!(matches!(unknown, Err(OpenError::UnknownAddress(_))), "{unknown:?}");
}

#[tokio::test]
async fn several_that_start_at_once_make_the_tables_together() {
    for tables in [Tables::in_a_file(), Tables::in_a_schema().await] {
        let bench = Bench::new(tables).await;
        bench.tables.say("DROP TABLE opora_decisions_schema").await;
        for table in ["opora_fences", "opora_decisions", "opora_decided_inputs"] {
            bench.tables.say(&format!("DROP TABLE {table}")).await;
        }
        let (one, other, third) = tokio::join!(bench.store(), bench.store(), bench.store());
        for store in [one, other, third] {
            store.close().await.unwrap();
        }
        assert_eq!(bench.tables.number("SELECT count(*) FROM opora_decisions_schema").await, 1);
    }
}

#[tokio::test]
async fn tables_of_a_newer_library_are_refused() {
    for tables in [Tables::in_a_file(), Tables::in_a_schema().await] {
        let bench = Bench::new(tables).await;
        bench.tables.say("INSERT INTO opora_decisions_schema VALUES (99)").await;
        let refused = open_with_database(&bench.redis_url(), Some(&bench.tables.url())).await.map(drop);
        assert!(matches!(&refused, Err(OpenError::Store(why)) if why.to_string().contains("newer")), "{refused:?}");
    }
}
