//! What sites and shifts know of a person is given out, and forgotten except for what was worked and paid.

use std::time::Duration;

use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use workforce::domain::Writing;
use workforce::people;
use workforce::person::Person;
use workforce::sites::AboutTask;

use super::photos::{PNG, arrives, at_work, keeps, standing};
use super::{HERE, Yard, chooses, closes, opens, person, plans, task};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    shifts_plans_positions_photos_and_reasons_are_given_out_and_forgotten,
}

async fn export(yard: &Yard, person: &Person) -> Value {
    let app = &yard.firm.app;
    people::export(&app.domain, &app.rooms, person, None, app.clock.now()).await.unwrap()
}

async fn forget(yard: &Yard, person: &Person) {
    let app = &yard.firm.app;
    people::forget(&app.domain, &app.rooms, &app.files, person, None, app.clock.now()).await.unwrap();
}

async fn shifts_plans_positions_photos_and_reasons_are_given_out_and_forgotten(kind: Kind) {
    let yard = Yard::open(kind).await;
    let anna = at_work(&yard).await;
    let (site, app) = (1, yard.firm.app.clone());
    let file = anna.sends_photo().await;
    arrives(&yard, &file, PNG).await;
    keeps(&yard, &anna, 1).await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    closes(&anna).await;
    // One plan is cancelled in her own words, and one is still to come.
    for after in [300, 600] {
        yard.slot(site, after, 120, |_| {}).await;
        plans(&anna).await;
    }
    chooses(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel 01.01 20:00–22:00").await;
    anna.presses("Something else").await;
    anna.sends("My cat is ill").await;
    anna.sends("Paper 17").await;
    let photo = anna.sends_photo().await;
    arrives(&yard, &photo, PNG).await;
    keeps(&yard, &anna, 1).await;

    let who = person(&yard.firm, &anna).await;
    let known = export(&yard, &who).await;
    let shift = &known["shifts"]["shifts"][0];
    assert_eq!(shift["opened_at"], json!([HERE.latitude, HERE.longitude]));
    assert_eq!((&shift["closed_at"], &shift["status"]), (&shift["opened_at"], &json!("completed")));
    let sent = &shift["tasks"][0]["sent"][0];
    assert_eq!((&sent["kind"], &sent["file"]["media_type"]), (&json!("photo"), &json!("image/png")));
    assert_eq!(known["shifts"]["plans"].as_array().unwrap().len(), 2);
    let reason = &known["shifts"]["cancellations"][0];
    assert_eq!((&reason["words"], &reason["document"]), (&json!("My cat is ill"), &json!("Paper 17")));
    assert_eq!(reason["photo"]["size_bytes"], PNG.len());
    assert_eq!(
        (&known["sites"]["contracts"][0]["sites"], &known["sites"]["contracts"][0]["status"]),
        (&json!([site]), &json!("active"))
    );

    let (amounts, worked) = (yard.amounts().await, yard.rows("SELECT started_at, ended_at FROM shifts").await);
    assert!(!amounts.is_empty());
    forget(&yard, &who).await;
    assert_eq!((yard.amounts().await, yard.rows("SELECT started_at, ended_at FROM shifts").await), (amounts, worked));
    let left = async |sql: &str| yard.rows(sql).await.len();
    assert_eq!(
        left("SELECT id FROM shifts WHERE opened_latitude IS NOT NULL OR closed_longitude IS NOT NULL").await,
        0
    );
    assert_eq!(left("SELECT id FROM task_media").await, 0);
    assert_eq!(
        left("SELECT id FROM plan_cancellations WHERE words IS NULL AND document IS NULL AND photo_file IS NULL").await,
        1
    );
    assert_eq!(left("SELECT id FROM shift_plans WHERE status = 'planned'").await, 0);
    assert_eq!(left("SELECT id FROM time_slots WHERE taken > 0").await, 0, "her places are free");
    assert_eq!(yard.rows("SELECT status FROM contracts").await, [["terminated"]]);
    assert_eq!(left("SELECT id FROM notices").await, 0, "others were told by her name");
    assert_eq!((standing(&app, &file).await, standing(&app, &photo).await), (None, None));
    assert!(app.files.all().await.unwrap().is_empty());
    assert_eq!(yard.rows("SELECT media_count FROM shift_tasks ORDER BY place").await[0], ["1"]);
}

#[tokio::test]
async fn a_notice_that_nobody_can_read_is_given_out_as_it_was_written() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let who = person(&yard.firm, &yard.worker("Anna", &[site], |_| {}).await).await;
    for body in [r#"{"is":"reminder","site":"Shop","when":"today"}"#, "no JSON: {"] {
        let sql = format!("INSERT INTO notices (user_id, body, created_at) VALUES ({}, '{body}', 7)", who.id);
        yard.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    }
    let reminder = json!({ "is": "reminder", "site": "Shop", "when": "today" });
    let told = json!([{ "at_ms": 7, "notice": reminder }, { "at_ms": 7, "notice": "no JSON: {" }]);
    assert_eq!(export(&yard, &who).await["sites"]["notices"], told);
}

