//! Photos for tasks: required by the mark, downloaded, and stored once.

use opora::clock::Clock;
use opora::effects::EffectRequest;
use opora::testing::chat::ChatUser;
use serde_json::json;
use workforce::application::App;
use workforce::attachments::{self, Attachment};
use workforce::files::MediaType;
use workforce::registration::cleanup::{CleanupContext, clean};
use workforce::sites::AboutTask;

use super::{Workplace, chooses_from_menu, closes, opens, task};
use crate::kit::firm::{StorageKind, on_every_database};
use crate::kit::sql::run_sql;
use crate::registration::cleanup::{HOUR, create_file, set_age};

on_every_database! {
    a_photo_is_requested_with_the_mark_and_stored_once,
    failed_downloads_are_retried_with_backoff,
}

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

/// A site with tasks that need a photo, and an employee who is asked for the first one.
pub async fn anna_asked_for_photo(workplace: &Workplace) -> ChatUser {
    let site = workplace.site("Shop", 10_000).await;
    for text in ["Sweep", "Mop", "Dust"] {
        let about = AboutTask { needs_media: true, ..task(text, 5_000) };
        workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    }
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("📷 Sweep").await;
    anna
}

pub async fn attachment(app: &App, file: &str) -> Option<Attachment> {
    attachments::find(app.domain.read(), [file]).await.unwrap().remove(file)
}

/// The requested download finishes.
pub async fn finish_download(workplace: &Workplace, file: &str, content: &[u8]) {
    let folder = workplace.firm.app.data_dir.join("downloads");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(workforce::files::generated_name().unwrap());
    std::fs::write(&path, content).unwrap();
    workplace
        .firm
        .stage
        .finish_effect("download", json!({"path": path, "bytes": content.len(), "file_id": file}))
        .await;
}

/// Runs the effect that stores the download, several times as after crashes.
pub async fn run_keep_effect(workplace: &Workplace, who: &ChatUser, times: usize) {
    let asked = workplace.firm.stage.pending_effects().await;
    let (_, body) = asked.into_iter().find(|(kind, _)| kind == attachments::KEEP).unwrap();
    for attempt in 1..=times {
        let body = body.to_string().into();
        let asked =
            EffectRequest { key: "7-1".into(), conversation: who.key(), body, attempt: attempt as u32, is_last: false };
        attachments::store(workplace.firm.app.clone(), asked).await.unwrap();
    }
    workplace.firm.stage.finish_effect(attachments::KEEP, json!(null)).await;
}

async fn a_photo_is_requested_with_the_mark_and_stored_once(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let file = anna.sends_photo().await;
    anna.sees("✅ Sweep · bonus 50\u{a0}₽ · 📷 1");
    let app = &workplace.firm.app;
    assert_eq!(
        workplace.rows("SELECT telegram_file FROM task_media").await,
        [[file.as_str()]],
        "the mark waits for nothing"
    );
    assert_eq!(attachment(app, &file).await, Some(Attachment::Pending));
    let wish = json!({"file_id": file, "max_bytes": attachments::MAX_FILE_BYTES});
    assert!(workplace.firm.stage.pending_effects().await.contains(&("download".to_owned(), wish)));

    // The shift is over when the file arrives, and the process is killed after each step.
    closes(&anna).await;
    finish_download(&workplace, &file, PNG).await;
    run_keep_effect(&workplace, &anna, 3).await;
    let Some(Attachment::Kept { name, media_type, size_bytes, .. }) = attachment(app, &file).await else {
        panic!("{:?}", attachment(app, &file).await)
    };
    assert_eq!((media_type, size_bytes), (MediaType::Png, PNG.len() as i64));
    assert_eq!(app.files.read(name.clone()).await.unwrap().as_deref(), Some(PNG));
    assert_eq!(app.files.all().await.unwrap().len(), 1);
    assert!(workforce::files::list(app.data_dir.join("downloads")).await.unwrap().is_empty());

    // A stored attachment is never an orphan, however old.
    let (folder, grounds, now) = (app.data_dir.join("files"), CleanupContext::of_app(app), Clock::machine().now());
    set_age(&folder.join(&name), now, 100 * 24 * HOUR);
    create_file(&folder.join("orphan.jpg"), now, 49 * HOUR);
    let report = clean(&grounds, now, false).await.unwrap();
    assert_eq!((report.known, report.deleted.len(), report.deleted[0].0.as_str()), (1, 1, "orphan.jpg"));
    assert_eq!(app.files.all().await.unwrap()[0].name, name);
}

