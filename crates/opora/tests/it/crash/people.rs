//! People who talk to a bot. Each has its own values, and some tap twice.
//!
//! A person answers the bot's questions and keeps a diary, which the audit compares with what the bot sent and stored.
//! Repeated questions are skipped here and counted later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use opora_testkit::pictures::PIXEL_PNG;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::stage::Stage;

/// With a seeded bug, people stop waiting when no message came in any chat for this time.
pub const SILENCE: Duration = Duration::from_secs(4);

/// The dialogue that people walk through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scenario {
    /// Language, name, phone, passport, selfie.
    Registration,
    /// A photo that the bot downloads, and a reminder a moment later.
    Errand,
    /// Three messages, sent without waiting for answers in between.
    Shopping,
}

impl Scenario {
    /// The states of one walk, in order.
    pub fn states(self) -> &'static [&'static str] {
        match self {
            Self::Registration => &["language", "name", "phone", "passport", "selfie"],
            Self::Errand => &["photo", "fetching", "waiting"],
            Self::Shopping => &["first", "second", "third"],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    pub scenario: Scenario,
    pub timeout: Duration,
    pub think_time: Duration,
}

/// What a person did, and the messages that the person should have received.
#[derive(Debug, Default)]
pub struct Diary {
    pub person: i64,
    pub walks: usize,
    /// Inputs of this person, including timers and outcomes.
    pub inputs: usize,
    /// The messages that the bot should have sent, in order.
    pub expected: Vec<String>,
    /// The message that the person waits for in vain.
    pub stuck: Option<String>,
    pub unanswered_presses: usize,
}

impl Diary {
    /// How many turns of a registration wrote a signature: one for each valid or invalid answer.
    pub fn signed_turns(&self) -> usize {
        let wrong_phones = self.expected.iter().filter(|text| text.contains("a phone number starts")).count();
        (Scenario::Registration.states().len() + 1) * self.walks + wrong_phones
    }
}

/// People who repeat the dialogue until they are told to finish.
pub struct Crowd {
    enough: Arc<AtomicBool>,
    /// Cancelled when people who still wait for an answer should give up.
    gives_up: CancellationToken,
    walkers: Vec<JoinHandle<Diary>>,
}

impl Crowd {
    /// Adds people, who start at once.
    pub async fn begin(stage: &Arc<Stage>, count: usize, behaviour: Behaviour) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let gives_up = CancellationToken::new();
        let mut walkers = Vec::new();
        for number in 0..count {
            let id = stage.person(&format!("Person {number}")).await;
            let diary = Diary { person: id, ..Diary::default() };
            let (stage, gives_up) = (Arc::clone(stage), gives_up.clone());
            let person = Person { stage, behaviour, diary, received: 0, presses: Vec::new(), gives_up };
            walkers.push(tokio::spawn(person.walk_until(Arc::clone(&enough))));
        }
        Self { enough, gives_up, walkers }
    }

    /// Waits until everyone has finished the present walk.
    pub async fn finish(self) -> Vec<Diary> {
        self.enough.store(true, Ordering::Relaxed);
        let mut diaries = Vec::new();
        for walker in self.walkers {
            diaries.push(walker.await.unwrap());
        }
        diaries
    }

    /// Like [`Self::finish`]. With `may_lose`, people give up when no message comes in any chat any more. A single slow
    /// answer on a busy machine is no reason to give up.
    pub async fn finish_with(self, may_lose: bool, stage: &Stage) -> Vec<Diary> {
        if !may_lose {
            return self.finish().await;
        }
        let gives_up = self.gives_up.clone();
        let silence = async { while stage.sees_messages(1, SILENCE).await {} };
        let finished = self.finish();
        tokio::pin!(finished);
        tokio::select! {
            diaries = &mut finished => return diaries,
            () = silence => gives_up.cancel(),
        }
        finished.await
    }
}

struct Person {
    stage: Arc<Stage>,
    behaviour: Behaviour,
    diary: Diary,
    /// The id of the last message read.
    received: i64,
    presses: Vec<JoinHandle<bool>>,
    gives_up: CancellationToken,
}

struct Lost(String);

impl Person {
    async fn walk_until(mut self, enough: Arc<AtomicBool>) -> Diary {
        while self.diary.walks == 0 || !enough.load(Ordering::Relaxed) {
            let walked = match self.behaviour.scenario {
                Scenario::Registration => self.register().await,
                Scenario::Errand => self.run_an_errand().await,
                Scenario::Shopping => self.go_shopping().await,
            };
            if let Err(Lost(what)) = walked {
                self.diary.stuck = Some(what);
                return self.diary;
            }
            self.diary.walks += 1;
        }
        for press in self.presses {
            let is_answered = tokio::select! {
                answered = press => answered.unwrap(),
                () = self.gives_up.cancelled() => false,
            };
            self.diary.unanswered_presses += usize::from(!is_answered);
        }
        self.diary
    }

