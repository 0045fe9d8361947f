//! Documents in a real S3 bucket, and what happens when the server refuses or is away.

use std::time::Duration;

use futures_util::TryStreamExt;
use opora::clock::Clock;
use opora_testkit::proxy::Proxy;
use workforce::config::Secret;
use workforce::domain::{Address, Domain};
use workforce::files::installation::Mismatch;
use workforce::files::{Accepts, BucketAddress, Files, FilesAddress, MediaType};
use workforce::registration::cleanup::{CleanupContext, clean};
use workforce::registration::repair::{Outcome, RepairMode, repair};
use workforce::rooms::Rooms;

use super::newcomer::{Action, DONE, NOT_SAVED, TOWER};
use super::process::Deployment;
use crate::kit::demo::ANNA;
use crate::kit::firm::StorageKind;
use crate::kit::s3_server::{BUCKET, S3Server};
use crate::operator;
use crate::operator::doctor::{has_line, run_doctor};

const PREFIX: &str = "opora/documents";

/// A deployment whose documents go to an S3 server.
struct S3Deployment {
    deployment: Deployment,
    files: Files,
    /// A proxy before the server, which can be cut.
    proxy: Proxy,
    _server: S3Server,
}

impl S3Deployment {
    async fn open() -> Self {
        let server = S3Server::start().await;
        let proxy = Proxy::in_front_of(server.port).await;
        let mut deployment = Deployment::new(StorageKind::Sqlite).await;
        let endpoint = format!("http://127.0.0.1:{}", proxy.port);
        deployment.settings = vec![
            ("FILES_URL", format!("s3://{BUCKET}/{PREFIX}")),
            ("S3_ENDPOINT", endpoint.clone()),
            ("S3_ACCESS_KEY", server.access_key.clone()),
            ("S3_SECRET_KEY", server.secret_key.clone()),
            // No proxy of the environment may come between.
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
        Self { deployment, files, proxy, _server: server }
    }

    /// Replaces a setting.
    fn set(&mut self, name: &str, value: &str) {
        self.deployment.settings.iter_mut().find(|(given, _)| *given == name).unwrap().1 = value.to_owned();
    }

    /// Runs `opora doctor`.
    async fn doctor(&self) -> operator::CommandOutput {
        let Deployment { storage, emulator, settings } = &self.deployment;
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        run_doctor(storage, emulator, &settings).await
    }
}

#[tokio::test]
async fn documents_are_stored_cleaned_and_repaired_in_the_bucket() {
    let s3 = S3Deployment::open().await;
    let (deployment, files) = (&s3.deployment, &s3.files);
    let told = s3.doctor().await.success().stdout;
    assert!(has_line(&told, ["ok", "files"], &["s3://papers/opora/documents at http", "can be written"]), "{told}");
    let process = deployment.start();
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(DONE).await;
    let kept = files.all().await.unwrap();
    assert_eq!((kept.len(), deployment.file_counts()), (2, (0, 0)), "no files on the disk");
    deployment.assert_registered(1).await;
    process.stop().await;

    // The first file was renamed, and the second is a copy that no row knows.
    let (first, now) = (kept[0].name.clone(), Clock::machine().now());
    let before = files.hash(first.clone()).await.unwrap();
    files.copy_image(&first, "renamed".into()).await.unwrap();
    files.remove(vec![first.clone(), "never-there".into()]).await.unwrap();
    assert_eq!(files.read(first.clone()).await.unwrap(), None);
    let domain = Domain::open_for_command(&deployment.storage.database).await.unwrap();
    let downloads = deployment.storage.folder.path().join("downloads");
    let grounds = CleanupContext { domain, rooms: Rooms::all(), files: files.clone(), downloads };
    assert_eq!(repair(&grounds, RepairMode::Relink, now).await.unwrap()[0].outcome, Outcome::Relinked);
    assert_eq!(files.hash(first).await.unwrap(), before);
    let looked = deployment.run_command(&["cleanup", "--dry-run"]).await;
    assert!(looked.contains("kept renamed (age 0 h)"), "{looked}");
    let report = clean(&grounds, now.plus(Duration::from_secs(49 * 3600)), false).await.unwrap();
    assert_eq!((report.deleted.len(), report.deleted[0].0.as_str()), (1, "renamed"));
    grounds.domain.close().await.unwrap();
    deployment.assert_registered(1).await;

    // Another database, as after a missing setting.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Address::Sqlite(elsewhere.path().join("other.db"));
    let grounds = CleanupContext { domain: Domain::open_for_command(&other).await.unwrap(), ..grounds };
    let refused = clean(&grounds, now.plus(Duration::from_secs(49 * 3600)), false).await.unwrap_err();
    assert_eq!(refused.downcast::<Mismatch>().unwrap(), Mismatch::DatabaseUnmarked);
    assert_eq!(files.all().await.unwrap().len(), 2);
    grounds.domain.close().await.unwrap();
    deployment.assert_registered(1).await;
    drop(anna);
    s3.deployment.emulator.stop().await;
}

#[tokio::test]
async fn storing_is_idempotent_and_refuses_other_files() {
    let s3 = S3Deployment::open().await;
    let (files, folder) = (&s3.files, s3.deployment.storage.folder.path());
    let (picture, bill) = (folder.join("picture"), folder.join("bill"));
    std::fs::write(&picture, TOWER).unwrap();
    std::fs::write(&bill, "%PDF-1.7").unwrap();
    let kept = files.store("ab".into(), picture.clone(), Accepts::Images).await.unwrap();
    assert_eq!((kept.media_type, kept.size_bytes), (MediaType::Png, TOWER.len() as u64));
    for (part, meant) in [(1..4, "PNG".as_bytes()), (2..3, &TOWER[2..3])] {
        let pieces: Vec<_> = files.stream("ab".into(), part).await.unwrap().unwrap().try_collect().await.unwrap();
        assert_eq!(pieces.concat(), meant);
    }
    assert!(files.stream("gone".into(), 0..1).await.unwrap().is_none());
    // Longer than one request fetches.
    let (long, bytes) = (folder.join("long"), TOWER.repeat(700_000 / TOWER.len()));
    std::fs::write(&long, &bytes).unwrap();
    files.store("long".into(), long, Accepts::Images).await.unwrap();
    let all = 0..bytes.len() as u64;
    let pieces: Vec<_> = files.stream("long".into(), all.clone()).await.unwrap().unwrap().try_collect().await.unwrap();
    assert!(pieces.len() > 2 && pieces.concat() == bytes);
    let too_many = files.stream("long".into(), 0..all.end + 1).await.unwrap().unwrap();
    assert!(too_many.try_collect::<Vec<_>>().await.is_err(), "a file that ends too early is an error");
    files.remove(vec!["long".into()]).await.unwrap();
    std::fs::remove_file(&picture).unwrap();
    assert_eq!(files.store("ab".into(), picture.clone(), Accepts::Images).await.unwrap(), kept);
    assert!(files.store("cd".into(), picture, Accepts::Images).await.is_err());
    assert!(files.store("ef".into(), bill, Accepts::Images).await.is_err());
    assert_eq!(files.read("../ab".into()).await.unwrap(), None);
    assert_eq!(files.all().await.unwrap().len(), 1);
    s3.deployment.emulator.stop().await;
}

#[tokio::test]
async fn wrong_keys_are_reported_and_saving_can_be_retried() {
    let mut s3 = S3Deployment::open().await;
    let right = s3.deployment.settings.clone();
    s3.set("S3_SECRET_KEY", "hunter2");
    let report = s3.doctor().await;
    assert!(
        has_line(&report.stdout, ["TROUBLE", "files"], &["refuses these keys (SignatureDoesNotMatch)"]),
        "{}",
        report.stdout
    );
    assert!(report.stdout.contains("check S3_ACCESS_KEY") && !report.stdout.contains("hunter2"), "{}", report.stdout);
    let process = s3.deployment.start();
    let mut anna = s3.deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(NOT_SAVED).await;
    process.wait_for_log("refuses these keys (SignatureDoesNotMatch)").await;
    drop(anna);
    process.stop().await;
    s3.deployment.settings = right;
    let process = s3.deployment.start();
    let mut anna = s3.deployment.newcomer(ANNA);
    anna.receives(NOT_SAVED).await;
    anna.does(Action::Presses("Try again")).await;
    anna.receives(DONE).await;
    process.stop().await;
    s3.deployment.assert_registered(1).await;
    drop(anna);
    s3.set("FILES_URL", "s3://nowhere");
    let report = s3.doctor().await.stdout;
    assert!(has_line(&report, ["TROUBLE", "files"], &["no such bucket"]), "{report}");
    s3.deployment.emulator.stop().await;
}

#[tokio::test]
async fn an_unreachable_server_leaves_only_the_draft() {
    let s3 = S3Deployment::open().await;
    let deployment = &s3.deployment;
    let process = deployment.start();
    s3.proxy.cut_off(true);
    let report = s3.doctor().await.stdout;
    assert!(has_line(&report, ["TROUBLE", "files"], &["the storage does not answer"]), "{report}");
    let mut anna = deployment.newcomer(ANNA);
    anna.completes_registration().await;
    anna.receives(NOT_SAVED).await;
    s3.proxy.cut_off(false);
    anna.does(Action::Presses("Try again")).await;
    anna.receives(DONE).await;
    process.stop().await;
    deployment.assert_registered(1).await;
    assert_eq!(s3.files.all().await.unwrap().len(), 2);
    drop(anna);
    s3.deployment.emulator.stop().await;
}
