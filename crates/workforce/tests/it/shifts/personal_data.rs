//! Export and deletion of what sites and shifts know of a person. Worked hours and pay stay.

use std::time::Duration;

use serde_json::{Value, json};
use workforce::people;
use workforce::person::Person;
use workforce::sites::AboutTask;

use super::photos::{PNG, anna_asked_for_photo, attachment, finish_download, run_keep_effect};
use super::{HERE, Workplace, chooses_from_menu, closes, opens, person, plans, task};
use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::sql::run_sql;

on_databases! { [sqlite Sqlite, postgres Postgres]
    all_personal_data_is_exported_and_forgotten,
}

async fn export(workplace: &Workplace, person: &Person) -> Value {
    let app = &workplace.firm.app;
    people::export(&app.domain, &app.rooms, person, None, app.clock.now()).await.unwrap()
}

async fn forget(workplace: &Workplace, person: &Person) {
    let app = &workplace.firm.app;
    people::forget(&app.domain, &app.rooms, &app.files, person, None, app.clock.now()).await.unwrap();
}

async fn all_personal_data_is_exported_and_forgotten(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let (site, app) = (1, workplace.firm.app.clone());
    let file = anna.sends_photo().await;
    finish_download(&workplace, &file, PNG).await;
    run_keep_effect(&workplace, &anna, 1).await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    closes(&anna).await;
    // One plan is cancelled with a text, and one is in the future.
    for after in [300, 600] {
        workplace.slot(site, after, 120, |_| {}).await;
        plans(&anna).await;
    }
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel Jan 1, 20:00–22:00").await;
    anna.presses("Something else").await;
    anna.sends("My cat is ill").await;
    anna.sends("Paper 17").await;
    let photo = anna.sends_photo().await;
    finish_download(&workplace, &photo, PNG).await;
    run_keep_effect(&workplace, &anna, 1).await;

    let who = person(&workplace.firm, &anna).await;
    let known = export(&workplace, &who).await;
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

    let (amounts, worked) =
        (workplace.adjustments().await, workplace.rows("SELECT started_at, ended_at FROM shifts").await);
    assert!(!amounts.is_empty());
    forget(&workplace, &who).await;
    assert_eq!(
        (workplace.adjustments().await, workplace.rows("SELECT started_at, ended_at FROM shifts").await),
        (amounts, worked)
    );
    let left = async |sql: &str| workplace.rows(sql).await.len();
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
    assert_eq!(workplace.rows("SELECT status FROM contracts").await, [["terminated"]]);
    assert_eq!(left("SELECT id FROM notices").await, 0, "no notice with her name remains");
    assert_eq!((attachment(&app, &file).await, attachment(&app, &photo).await), (None, None));
    assert!(app.files.all().await.unwrap().is_empty());
    assert_eq!(workplace.rows("SELECT media_count FROM shift_tasks ORDER BY place").await[0], ["1"]);
}

#[tokio::test]
async fn an_unreadable_notice_is_exported_as_it_is() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let who = person(&workplace.firm, &workplace.worker("Anna", &[site], |_| {}).await).await;
    for body in [r#"{"is":"reminder","site":"Shop","when":"today"}"#, "no JSON: {"] {
        let sql = format!("INSERT INTO notices (user_id, body, created_at) VALUES ({}, '{body}', 7)", who.id);
        run_sql(&workplace.firm.app.domain, sql).await;
    }
    let reminder = json!({ "is": "reminder", "site": "Shop", "when": "today" });
    let told = json!([{ "at_ms": 7, "notice": reminder }, { "at_ms": 7, "notice": "no JSON: {" }]);
    assert_eq!(export(&workplace, &who).await["sites"]["notices"], told);
}

#[tokio::test]
async fn a_shared_picture_stays_for_the_other_person() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let (file, app) = (anna.sends_photo().await, workplace.firm.app.clone());
    finish_download(&workplace, &file, PNG).await;
    run_keep_effect(&workplace, &anna, 1).await;
    let other = workplace.site("Kiosk", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Lock up", 0) };
    workplace.sites.create_task(&workplace.owner, other, None, about).await.unwrap();
    let boris = workplace.worker("Boris", &[other], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Kiosk").await;
    chooses_from_menu(&boris, "✅ My tasks").await;
    boris.presses("📷 Lock up").await;
    let own = boris.sends_photo().await;
    let same = format!("UPDATE task_media SET telegram_file = '{file}' WHERE telegram_file = '{own}'");
    run_sql(&app.domain, same).await;
    forget(&workplace, &person(&workplace.firm, &anna).await).await;
    assert_eq!(app.files.all().await.unwrap().len(), 1);
    forget(&workplace, &person(&workplace.firm, &boris).await).await;
    assert!(app.files.all().await.unwrap().is_empty());
}

#[tokio::test]
async fn thousands_of_photos_are_exported_and_forgotten() {
    const PHOTOS: usize = 40_000;
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let app = workplace.firm.app.clone();
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PHOTOS})");
    // Four tasks with ten thousand photos each. Those of the first are stored.
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
        run_sql(&app.domain, sql).await;
    }
    let who = person(&workplace.firm, &anna).await;
    let known = export(&workplace, &who).await;
    let tasks = known["shifts"]["shifts"][0]["tasks"].as_array().unwrap();
    let (first, second) = (&tasks[tasks.len() - 4], &tasks[tasks.len() - 3]);
    assert_eq!((&first["text"], &second["text"]), (&json!("Task 0"), &json!("Task 1")));
    let sent: Vec<_> = tasks.iter().flat_map(|task| task["sent"].as_array().unwrap()).collect();
    assert_eq!(sent.len(), PHOTOS);
    let last = json!({ "kind": "photo", "sent_at_ms": 40_000, "file":
        { "name": "name-40000", "media_type": "image/png", "size_bytes": 40_000, "sha256": "x" } });
    assert_eq!(first["sent"].as_array().unwrap().last(), Some(&last));
    assert_eq!(second["sent"][0], json!({ "kind": "photo", "sent_at_ms": 1, "file": null }));
    forget(&workplace, &who).await;
    for table in ["task_media", "attachments"] {
        assert_eq!(workplace.rows(&format!("SELECT COUNT(*) FROM {table}")).await, [["0"]], "{table}");
    }
}
