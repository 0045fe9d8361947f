//! What people send for their tasks: asked for with the mark, fetched, and kept once.

use opora::clock::Clock;
use opora::effects::Asked;
use opora::testing::chat::Someone;
use sea_orm::ConnectionTrait;
use serde_json::json;
use workforce::application::App;
use workforce::attachments::{self, Attachment};
use workforce::files::MediaType;
use workforce::registration::cleanup::{Grounds, clean};
use workforce::sites::AboutTask;

use super::{Yard, chooses, closes, opens, task};
use crate::kit::firm::{Kind, on_every_database};
use crate::registration::cleaning::{HOUR, age, put};

on_every_database! {
    a_photo_is_asked_for_with_the_mark_and_kept_once_whatever_is_repeated,
    what_could_not_be_fetched_is_tried_again_by_the_job_later_and_later,
}

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

/// A site with tasks that need a photo, and somebody who works there and is about to send the first.
pub async fn at_work(yard: &Yard) -> Someone {
    let site = yard.site("Shop", 10_000).await;
    for text in ["Sweep", "Mop", "Dust"] {
        let about = AboutTask { needs_media: true, ..task(text, 5_000) };
        yard.sites.create_task(&yard.owner, site, None, about).await.unwrap();
    }
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses(&anna, "✅ My tasks").await;
    anna.presses("📷 Sweep").await;
    anna
}

pub async fn standing(app: &App, file: &str) -> Option<Attachment> {
    attachments::of(app.domain.read(), [file]).await.unwrap().remove(file)
}

/// Telegram gives the file that was asked for.
pub async fn arrives(yard: &Yard, file: &str, content: &[u8]) {
    let folder = yard.firm.app.data_dir.join("downloads");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(workforce::files::generated_name().unwrap());
    std::fs::write(&path, content).unwrap();
    yard.firm.stage.finishes("download", json!({"path": path, "bytes": content.len(), "file_id": file})).await;
}

/// What the bot does with the download, as often as a crash makes it.
pub async fn keeps(yard: &Yard, who: &Someone, times: usize) {
    let asked = yard.firm.stage.asked().await;
    let (_, body) = asked.into_iter().find(|(kind, _)| kind == attachments::KEEP).unwrap();
    for attempt in 1..=times {
        let body = body.to_string().into();
        let asked = Asked { key: "7-1".into(), dialogue: who.key(), body, attempt: attempt as u32, is_last: false };
        attachments::keep(yard.firm.app.clone(), asked).await.unwrap();
    }
    yard.firm.stage.finishes(attachments::KEEP, json!(null)).await;
}

async fn a_photo_is_asked_for_with_the_mark_and_kept_once_whatever_is_repeated(kind: Kind) {
    let yard = Yard::open(kind).await;
    let anna = at_work(&yard).await;
    let file = anna.sends_photo().await;
    anna.sees("✅ Sweep · +50.00\u{a0}₽ · 📷 1");
    let app = &yard.firm.app;
    assert_eq!(
        yard.rows("SELECT telegram_file FROM task_media").await,
        [[file.as_str()]],
        "the mark waits for nothing"
    );
    assert_eq!(standing(app, &file).await, Some(Attachment::Awaited));
    let wish = json!({"file_id": file, "max_bytes": attachments::LARGEST_BYTES});
    assert!(yard.firm.stage.asked().await.contains(&("download".to_owned(), wish)));

    // The shift is over when the file comes, and the process ends after each step.
    closes(&anna).await;
    arrives(&yard, &file, PNG).await;
    keeps(&yard, &anna, 3).await;
    let Some(Attachment::Kept { name, media_type, size_bytes, .. }) = standing(app, &file).await else {
        panic!("{:?}", standing(app, &file).await)
    };
    assert_eq!((media_type, size_bytes), (MediaType::Png, PNG.len() as i64));
    assert_eq!(app.files.read(name.clone()).await.unwrap().as_deref(), Some(PNG));
    assert_eq!(app.files.all().await.unwrap().len(), 1);
    assert!(workforce::files::list(app.data_dir.join("downloads")).await.unwrap().is_empty());

    // However old it is, it is nobody's orphan; one that is goes.
    let (folder, grounds, now) = (app.data_dir.join("files"), Grounds::of_app(app), Clock::machine().now());
    age(&folder.join(&name), now, 100 * 24 * HOUR);
    put(&folder.join("orphan.jpg"), now, 49 * HOUR);
    let report = clean(&grounds, now, false).await.unwrap();
    assert_eq!((report.known, report.deleted.len(), report.deleted[0].0.as_str()), (1, 1, "orphan.jpg"));
    assert_eq!(app.files.all().await.unwrap()[0].name, name);
}

