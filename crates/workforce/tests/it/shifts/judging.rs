//! Cancellations on the pages: what each decision costs, who may decide, and who sees the proof.

use workforce::money::Money;
use workforce::person::{Permission, Person};
use workforce::settings;
use workforce::shifts::{CancellationDetails, MediumKind, Reason, Shifts, cancel};
use workforce::sites::{AboutSlot, Hours, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::overview::business_pages::{MAY, make_site, sql};
use crate::shifts::about_contract;
use crate::sites::permissions::hire_may;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_cancellation_is_judged_once_and_fined_if_rejected,
    a_rejection_is_taken_back_and_can_be_made_again,
    a_decision_of_a_closed_month_stays,
}

const ZOE: i64 = 1005;
/// What rejecting costs, in kopecks: for the reason, and for the short notice.
const FINE: &str = "100000";
const PROOF: &str = "proof-of-telegram";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a certificate";

/// Boris has cancelled this many plans of the next day, with a proof. Returns the site and the cancellations.
async fn cancel_plans(cabinet: &Cabinet, count: i64) -> (i64, Vec<i64>) {
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let (site, room, shifts) =
        (make_site(cabinet, &owner).await, Sites::of_app(&cabinet.app), Shifts::of_app(&cabinet.app));
    let about = about_contract(&[site], false);
    room.create_contract(&anna, boris.id, about).await.unwrap();
    for hour in 0..count {
        let hours = Hours::new((10 + hour) * 60, (11 + hour) * 60);
        let slot = room.create_slot(&anna, site, AboutSlot::usual("2026-01-02".parse().unwrap(), hours)).await.unwrap();
        let plan = shifts.plan(&boris, boris.id, slot).await.unwrap();
        let photo = Some((MediumKind::Photo, PROOF.to_owned()));
        let excuse = CancellationDetails {
            reason: Reason::Illness,
            words: None,
            document: Some("Certificate 77".into()),
            photo,
        };
        let who = (boris.id, "Boris".to_owned());
        let cancel = cabinet.app.domain.write(move |db| Box::pin(cancel(db, plan, who, excuse, 24, Vec::new(), NOON)));
        cancel.await.unwrap();
    }
    let waiting = shifts.cancellations(&[site]).await.unwrap();
    (site, waiting.iter().map(|(one, _)| one.id).collect())
}

async fn permit(cabinet: &Cabinet, may: &Person, site: i64, allowed: &[Permission]) {
    let anna = cabinet.person(ANNA).await;
    Sites::of_app(&cabinet.app).set_permissions(&anna, may.id, site, allowed.to_vec()).await.unwrap();
}

async fn a_cancellation_is_judged_once_and_fined_if_rejected(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let may = hire_may(&cabinet).await;
    let (site, waiting) = cancel_plans(&cabinet, 2).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let employee = cabinet.signed_in(BORIS).await;
    let judge = |id: i64| format!("/cancellations/{id}/judge");
    let boris = cabinet.person(BORIS).await.id;
    let fines = async || {
        let month = "2026-01".parse().unwrap();
        let lines = cabinet.app.payroll.of_person(boris, month).await.unwrap().lines;
        lines.iter().map(|line| line.amount).collect::<Vec<Money>>()
    };
    permit(&cabinet, &may, site, &[Permission::View, Permission::Schedule]).await;
    for browser in [&manager, &employee] {
        for answer in ["true", "false"] {
            browser
                .post(&judge(waiting[0]), &[("accepted", answer), ("fine", FINE)])
                .await
                .is(403, "You don't have access to this page");
        }
        browser.get("/cancellations").await.is(403, "You don't have access to this page");
    }
    let page = owner.get("/cancellations").await;
    page.is(200, "Boris").is(200, "Certificate 77").is(200, &format!("action=\"{}\"", judge(waiting[1])));
    page.is(200, "Reject and deduct 1,000\u{a0}₽").is(200, "500\u{a0}₽ for short notice");
    owner.post(&judge(waiting[0]), &[("accepted", "true")]).await.redirects_to("/cancellations");
    assert_eq!(fines().await, []);
    // Another person had the page open and decides the opposite.
    permit(&cabinet, &may, site, &[Permission::View, Permission::Employees]).await;
    let late = manager.post(&judge(waiting[0]), &[("accepted", "false"), ("fine", FINE)]).await;
    late.is(409, "This has already been decided.").is(409, &format!("cancellation-{}", waiting[1]));
    assert_eq!(fines().await, []);
    manager.post(&judge(waiting[1]), &[("accepted", "false"), ("fine", FINE)]).await.redirects_to("/cancellations");
    let both = [Money::from_roubles(-500), Money::from_roubles(-500)];
    assert_eq!(fines().await, both, "the reason, and the short notice");
    owner
        .post(&judge(waiting[1]), &[("accepted", "false"), ("fine", FINE)])
        .await
        .is(409, "This has already been decided.");
    assert_eq!(fines().await, both);
    owner.get("/cancellations").await.is(200, "No cancellations awaiting approval");
    cabinet.close().await;
}

