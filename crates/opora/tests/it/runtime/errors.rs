//! Handlers that fail, panic and hang, and states that nobody can read: one person's trouble is nobody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::{Answer, Commit, Committed, ConversationRow, Epoch, Filter, Parked, Store, StoreLayer};
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;

use super::form::{AGE, NAME, form};
use super::journal::Journal;
use crate::stage::{BOT, Running, Stage, memory, until, until_some};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "trial")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Trial {
    Open(Open),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    draft: String,
}

/// How often handlers still fail, and how often they were asked.
#[derive(Default)]
struct Mood {
    failures: AtomicU32,
    asked: AtomicU32,
}

async fn begin(_: &mut Turn, command: Command) -> Step<Trial> {
    Ok(Next::Go(Trial::Open(Open { draft: command.argument })))
}

async fn ask(turn: &mut Turn, state: Open) -> Result<(), BoxError> {
    turn.say(format!("And then? {}", state.draft));
    Ok(())
}

async fn text_comes(turn: &mut Turn, Open { draft }: Open, text: String) -> Step<Trial> {
    turn.say("This must never be seen when the turn fails.");
    let mood = turn.context::<Arc<Mood>>();
    mood.asked.fetch_add(1, Ordering::SeqCst);
    let is_bad = mood.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
    match (is_bad, &*text) {
        (false, _) => {
            turn.say(format!("{draft} {text}"));
            Ok(Next::End)
        }
        (true, "panic") => panic!("a bad day"),
        (true, "hang") => std::future::pending().await,
        (true, _) => Err("a bad day".into()),
    }
}

fn trial() -> Dialogue<Trial> {
    Dialogue::new().start(command("try"), begin).ask(Trial::OPEN, ask).on(Trial::OPEN, text(), text_comes)
}

const SORRY: &str = "Something went wrong on our side. What you have entered is kept.";

struct Case {
    stage: Stage,
    store: Arc<dyn Store>,
    mood: Arc<Mood>,
}

impl Case {
    async fn new(store: Arc<dyn Store>) -> Self {
        Self { stage: Stage::new().await, store, mood: Arc::default() }
    }

    fn start(&self) -> Running {
        let bot = self.stage.bot(&self.store).dialogue(trial()).dialogue(form()).context(Arc::clone(&self.mood));
        Running::start(bot.settings(|settings| settings.turns.deadline = Duration::from_millis(100)))
    }

    async fn parked(&self) -> Vec<Parked> {
        self.store.parked(Some(BOT), 10).await.unwrap()
    }

    /// Waits until one turn is parked.
    async fn one_parked(&self) -> Parked {
        until_some("a parked turn", async || self.parked().await.pop()).await
    }
}

#[tokio::test]
async fn a_turn_that_fails_twice_works_the_third_time_and_is_seen_once() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.mood.failures.store(2, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    let seen = "This must never be seen when the turn fails.";
    anna.hears_just(&["And then? draft", seen, "draft text"]).await;
    assert_eq!((case.mood.asked.load(Ordering::SeqCst), case.parked().await.len()), (3, 0));
    bot.stops().await;
}

#[tokio::test]
async fn a_turn_that_keeps_failing_is_parked_and_the_person_goes_on_from_the_draft() {
    let (case, journal) = (Case::new(memory()).await, Journal::begin());
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.mood.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.hears_just(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, &*parked.reason, parked.attempts), ("update", "a bad day", 3));
    assert_eq!(parked.key, DialogueKey::private(BOT, anna.id));
    let (id, key) = (format!("parked={}", parked.id.0), parked.key.to_string());
    let kind = "the handler answered with an error";
    assert!(journal.has(&["a turn keeps failing and is parked", kind, &id, &key]), "{:#?}", journal.lines());
    assert!(!journal.has(&["a bad day"]), "its words may quote a person: {:#?}", journal.lines());
    anna.button("Cancel").await;
    anna.presses("Try again").await;
    anna.hears_just(&["And then? draft", SORRY, "And then? draft"]).await;
    anna.says("once more").await;
    anna.hears("draft once more").await;
    bot.stops().await;
}

#[tokio::test]
async fn cancel_after_a_failure_drops_the_draft() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.mood.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.presses("Cancel").await;
    anna.hears_just(&["And then? draft", SORRY, "Cancelled."]).await;
    assert_eq!(case.store.statistics(None).await.unwrap().active, 0);
    bot.stops().await;
}

