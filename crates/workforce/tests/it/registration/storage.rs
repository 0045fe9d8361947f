//! Documents in a bucket of a real server that speaks S3, and what becomes of people when it refuses or is away.

use std::time::Duration;

use futures_util::TryStreamExt;
use opora::clock::Clock;
use opora_testkit::proxy::Proxy;
use workforce::config::Secret;
use workforce::domain::{Address, Domain};
use workforce::files::installation::Apart;
use workforce::files::{Accepts, BucketAddress, Files, FilesAddress, MediaType};
use workforce::registration::cleanup::{Grounds, clean};
use workforce::registration::repair::{Mend, Outcome, repair};
use workforce::rooms::Rooms;

use super::newcomer::{DONE, Deed, NOT_SAVED, TOWER};
use super::process::Office;
use crate::kit::demo::ANNA;
use crate::kit::firm::Kind;
use crate::kit::s3_server::{BUCKET, S3Server};
use crate::operator;
use crate::operator::doctor::{asked, tells};

const PREFIX: &str = "opora/documents";

/// A server, and an office whose documents go there.
struct Stored {
    office: Office,
    files: Files,
    /// Stands before the server, and can be cut off.
    line: Proxy,
    _server: S3Server,
}

impl Stored {
    async fn open() -> Self {
        let server = S3Server::start().await;
        let line = Proxy::before(server.port).await;
        let mut office = Office::new(Kind::Sqlite).await;
        let endpoint = format!("http://127.0.0.1:{}", line.port);
        office.settings = vec![
            ("FILES_URL", format!("s3://{BUCKET}/{PREFIX}")),
            ("S3_ENDPOINT", endpoint.clone()),
            ("S3_ACCESS_KEY", server.access_key.clone()),
            ("S3_SECRET_KEY", server.secret_key.clone()),
            // Nobody comes between, whatever the environment names.
            ("NO_PROXY", "127.0.0.1".to_owned()),
        ];
        let files = Files::at(&FilesAddress::Bucket(BucketAddress {
            bucket: BUCKET.into(),
            prefix: PREFIX.into(),
            endpoint: Some(endpoint),
            region: "us-east-1".into(),
            access_key: server.access_key.clone(),
            secret_key: Secret(server.secret_key.clone()),
        }));
        Self { office, files, line, _server: server }
    }

    /// Sets something else in place of what is right.
    fn set(&mut self, name: &str, value: &str) {
        self.office.settings.iter_mut().find(|(given, _)| *given == name).unwrap().1 = value.to_owned();
    }

    /// What the doctor says of the files.
    async fn doctor(&self) -> operator::Done {
        let Office { ground, emulator, settings } = &self.office;
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        asked(ground, emulator, &settings).await
    }
}

#[tokio::test]
async fn documents_lie_in_the_bucket_and_are_cleaned_up_and_mended_there() {
    let stored = Stored::open().await;
    let (office, files) = (&stored.office, &stored.files);
    let told = stored.doctor().await.well().stdout;
    assert!(tells(&told, ["ok", "files"], &["s3://papers/opora/documents at http", "can be written"]), "{told}");
    let run = office.run();
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(DONE).await;
    let kept = files.all().await.unwrap();
    assert_eq!((kept.len(), office.files()), (2, (0, 0)), "nothing lies on the disk");
    office.has_registered(1).await;
    run.stops().await;

    // Somebody has renamed the first, and the second is a copy that nobody knows.
    let (first, now) = (kept[0].name.clone(), Clock::machine().now());
    let before = files.hash(first.clone()).await.unwrap();
    files.copy_image(&first, "renamed".into()).await.unwrap();
    files.remove(vec![first.clone(), "never-there".into()]).await.unwrap();
    assert_eq!(files.read(first.clone()).await.unwrap(), None);
    let domain = Domain::beside(&office.ground.database).await.unwrap();
    let downloads = office.ground.folder.path().join("downloads");
    let grounds = Grounds { domain, rooms: Rooms::all(), files: files.clone(), downloads };
    assert_eq!(repair(&grounds, Mend::Relink, now).await.unwrap()[0].outcome, Outcome::Relinked);
    assert_eq!(files.hash(first).await.unwrap(), before);
    let looked = office.asks(&["cleanup", "--dry-run"]).await;
    assert!(looked.contains("kept renamed (age 0 h)"), "{looked}");
    let report = clean(&grounds, now.plus(Duration::from_secs(49 * 3600)), false).await.unwrap();
    assert_eq!((report.deleted.len(), report.deleted[0].0.as_str()), (1, "renamed"));
    grounds.domain.close().await.unwrap();
    office.has_registered(1).await;

    // Another database, as a missing setting makes one.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Address::Sqlite(elsewhere.path().join("other.db"));
    let grounds = Grounds { domain: Domain::beside(&other).await.unwrap(), ..grounds };
    let refused = clean(&grounds, now.plus(Duration::from_secs(49 * 3600)), false).await.unwrap_err();
    assert_eq!(refused.downcast::<Apart>().unwrap(), Apart::DatabaseUnmarked);
    assert_eq!(files.all().await.unwrap().len(), 2);
    grounds.domain.close().await.unwrap();
    office.has_registered(1).await;
    drop(anna);
    stored.office.emulator.stop().await;
}

