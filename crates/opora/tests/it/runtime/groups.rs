//! Groups and forum topics: which conversation an update belongs to, and where answers go.

use std::time::Duration;

use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{Filter, Store};
use serde_json::{Value, json};

use crate::stage::{BOT, Person, Running, Stage, memory, until};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "order")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Order {
    Drink,
    Size { drink: String },
}

async fn start(turn: &mut Turn, _: Command) -> Step<Order> {
    turn.say("Which drink?");
    turn.timer("hint", Duration::from_millis(1), &());
    Ok(Next::Go(Order::Drink))
}

async fn hint(turn: &mut Turn, _: Timer) -> Step<Order> {
    turn.say("There is tea.");
    Ok(Next::Stay)
}

async fn drink(turn: &mut Turn, drink: String) -> Step<Order> {
    let sizes = [Button::new("Small", "size:small"), Button::new("Large", "size:large")];
    turn.say(Say::text(format!("How large a {drink}?")).buttons([sizes]));
    Ok(Next::Go(Order::Size { drink }))
}

async fn size(turn: &mut Turn, drink: String, press: Press) -> Step<Order> {
    let person = turn.person().map(|person| person.first_name).unwrap_or_default();
    turn.say(format!("A {} {drink} for {person}.", press.rest));
    Ok(Next::End)
}

fn order() -> Dialogue<Order> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Order::DRINK, timer("hint"), hint)
        .on(Order::DRINK, text(), drink)
        .on(Order::SIZE, button("size:"), size)
}

/// A person in a group, or in a topic of one.
#[derive(Clone, Copy)]
struct Member<'s> {
    person: Person<'s>,
    place: Place<'s>,
}

/// A group or a topic of one; 0 is outside of topics.
#[derive(Clone, Copy)]
struct Place<'s> {
    stage: &'s Stage,
    chat: i64,
    thread: i64,
}

impl<'s> Place<'s> {
    async fn group(stage: &'s Stage, kind: &str, members: &[Person<'_>], topics: &[&str]) -> Vec<Self> {
        let members: Vec<i64> = members.iter().map(|member| member.id).collect();
        let new = json!({"type": kind, "title": "Crew", "members": members, "topics": topics});
        let chat = stage.post("/chats", new).await["id"].as_i64().unwrap();
        let said = stage.get(&format!("/chats/{chat}/messages?after=0")).await;
        let made = said.as_array().unwrap().iter().filter(|message| message["forum_topic_created"].is_object());
        let topics = made.map(|message| message["message_thread_id"].as_i64().unwrap());
        std::iter::once(0).chain(topics).map(|thread| Self { stage, chat, thread }).collect()
    }

    fn with(self, person: Person<'s>) -> Member<'s> {
        Member { person, place: self }
    }

    async fn messages(&self) -> Vec<Value> {
        let messages = self.stage.get(&format!("/chats/{}/messages?after=0&limit=1000", self.chat)).await;
        let is_here = |message: &Value| message["message_thread_id"].as_i64().unwrap_or(0) == self.thread;
        let mut messages = messages.as_array().unwrap().clone();
        messages.retain(|message| message["from"]["is_bot"] == true && is_here(message));
        messages
    }

    /// The bot's messages in this topic.
    async fn received(&self) -> Vec<String> {
        self.messages().await.iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    async fn receives(&self, text: &str) {
        until(&format!("`{text}` in {}:{}", self.chat, self.thread), async || {
            self.received().await.iter().any(|received| received == text)
        })
        .await;
    }

    /// The message with this text, and the data of its button.
    async fn button(&self, text: &str, caption: &str) -> (i64, String) {
        self.receives(text).await;
        let messages = self.messages().await;
        let message = messages.iter().find(|message| message["text"] == text).unwrap();
        let keys = message["reply_markup"]["inline_keyboard"].as_array().unwrap().iter();
        let key = keys.flat_map(|row| row.as_array().unwrap()).find(|key| key["text"] == caption).unwrap();
        (message["message_id"].as_i64().unwrap(), key["callback_data"].as_str().unwrap().to_owned())
    }
}

impl Member<'_> {
    async fn says(&self, text: &str) {
        let Place { stage, chat, thread } = self.place;
        let mut message = json!({"from": self.person.id, "text": text});
        if thread != 0 {
            message["thread_id"] = thread.into();
        }
        stage.post(&format!("/chats/{chat}/send"), message).await;
    }

    async fn presses(&self, (message_id, data): &(i64, String)) -> Value {
        let press = json!({"from": self.person.id, "message_id": message_id, "data": data, "wait": 20});
        let answer = self.place.stage.post(&format!("/chats/{}/press", self.place.chat), press).await;
        assert_eq!(answer["answered"], true, "the button keeps spinning: {answer}");
        answer
    }

    fn key(&self) -> ConversationKey {
        let Place { chat, thread, .. } = self.place;
        ConversationKey { chat, thread, ..ConversationKey::private(BOT, self.person.id) }
    }
}

