//! Decisions about money on the pages: the question names the amount, a toast takes the decision back, and a closed
//! month can be opened again.

use workforce::audit;
use workforce::money::{Money, PayrollMonth};

use super::pages::plain;
use super::{day, january, post_352, roubles};
use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;

/// The toast on the page after this redirect.
async fn toast(browser: &Browser, done: &PageResponse) -> String {
    let page = browser.get(done.header("location")).await.body.replace('\u{a0}', " ");
    page.split_once("data-testid=\"toast\"").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn amounts_and_payments_are_taken_back_from_the_toast() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (payroll, user) = (&cabinet.app.payroll, boris.to_string());
    let total = async || payroll.entry_of(boris, january()).await.unwrap().map_or(Money::ZERO, |entry| entry.total);
    let place = [("period", "2026-01"), ("user", user.as_str())];
    owner.get("/payroll").await;
    let bonus = [&place[..], &[("kind", "bonus"), ("amount", "500"), ("reason", "A happy client")]].concat();
    let added = owner.post(&format!("/payroll/people/{boris}/amounts"), &bonus).await;
    assert!(toast(&owner, &added).await.contains("Bonus of 500 ₽ added for Boris"));
    assert_eq!(total().await, roubles(500));

    // A change is taken back to what it was.
    let line = payroll.of_person(boris, january()).await.unwrap().lines.remove(0).id;
    let path = format!("/payroll/amounts/{line}");
    let change =
        [&place[..], &[("version", "1"), ("kind", "deduction"), ("amount", "200"), ("reason", "A cup")]].concat();
    let changed = owner.post(&format!("{path}/change"), &change).await;
    assert_eq!(total().await, roubles(-200));
    owner.press_toast(&changed).await;
    assert_eq!(total().await, roubles(500));
    let now = payroll.adjustment(line).await.unwrap().unwrap();
    assert_eq!((now.reason.as_deref(), now.version), (Some("A happy client"), 3));

    // So is a removal, and a restored amount is removed again.
    let remove = [&place[..], &[("version", "3"), ("reason", "Removed")]].concat();
    let removed = owner.post(&format!("{path}/remove"), &remove).await;
    assert_eq!(total().await, Money::ZERO);
    let restored = owner.press_toast(&removed).await;
    assert_eq!(total().await, roubles(500));
    owner.press_toast(&restored).await;
    assert_eq!(total().await, Money::ZERO);
    let added = owner.post(&format!("/payroll/people/{boris}/amounts"), &bonus).await;
    assert_eq!(total().await, roubles(500));

    // A payment, and the end of its mark.
    let paid = async || payroll.entry_of(boris, january()).await.unwrap().unwrap().paid;
    let version = payroll.entry_of(boris, january()).await.unwrap().unwrap().version.to_string();
    let pay = [&place[..], &[("version", version.as_str()), ("amount", "500")]].concat();
    let marked = owner.post(&format!("/payroll/people/{boris}/paid"), &pay).await;
    assert_eq!(paid().await, roubles(500));
    let taken_back = owner.press_toast(&marked).await;
    assert_eq!(paid().await, Money::ZERO);
    owner.press_toast(&taken_back).await;
    assert_eq!(paid().await, roubles(500));
    // The toast of the bonus is long gone, and its undo is still right.
    drop(added);
    cabinet.close().await;
}

#[tokio::test]
async fn questions_name_the_amount() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (payroll, anna) = (&cabinet.app.payroll, cabinet.person(ANNA).await.id);
    post_352(&cabinet.app, boris, "2025-12-31").await;
    payroll.add_manual(anna, boris, "2025-12-30".parse().unwrap(), roubles(500), "A happy client").await.unwrap();
    let december = "2025-12".parse().unwrap();
    let page = format!("/payroll/people/{boris}?period=2025-12");
    let shown = plain(&owner, &page).await;
    shown.contains_all(&[
        "Pay 530.77 ₽…",
        "Remove the bonus of 500 ₽?",
        "The total for December 2025 will be 30.77 ₽.",
    ]);
    payroll.mark_paid(anna, december, boris, roubles(100), 2, false).await.unwrap();
    plain(&owner, &page).await.contains_all(&["Undo the payment mark of 100 ₽?", "Then 530.77 ₽ will be due."]);
    let sheet = plain(&owner, "/payroll?period=2025-12").await;
    sheet.contains_all(&["Close December 2025?", "1 person, 530.77 ₽ in total, 430.77 ₽ not paid yet."]);
    cabinet.close().await;
}

