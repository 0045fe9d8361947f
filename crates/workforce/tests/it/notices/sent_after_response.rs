//! Notices are committed with what they tell of, and sent after the response: no page waits for the outbox, and a process
//! that is killed in between neither loses one nor sends one twice.

use std::sync::Arc;

use opora::clock::{Clock, Millis};
use opora::key::DialogueKey;
use opora::store::{self, Epoch, OutboxId, Outgoing, Store, StoreLayer};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo, PATIENCE};
use crate::kit::firm::{Ground, Kind, embedded_and_on_servers};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;
use crate::registration::live::{gives_all_of, mark, written};

embedded_and_on_servers! {
    a_kill_before_a_notice_is_posted_lets_it_be_told_once,
    a_kill_after_a_notice_was_posted_lets_it_be_told_once,
}

const VERA: i64 = 1003;
const AFTER_POST: &str = "notice.after_post";

/// An outbox that takes no news for people until it is opened.
#[derive(Debug)]
struct Stalled {
    inner: Arc<dyn Store>,
    gate: Arc<Semaphore>,
}

impl StoreLayer for Stalled {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> store::Answer<'a, Vec<OutboxId>> {
        Box::pin(async move {
            if ["notice-", "registration-decision-"].iter().any(|news| once.starts_with(news)) {
                let _ = self.gate.acquire().await;
            }
            self.inner.post(epoch, once, outgoing, at).await
        })
    }
}

/// Pages, and the gate before the outbox of their bot.
async fn with_a_stalled_outbox() -> (Cabinet, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let before = Arc::clone(&gate);
    (Cabinet::over(move |inner| Arc::new(Stalled { inner, gate: before })).await, gate)
}

#[tokio::test]
async fn a_page_answers_while_the_outbox_takes_nothing() {
    let (cabinet, gate) = with_a_stalled_outbox().await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (path, back) = (format!("/payroll/people/{boris}/amounts"), format!("/payroll/people/{boris}?period=2026-01"));
    let bonus = [("period", "2026-01"), ("kind", "bonus"), ("amount", "500"), ("reason", "Thanks"), ("once", "7")];
    // Whoever clicks twice does it once, and is told of once.
    for _ in 0..2 {
        let answer = timeout(PATIENCE, owner.post(&path, &bonus)).await.expect("the page waits for the outbox");
        answer.leads_to(&back);
    }
    assert!(!hears_of(&cabinet.emulator, BORIS, "Thanks").await);
    gate.close();
    waits_for(&cabinet.emulator, BORIS, "Thanks").await;
    is_told_once(&cabinet, BORIS, "Thanks").await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_decision_is_answered_while_the_outbox_takes_nothing() {
    let (cabinet, gate) = with_a_stalled_outbox().await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(&cabinet.emulator, VERA).await;
    cabinet.emulator.hears(VERA, "Done! Your registration is being looked at.").await;
    let (person, documents) = written(&cabinet.app, VERA).await;
    let path = format!("/registrations/{}/approve", person.id);
    let approval = [("mark", mark(&documents))];
    let answer = timeout(PATIENCE, owner.post(&path, &approval)).await.expect("the page waits for the outbox");
    answer.leads_to("/registrations");
    assert!(!hears_of(&cabinet.emulator, VERA, "Welcome to the team!").await);
    gate.close();
    waits_for(&cabinet.emulator, VERA, "There is a short questionnaire").await;
    is_told_once(&cabinet, VERA, "Welcome to the team!").await;
    cabinet.close().await;
}

async fn waits_for(emulator: &Demo, who: i64, words: &str) {
    emulator.until(words, async |emulator| hears_of(emulator, who, words).await.then_some(())).await;
}

async fn hears_of(emulator: &Demo, who: i64, words: &str) -> bool {
    emulator.texts(who).await.iter().any(|text| text.contains(words))
}

/// Whatever was posted before the last message is in the chat before it.
async fn is_told_once(cabinet: &Cabinet, who: i64, words: &str) {
    cabinet.app.bot.post("the last", who, "That is all.").await.unwrap();
    cabinet.emulator.hears(who, "That is all.").await;
    let texts = cabinet.emulator.texts(who).await;
    assert_eq!(texts.iter().filter(|text| text.contains(words)).count(), 1, "{texts:?}");
}

async fn a_kill_before_a_notice_is_posted_lets_it_be_told_once(kind: Kind) {
    dies_at(kind, "notice.before_post").await;
}

async fn a_kill_after_a_notice_was_posted_lets_it_be_told_once(kind: Kind) {
    dies_at(kind, AFTER_POST).await;
}

/// A page has answered, and the process ends while it sends what the page has left to be told.
async fn dies_at(kind: Kind, place: &str) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let database = ground.database.url();
    for command in [
        &["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en", "--test"][..],
        &["people", "grant", "1002", "employee", "--name", "Boris", "--language", "en"],
        &["settings", "set", "enable_test_users", "true"],
    ] {
        operator::run(&[("DATABASE_URL", &database)], command).await.well();
    }
    let run = Run::start(&ground, &emulator, &[("OPORA_FAILPOINTS", &format!("{place}=pause"))]);
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Anna").await;
    let is_posted = place == AFTER_POST;
    if is_posted {
        // Not sent yet: a message that is sent while its process dies is sent again.
        emulator.post("/faults", json!({"method": "sendMessage", "times": 1, "retry_after": 60})).await;
    }
    Desk::at(&emulator, run.web().await).await.gives_boris("First").await;
    run.logs(&format!("failpoint {place}")).await;
    if is_posted {
        let is_refused =
            async |emulator: &Demo| emulator.get("/faults").await.as_array().unwrap().is_empty().then_some(());
        emulator.until("Telegram asks to wait", is_refused).await;
    }
    run.dies().await;
    let run = Run::start(&ground, &emulator, &[]);
    waits_for(&emulator, BORIS, "First").await;
    // What is told later comes after everything that was told before.
    Desk::at(&emulator, run.web().await).await.gives_boris("Second").await;
    waits_for(&emulator, BORIS, "Second").await;
    let texts = emulator.texts(BORIS).await;
    assert_eq!(texts.iter().filter(|text| text.contains("First")).count(), 1, "{texts:?}");
    run.stops().await;
    emulator.stop().await;
}