/// The open conversations and their states.
async fn open(store: &dyn Store) -> Vec<(ConversationKey, Box<str>)> {
    let rows = store.list(&Filter::default(), None, 100).await.unwrap();
    rows.into_iter().filter_map(|row| Some((row.key, row.stored?.states.into_iter().next()?.state))).collect()
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

#[tokio::test]
async fn two_people_in_a_group_have_a_conversation_each() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let group = Place::group(&stage, "group", &[anna, boris], &[]).await[0];
    let bot = Running::start(stage.bot(&store).dialogue(order()));
    let people = [(group.with(anna), "tea", "Small"), (group.with(boris), "juice", "Large")];
    // Their turns run concurrently, the sends of the chat one after another.
    for (member, drink, _) in &people {
        tokio::join!(member.says("/start"), member.person.says("/start"));
        member.says(drink).await;
    }
    let mut expected = Vec::new();
    for (member, drink, _) in &people {
        group.receives(&format!("How large a {drink}?")).await;
        expected.push((member.key(), "size".into()));
        expected.push((ConversationKey::private(BOT, member.person.id), "drink".into()));
    }
    assert_eq!(open(&*store).await, sorted(expected));
    for (member, drink, caption) in people {
        let button = group.button(&format!("How large a {drink}?"), caption).await;
        member.presses(&button).await;
    }
    group.receives("A small tea for Anna.").await;
    group.receives("A large juice for Boris.").await;
    let mut received = group.received().await;
    received.retain(|text| text != "There is tea.");
    assert_eq!(received.len(), 6, "{received:?}");
    // A conversation begun in private continues there.
    anna.says("milk").await;
    anna.receives("How large a milk?").await;
    bot.stops().await;
}

#[tokio::test]
async fn a_button_does_nothing_for_a_person_without_a_dialogue() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let group = Place::group(&stage, "supergroup", &[anna, boris], &[]).await[0];
    let bot = Running::start(stage.bot(&store).dialogue(order()));
    let (anna, boris) = (group.with(anna), group.with(boris));
    anna.says("/start").await;
    anna.says("tea").await;
    let button = group.button("How large a tea?", "Large").await;
    assert_eq!(boris.presses(&button).await["text"], "This button is no longer in use.");
    assert_eq!(open(&*store).await, [(anna.key(), "size".into())]);
    anna.presses(&button).await;
    group.receives("A large tea for Anna.").await;
    bot.stops().await;
}

#[tokio::test]
async fn every_topic_has_its_own_conversation() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let places = Place::group(&stage, "supergroup", &[anna, boris], &["Bar", "Kitchen"]).await;
    let [general, bar, kitchen] = places[..] else { panic!("two topics and the general one") };
    let bot = Running::start(stage.bot(&store).dialogue(order()));
    let members = [general.with(anna), bar.with(anna), kitchen.with(anna), bar.with(boris)];
    let drinks = ["water", "wine", "milk", "beer"];
    for member in &members {
        member.says("/start").await;
    }
    // Timers know the topic, too.
    for (place, times) in [(general, 1), (bar, 2), (kitchen, 1)] {
        until("the hints", async || {
            place.received().await.iter().filter(|text| *text == "There is tea.").count() == times
        })
        .await;
    }
    for (member, drink) in members.iter().zip(drinks) {
        member.says(drink).await;
    }
    for (member, drink) in members.iter().zip(drinks) {
        member.place.receives(&format!("How large a {drink}?")).await;
    }
    let expected = members.iter().map(|member| (member.key(), "size".into())).collect();
    assert_eq!(open(&*store).await, sorted(expected));
    for (member, drink) in members.iter().zip(drinks) {
        let button = member.place.button(&format!("How large a {drink}?"), "Small").await;
        member.presses(&button).await;
    }
    bar.receives("A small wine for Anna.").await;
    bar.receives("A small beer for Boris.").await;
    general.receives("A small water for Anna.").await;
    kitchen.receives("A small milk for Anna.").await;
    for (place, count) in [(general, 4), (bar, 8), (kitchen, 4)] {
        let received = place.received().await;
        assert_eq!(received.len(), count, "{received:?}");
    }
    assert_eq!(open(&*store).await, []);
    bot.stops().await;
}

#[tokio::test]
async fn messages_follow_a_group_that_becomes_a_supergroup() {
    let stage = Stage::new().await;
    let store = stage.sqlite().await;
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let old = Place::group(&stage, "group", &[anna, boris], &[]).await[0];
    let bot = Running::start(stage.bot(&store).dialogue(super::form::form()));
    // All messages to the group have to wait until it has migrated.
    stage.fault(json!({"method": "sendMessage", "chat_id": old.chat, "retry_after": 1})).await;
    old.with(anna).says("/start").await;
    old.with(anna).says("Anna").await;
    until("two waiting rows", async || store.statistics(None).await.unwrap().outbox == 2).await;
    let migrated = stage.post(&format!("/chats/{}/migrate", old.chat), json!({"from": anna.id})).await;
    let new = Place { chat: migrated["id"].as_i64().unwrap(), ..old };
    boris.says("/start").await;
    new.receives(super::form::AGE).await;
    boris.receives_exactly(&[super::form::NAME]).await;
    new.with(boris).says("/start").await;
    until("the answer to Boris", async || new.received().await.len() == 3).await;
    assert_eq!(new.received().await, [super::form::NAME, super::form::AGE, super::form::NAME]);
    assert_eq!(old.received().await, [""; 0]);
    until("nothing waits", async || store.statistics(None).await.unwrap().outbox == 0).await;
    assert_eq!(store.statistics(None).await.unwrap().failed, 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_button_of_another_person_does_nothing() {
    let (stage, store) = (Stage::new().await, memory());
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let group = Place::group(&stage, "supergroup", &[anna, boris], &[]).await[0];
    let bot = Running::start(stage.bot(&store).dialogue(order()));
    let (anna, boris) = (group.with(anna), group.with(boris));
    for (member, drink) in [(anna, "tea"), (boris, "juice")] {
        member.says("/start").await;
        member.says(drink).await;
    }
    let annas = group.button("How large a tea?", "Large").await;
    group.button("How large a juice?", "Large").await;
    let answer = boris.presses(&annas).await;
    let open = open(&*store).await;
    assert_eq!(open.len(), 2, "Boris was taken at Anna's button: {answer}");
    bot.stops().await;
}
