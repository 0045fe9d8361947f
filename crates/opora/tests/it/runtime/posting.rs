//! Messages to people outside of turns.

use std::sync::Arc;

use opora::bot::HandleError;
use opora::outbox::{Broadcast, SendEvent};
use opora::prelude::*;
use opora::store::{Store, StoreError};
use opora::testing::faulty::{Fault, FaultyStore};
use parking_lot::Mutex;

use super::form::{NAME, form};
use crate::stage::{Running, Stage, memory, until};

#[tokio::test]
async fn a_message_is_posted_once_for_its_name() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = stage.bot(&stage.sqlite().await).dialogue(form());
    let early = bot.handle().post("reminder", anna.id, "Too early.").await;
    assert!(matches!(early, Err(HandleError::NotLeading)), "{early:?}");
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    for _ in 0..3 {
        bot.handle.post("reminder", anna.id, "Remember.").await.unwrap();
    }
    bot.handle.post("another", anna.id, "And this.").await.unwrap();
    anna.receives_exactly(&[NAME, "Remember.", "And this."]).await;
    let handle = bot.handle.clone();
    bot.stops().await;
    assert!(matches!(handle.post("late", anna.id, "Too late.").await, Err(HandleError::NotLeading)));
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(form()));
    until("a leader", async || bot.handle.post("reminder", anna.id, "Remember.").await.is_ok()).await;
    bot.handle.post("last", anna.id, "The last.").await.unwrap();
    anna.receives_exactly(&[NAME, "Remember.", "And this.", "The last."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_caller_can_check_whether_posts_are_accepted() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(stage.sqlite().await));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = stage.bot(&store).dialogue(form());
    let early = bot.handle().check_accepts_posts().await;
    assert!(matches!(early, Err(HandleError::NotLeading)), "{early:?}");
    let bot = Running::start(bot);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    for _ in 0..3 {
        bot.handle.check_accepts_posts().await.unwrap();
    }
    faulty.fail_until_cleared("post", Fault::Before);
    // It leads and answers all the time.
    let refused = bot.handle.check_accepts_posts().await;
    assert!(matches!(refused, Err(HandleError::Store(StoreError::Unavailable(_)))), "{refused:?}");
    assert!(bot.handle.is_running());
    faulty.clear_faults("post");
    bot.handle.check_accepts_posts().await.unwrap();
    bot.handle.post("last", anna.id, "The last.").await.unwrap();
    anna.receives_exactly(&[NAME, "The last."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_broadcast_continues_after_a_restart() {
    let stage = Stage::new().await;
    let mut people = Vec::new();
    for number in 0..45 {
        people.push(stage.person(&format!("Person {number}")).await);
        people[number].says("hello").await;
    }
    let blocked = [people[3], people[30]];
    for person in blocked {
        person.blocks().await;
    }
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let news = || Broadcast::new("news", Say::text("News!"), people.iter().map(|person| person.id).collect::<Vec<_>>());

    let bot = Running::start(stage.bot(&store).dialogue(form()));
    until("a leader", async || faulty.calls("waiting") > 0).await;
    // The first page of twenty is sent; then the store is away, and the bot is restarted.
    let (first, store_goes_away) = (news(), Arc::clone(&faulty));
    faulty.fail_next("post", 1, Fault::Delay(std::time::Duration::ZERO));
    store_goes_away.fail_next("post", 1, Fault::Before);
    let watch = first.watch();
    assert!(matches!(bot.handle.broadcast(first).await, Err(HandleError::Store(_))));
    until("the first page", async || watch.progress().sent + watch.progress().failed == 20).await;
    assert_eq!((watch.progress().posted, watch.progress().failed, watch.progress().total), (20, 1, None));
    bot.stops().await;

    let dead = Arc::<Mutex<Vec<i64>>>::default();
    let received = Arc::clone(&dead);
    let bot = stage.bot(&store).dialogue(form()).on_event(move |event| {
        if let SendEvent::ChatUnreachable { chat, .. } = event {
            received.lock().push(chat);
        }
    });
    let bot = Running::start(bot);
    let second = until_leading(&bot, news).await;
    let progress = second.progress();
    assert_eq!((progress.total, progress.posted, progress.unknown), (Some(45), 45, 20));
    until("the other pages", async || second.progress().sent + second.progress().failed == 25).await;
    assert_eq!(second.progress().failed, 1);
    until("the event", async || *dead.lock() == [blocked[1].id]).await;
    bot.stops().await;
    for person in people {
        let times = person.received().await.len();
        let is_blocked = blocked.iter().any(|blocked| blocked.id == person.id);
        assert_eq!(times, usize::from(!is_blocked), "{}", person.id);
    }
}

async fn until_leading<I: Iterator<Item = i64>>(
    bot: &Running,
    news: impl Fn() -> Broadcast<I>,
) -> opora::outbox::Watch {
    crate::stage::until_some("a leader", async || {
        let broadcast = news();
        let watch = broadcast.watch();
        bot.handle.broadcast(broadcast).await.ok().map(|_| watch)
    })
    .await
}

#[tokio::test]
async fn a_post_with_a_lost_answer_is_sent() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let faulty = Arc::new(FaultyStore::new(memory()));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let bot = Running::start(stage.bot(&store).dialogue(form()));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    faulty.fail_next("post", 1, Fault::After);
    assert!(matches!(bot.handle.post("reminder", anna.id, "Remember.").await, Err(HandleError::Store(_))));
    bot.handle.post("reminder", anna.id, "Remember.").await.unwrap();
    anna.receives_exactly(&[NAME, "Remember."]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_listener_that_panics_gets_the_next_event() {
    let stage = Stage::new().await;
    let people = [stage.person("Anna").await, stage.person("Boris").await];
    for person in people {
        person.says("hello").await;
        person.blocks().await;
    }
    let dead = Arc::<Mutex<Vec<i64>>>::default();
    let received = Arc::clone(&dead);
    let bot = stage.bot(&memory()).dialogue(form()).on_event(move |event| {
        if let SendEvent::ChatUnreachable { chat, .. } = event {
            received.lock().push(chat);
            panic!("a bad day");
        }
    });
    let bot = Running::start(bot);
    for (number, person) in people.iter().enumerate() {
        let once = format!("hello {number}");
        until("a leader", async || bot.handle.post(&once, person.id, "Hello.").await.is_ok()).await;
        until("the event", async || dead.lock().len() == number + 1).await;
    }
    bot.stops().await;
}

#[tokio::test]
async fn a_broadcast_ends_with_its_bot() {
    let stage = Stage::new().await;
    let bot = Running::start(stage.bot(&memory()).dialogue(form()));
    until("a leader", async || bot.handle.is_running()).await;
    let (handle, news) = (bot.handle.clone(), Broadcast::new("news", Say::text("News."), 1_000_000..));
    let watch = news.watch();
    let running = tokio::spawn(async move { handle.broadcast(news).await });
    until("the first page", async || watch.progress().posted > 0).await;
    bot.stops().await;
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), running).await.expect("it goes on for ever");
    let ended = ended.unwrap();
    assert!(matches!(ended, Err(HandleError::NotLeading)), "{ended:?}");
}