/// The pages of a process, where Anna is signed in as a test user.
struct Desk<'a> {
    emulator: &'a Demo,
    base: String,
    cookie: String,
}

impl<'a> Desk<'a> {
    async fn at(emulator: &'a Demo, base: String) -> Self {
        let page = emulator.http.get(format!("{base}/sign-in")).send().await.unwrap();
        let guest = page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let fields = format!("csrf={}&who=1001&pin=123456", token_in(&page.text().await.unwrap()));
        let form = emulator.http.post(format!("{base}/auth/login")).header("cookie", guest);
        let form = form.header("content-type", "application/x-www-form-urlencoded").body(fields);
        let signed = form.send().await.unwrap();
        let cookies = signed.headers().get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
        let session = cookies.filter_map(|line| line.split(';').next()).find(|line| line.starts_with("opora_session="));
        Self { emulator, base, cookie: session.expect("Anna is signed in").to_owned() }
    }

    /// Boris gets a bonus this month, for this reason.
    async fn gives_boris(&self, reason: &str) {
        let day = chrono::DateTime::from_timestamp_millis(Clock::machine().now().0).unwrap();
        let (path, month) = (format!("{}/payroll/people/2", self.base), day.format("%Y-%m"));
        let page = self.emulator.http.get(&path).header("cookie", &self.cookie).send().await.unwrap();
        let csrf = token_in(&page.text().await.unwrap());
        let fields = format!("csrf={csrf}&period={month}&kind=bonus&amount=500&reason={reason}");
        let form = self.emulator.http.post(format!("{path}/amounts")).header("cookie", &self.cookie);
        let form = form.header("content-type", "application/x-www-form-urlencoded").body(fields);
        assert_eq!(form.send().await.unwrap().status(), 303);
    }
}

/// The token of the forms of a page.
fn token_in(page: &str) -> String {
    page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}