    async fn register(&mut self) -> Result<(), Lost> {
        let (id, walk) = (self.diary.person, self.diary.walks);
        // Different steps for each person and each walk.
        let twice = |step: usize| (usize::try_from(id).unwrap_or(0) + walk + step).is_multiple_of(3);
        let (name, phone) = (format!("name-{id}-{walk}"), format!("+{id}{walk:03}"));
        self.say("/start", 1).await;
        let question = self.receives("Choose your language").await?;
        self.press(&question, "lang:en", if twice(0) { 2 } else { 1 }).await;
        self.receives("What is your name?").await?;
        self.say(&name, if twice(1) { 2 } else { 1 }).await;
        self.expect("Your phone?");
        if twice(1) {
            self.expect("invalid: a phone number starts with +");
        }
        self.wait_for("Your phone?").await?;
        self.say(&phone, if twice(2) { 2 } else { 1 }).await;
        self.expect("Send a photo of your passport");
        if twice(2) {
            self.expect("invalid: this is not what I asked for");
        }
        self.wait_for("Send a photo of your passport").await?;
        let passport = self.show().await;
        self.receives("Now a selfie").await?;
        let selfie = self.show().await;
        self.receives(&format!("done {name} {phone} {passport} {selfie}")).await?;
        Ok(())
    }

    async fn run_an_errand(&mut self) -> Result<(), Lost> {
        let walk = self.diary.walks;
        self.say(&format!("/start {walk}"), 1).await;
        self.receives("Send a photo").await?;
        let photo = self.show().await;
        self.receives(&format!("fetched {} bytes of {photo}", PIXEL_PNG.len())).await?;
        self.receives(&format!("time is up for {walk}")).await?;
        // The outcome and the timer are inputs too.
        self.diary.inputs += 2;
        Ok(())
    }

    async fn go_shopping(&mut self) -> Result<(), Lost> {
        let (id, walk) = (self.diary.person, self.diary.walks);
        self.say("/start", 1).await;
        self.receives("Three things, please").await?;
        let things = ["bread", "milk", "tea"].map(|thing| format!("{thing}-{id}-{walk}"));
        for thing in &things {
            self.say(thing, 1).await;
            self.expect(&format!("noted {thing}"));
        }
        self.wait_for(&format!("noted {}", things[2])).await?;
        Ok(())
    }

    fn expect(&mut self, text: &str) {
        self.diary.expected.push(text.to_owned());
    }

    /// Expects this text next, and waits for it.
    async fn receives(&mut self, text: &str) -> Result<Value, Lost> {
        self.expect(text);
        self.wait_for(text).await
    }

    /// Waits for a text of the bot and skips others.
    async fn wait_for(&mut self, text: &str) -> Result<Value, Lost> {
        let deadline = Instant::now() + self.behaviour.timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Lost(format!("walk {}: `{text}` never came", self.diary.walks)));
            }
            let (chat, after) = (self.diary.person, self.received);
            let wait = left.as_secs_f64().min(5.0);
            let path = format!("/chats/{chat}/messages?after={after}&wait={wait}");
            let messages = tokio::select! {
                messages = self.stage.get(&path) => messages,
                () = self.gives_up.cancelled() => return Err(Lost(format!("walk {}: `{text}`", self.diary.walks))),
            };
            for message in messages.as_array().unwrap() {
                self.received = self.received.max(message["message_id"].as_i64().unwrap());
                if message["from"]["is_bot"] == true && message["text"] == text {
                    tokio::time::sleep(self.behaviour.think_time).await;
                    return Ok(message.clone());
                }
            }
        }
    }

    /// Sends a text, `times` times at once.
    async fn say(&mut self, text: &str, times: usize) {
        let (stage, id) = (&self.stage, self.diary.person);
        self.diary.inputs += times;
        futures_util::future::join_all((0..times).map(|_| stage.says(id, text))).await;
    }

    /// Sends a photo. Returns the id of its file.
    async fn show(&mut self) -> String {
        self.diary.inputs += 1;
        let photo = base64::engine::general_purpose::STANDARD.encode(PIXEL_PNG);
        let body = json!({"from": self.diary.person, "photo": {"name": "photo.png", "base64": photo}});
        let sent = self.stage.post(&format!("/chats/{}/send", self.diary.person), body).await;
        sent["photo"].as_array().unwrap().last().unwrap()["file_id"].as_str().unwrap().to_owned()
    }

    /// Presses a button, `times` times at once. Whether the presses are answered is checked at the end.
    async fn press(&mut self, question: &Value, data: &str, times: usize) {
        self.diary.inputs += times;
        let id = self.diary.person;
        let (path, wait) = (format!("/chats/{id}/press"), self.behaviour.timeout.as_secs());
        let body = json!({"from": id, "message_id": question["message_id"], "data": data, "wait": wait});
        for _ in 0..times {
            let (stage, path, body) = (Arc::clone(&self.stage), path.clone(), body.clone());
            self.presses.push(tokio::spawn(async move { stage.post(&path, body).await["answered"] == true }));
        }
    }
}
