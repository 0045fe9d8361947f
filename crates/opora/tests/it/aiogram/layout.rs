//! Keys and values of aiogram's layouts, read and written back.

use std::collections::{BTreeMap, BTreeSet};

use opora::aiogram::{Data, KeyBuilder, Layout, Part, Record, Scan, ScannedKey, Storage, StorageKey, Strategy};
use opora::key::ConversationKey;
use opora_testkit::aiogram_storage::aiogram;
use opora_testkit::redis_server::RedisServer;
use serde_json::{Value, json};

const BOT: i64 = 42;

/// A record that aiogram says it wrote.
struct WrittenRecord {
    line: Value,
    layout: Layout,
    key: StorageKey,
    dialogue: ConversationKey,
}

impl WrittenRecord {
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
        let dialogue = ConversationKey { bot: BOT, chat, user, thread, business: text("business").into() };
        let strategy: Strategy = text("strategy").parse().unwrap();
        let key = StorageKey { destiny: text("destiny").into(), ..strategy.storage_key(&dialogue) };
        Self { layout: Layout { keys, strategy, bot: BOT }, key, dialogue, line }
    }

    fn name(&self, part: usize) -> &str {
        self.line["names"][part].as_str().unwrap()
    }

    fn parsed_key(&self) -> StorageKey {
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
async fn aiogram_and_the_library_read_each_others_records() {
    let server = RedisServer::start(&[]);
    let written: Vec<WrittenRecord> =
        aiogram(&["matrix", &server.url()], "").iter().map(|line| WrittenRecord::read(line)).collect();
    assert!(written.len() > 300, "{}", written.len());
    names_are_built_and_read(&written);
    let mut written_back = String::new();
    for records in by_layout(&written).into_values() {
        let found = all(&server.url(), &records[0].layout).await;
        assert_eq!(found.len(), records.len(), "{:?}", records[0].layout);
        for written in records {
            let prefix =
                written.name(0).strip_suffix("state").unwrap().strip_suffix(&*written.layout.keys.separator).unwrap();
            let (key, record, expires) = &found[prefix];
            assert_eq!((key, record), (&written.parsed_key(), &written.record()));
            let has_ttl = written.layout.keys.separator == "/" && !record.state.is_empty();
            assert_eq!(*expires, has_ttl, "{prefix}");
            if !record.data.is_empty() {
                assert_eq!(raw(&server, written.name(1)), record.data.to_string());
            }
            written_back += &write_back(&server, written, record.clone());
        }
    }
    for (answer, line) in aiogram(&["check", &server.url()], &written_back).iter().zip(written_back.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["same"], json!(true), "aiogram reads {} of {line}", answer["read"]);
    }
}

#[test]
fn python_json_is_written_back_byte_for_byte() {
    // Another seed in each run. A failure names it.
    let seed = std::process::id().to_string();
    for line in aiogram(&["dumps", &seed, "5000"], "") {
        let data = Data::parse(line.as_bytes()).unwrap_or_else(|error| panic!("seed {seed}: {error} in {line}"));
        assert_eq!(data.to_string(), line, "seed {seed}");
    }
}

fn names_are_built_and_read(written: &[WrittenRecord]) {
    for written in written {
        for (index, part) in [Part::State, Part::Data, Part::Lock].into_iter().enumerate() {
            let Layout { keys, strategy, bot } = &written.layout;
            assert_eq!(keys.build(&written.key, part).unwrap(), written.name(index));
            assert_eq!(keys.parse(written.name(index), *strategy, *bot), Ok((written.parsed_key(), part)));
        }
        let is_shared =
            written.dialogue.chat < 0 && matches!(written.layout.strategy, Strategy::Chat | Strategy::ChatTopic);
        let is_default = &*written.key.destiny == "default";
        assert_eq!(written.layout.strategy.conversation_key(&written.key).is_ok(), is_default && !is_shared);
    }
}

fn by_layout(written: &[WrittenRecord]) -> BTreeMap<String, Vec<&WrittenRecord>> {
    let mut layouts = BTreeMap::<_, Vec<_>>::new();
    for written in written {
        layouts.entry(format!("{:?}", written.layout)).or_default().push(written);
    }
    layouts
}

/// All records of a layout by name, and whether each expires.
async fn all(url: &str, layout: &Layout) -> BTreeMap<String, (StorageKey, Record, bool)> {
    let storage = Storage::open(url, layout.clone()).await.unwrap();
    let (mut found, mut scan, mut seen) = (BTreeMap::new(), Scan::default(), BTreeSet::new());
    while let Some(page) = storage.page(&mut scan).await.unwrap() {
        for one in page {
            let ScannedKey::Record { name, key, record, expires_in } = one else { panic!("{one:?}") };
            assert!(seen.insert(name.clone()), "{name} comes twice");
            found.insert(name.into(), (key, record, expires_in.is_some()));
        }
    }
    found
}

fn raw(server: &RedisServer, key: &str) -> String {
    redis::from_redis_value(server.command(&["GET", key])).unwrap()
}

/// Changes a record. Returns the line by which aiogram checks it.
fn write_back(server: &RedisServer, written: &WrittenRecord, mut record: Record) -> String {
    record.state = "Form:rust".into();
    record.data.set("от Rust", &json!({"emoji": "🦀", "number": 1.5, "none": null})).unwrap();
    record.data.remove("phone");
    server.command(&["SET", written.name(0), &record.state]);
    server.command(&["SET", written.name(1), &record.data.to_string()]);
    let mut line = written.line.clone();
    line["state"] = json!(record.state);
    line["data"] = json!(record.data.to_string());
    format!("{line}\n")
}