#[tokio::test]
async fn only_judges_see_the_proof() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = hire_may(&cabinet).await;
    cabinet.hire(ZOE, "Zoe", workforce::person::Role::Employee).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": ZOE, "first_name": "Zoe", "language_code": "en"})).await;
    let (site, waiting) = cancel_plans(&cabinet, 1).await;
    let (folder, name) = (cabinet.app.data_dir.join("files"), workforce::files::generated_name().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(&name), PNG).unwrap();
    let kept = format!("name = '{name}', media_type = 'image/png', size_bytes = {}, sha256 = 'x'", PNG.len());
    sql(&cabinet, format!("INSERT INTO attachments (telegram_file) VALUES ('{PROOF}') ON CONFLICT DO NOTHING")).await;
    sql(&cabinet, format!("UPDATE attachments SET {kept} WHERE telegram_file = '{PROOF}'")).await;

    let path = format!("/cancellations/{}/photo", waiting[0]);
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    permit(&cabinet, &may, site, &[Permission::View]).await;
    // The sender has the photo in his own chat, and cannot open it here.
    for browser in [&manager, &cabinet.signed_in(BORIS).await, &cabinet.signed_in(ZOE).await] {
        browser.get(&path).await.is(403, "You don't have access to this page");
        browser.post(&format!("{path}/again"), &[]).await.is(403, "You don't have access to this page");
    }
    permit(&cabinet, &may, site, &[Permission::View, Permission::Employees]).await;
    for browser in [&owner, &manager] {
        let shown = browser.get(&path).await;
        shown.is(200, "PNG");
        assert_eq!((shown.header("content-type"), shown.header("cache-control")), ("image/png", "no-store"));
        browser.get("/cancellations").await.is(200, &format!("<img src=\"{path}\""));
    }
    owner.get("/cancellations/999/photo").await.is(404, "Page not found");
    assert_eq!(cabinet.browser().get(&path).await.status.as_u16(), 303, "without a session the sign-in is shown");
    cabinet.close().await;
}

/// The adjustments of Boris in January that count, and the sum of the month.
async fn pay_of_boris(cabinet: &Cabinet) -> (usize, Money) {
    let (boris, month) = (cabinet.person(BORIS).await.id, "2026-01".parse().unwrap());
    let lines = cabinet.app.payroll.of_person(boris, month).await.unwrap().lines;
    let entry = cabinet.app.payroll.entry_of(boris, month).await.unwrap();
    (lines.iter().filter(|line| !line.is_removed).count(), entry.map_or(Money::ZERO, |entry| entry.total))
}

/// The form that takes back the decision about a cancellation.
async fn decided_at(cabinet: &Cabinet, id: i64) -> String {
    let cancelled = Shifts::of_app(&cabinet.app).cancellation(id).await.unwrap().unwrap();
    cancelled.decided_at.unwrap().0.to_string()
}

