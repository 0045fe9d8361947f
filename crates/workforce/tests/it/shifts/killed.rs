//! The whole program, killed or stopped between any two steps of a shift: nothing is lost, and nothing happens twice.

use chrono_tz::Europe::Moscow;
use opora::clock::Clock;
use reqwest::multipart::{Form, Part};
use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;
use workforce::domain::Domain;
use workforce::payroll;
use workforce::people::People;
use workforce::sites::{self, AboutContract, AboutSite, AboutTask, By, ContractStatus, Hours};

use super::{HERE, about_site, task};
use crate::demo::{ANNA, Demo, until};
use crate::firm::{Ground, Kind, embedded_and_on_servers};
use crate::operator;
use crate::product::{Run, silent_emulator};

embedded_and_on_servers! {
    a_kill_between_any_two_steps_loses_nothing,
    a_restart_between_any_two_steps_loses_nothing,
}

/// Anna may work at a shop without a plan, with two tasks; one needs a photo.
pub async fn prepare(ground: &Ground) {
    let database = ground.database.url();
    let grant = ["people", "grant", "1001", "employee", "--name", "Anna", "--language", "en"];
    operator::run(&[("DATABASE_URL", &database)], &grant).await.well();
    let domain = Domain::beside(&ground.database).await.unwrap();
    let anna = People::new(domain.clone()).by_telegram(ANNA).await.unwrap().unwrap().id;
    let by = By { person: None, at: Clock::machine().now() };
    let site = AboutSite { rate_kopecks: 360_000, hours: Hours::new(0, 0), time_zone: Moscow, ..about_site("Shop") };
    let site = domain.write_and_get(move |db| Box::pin(sites::create_site(db, site, by))).await.unwrap();
    for about in [AboutTask { needs_media: true, ..task("Sweep", 5_000) }, task("Lock up", -1_000)] {
        domain.write_and_get(move |db| Box::pin(sites::create_task(db, site, None, about, by))).await.unwrap();
    }
    let contract = AboutContract {
        status: ContractStatus::Active,
        rate_kopecks: None,
        allows_spontaneous: true,
        sites: vec![site],
    };
    domain.write_and_get(move |db| Box::pin(sites::create_contract(db, anna, contract, by))).await.unwrap();
    domain.close().await.unwrap();
}

