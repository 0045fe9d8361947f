//! People who talk to a bot: each with values of its own, some of them tapping twice.
//!
//! A person follows the questions and remembers what it did, so that afterwards everything the bot has said and kept can
//! be compared with it. Questions that come twice are passed over here and counted later.

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

/// After a bug, those who still wait give up when nothing was said in any chat for so long.
pub const SILENCE: Duration = Duration::from_secs(4);

/// Which dialogue people walk through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Story {
    /// Language, name, phone, passport, selfie.
    Registration,
    /// A photo that the bot fetches, and a reminder some time later.
    Errand,
    /// Three things that are said without waiting for an answer in between.
    Shopping,
}

impl Story {
    /// The states of one walk, in order.
    pub fn states(self) -> &'static [&'static str] {
        match self {
            Self::Registration => &["language", "name", "phone", "passport", "selfie"],
            Self::Errand => &["photo", "fetching", "waiting"],
            Self::Shopping => &["first", "second", "third"],
        }
    }
}

/// How people behave.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub story: Story,
    /// How long a person waits for an answer before it counts as lost.
    pub patience: Duration,
    /// How long a person thinks before an answer.
    pub thought: Duration,
}

/// What a person has done and should have been told.
#[derive(Debug, Default)]
pub struct Diary {
    pub person: i64,
    pub walks: usize,
    /// How many inputs the bot got from this person, and from time and effects on its behalf.
    pub inputs: usize,
    /// What the bot should have said, in order.
    pub expected: Vec<String>,
    /// Where the person waits in vain.
    pub stuck: Option<String>,
    pub unanswered_presses: usize,
}

impl Diary {
    /// How many turns of registrations have signed: one for each question that was answered, rightly or not.
    pub fn signed_turns(&self) -> usize {
        let wrong_phones = self.expected.iter().filter(|text| text.contains("a phone number starts")).count();
        (Story::Registration.states().len() + 1) * self.walks + wrong_phones
    }
}

/// People who walk until they are told that it is enough.
pub struct Crowd {
    enough: Arc<AtomicBool>,
    /// Cancelled when those who still wait for an answer give up.
    gives_up: CancellationToken,
    walkers: Vec<JoinHandle<Diary>>,
}

impl Crowd {
    /// Brings people in, who begin at once.
    pub async fn begin(stage: &Arc<Stage>, count: usize, manner: Manner) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let gives_up = CancellationToken::new();
        let mut walkers = Vec::new();
        for number in 0..count {
            let id = stage.person(&format!("Person {number}")).await;
            let diary = Diary { person: id, ..Diary::default() };
            let (stage, gives_up) = (Arc::clone(stage), gives_up.clone());
            let person = Person { stage, manner, diary, heard: 0, presses: Vec::new(), gives_up };
            walkers.push(tokio::spawn(person.walk_until(Arc::clone(&enough))));
        }
        Self { enough, gives_up, walkers }
    }

    /// Lets everybody finish the walk that is under way; nobody begins another.
    pub async fn finish(self) -> Vec<Diary> {
        self.enough.store(true, Ordering::Relaxed);
        let mut diaries = Vec::new();
        for walker in self.walkers {
            diaries.push(walker.await.unwrap());
        }
        diaries
    }

    /// The same. If a bug may leave people without an answer, they give up when nothing is said in any chat any more; that a
    /// single answer takes long on a busy machine is no reason to give up.
    pub async fn finish_with(self, may_lose: bool, stage: &Stage) -> Vec<Diary> {
        if !may_lose {
            return self.finish().await;
        }
        let gives_up = self.gives_up.clone();
        let silence = async { while stage.goes_on(1, SILENCE).await {} };
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
    manner: Manner,
    diary: Diary,
    /// The last message that was read.
    heard: i64,
    presses: Vec<JoinHandle<bool>>,
    gives_up: CancellationToken,
}

/// An answer that does not come.
struct Lost(String);

