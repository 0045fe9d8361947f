//! A shift that is worked while Redis is away: an instance that is declared the only one goes on, and pay is right. What
//! has to be sent outside of turns is not promised meanwhile.

use opora_testkit::redis_server::RedisServer;

use super::killed::{DEEDS, has_worked_once, prepare};
use super::phone::Phone;
use crate::kit::cabinet::pins_in;
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::{Ground, Kind};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;
use crate::web::strangers::Guest;

const ALONE: &[(&str, &str)] = &[("ONLY_INSTANCE", "true")];

/// With a Redis that the test may kill.
async fn ground(kind: Kind, server: &RedisServer) -> Ground {
    let mut ground = Ground::new(kind).await;
    ground.state = server.url();
    ground
}

async fn works_a_shift_while_redis_is_away(kind: Kind) {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (ground, emulator) = (ground(kind, &server).await, silent_emulator().await);
    prepare(&ground).await;
    let run = Run::start(&ground, &emulator, ALONE);
    let (anna, (before, rest)) = (Phone::of(ANNA, &emulator), DEEDS.split_at(3));
    anna.takes(before).await;
    let store = opora::store::open_existing(&ground.state).await.unwrap();
    until("what was said is settled", async || {
        let numbers = store.statistics(None).await.unwrap();
        ((numbers.inbox, numbers.outbox) == (0, 0)).then_some(())
    })
    .await;
    server.kill();
    run.logs("the journal goes on").await;
    let (here, back) = rest.split_at(rest.len() - 2);
    anna.takes(here).await;
    // Whom nobody knows is told to wait, and answered later.
    emulator.says(BORIS, "/me").await;
    emulator.hears(BORIS, "One moment").await;
    server.start_again();
    run.logs("Redis has everything").await;
    emulator.hears(BORIS, "Your Telegram number: 1002").await;
    anna.takes(back).await;
    assert!(!emulator.texts(ANNA).await.iter().any(|text| text.contains("One moment")), "she has noticed nothing");
    has_worked_once(&ground, run).await;
    let parked = operator::run(&[("STATE_URL", &ground.state)], &["state", "parked", "list"]).await.well().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    emulator.stop().await;
}

#[tokio::test]
async fn a_shift_is_worked_while_redis_is_away_with_tables_in_postgres() {
    works_a_shift_while_redis_is_away(Kind::RedisAndPostgres).await;
}

#[tokio::test]
async fn a_shift_is_worked_while_redis_is_away_with_tables_in_a_file() {
    works_a_shift_while_redis_is_away(Kind::RedisAndSqlite).await;
}

/// The bot leads on its journal all the while; a PIN that it could not send must not be waited for.
#[tokio::test]
async fn while_redis_is_away_the_sign_in_says_that_it_sends_no_pins_and_afterwards_it_does() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (ground, emulator) = (ground(Kind::RedisAndSqlite, &server).await, silent_emulator().await);
    let grant = ["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en"];
    operator::run(&[("DATABASE_URL", &ground.database.url())], &grant).await.well();
    let run = Run::start(&ground, &emulator, ALONE);
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Anna").await;
    let guest = Guest::at(&emulator, run.web().await).await;
    server.kill();
    run.logs("the journal goes on").await;
    emulator.says(ANNA, "/help").await;
    emulator.hears(ANNA, "I am").await;
    for (language, words) in [("en", "cannot send a PIN at the moment"), ("ru", "не может прислать PIN")]
    {
        let (status, page) = guest.reads("/auth/send-pin", "who=1001", language).await;
        assert_eq!(status, 503, "{page}");
        assert!(page.contains(words) && !page.contains("pin-sent"), "{page}");
    }
    server.start_again();
    run.logs("Redis has everything").await;
    let asked = async || (guest.sends("/auth/send-pin", "who=1001").await == 200).then_some(());
    until("PINs are sent again", asked).await;
    let pin = emulator.until("the PIN comes", async |emulator| pins_in(emulator, ANNA).await.pop()).await;
    assert_eq!(guest.sends("/auth/login", &format!("who=1001&pin={pin}")).await, 303);
    assert_eq!(pins_in(&emulator, ANNA).await.len(), 1, "none is left of those that were refused");
    run.stops().await;
    emulator.stop().await;
}

#[tokio::test]
async fn conversations_that_a_database_kept_before_are_in_the_way_of_a_journal_until_they_are_discarded() {
    let server = RedisServer::start(&[]);
    let (ground, emulator) = (ground(Kind::RedisAndSqlite, &server).await, silent_emulator().await);
    let database = ground.database.url();
    let discard = ["state", "discard", "--store", &database];
    // Everything begins in the file.
    let run = Run::start(&ground, &emulator, &[("STATE_URL", &database)]);
    emulator.says(ANNA, "/language").await;
    emulator.hears(ANNA, "Which language").await;
    run.stops().await;
    let yes = [&discard[..], &["--yes"]].concat();
    operator::run(&[], &yes).await.complains(&["never worked with a Redis"]);
    // Then there is a Redis.
    let run = Run::start(&ground, &emulator, ALONE);
    run.logs("people will have to wait while Redis is away").await;
    emulator.says(BORIS, "/me").await;
    emulator.hears(BORIS, "Your Telegram number: 1002").await;
    run.stops().await;
    operator::run(&[], &discard).await.complains(&["open conversations", "0 parked turns", "--yes"]);
    operator::run(&[("STATE_URL", &ground.state)], &["state", "discard", "--yes"]).await.complains(&["names a Redis"]);
    let done = operator::run(&[], &yes).await.well();
    assert!(done.stdout.contains("Removed, of bot 123456789"), "{}", done.stdout);
    let run = Run::start(&ground, &emulator, ALONE);
    emulator.says(BORIS, "/help").await;
    emulator.hears(BORIS, "I am").await;
    assert_eq!(run.count("people will have to wait").await, 0);
    run.stops().await;
    emulator.stop().await;
}
