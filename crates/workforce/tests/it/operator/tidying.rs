//! `state tidy`: what older versions of the program left on a server.

use opora_testkit::redis_server::RedisServer;

use super::{Kind, Office, run};

const OLD: &str = "#!lua name=opora_00000000000000aa\nredis.register_function('opora_00000000000000aa_here', \
                   function() return {'yes'} end)";
const FOREIGN: &str = "#!lua name=shop\nredis.register_function('opora_like', function() return 1 end)";

fn libraries(server: &RedisServer) -> Vec<String> {
    let listed = format!("{:?}", server.say(&["FUNCTION", "LIST"]));
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
async fn old_libraries_go_and_what_is_in_use_or_of_others_stays() {
    let server = RedisServer::start(&[]);
    let store = opora::store::open(&server.url()).await.unwrap();
    let ours = libraries(&server);
    assert_eq!(ours.len(), 1, "{ours:?}");
    server.say(&["FUNCTION", "LOAD", OLD]);
    server.say(&["FUNCTION", "LOAD", FOREIGN]);
    let address = server.url();
    let tidy = ["state", "tidy", "--store", &address];
    run(&[], &tidy).await.complains(&["Remove opora_00000000000000aa", "--yes"]);
    assert_eq!(libraries(&server).len(), 3);
    let done = run(&[], &[&tidy[..], &["--yes"]].concat()).await.well();
    assert!(done.stdout.contains("opora_00000000000000aa"), "{}", done.stdout);
    assert_eq!(libraries(&server), [ours[0].clone(), "shop".to_owned()]);
    let again = run(&[], &[&tidy[..], &["--yes"]].concat()).await.well();
    assert_eq!(again.stdout.trim(), "There is nothing to tidy up.");
    // Whoever still uses one that went loads it again.
    server.say(&["FUNCTION", "FLUSH"]);
    assert_eq!(store.operator().bots().await.unwrap(), Vec::<i64>::new());
    store.statistics(Some(1)).await.unwrap();
    assert_eq!(libraries(&server), ours);
}

#[tokio::test]
async fn there_is_nothing_to_tidy_up_in_a_database() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let office = Office::empty(kind).await;
        let done = office.opora(&["state", "tidy"]).await.well();
        assert_eq!(done.stdout.trim(), "There is nothing to tidy up.");
    }
}