#[tokio::test]
async fn an_earlier_try_is_recognised_and_what_is_no_image_does_not_come_there() {
    let stored = Stored::open().await;
    let (files, folder) = (&stored.files, stored.office.ground.folder.path());
    let (picture, bill) = (folder.join("picture"), folder.join("bill"));
    std::fs::write(&picture, TOWER).unwrap();
    std::fs::write(&bill, "%PDF-1.7").unwrap();
    let kept = files.keep("ab".into(), picture.clone(), Accepts::Images).await.unwrap();
    assert_eq!((kept.media_type, kept.size_bytes), (MediaType::Png, TOWER.len() as u64));
    for (part, meant) in [(1..4, "PNG".as_bytes()), (2..3, &TOWER[2..3])] {
        let pieces: Vec<_> = files.pieces("ab".into(), part).await.unwrap().unwrap().try_collect().await.unwrap();
        assert_eq!(pieces.concat(), meant);
    }
    assert!(files.pieces("gone".into(), 0..1).await.unwrap().is_none());
    // Longer than one request fetches.
    let (long, bytes) = (folder.join("long"), TOWER.repeat(700_000 / TOWER.len()));
    std::fs::write(&long, &bytes).unwrap();
    files.keep("long".into(), long, Accepts::Images).await.unwrap();
    let all = 0..bytes.len() as u64;
    let pieces: Vec<_> = files.pieces("long".into(), all.clone()).await.unwrap().unwrap().try_collect().await.unwrap();
    assert!(pieces.len() > 2 && pieces.concat() == bytes);
    let too_many = files.pieces("long".into(), 0..all.end + 1).await.unwrap().unwrap();
    assert!(too_many.try_collect::<Vec<_>>().await.is_err(), "a file that ends too early is an error");
    files.remove(vec!["long".into()]).await.unwrap();
    std::fs::remove_file(&picture).unwrap();
    assert_eq!(files.keep("ab".into(), picture.clone(), Accepts::Images).await.unwrap(), kept);
    assert!(files.keep("cd".into(), picture, Accepts::Images).await.is_err());
    assert!(files.keep("ef".into(), bill, Accepts::Images).await.is_err());
    assert_eq!(files.read("../ab".into()).await.unwrap(), None);
    assert_eq!(files.all().await.unwrap().len(), 1);
    stored.office.emulator.stop().await;
}

#[tokio::test]
async fn wrong_keys_are_told_to_the_operator_and_the_person_may_try_again() {
    let mut stored = Stored::open().await;
    let right = stored.office.settings.clone();
    stored.set("S3_SECRET_KEY", "hunter2");
    let told = stored.doctor().await;
    assert!(
        tells(&told.stdout, ["TROUBLE", "files"], &["refuses these keys (SignatureDoesNotMatch)"]),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("look at S3_ACCESS_KEY") && !told.stdout.contains("hunter2"), "{}", told.stdout);
    let run = stored.office.run();
    let mut anna = stored.office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(NOT_SAVED).await;
    run.logs("refuses these keys (SignatureDoesNotMatch)").await;
    drop(anna);
    run.stops().await;
    stored.office.settings = right;
    let run = stored.office.run();
    let mut anna = stored.office.newcomer(ANNA);
    anna.hears(NOT_SAVED).await;
    anna.does(Deed::Presses("Try again")).await;
    anna.hears(DONE).await;
    run.stops().await;
    stored.office.has_registered(1).await;
    drop(anna);
    stored.set("FILES_URL", "s3://nowhere");
    let told = stored.doctor().await.stdout;
    assert!(tells(&told, ["TROUBLE", "files"], &["no such bucket"]), "{told}");
    stored.office.emulator.stop().await;
}

#[tokio::test]
async fn a_server_that_is_away_leaves_the_draft_and_nothing_else() {
    let stored = Stored::open().await;
    let office = &stored.office;
    let run = office.run();
    stored.line.cut_off(true);
    let told = stored.doctor().await.stdout;
    assert!(tells(&told, ["TROUBLE", "files"], &["the storage does not answer"]), "{told}");
    let mut anna = office.newcomer(ANNA);
    anna.gives_all().await;
    anna.hears(NOT_SAVED).await;
    stored.line.cut_off(false);
    anna.does(Deed::Presses("Try again")).await;
    anna.hears(DONE).await;
    run.stops().await;
    office.has_registered(1).await;
    assert_eq!(stored.files.all().await.unwrap().len(), 2);
    drop(anna);
    stored.office.emulator.stop().await;
}
