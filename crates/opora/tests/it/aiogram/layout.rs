//! Keys and values, there and back.

use std::collections::{BTreeMap, BTreeSet};

use opora::aiogram::{Data, Found, KeyBuilder, Layout, Part, Record, Scan, Storage, StorageKey, Strategy};
use opora::key::DialogueKey;
use opora_testkit::aiogram_storage::aiogram;
use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};

const BOT: i64 = 42;

/// What aiogram says that it wrote.
struct Told {
    line: Value,
    layout: Layout,
    key: StorageKey,
    dialogue: DialogueKey,
}

impl Told {
    fn read(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).unwrap();
        let (options, text) = (&line["options"], |name: &str| line[name].as_str().unwrap());
        let flag = |name: &str| options[name].as_bool().unwrap();
        let keys = KeyBuilder {
            prefix: options["prefix"].as_str().unwrap().to_owned(),
            separator: options["separator"].as_str().unwrap().to_owned(),
            with_bot_id: flag("with_bot_id"),
            with_business_connection_id: flag("with_business_connection_id"),
            with_destiny: flag("with_destiny"),
        };
        let number = |name: &str| line[name].as_i64().unwrap();
        let (chat, user, thread) = (number("chat"), number("user"), number("thread"));
        let dialogue = DialogueKey { bot: BOT, chat, user, thread, business: text("business").into() };
        let strategy: Strategy = text("strategy").parse().unwrap();
        let key = StorageKey { destiny: text("destiny").into(), ..strategy.storage_key(&dialogue) };
        Self { layout: Layout { keys, strategy, bot: BOT }, key, dialogue, line }
    }

    fn name(&self, part: usize) -> &str {
        self.line["names"][part].as_str().unwrap()
    }

    /// The key as its name tells it.
    fn told_by_name(&self) -> StorageKey {
        let mut key = self.key.clone();
        if !self.layout.keys.with_business_connection_id {
            key.business = Box::default();
        }
        key
    }

    fn record(&self) -> Record {
        let data = Data::parse(self.line["data"].as_str().unwrap().as_bytes()).unwrap();
        Record { state: self.line["state"].as_str().unwrap().into(), data }
    }
}

#[tokio::test]
async fn everything_that_aiogram_writes_is_read_and_aiogram_reads_what_is_written_back() {
    let server = RedisServer::start(&[]);
    let told: Vec<Told> = aiogram(&["matrix", &server.url()], "").iter().map(|line| Told::read(line)).collect();
    assert!(told.len() > 300, "{}", told.len());
    names_are_built_and_read(&told);
    let mut written = String::new();
    for records in by_layout(&told).into_values() {
        let found = all(&server.url(), &records[0].layout).await;
        assert_eq!(found.len(), records.len(), "{:?}", records[0].layout);
        for told in records {
            let whose = told.name(0).strip_suffix("state").unwrap().strip_suffix(&*told.layout.keys.separator).unwrap();
            let (key, record, expires) = &found[whose];
            assert_eq!((key, record), (&told.told_by_name(), &told.record()));
            let has_ttl = told.layout.keys.separator == "/" && !record.state.is_empty();
            assert_eq!(*expires, has_ttl, "{whose}");
            if !record.data.is_empty() {
                assert_eq!(raw(&server, told.name(1)), record.data.to_string());
            }
            written += &write_back(&server, told, record.clone());
        }
    }
    for (answer, told) in aiogram(&["check", &server.url()], &written).iter().zip(written.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["same"], json!(true), "aiogram reads {} of {told}", answer["read"]);
    }
}

#[test]
fn whatever_python_dumps_is_written_again_byte_for_byte() {
    // Another one each time; a failure tells it.
    let seed = std::process::id().to_string();
    for line in aiogram(&["dumps", &seed, "5000"], "") {
        let data = Data::parse(line.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {error} in {line}"));
        assert_eq!(data.to_string(), line, "seed {seed}");
    }
}

fn names_are_built_and_read(told: &[Told]) {
    for told in told {
        for (index, part) in [Part::State, Part::Data, Part::Lock].into_iter().enumerate() {
            let Layout { keys, strategy, bot } = &told.layout;
            assert_eq!(keys.build(&told.key, part).unwrap(), told.name(index));
            assert_eq!(keys.parse(told.name(index), *strategy, *bot), Ok((told.told_by_name(), part)));
        }
        let is_shared = told.dialogue.chat < 0 && matches!(told.layout.strategy, Strategy::Chat | Strategy::ChatTopic);
        let is_default = &*told.key.destiny == "default";
        assert_eq!(told.layout.strategy.dialogue_key(&told.key).is_ok(), is_default && !is_shared);
    }
}

fn by_layout(told: &[Told]) -> BTreeMap<String, Vec<&Told>> {
    let mut layouts = BTreeMap::<_, Vec<_>>::new();
    for told in told {
        layouts.entry(format!("{:?}", told.layout)).or_default().push(told);
    }
    layouts
}

/// All records of a layout by their names, and whether each expires.
async fn all(url: &str, layout: &Layout) -> BTreeMap<String, (StorageKey, Record, bool)> {
    let storage = Storage::open(url, layout.clone()).await.unwrap();
    let (mut found, mut scan, mut seen) = (BTreeMap::new(), Scan::default(), BTreeSet::new());
    while let Some(page) = storage.page(&mut scan).await.unwrap() {
        for one in page {
            let Found::Record { name, key, record, expires_in } = one else { panic!("{one:?}") };
            assert!(seen.insert(name.clone()), "{name} comes twice");
            found.insert(name.into(), (key, record, expires_in.is_some()));
        }
    }
    found
}

fn raw(server: &RedisServer, key: &str) -> String {
    redis::from_redis_value(server.say(&["GET", key])).unwrap()
}

/// Changes a record; gives the line by which aiogram checks it.
fn write_back(server: &RedisServer, told: &Told, mut record: Record) -> String {
    record.state = "Form:rust".into();
    record.data.set("от Rust", &json!({"emoji": "🦀", "number": 1.5, "none": null})).unwrap();
    record.data.remove("phone");
    server.say(&["SET", told.name(0), &record.state]);
    server.say(&["SET", told.name(1), &record.data.to_string()]);
    let mut line = told.line.clone();
    line["state"] = json!(record.state);
    line["data"] = json!(record.data.to_string());
    format!("{line}\n")
}
