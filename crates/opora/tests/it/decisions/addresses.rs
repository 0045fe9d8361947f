//! Which addresses can be combined.

use opora::store::{OpenError, Store, open_with_database};

use super::{Fixture, Tables};

#[tokio::test]
async fn valid_combinations_of_addresses_are_opened() {
    let fixture = Fixture::new(Tables::in_a_file()).await;
    let (redis, file) = (fixture.redis_url(), fixture.tables.url());
    let both = open_with_database(&redis, Some(&file)).await.unwrap();
    assert!(both.describe().contains("Redis") && both.describe().contains("tables.db"), "{}", both.describe());
    both.close().await.unwrap();
    for (state, database) in [(&redis, None), (&file, None), (&file, Some(&*file))] {
        let one = open_with_database(state, database).await.unwrap();
        assert!(!one.describe().contains("the application's tables"), "{}", one.describe());
        one.close().await.unwrap();
    }
    let other = format!("sqlite:{}", fixture.tables.path().unwrap().with_extension("other").display());
    for (state, database) in [(&file, &other), (&redis, &"memory:".to_owned()), (&"memory:".to_owned(), &file)] {
        let apart = open_with_database(state, Some(database)).await;
        assert!(matches!(apart, Err(OpenError::SeparateDatabase)), "{apart:?}");
    }
    let unknown = open_with_database(&redis, Some("mysql://here")).await;
    assert!(matches!(unknown, Err(OpenError::UnknownAddress(_))), "{unknown:?}");
}

#[tokio::test]
async fn concurrent_starts_create_the_tables() {
    for tables in [Tables::in_a_file(), Tables::in_a_schema().await] {
        let fixture = Fixture::new(tables).await;
        fixture.tables.execute("DROP TABLE opora_decisions_schema").await;
        for table in ["opora_fences", "opora_decisions", "opora_decided_inputs"] {
            fixture.tables.execute(&format!("DROP TABLE {table}")).await;
        }
        let (one, other, third) = tokio::join!(fixture.store(), fixture.store(), fixture.store());
        for store in [one, other, third] {
            store.close().await.unwrap();
        }
        assert_eq!(fixture.tables.number("SELECT count(*) FROM opora_decisions_schema").await, 1);
    }
}

#[tokio::test]
async fn tables_of_a_newer_library_are_refused() {
    for tables in [Tables::in_a_file(), Tables::in_a_schema().await] {
        let fixture = Fixture::new(tables).await;
        fixture.tables.execute("INSERT INTO opora_decisions_schema VALUES (99)").await;
        let refused = open_with_database(&fixture.redis_url(), Some(&fixture.tables.url())).await.map(drop);
        assert!(matches!(&refused, Err(OpenError::Store(why)) if why.to_string().contains("newer")), "{refused:?}");
    }
}