async fn an_operator_has_a_parked_turn_run_again(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.mood.failures.store(6, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.presses("Try again").await;
    let first = case.one_parked().await;
    assert!(case.store.operator().retry_parked(first.id).await.unwrap());
    // It fails once more, and is parked once more: one turn, one row.
    until("the second failure", async || case.parked().await.iter().any(|row| row.id != first.id)).await;
    let parked = case.parked().await;
    assert_eq!((parked.len(), parked[0].retry, &*parked[0].kind), (1, false, "update"));
    assert_eq!(case.mood.asked.load(Ordering::SeqCst), 6);
    // The button of the second failure, not of the first: the turn that helps comes after the parking.
    anna.hears_just(&["And then? draft", SORRY, "And then? draft", SORRY]).await;
    anna.presses("Try again").await;
    assert!(case.store.operator().retry_parked(parked[0].id).await.unwrap());
    anna.hears("draft text").await;
    until("an empty list", async || case.parked().await.is_empty()).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_parked_turn_is_run_again_in_memory() {
    an_operator_has_a_parked_turn_run_again(memory()).await;
}

#[tokio::test]
async fn a_parked_turn_is_run_again_in_sqlite() {
    let stage = Stage::new().await;
    an_operator_has_a_parked_turn_run_again(stage.sqlite().await).await;
}

#[tokio::test]
async fn a_parked_turn_is_run_again_in_redis() {
    let space = RedisSpace::new();
    an_operator_has_a_parked_turn_run_again(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn a_parked_turn_is_run_again_in_postgres() {
    let space = PostgresSpace::new().await;
    an_operator_has_a_parked_turn_run_again(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn handlers_that_panic_or_hang_are_parked_and_others_do_not_notice() {
    for (text, reason) in [("panic", "the handler panicked: a bad day"), ("hang", "the handler took longer than 100ms")]
    {
        let case = Case::new(memory()).await;
        let (anna, boris, bot) = (case.stage.person("Anna").await, case.stage.person("Boris").await, case.start());
        case.mood.failures.store(3, Ordering::SeqCst);
        anna.says("/try draft").await;
        anna.says(text).await;
        boris.says("/start").await;
        boris.says("Boris").await;
        boris.hears_just(&[NAME, AGE]).await;
        boris.says("7").await;
        boris.hears_just(&[NAME, AGE, "Boris is 7."]).await;
        anna.hears_just(&["And then? draft", SORRY]).await;
        let parked = case.one_parked().await;
        assert_eq!((&*parked.reason, parked.attempts), (reason, 3));
        bot.stops().await;
    }
}

/// Replaces a person's state by one that no program of ours has written.
async fn spoil(store: &Arc<dyn Store>, value: &str) -> ConversationRow {
    let mut row = store.list(&Filter::default(), None, 1).await.unwrap().pop().unwrap();
    row.stored.as_mut().unwrap().value = value.into();
    assert!(store.operator().import(&row, true).await.unwrap());
    row
}

async fn a_state_that_cannot_be_read(store: Arc<dyn Store>, value: &str) {
    let (case, journal) = (Case::new(store).await, Journal::begin());
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    spoil(&case.store, value).await;
    anna.says("Anna").await;
    let told = "I have been updated and cannot go on from where we were. Send /start to begin again.";
    anna.hears_just(&[NAME, told]).await;
    let parked = case.one_parked().await;
    let copy: ConversationRow = serde_json::from_str(&parked.body).unwrap();
    assert_eq!((&*parked.kind, &*copy.stored.unwrap().value), ("state", value));
    assert!(journal.has(&["a stored state cannot be read and is set aside"]), "{:#?}", journal.lines());
    anna.says("/start").await;
    anna.hears_just(&[NAME, told, NAME]).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_set_aside_for_the_operator_and_the_person_is_told() {
    let of_nobody = r#"{"slots":[{"stack":[{"dialogue":"gone","schema":1,"at":"x","state":{},"entry":1}]}]}"#;
    a_state_that_cannot_be_read(memory(), "not even JSON").await;
    a_state_that_cannot_be_read(memory(), of_nobody).await;
    let stage = Stage::new().await;
    a_state_that_cannot_be_read(stage.sqlite().await, "not even JSON").await;
}

#[tokio::test]
async fn an_update_that_nobody_can_read_is_parked_and_the_queue_moves_on() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    let chat = serde_json::json!({"id": anna.id, "type": "private", "first_name": "Anna"});
    let from = serde_json::json!({"id": anna.id, "is_bot": false, "first_name": "Anna"});
    let bad = serde_json::json!({"update_id": 900_000_000_i64,
        "message": {"message_id": 1, "date": 1, "chat": chat, "from": from, "text": {"not": "a text"}}});
    case.stage.post("/replay", serde_json::json!({"update": bad})).await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    let parked = case.one_parked().await;
    assert!(parked.kind == "update" && parked.body.contains("900000000"), "{parked:?}");
    bot.stops().await;
}

#[tokio::test]
async fn a_press_that_nobody_can_read_is_answered_and_parked() {
    let (case, journal) = (Case::new(memory()).await, Journal::begin());
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    let from = serde_json::json!({"id": anna.id, "is_bot": false, "first_name": "Anna"});
    let bad = serde_json::json!({"update_id": 900_000_000_i64,
        "callback_query": {"id": "77", "from": from, "chat_instance": "1", "data": {"not": "a secret"}}});
    case.stage.post("/replay", serde_json::json!({"update": bad})).await;
    let parked = case.one_parked().await;
    assert!(parked.kind == "update" && parked.body.contains("a secret"), "{parked:?}");
    until("an answer", async || case.stage.calls("answerCallbackQuery").await.len() == 1).await;
    let answered = case.stage.calls("answerCallbackQuery").await;
    assert!(answered[0]["parameters"].to_string().contains("77"), "{answered:?}");
    assert!(journal.has(&["an input cannot be read and is parked"]), "{:#?}", journal.lines());
    bot.stops().await;
}

#[tokio::test]
async fn a_row_that_the_store_itself_cannot_read_parks_the_input_and_nothing_turns_in_circles() {
    let files = Stage::new().await;
    let case = Case::new(files.sqlite().await).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    let spoil = opora::store::DomainWrites::new(|database| {
        Box::pin(async move {
            sqlx::query("UPDATE opora_conversations SET places = '{', version = version + 1")
                .execute(database.sqlite())
                .await?;
            Ok(())
        })
    });
    case.store.write(spoil).await.unwrap();
    anna.says("Anna").await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    bot.stops().await;
    assert_eq!(anna.heard().await, [NAME]);
}

#[tokio::test]
async fn a_judge_of_errors_that_panics_fails_its_turn_and_the_conversation_goes_on() {
    let case = Case::new(memory()).await;
    let anna = case.stage.person("Anna").await;
    let script = Script::from(trial()).passing(|_| panic!("there is no judge"));
    let bot = Running::start(case.stage.bot(&case.store).script(script).context(Arc::clone(&case.mood)));
    case.mood.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.hears_just(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    assert!(parked.reason.contains("there is no judge"), "{}", parked.reason);
    anna.presses("Try again").await;
    anna.says("once more").await;
    anna.hears("draft once more").await;
    bot.stops().await;
}

/// A store whose commits panic so often.
#[derive(Debug)]
struct Panics(Arc<dyn Store>, AtomicU32);

impl StoreLayer for Panics {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn commit<'a>(&'a self, epoch: Epoch, commit: Commit) -> Answer<'a, Committed> {
        let left = self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(left.is_err(), "a bad day of the store");
        self.0.commit(epoch, commit)
    }
}

#[tokio::test]
async fn a_panic_outside_of_a_handler_is_a_failed_turn_and_the_conversation_goes_on() {
    let panics = Arc::new(Panics(memory(), AtomicU32::new(0)));
    let case = Case::new(Arc::clone(&panics) as Arc<dyn Store>).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    panics.1.store(2, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.hears_just(&["And then? draft"]).await;
    panics.1.store(3, Ordering::SeqCst);
    anna.says("text").await;
    anna.hears_just(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    assert!(parked.reason.contains("a bad day of the store"), "{}", parked.reason);
    anna.presses("Try again").await;
    anna.says("once more").await;
    anna.hears("draft once more").await;
    bot.stops().await;
}