#[tokio::test]
async fn a_closed_month_is_opened_again_with_a_reason() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (payroll, anna) = (&cabinet.app.payroll, cabinet.person(ANNA).await.id);
    let december: PayrollMonth = "2025-12".parse().unwrap();
    let window = day(1).pred_opt().unwrap();
    let line = payroll.add_manual(anna, boris, window, roubles(500), "A happy client").await.unwrap();
    owner.get("/payroll").await;
    let seen = payroll.of_period(december, 0).await.unwrap().seen();
    let (total, version) = (seen.total.kopecks().to_string(), seen.version.to_string());
    let close = [("period", "2025-12"), ("total", total.as_str()), ("version", version.as_str())];
    let closed = owner.post("/payroll/close", &close).await;
    assert!(toast(&owner, &closed).await.contains("December 2025 is closed"));

    // Paid and corrected while it is closed.
    payroll.mark_paid(anna, december, boris, roubles(500), 1, false).await.unwrap();
    payroll.change(anna, line, 1, roubles(300), "Less").await.unwrap();
    let reopen = async |reason: &str| {
        owner.post("/payroll/reopen", &[("period", "2025-12"), ("version", "0"), ("reason", reason)]).await
    };
    reopen(" ").await.is(422, "Write a reason");
    let opened = reopen("A forgotten <b>bonus</b>").await;
    opened.redirects_to("/payroll?period=2025-12");
    reopen("Again").await.is(409, "This month is open already.");
    let page = owner.get("/payroll?period=2025-12").await;
    page.is(200, "Month opened again · December 2025: A forgotten &lt;b&gt;bonus&lt;/b&gt;")
        .is(200, "data-testid=\"close\"");
    let lines = audit::about(&cabinet.app.domain, ("payroll_period", 202_512)).await.unwrap();
    let actions: Vec<&str> = lines.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["pay period closed", "pay period reopened"]);

    // The payment stays, and a new amount is due. An amount with a correction is corrected further.
    payroll.add_manual(anna, boris, window, roubles(50), "Forgotten").await.unwrap();
    payroll.change(anna, line, 2, roubles(400), "A little less").await.unwrap();
    let now = payroll.adjustment(line).await.unwrap().unwrap();
    assert_eq!((now.amount, now.corrected), (roubles(500), Some(roubles(400))));
    let of = async |month| payroll.of_person(boris, month).await.unwrap();
    assert_eq!((of(december).await.entry.unwrap().total, of(december).await.due()), (roubles(550), roubles(50)));
    assert_eq!(of(january()).await.entry.unwrap().total, roubles(-100));
    // What is too much after the month was opened counts for later months.
    let forgotten = of(december).await.lines.iter().find(|line| line.amount == roubles(50)).unwrap().id;
    payroll.remove(anna, forgotten, 1, "Not so").await.unwrap();
    let other = payroll.add_manual(anna, boris, window, roubles(-200), "A window").await.unwrap();
    assert_eq!(of(december).await.due(), roubles(-200));
    payroll.add_manual(anna, boris, day(2), roubles(1_000), "January").await.unwrap();
    assert_eq!(of(january()).await.due(), roubles(1_000 - 100 - 200));
    assert!(other > 0);
    cabinet.close().await;
}

#[tokio::test]
async fn closing_a_month_is_taken_back_from_the_toast() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await);
    post_352(&cabinet.app, boris.id, "2025-12-31").await;
    owner.get("/payroll").await;
    let close = [("period", "2025-12"), ("total", "3077"), ("version", "1")];
    let closed = owner.post("/payroll/close", &close).await;
    owner.press_toast(&closed).await.redirects_to("/payroll?period=2025-12");
    owner.get("/payroll?period=2025-12").await.is(200, "Closed by mistake").is(200, "data-testid=\"close\"");
    let himself = cabinet.signed_in(BORIS).await;
    let reopen = [("period", "2025-12"), ("version", "0"), ("reason", "Mine")];
    himself.post("/payroll/reopen", &reopen).await.is(403, "You don't have access to this page");
    cabinet.close().await;
}