/// What Anna does, and what she hears; every answer differs from those before it.
pub enum Deed {
    Says(&'static str),
    Presses(&'static str),
    Photo,
    Here,
}

pub const DEEDS: &[(Deed, &str)] = &[
    (Deed::Says("/start"), "what would you like"),
    (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
    (Deed::Presses("Shop, without a plan"), "Please share your position, so"),
    (Deed::Here, "Your shift at Shop is open"),
    (Deed::Presses("✅ My tasks"), "Your tasks:\n⬜ Sweep · +50.00\u{a0}₽ · 📷 0\n⬜ Lock up · −10.00\u{a0}₽"),
    (Deed::Presses("📷 Sweep"), "Send a photo"),
    (Deed::Photo, "✅ Sweep · +50.00\u{a0}₽ · 📷 1\n⬜ Lock up"),
    (Deed::Presses("⬜ Lock up"), "✅ Sweep · +50.00\u{a0}₽ · 📷 1\n✅ Lock up"),
    (Deed::Presses("⏹ Close my shift"), "Shall I close"),
    (Deed::Presses("Go on to closing"), "Please share your position to close"),
    (Deed::Here, "Your shift at Shop is closed"),
];

/// Presses the last button of this caption. Whatever was heard last came with the message that has it, or before.
async fn presses(demo: &Demo, caption: &str) {
    let offered = async |demo: &Demo| {
        let messages = demo.get(&format!("/chats/{ANNA}/messages?after=0&wait=0")).await;
        messages.as_array()?.iter().rev().find_map(|message| {
            let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
            let mut buttons = rows.iter().flat_map(|row| row.as_array()).flatten();
            let data = buttons.find(|button| button["text"] == caption)?["callback_data"].clone();
            Some((message["message_id"].clone(), data))
        })
    };
    let (message_id, data) = demo.until(&format!("[{caption}] is offered"), offered).await;
    demo.post(&format!("/chats/{ANNA}/press"), json!({"from": ANNA, "message_id": message_id, "data": data})).await;
}

async fn is_here(demo: &Demo) {
    let location = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
    demo.post(&format!("/chats/{ANNA}/send"), json!({"from": ANNA, "location": location})).await;
}

async fn a_kill_between_any_two_steps_loses_nothing(kind: Kind) {
    // Dropped without a word: it is killed.
    a_shift_over_many_processes(kind, async |run| drop(run)).await;
}

async fn a_restart_between_any_two_steps_loses_nothing(kind: Kind) {
    a_shift_over_many_processes(kind, async |run| drop(run.stops().await)).await;
}

/// Every step is heard by a process of its own.
async fn a_shift_over_many_processes(kind: Kind, ends: impl AsyncFn(Run)) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    prepare(&ground).await;
    for (deed, heard) in DEEDS {
        let run = Run::start(&ground, &emulator, &[]);
        does(&emulator, deed, heard).await;
        ends(run).await;
    }
    let run = Run::start(&ground, &emulator, &[]);
    has_worked_once(&ground, run).await;
    emulator.stop().await;
}

/// She does something and is answered.
pub async fn does(emulator: &Demo, deed: &Deed, heard: &str) {
    match *deed {
        Deed::Says(text) => drop(emulator.says(ANNA, text).await),
        Deed::Presses(caption) => presses(emulator, caption).await,
        Deed::Photo => sends_photo(emulator).await,
        Deed::Here => is_here(emulator).await,
    }
    let said = async |demo: &Demo| demo.texts(ANNA).await.into_iter().find(|text| text.contains(heard));
    emulator.until(heard, said).await;
}

/// All that came of the shift is there, once.
pub async fn has_worked_once(ground: &Ground, run: Run) {
    let domain = Domain::beside(&ground.database).await.unwrap();
    let kept = async || texts(&domain, "SELECT media_type FROM attachments WHERE name IS NOT NULL").await;
    until("the photo is kept", async || (kept().await == ["image/png"]).then_some(())).await;
    run.stops().await;
    let posted = texts(&domain, "SELECT kind FROM adjustments ORDER BY id").await;
    assert_eq!(posted, ["shift_base", "task_bonus", "task_completed"]);
    assert_eq!(texts(&domain, "SELECT status FROM shifts").await, ["completed"]);
    // To the kopeck: the bonus, the penalty that was avoided, and a rouble for each second, by hundredths of hours.
    let of = async |sql: &str| texts(&domain, sql).await.iter().map(|text| text.parse().unwrap()).collect::<Vec<i64>>();
    let worked = of("SELECT CAST((ended_at - started_at) / 1000 AS TEXT) FROM shifts").await[0];
    let base = payroll::Hours::worked(worked).at(payroll::Money::from_kopecks(360_000)).kopecks();
    let amounts = of("SELECT CAST(amount_kopecks AS TEXT) FROM adjustments ORDER BY id").await;
    assert_eq!(amounts, [base, 5_000, 0]);
    assert_eq!(texts(&domain, "SELECT kind FROM task_media").await, ["photo"]);
    domain.close().await.unwrap();
}

async fn sends_photo(demo: &Demo) {
    let picture = include_bytes!("../pictures/hill.png");
    let part = Part::bytes(picture.as_slice()).file_name("hill.png").mime_str("image/png").unwrap();
    let form = Form::new().text("from", ANNA.to_string()).part("photo", part);
    let url = format!("{}/client/{}/chats/{ANNA}/send", demo.base, demo.token);
    let sent = demo.http.post(url).multipart(form).send().await.unwrap();
    assert!(sent.status().is_success(), "{:?}", sent.text().await);
}

/// The first column of a query.
pub async fn texts(domain: &Domain, sql: &str) -> Vec<String> {
    let db = domain.read();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}