/// Runs the job. No bot runs here, so wanted files stay wanted.
pub async fn run_attachments_job(app: &App) {
    drop(attachments::retry_pending(app.clone()).await);
}

async fn failed_downloads_are_retried_with_backoff(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let (file, app) = (anna.sends_photo().await, workplace.firm.app.clone());
    workplace.firm.stage.fail_effect("download", "Bad Request: file is temporarily unavailable").await;
    let now = app.clock.now();
    for (tries, hours) in [(0, 1), (1, 2), (4, 16)] {
        let since = now.minus(hours * HOUR).0;
        run_sql(&app.domain, format!("UPDATE attachments SET tries = {tries}, failed_at = {since}")).await;
        run_attachments_job(&app).await;
        assert_eq!(attachment(&app, &file).await, Some(Attachment::Failed), "not yet, after {tries} tries");
        run_sql(&app.domain, format!("UPDATE attachments SET failed_at = {since} - 1")).await;
        run_attachments_job(&app).await;
        assert_eq!(attachment(&app, &file).await, Some(Attachment::Pending), "after {tries} tries");
    }
    for never in ["tries = 5, failed_at = 1", "tries = 0, is_too_large = TRUE"] {
        run_sql(&app.domain, format!("UPDATE attachments SET {never}")).await;
        run_attachments_job(&app).await;
        assert_ne!(attachment(&app, &file).await, Some(Attachment::Pending), "{never}");
    }
}

#[tokio::test]
async fn failed_downloads_are_retried_and_forgotten_ones_removed() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let anna = anna_asked_for_photo(&workplace).await;
    let (first, app) = (anna.sends_photo().await, workplace.firm.app.clone());
    workplace.firm.stage.fail_effect("download", "Bad Request: file is temporarily unavailable").await;
    assert_eq!(attachment(&app, &first).await, Some(Attachment::Failed));
    attachments::retry(&app, first.clone()).await.unwrap();
    assert_eq!(attachment(&app, &first).await, Some(Attachment::Pending));

    // A file that is too large for bots is not requested at all.
    let large = json!({
        "file_id": "large", "file_unique_id": "u", "file_size": 20_000_001, "duration": 5, "width": 640, "height": 480
    });
    anna.presses("📷 Mop").await;
    anna.sends_message(json!({"video": large})).await;
    anna.sees("✅ Mop");
    assert_eq!(attachment(&app, "large").await, Some(Attachment::TooLarge));
    assert!(workplace.firm.stage.pending_effects().await.iter().all(|(kind, _)| kind != "download"));
    attachments::retry(&app, "large".into()).await.unwrap();
    assert_eq!(attachment(&app, "large").await, Some(Attachment::TooLarge));

    anna.presses("📷 Dust").await;
    let gone = anna.sends_photo().await;
    finish_download(&workplace, &gone, PNG).await;
    let files = vec![gone.clone()];
    let forgotten = app.domain.write_and_get(|db| Box::pin(async move { attachments::forget(db, &files).await }));
    assert!(forgotten.await.unwrap().is_empty());
    run_keep_effect(&workplace, &anna, 2).await;
    assert_eq!(attachment(&app, &gone).await, None);
    assert!(app.files.all().await.unwrap().is_empty());
}