/// The job, as often as it comes. No bot runs here, so what is wanted stays wanted.
pub async fn looks_after(app: &App) {
    let job = app.rooms.jobs().into_iter().find(|job| job.name == "attachments").unwrap();
    drop((job.run)(app.clone()).await);
}

async fn writes(app: &App, sql: String) {
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            db.execute_unprepared(&sql).await?;
            Ok(())
        })
    });
    write.await.unwrap();
}

async fn what_could_not_be_fetched_is_tried_again_by_the_job_later_and_later(kind: Kind) {
    let yard = Yard::open(kind).await;
    let anna = at_work(&yard).await;
    let (file, app) = (anna.sends_photo().await, yard.firm.app.clone());
    yard.firm.stage.fails("download", "Bad Request: file is temporarily unavailable").await;
    let now = app.clock.now();
    for (tries, hours) in [(0, 1), (1, 2), (4, 16)] {
        let since = now.minus(hours * HOUR).0;
        writes(&app, format!("UPDATE attachments SET tries = {tries}, failed_at = {since}")).await;
        looks_after(&app).await;
        assert_eq!(standing(&app, &file).await, Some(Attachment::Failed), "not yet, after {tries} tries");
        writes(&app, format!("UPDATE attachments SET failed_at = {since} - 1")).await;
        looks_after(&app).await;
        assert_eq!(standing(&app, &file).await, Some(Attachment::Awaited), "after {tries} tries");
    }
    for never in ["tries = 5, failed_at = 1", "tries = 0, is_too_large = TRUE"] {
        writes(&app, format!("UPDATE attachments SET {never}")).await;
        looks_after(&app).await;
        assert_ne!(standing(&app, &file).await, Some(Attachment::Awaited), "{never}");
    }
}

#[tokio::test]
async fn what_cannot_be_fetched_is_asked_for_again_and_what_is_forgotten_leaves_no_file() {
    let yard = Yard::open(Kind::Sqlite).await;
    let anna = at_work(&yard).await;
    let (first, app) = (anna.sends_photo().await, yard.firm.app.clone());
    yard.firm.stage.fails("download", "Bad Request: file is temporarily unavailable").await;
    assert_eq!(standing(&app, &first).await, Some(Attachment::Failed));
    attachments::try_again(&app, first.clone()).await.unwrap();
    assert_eq!(standing(&app, &first).await, Some(Attachment::Awaited));

    // What is too large for any bot is not asked for at all.
    let large = json!({
        "file_id": "large", "file_unique_id": "u", "file_size": 20_000_001, "duration": 5, "width": 640, "height": 480
    });
    anna.presses("📷 Mop").await;
    anna.sends_message(json!({"video": large})).await;
    anna.sees("✅ Mop");
    assert_eq!(standing(&app, "large").await, Some(Attachment::TooLarge));
    assert!(yard.firm.stage.asked().await.iter().all(|(kind, _)| kind != "download"));
    attachments::try_again(&app, "large".into()).await.unwrap();
    assert_eq!(standing(&app, "large").await, Some(Attachment::TooLarge));

    anna.presses("📷 Dust").await;
    let gone = anna.sends_photo().await;
    arrives(&yard, &gone, PNG).await;
    let files = vec![gone.clone()];
    let forgotten = app.domain.write_and_get(|db| Box::pin(async move { attachments::forget(db, &files).await }));
    assert!(forgotten.await.unwrap().is_empty());
    keeps(&yard, &anna, 2).await;
    assert_eq!(standing(&app, &gone).await, None);
    assert!(app.files.all().await.unwrap().is_empty());
}