#[tokio::test]
async fn a_picture_that_somebody_else_has_sent_too_stays_with_them() {
    let yard = Yard::open(Kind::Sqlite).await;
    let anna = at_work(&yard).await;
    let (file, app) = (anna.sends_photo().await, yard.firm.app.clone());
    arrives(&yard, &file, PNG).await;
    keeps(&yard, &anna, 1).await;
    let other = yard.site("Kiosk", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Lock up", 0) };
    yard.sites.create_task(&yard.owner, other, None, about).await.unwrap();
    let boris = yard.worker("Boris", &[other], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Kiosk").await;
    chooses(&boris, "✅ My tasks").await;
    boris.presses("📷 Lock up").await;
    let own = boris.sends_photo().await;
    let same = format!("UPDATE task_media SET telegram_file = '{file}' WHERE telegram_file = '{own}'");
    app.domain.write(move |db| Box::pin(run(db, same))).await.unwrap();
    forget(&yard, &person(&yard.firm, &anna).await).await;
    assert_eq!(app.files.all().await.unwrap().len(), 1);
    forget(&yard, &person(&yard.firm, &boris).await).await;
    assert!(app.files.all().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_somebody_sent_in_years_is_given_out_and_forgotten_whole() {
    const PHOTOS: usize = 40_000;
    let yard = Yard::open(Kind::Sqlite).await;
    let anna = at_work(&yard).await;
    let app = yard.firm.app.clone();
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PHOTOS})");
    // Four tasks with ten thousand photos each, of which those of the first are kept.
    for sql in [
        "INSERT INTO shift_tasks (shift_id, source, place, text, amount_kopecks, is_mandatory, needs_media)
            SELECT id, 'site', 100 + i, 'Task ' || i, 0, FALSE, TRUE
            FROM shifts, (SELECT 0 AS i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3)"
            .to_owned(),
        format!(
            "{numbers} INSERT INTO task_media (shift_task_id, kind, telegram_file, unique_id, created_at)
            SELECT (SELECT id FROM shift_tasks WHERE place = 100 + i % 4), 'photo', 'file-' || i, 'unique-' || i, i FROM n"
        ),
        format!(
            "{numbers} INSERT INTO attachments (telegram_file, name, media_type, size_bytes, sha256)
            SELECT 'file-' || i, 'name-' || i, 'image/png', i, 'x' FROM n WHERE i % 4 = 0"
        ),
    ] {
        app.domain.write(move |db| Box::pin(run(db, sql))).await.unwrap();
    }
    let who = person(&yard.firm, &anna).await;
    let known = export(&yard, &who).await;
    let tasks = known["shifts"]["shifts"][0]["tasks"].as_array().unwrap();
    let (first, second) = (&tasks[tasks.len() - 4], &tasks[tasks.len() - 3]);
    assert_eq!((&first["text"], &second["text"]), (&json!("Task 0"), &json!("Task 1")));
    let sent: Vec<_> = tasks.iter().flat_map(|task| task["sent"].as_array().unwrap()).collect();
    assert_eq!(sent.len(), PHOTOS);
    let last = json!({ "kind": "photo", "sent_at_ms": 40_000, "file":
        { "name": "name-40000", "media_type": "image/png", "size_bytes": 40_000, "sha256": "x" } });
    assert_eq!(first["sent"].as_array().unwrap().last(), Some(&last));
    assert_eq!(second["sent"][0], json!({ "kind": "photo", "sent_at_ms": 1, "file": null }));
    forget(&yard, &who).await;
    for table in ["task_media", "attachments"] {
        assert_eq!(yard.rows(&format!("SELECT COUNT(*) FROM {table}")).await, [["0"]], "{table}");
    }
}

async fn run(db: &Writing<'_, '_>, sql: String) -> Result<(), WriteError> {
    db.execute_unprepared(&sql).await?;
    Ok(())
}