async fn a_rejection_is_taken_back_and_can_be_made_again(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let may = hire_may(&cabinet).await;
    let (site, waiting) = cancel_plans(&cabinet, 1).await;
    let (id, owner, manager) = (waiting[0], cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let (judge, back) = (format!("/cancellations/{id}/judge"), format!("/cancellations/{id}/take-back"));
    let reject = [("accepted", "false"), ("fine", FINE)];
    owner.post(&judge, &reject).await.redirects_to("/cancellations");
    assert_eq!(pay_of_boris(&cabinet).await, (2, Money::from_roubles(-1000)));
    let history = owner.get("/cancellations?show=decided").await;
    history.is(200, "rejected, −1,000\u{a0}₽").is(200, "Decided by Anna").is(200, &format!("action=\"{back}\""));
    let seen = decided_at(&cabinet, id).await;
    let seen = [("decided_at", seen.as_str())];
    permit(&cabinet, &may, site, &[Permission::View, Permission::Schedule]).await;
    for browser in [&manager, &cabinet.signed_in(BORIS).await] {
        browser.post(&back, &seen).await.is(403, "You don't have access to this page");
    }
    owner.post(&back, &[("decided_at", "1")]).await.is(409, "This has already been decided.");
    owner.post(&back, &seen).await.redirects_to("/cancellations");
    assert_eq!(pay_of_boris(&cabinet).await, (0, Money::ZERO));
    owner.get("/cancellations").await.is(200, "The earlier decision was taken back by Anna");
    owner.post(&back, &seen).await.is(409, "This has already been decided.");
    // The removed fine cannot be restored by hand: the reason waits.
    let boris = cabinet.person(BORIS).await.id;
    let lines = cabinet.app.payroll.of_person(boris, "2026-01".parse().unwrap()).await.unwrap().lines;
    let restore = format!("/payroll/amounts/{}/restore", lines[0].id);
    let user = boris.to_string();
    owner.post(&restore, &[("period", "2026-01"), ("user", &user)]).await.is(422, "This amount comes from work done");
    permit(&cabinet, &may, site, &[Permission::View, Permission::Employees]).await;
    manager.post(&judge, &reject).await.redirects_to("/cancellations");
    assert_eq!(pay_of_boris(&cabinet).await, (2, Money::from_roubles(-1000)));
    cabinet.close().await;
}

async fn a_decision_of_a_closed_month_stays(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (_, waiting) = cancel_plans(&cabinet, 1).await;
    let (id, owner) = (waiting[0], cabinet.signed_in(ANNA).await);
    let reject = [("accepted", "false"), ("fine", FINE)];
    owner.post(&format!("/cancellations/{id}/judge"), &reject).await.redirects_to("/cancellations");
    sql(&cabinet, "UPDATE payroll_periods SET status = 'closed', closed_at = 1, closed_by = 1".to_owned()).await;
    // The first page after the decision offers to take it back in its toast.
    owner.get("/cancellations").await.is(200, "Reason rejected, 1,000\u{a0}₽ deducted.");
    let page = owner.get("/cancellations?show=decided").await;
    page.is(200, "The month is closed, so this decision stays.");
    assert!(!page.body.contains("/take-back"), "{}", page.body);
    let seen = decided_at(&cabinet, id).await;
    let back = owner.post(&format!("/cancellations/{id}/take-back"), &[("decided_at", &seen)]).await;
    back.is(409, "The month is closed, so this decision stays.");
    assert_eq!(pay_of_boris(&cabinet).await, (2, Money::from_roubles(-1000)));
    assert!(Shifts::of_app(&cabinet.app).cancellation(id).await.unwrap().unwrap().decided_at.is_some());
    cabinet.close().await;
}

#[tokio::test]
async fn a_fine_that_has_changed_is_not_deducted_unseen() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (_, waiting) = cancel_plans(&cabinet, 1).await;
    let (judge, owner) = (format!("/cancellations/{}/judge", waiting[0]), cabinet.signed_in(ANNA).await);
    owner.post(&judge, &[("accepted", "false")]).await.is(400, "");
    let change = [("cancel_short_notice_fine", "700"), ("seen-cancel_short_notice_fine", "500.00")];
    owner.post("/settings", &change).await.redirects_to("/settings");
    let stale = owner.post(&judge, &[("accepted", "false"), ("fine", FINE)]).await;
    stale.is(409, "The penalty has changed.").is(409, "Reject and deduct 1,200\u{a0}₽");
    assert_eq!(pay_of_boris(&cabinet).await, (0, Money::ZERO));
    cabinet.close().await;
}

#[tokio::test]
async fn no_page_names_a_fine_of_zero() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    for fine in [&settings::CANCEL_SHORT_NOTICE_FINE, &settings::CANCEL_INVALID_REASON_FINE] {
        let name = fine.name;
        cabinet.app.domain.write(move |db| Box::pin(settings::set(db, name, "0", None, NOON))).await.unwrap();
    }
    let (_, waiting) = cancel_plans(&cabinet, 1).await;
    let owner = cabinet.signed_in(ANNA).await;
    let asks = owner.get("/cancellations").await;
    asks.is(200, "The bot will tell the employee. Nothing is deducted.");
    let judge = format!("/cancellations/{}/judge", waiting[0]);
    owner.post(&judge, &[("accepted", "false"), ("fine", "0")]).await.redirects_to("/cancellations");
    let after = owner.get("/cancellations").await;
    after.is(200, "Reason rejected, nothing is deducted.");
    let decided = owner.get("/cancellations?show=decided").await;
    decided.is(200, "rejected");
    for page in [asks, after, decided] {
        assert!(!page.body.contains("0\u{a0}₽"), "{}", page.body);
    }
    assert_eq!(pay_of_boris(&cabinet).await, (0, Money::ZERO));
    let seen = decided_at(&cabinet, waiting[0]).await;
    let back = format!("/cancellations/{}/take-back", waiting[0]);
    owner.post(&back, &[("decided_at", &seen)]).await.redirects_to("/cancellations");
    cabinet.close().await;
}
