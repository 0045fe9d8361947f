//! Handlers that fail, panic and hang, and unreadable states: only their own conversation is affected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{Answer, Commit, Committed, ConversationRow, Epoch, Filter, ParkedTurn, Store, StoreLayer};
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;

use super::form::{AGE, NAME, form};
use super::log_capture::LogCapture;
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

/// How often handlers still fail, and how often they were called.
#[derive(Default)]
struct Failures {
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
    let failures_left = turn.context::<Arc<Failures>>();
    failures_left.asked.fetch_add(1, Ordering::SeqCst);
    let is_bad =
        failures_left.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
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
    failures_left: Arc<Failures>,
}

impl Case {
    async fn new(store: Arc<dyn Store>) -> Self {
        Self { stage: Stage::new().await, store, failures_left: Arc::default() }
    }

    fn start(&self) -> Running {
        let bot =
            self.stage.bot(&self.store).dialogue(trial()).dialogue(form()).context(Arc::clone(&self.failures_left));
        Running::start(bot.settings(|settings| settings.turns.deadline = Duration::from_millis(100)))
    }

    async fn parked(&self) -> Vec<ParkedTurn> {
        self.store.parked(Some(BOT), 10).await.unwrap()
    }

    /// Waits until one turn is parked.
    async fn one_parked(&self) -> ParkedTurn {
        until_some("a parked turn", async || self.parked().await.pop()).await
    }
}

#[tokio::test]
async fn a_turn_that_fails_twice_succeeds_at_the_third_attempt() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.failures_left.failures.store(2, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    let seen = "This must never be seen when the turn fails.";
    anna.receives_exactly(&["And then? draft", seen, "draft text"]).await;
    assert_eq!((case.failures_left.asked.load(Ordering::SeqCst), case.parked().await.len()), (3, 0));
    bot.stops().await;
}

#[tokio::test]
async fn a_turn_that_keeps_failing_is_parked() {
    let (case, log) = (Case::new(memory()).await, LogCapture::begin());
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.failures_left.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.receives_exactly(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, &*parked.reason, parked.attempts), ("update", "a bad day", 3));
    assert_eq!(parked.key, ConversationKey::private(BOT, anna.id));
    let (id, key) = (format!("parked={}", parked.id.0), parked.key.to_string());
    let kind = "the handler answered with an error";
    assert!(log.has(&["a turn keeps failing and is parked", kind, &id, &key]), "{:#?}", log.lines());
    assert!(!log.has(&["a bad day"]), "its words may quote a person: {:#?}", log.lines());
    anna.button("Cancel").await;
    anna.presses("Try again").await;
    anna.receives_exactly(&["And then? draft", SORRY, "And then? draft"]).await;
    anna.says("once more").await;
    anna.receives("draft once more").await;
    bot.stops().await;
}

#[tokio::test]
async fn cancel_after_a_failure_drops_the_draft() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.failures_left.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.presses("Cancel").await;
    anna.receives_exactly(&["And then? draft", SORRY, "Cancelled."]).await;
    assert_eq!(case.store.statistics(None).await.unwrap().active, 0);
    bot.stops().await;
}