impl Person {
    async fn walk_until(mut self, enough: Arc<AtomicBool>) -> Diary {
        while self.diary.walks == 0 || !enough.load(Ordering::Relaxed) {
            let walked = match self.manner.story {
                Story::Registration => self.register().await,
                Story::Errand => self.run_an_errand().await,
                Story::Shopping => self.go_shopping().await,
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
        // Not the same steps for everybody, and other ones in the next walk.
        let twice = |step: usize| (usize::try_from(id).unwrap_or(0) + walk + step).is_multiple_of(3);
        let (name, phone) = (format!("name-{id}-{walk}"), format!("+{id}{walk:03}"));
        self.say("/start", 1).await;
        let question = self.hears("Choose your language").await?;
        self.press(&question, "lang:en", if twice(0) { 2 } else { 1 }).await;
        self.hears("What is your name?").await?;
        self.say(&name, if twice(1) { 2 } else { 1 }).await;
        self.expect("Your phone?");
        if twice(1) {
            self.expect("invalid: a phone number starts with +");
        }
        self.hear("Your phone?").await?;
        self.say(&phone, if twice(2) { 2 } else { 1 }).await;
        self.expect("Send a photo of your passport");
        if twice(2) {
            self.expect("invalid: this is not what I asked for");
        }
        self.hear("Send a photo of your passport").await?;
        let passport = self.show().await;
        self.hears("Now a selfie").await?;
        let selfie = self.show().await;
        self.hears(&format!("done {name} {phone} {passport} {selfie}")).await?;
        Ok(())
    }

    async fn run_an_errand(&mut self) -> Result<(), Lost> {
        let walk = self.diary.walks;
        self.say(&format!("/start {walk}"), 1).await;
        self.hears("Send a photo").await?;
        let photo = self.show().await;
        self.hears(&format!("fetched {} bytes of {photo}", PIXEL_PNG.len())).await?;
        self.hears(&format!("time is up for {walk}")).await?;
        // The outcome and the timer are inputs too.
        self.diary.inputs += 2;
        Ok(())
    }

    async fn go_shopping(&mut self) -> Result<(), Lost> {
        let (id, walk) = (self.diary.person, self.diary.walks);
        self.say("/start", 1).await;
        self.hears("Three things, please").await?;
        let things = ["bread", "milk", "tea"].map(|thing| format!("{thing}-{id}-{walk}"));
        for thing in &things {
            self.say(thing, 1).await;
            self.expect(&format!("noted {thing}"));
        }
        self.hear(&format!("noted {}", things[2])).await?;
        Ok(())
    }

    fn expect(&mut self, text: &str) {
        self.diary.expected.push(text.to_owned());
    }

    /// Expects this next, and waits for it.
    async fn hears(&mut self, text: &str) -> Result<Value, Lost> {
        self.expect(text);
        self.hear(text).await
    }

    /// Waits for a text of the bot's; others are passed over.
    async fn hear(&mut self, text: &str) -> Result<Value, Lost> {
        let deadline = Instant::now() + self.manner.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Lost(format!("walk {}: `{text}` never came", self.diary.walks)));
            }
            let (chat, after) = (self.diary.person, self.heard);
            let wait = left.as_secs_f64().min(5.0);
            let path = format!("/chats/{chat}/messages?after={after}&wait={wait}");
            let messages = tokio::select! {
                messages = self.stage.get(&path) => messages,
                () = self.gives_up.cancelled() => return Err(Lost(format!("walk {}: `{text}`", self.diary.walks))),
            };
            for message in messages.as_array().unwrap() {
                self.heard = self.heard.max(message["message_id"].as_i64().unwrap());
                if message["from"]["is_bot"] == true && message["text"] == text {
                    tokio::time::sleep(self.manner.thought).await;
                    return Ok(message.clone());
                }
            }
        }
    }

    /// Says a text, several times at once if need be.
    async fn say(&mut self, text: &str, times: usize) {
        let (stage, id) = (&self.stage, self.diary.person);
        self.diary.inputs += times;
        futures_util::future::join_all((0..times).map(|_| stage.says(id, text))).await;
    }

    /// Sends a photo; gives the id of its file.
    async fn show(&mut self) -> String {
        self.diary.inputs += 1;
        let photo = base64::engine::general_purpose::STANDARD.encode(PIXEL_PNG);
        let body = json!({"from": self.diary.person, "photo": {"name": "photo.png", "base64": photo}});
        let sent = self.stage.post(&format!("/chats/{}/send", self.diary.person), body).await;
        sent["photo"].as_array().unwrap().last().unwrap()["file_id"].as_str().unwrap().to_owned()
    }

    /// Presses a button, several times at once if need be. The answers are looked at in the end.
    async fn press(&mut self, question: &Value, data: &str, times: usize) {
        self.diary.inputs += times;
        let id = self.diary.person;
        let (path, wait) = (format!("/chats/{id}/press"), self.manner.patience.as_secs());
        let body = json!({"from": id, "message_id": question["message_id"], "data": data, "wait": wait});
        for _ in 0..times {
            let (stage, path, body) = (Arc::clone(&self.stage), path.clone(), body.clone());
            self.presses.push(tokio::spawn(async move { stage.post(&path, body).await["answered"] == true }));
        }
    }
}
