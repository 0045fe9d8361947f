//! Notices are committed with the change that they tell of, and sent after the response. No page waits for the outbox,
//! and a kill in between neither loses nor repeats a notice.

use std::sync::Arc;

use opora::clock::{Clock, Millis};
use opora::key::ConversationKey;
use opora::store::{self, Epoch, OutboxId, Outgoing, Store, StoreLayer};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::operator;
use crate::registration::in_process::{complete_registration, pending_document_id, registration_of};

embedded_and_on_servers! {
    a_kill_before_posting_a_notice_sends_it_once,
    a_kill_after_posting_a_notice_sends_it_once,
}

const VERA: i64 = 1003;
const AFTER_POST: &str = "notice.after_post";

/// An outbox that takes no notices until its gate is opened.
#[derive(Debug)]
struct StalledOutbox {
    inner: Arc<dyn Store>,
    gate: Arc<Semaphore>,
}

impl StoreLayer for StalledOutbox {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
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

/// The cabinet with a stalled outbox, and the gate that opens it.
async fn with_stalled_outbox() -> (Cabinet, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let before = Arc::clone(&gate);
    (Cabinet::with_store_layer(move |inner| Arc::new(StalledOutbox { inner, gate: before })).await, gate)
}

#[tokio::test]
async fn a_page_answers_while_the_outbox_stalls() {
    let (cabinet, gate) = with_stalled_outbox().await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (path, back) = (format!("/payroll/people/{boris}/amounts"), format!("/payroll/people/{boris}?period=2026-01"));
    let bonus = [("period", "2026-01"), ("kind", "bonus"), ("amount", "500"), ("reason", "Thanks"), ("once", "7")];
    // Two clicks make one bonus and one notice.
    for _ in 0..2 {
        let answer = timeout(TIMEOUT, owner.post(&path, &bonus)).await.expect("the page waits for the outbox");
        answer.redirects_to(&back);
    }
    assert!(!has_message(&cabinet.emulator, BORIS, "Thanks").await);
    gate.close();
    wait_for_message(&cabinet.emulator, BORIS, "Thanks").await;
    assert_told_once(&cabinet, BORIS, "Thanks").await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_decision_is_answered_while_the_outbox_stalls() {
    let (cabinet, gate) = with_stalled_outbox().await;
    let owner = cabinet.signed_in(ANNA).await;
    cabinet.emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(&cabinet.emulator, VERA).await;
    cabinet.emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (person, documents) = registration_of(&cabinet.app, VERA).await;
    let path = format!("/registrations/{}/approve", person.id);
    let approval = [("mark", pending_document_id(&documents))];
    let answer = timeout(TIMEOUT, owner.post(&path, &approval)).await.expect("the page waits for the outbox");
    answer.redirects_to(&format!("/registrations?decided={}", person.id));
    assert!(!has_message(&cabinet.emulator, VERA, "Welcome to the team!").await);
    gate.close();
    wait_for_message(&cabinet.emulator, VERA, "Please fill in a short questionnaire").await;
    assert_told_once(&cabinet, VERA, "Welcome to the team!").await;
    cabinet.close().await;
}

async fn wait_for_message(emulator: &Demo, who: i64, words: &str) {
    emulator.until(words, async |emulator| has_message(emulator, who, words).await.then_some(())).await;
}

async fn has_message(emulator: &Demo, who: i64, words: &str) -> bool {
    emulator.texts(who).await.iter().any(|text| text.contains(words))
}

/// Messages arrive in order, so everything posted before the last one has arrived.
async fn assert_told_once(cabinet: &Cabinet, who: i64, words: &str) {
    cabinet.app.bot.post("the last", who, "That is all.").await.unwrap();
    cabinet.emulator.receives(who, "That is all.").await;
    let texts = cabinet.emulator.texts(who).await;
    assert_eq!(texts.iter().filter(|text| text.contains(words)).count(), 1, "{texts:?}");
}

async fn a_kill_before_posting_a_notice_sends_it_once(kind: StorageKind) {
    kill_at(kind, "notice.before_post").await;
}

async fn a_kill_after_posting_a_notice_sends_it_once(kind: StorageKind) {
    kill_at(kind, AFTER_POST).await;
}

/// A page has answered, and the process is killed while it sends the page's notice.
async fn kill_at(kind: StorageKind, place: &str) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    let database = storage.database.url();
    for command in [
        &["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en", "--test"][..],
        &["people", "grant", "1002", "employee", "--name", "Boris", "--language", "en"],
        &["settings", "set", "enable_test_users", "true"],
    ] {
        operator::run(&[("DATABASE_URL", &database)], command).await.success();
    }
    let process = AppProcess::start(&storage, &emulator, &[("OPORA_FAILPOINTS", &format!("{place}=pause"))]);
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Anna").await;
    let is_posted = place == AFTER_POST;
    if is_posted {
        // It must not be sent yet: a message in flight during a kill is sent again.
        emulator.post("/faults", json!({"method": "sendMessage", "times": 1, "retry_after": 60})).await;
    }
    SignedInPages::at(&emulator, process.web_address().await).await.give_boris_bonus("First").await;
    process.wait_for_log(&format!("failpoint {place}")).await;
    if is_posted {
        let is_refused =
            async |emulator: &Demo| emulator.get("/faults").await.as_array().unwrap().is_empty().then_some(());
        emulator.until("Telegram asks to wait", is_refused).await;
    }
    process.kill().await;
    let process = AppProcess::start(&storage, &emulator, &[]);
    wait_for_message(&emulator, BORIS, "First").await;
    // Notices arrive in order.
    SignedInPages::at(&emulator, process.web_address().await).await.give_boris_bonus("Second").await;
    wait_for_message(&emulator, BORIS, "Second").await;
    let texts = emulator.texts(BORIS).await;
    assert_eq!(texts.iter().filter(|text| text.contains("First")).count(), 1, "{texts:?}");
    process.stop().await;
    emulator.stop().await;
}

/// The pages of a process, with Anna signed in as a test user.
struct SignedInPages<'a> {
    emulator: &'a Demo,
    base: String,
    cookie: String,
}

impl<'a> SignedInPages<'a> {
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

    /// Gives Boris a bonus this month, with this reason.
    async fn give_boris_bonus(&self, reason: &str) {
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

/// The CSRF token of a page.
fn token_in(page: &str) -> String {
    page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}