async fn operator_retries_a_parked_turn(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    case.failures_left.failures.store(6, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.presses("Try again").await;
    let first = case.one_parked().await;
    assert!(case.store.operator().retry_parked(first.id).await.unwrap());
    // It fails once more and is parked once more: one turn, one row.
    until("the second failure", async || case.parked().await.iter().any(|row| row.id != first.id)).await;
    let parked = case.parked().await;
    assert_eq!((parked.len(), parked[0].retry, &*parked[0].kind), (1, false, "update"));
    assert_eq!(case.failures_left.asked.load(Ordering::SeqCst), 6);
    // The button of the second failure notice, not of the first: the notice comes after the parking.
    anna.receives_exactly(&["And then? draft", SORRY, "And then? draft", SORRY]).await;
    anna.presses("Try again").await;
    assert!(case.store.operator().retry_parked(parked[0].id).await.unwrap());
    anna.receives("draft text").await;
    until("an empty list", async || case.parked().await.is_empty()).await;
    bot.stops().await;
}

#[tokio::test]
async fn a_parked_turn_is_retried_in_memory() {
    operator_retries_a_parked_turn(memory()).await;
}

#[tokio::test]
async fn a_parked_turn_is_retried_in_sqlite() {
    let stage = Stage::new().await;
    operator_retries_a_parked_turn(stage.sqlite().await).await;
}

#[tokio::test]
async fn a_parked_turn_is_retried_in_redis() {
    let space = RedisNamespace::new();
    operator_retries_a_parked_turn(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn a_parked_turn_is_retried_in_postgres() {
    let space = PostgresSchema::new().await;
    operator_retries_a_parked_turn(opora::store::open(&space.url).await.unwrap()).await;
}

#[tokio::test]
async fn turns_that_panic_or_hang_are_parked() {
    for (text, reason) in [("panic", "the handler panicked: a bad day"), ("hang", "the handler took longer than 100ms")]
    {
        let case = Case::new(memory()).await;
        let (anna, boris, bot) = (case.stage.person("Anna").await, case.stage.person("Boris").await, case.start());
        case.failures_left.failures.store(3, Ordering::SeqCst);
        anna.says("/try draft").await;
        anna.says(text).await;
        boris.says("/start").await;
        boris.says("Boris").await;
        boris.receives_exactly(&[NAME, AGE]).await;
        boris.says("7").await;
        boris.receives_exactly(&[NAME, AGE, "Boris is 7."]).await;
        anna.receives_exactly(&["And then? draft", SORRY]).await;
        let parked = case.one_parked().await;
        assert_eq!((&*parked.reason, parked.attempts), (reason, 3));
        bot.stops().await;
    }
}

/// Replaces a person's state with an unreadable one.
async fn replace_state(store: &Arc<dyn Store>, value: &str) -> ConversationRow {
    let mut row = store.list(&Filter::default(), None, 1).await.unwrap().pop().unwrap();
    row.stored.as_mut().unwrap().value = value.into();
    assert!(store.operator().import(&row, true).await.unwrap());
    row
}

async fn unreadable_state(store: Arc<dyn Store>, value: &str) {
    let (case, log) = (Case::new(store).await, LogCapture::begin());
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    replace_state(&case.store, value).await;
    anna.says("Anna").await;
    let notice = "I have been updated and cannot go on from where we were. Send /start to begin again.";
    anna.receives_exactly(&[NAME, notice]).await;
    let parked = case.one_parked().await;
    let copy: ConversationRow = serde_json::from_str(&parked.body).unwrap();
    assert_eq!((&*parked.kind, &*copy.stored.unwrap().value), ("state", value));
    assert!(log.has(&["a stored state cannot be read and is parked"]), "{:#?}", log.lines());
    anna.says("/start").await;
    anna.receives_exactly(&[NAME, notice, NAME]).await;
    bot.stops().await;
}

#[tokio::test]
async fn an_unreadable_state_is_parked_and_the_person_told() {
    let of_no_dialogue = r#"{"tracks":[{"stack":[{"dialogue":"gone","schema":1,"at":"x","state":{},"entry":1}]}]}"#;
    unreadable_state(memory(), "not even JSON").await;
    unreadable_state(memory(), of_no_dialogue).await;
    let stage = Stage::new().await;
    unreadable_state(stage.sqlite().await, "not even JSON").await;
}

#[tokio::test]
async fn an_unreadable_update_is_parked_and_the_queue_moves_on() {
    let case = Case::new(memory()).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    let chat = serde_json::json!({"id": anna.id, "type": "private", "first_name": "Anna"});
    let from = serde_json::json!({"id": anna.id, "is_bot": false, "first_name": "Anna"});
    let bad = serde_json::json!({"update_id": 900_000_000_i64,
        "message": {"message_id": 1, "date": 1, "chat": chat, "from": from, "text": {"not": "a text"}}});
    case.stage.post("/replay", serde_json::json!({"update": bad})).await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let parked = case.one_parked().await;
    assert!(parked.kind == "update" && parked.body.contains("900000000"), "{parked:?}");
    bot.stops().await;
}

#[tokio::test]
async fn an_unreadable_press_is_answered_and_parked() {
    let (case, log) = (Case::new(memory()).await, LogCapture::begin());
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
    assert!(log.has(&["an input cannot be read and is parked"]), "{:#?}", log.lines());
    bot.stops().await;
}

#[tokio::test]
async fn a_row_that_the_store_cannot_read_parks_its_input() {
    let files = Stage::new().await;
    let case = Case::new(files.sqlite().await).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let replace_state = opora::store::DomainWrites::new(|database| {
        Box::pin(async move {
            sqlx::query("UPDATE opora_conversations SET states = '{', version = version + 1")
                .execute(database.sqlite())
                .await?;
            Ok(())
        })
    });
    case.store.write(replace_state).await.unwrap();
    anna.says("Anna").await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    bot.stops().await;
    assert_eq!(anna.received().await, [NAME]);
}

#[tokio::test]
async fn a_panic_in_transient_errors_fails_only_its_turn() {
    let case = Case::new(memory()).await;
    let anna = case.stage.person("Anna").await;
    let script = Script::from(trial()).transient_errors(|_| panic!("there is no judge"));
    let bot = Running::start(case.stage.bot(&case.store).script(script).context(Arc::clone(&case.failures_left)));
    case.failures_left.failures.store(3, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.says("text").await;
    anna.receives_exactly(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    assert!(parked.reason.contains("there is no judge"), "{}", parked.reason);
    anna.presses("Try again").await;
    anna.says("once more").await;
    anna.receives("draft once more").await;
    bot.stops().await;
}

/// A store whose first commits panic.
#[derive(Debug)]
struct PanickingStore(Arc<dyn Store>, AtomicU32);

impl StoreLayer for PanickingStore {
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
async fn a_panic_outside_of_a_handler_fails_only_its_turn() {
    let panics = Arc::new(PanickingStore(memory(), AtomicU32::new(0)));
    let case = Case::new(Arc::clone(&panics) as Arc<dyn Store>).await;
    let (anna, bot) = (case.stage.person("Anna").await, case.start());
    panics.1.store(2, Ordering::SeqCst);
    anna.says("/try draft").await;
    anna.receives_exactly(&["And then? draft"]).await;
    panics.1.store(3, Ordering::SeqCst);
    anna.says("text").await;
    anna.receives_exactly(&["And then? draft", SORRY]).await;
    let parked = case.one_parked().await;
    assert_eq!((&*parked.kind, parked.attempts), ("update", 3));
    assert!(parked.reason.contains("a bad day of the store"), "{}", parked.reason);
    anna.presses("Try again").await;
    anna.says("once more").await;
    anna.receives("draft once more").await;
    bot.stops().await;
}
