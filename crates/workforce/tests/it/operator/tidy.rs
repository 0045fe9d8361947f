//! `state tidy` removes what older versions of the program left on a Redis server.

use opora_testkit::redis_server::RedisServer;

use super::{StoreFixture, StoreKind, run};

const OLD: &str = "#!lua name=opora_00000000000000aa\nredis.register_function('opora_00000000000000aa_here', \
                   function() return {'yes'} end)";
const FOREIGN: &str = "#!lua name=shop\nredis.register_function('opora_like', function() return 1 end)";

fn libraries(server: &RedisServer) -> Vec<String> {
    let listed = format!("{:?}", server.command(&["FUNCTION", "LIST"]));
    let mut names: Vec<_> =
        listed.split('\'').chain(listed.split('"')).filter(|word| is_name(word)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn is_name(word: &str) -> bool {
    word == "shop" || word.strip_prefix("opora_").is_some_and(|hash| hash.len() == 16)
}

#[tokio::test]
async fn only_old_libraries_are_removed() {
    let server = RedisServer::start(&[]);
    let store = opora::store::open(&server.url()).await.unwrap();
    let ours = libraries(&server);
    assert_eq!(ours.len(), 1, "{ours:?}");
    server.command(&["FUNCTION", "LOAD", OLD]);
    server.command(&["FUNCTION", "LOAD", FOREIGN]);
    let address = server.url();
    let tidy = ["state", "tidy", "--store", &address];
    run(&[], &tidy).await.fails_with(&["Remove opora_00000000000000aa", "--yes"]);
    assert_eq!(libraries(&server).len(), 3);
    let done = run(&[], &[&tidy[..], &["--yes"]].concat()).await.success();
    assert!(done.stdout.contains("opora_00000000000000aa"), "{}", done.stdout);
    assert_eq!(libraries(&server), [ours[0].clone(), "shop".to_owned()]);
    let again = run(&[], &[&tidy[..], &["--yes"]].concat()).await.success();
    assert_eq!(again.stdout.trim(), "There is nothing to tidy up.");
    // A store that still needs a removed library loads it again.
    server.command(&["FUNCTION", "FLUSH"]);
    assert_eq!(store.operator().bots().await.unwrap(), Vec::<i64>::new());
    store.statistics(Some(1)).await.unwrap();
    assert_eq!(libraries(&server), ours);
}

#[tokio::test]
async fn there_is_nothing_to_tidy_up_in_a_database() {
    for kind in [StoreKind::Sqlite, StoreKind::Postgres] {
        let fixture = StoreFixture::empty(kind).await;
        let done = fixture.run(&["state", "tidy"]).await.success();
        assert_eq!(done.stdout.trim(), "There is nothing to tidy up.");
    }
}
