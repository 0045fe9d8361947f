//! Pay: rows are posted once, sums agree with them, closed months stay, and the bot shows people their own earnings.

use chrono::NaiveDate;
use opora::testing::chat::ChatUser;
use workforce::application::App;
use workforce::domain::NotWritten;
use workforce::money::{Kind as PayKind, Money, PayrollMonth};
use workforce::notices;
use workforce::payroll::{
    self, ActionError, LatenessFacts, NO_ENTRY, PaidTime, Payroll, PayrollRefusal, ShiftFacts, TaskFacts,
    adjustments_of,
};
use workforce::person::{Person, Role};
use workforce::rooms::Rooms;
use workforce::texts::Language;

use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};
use crate::kit::sql::execute;

mod closed_months;
mod exports;
mod money_decisions;
mod nightly_rebuild;
mod pages;
mod random_operations;

on_every_database! {
    a_shift_is_posted_once_and_its_sums_agree_with_its_rows,
    manual_amounts_are_edited_with_a_history,
    changes_after_closing_count_in_the_next_month,
    payments_are_recorded_once_and_can_be_taken_back,
    overpayment_needs_an_advance_and_counts_later,
    an_advance_without_earnings_is_paid_once,
    an_advance_goes_no_farther_ahead_than_the_next_month,
    changes_of_pay_are_told_with_reason_and_month,
    earnings_in_the_chat_explain_each_amount,
    earnings_after_an_advance_add_up,
}

pub fn roubles(roubles: i64) -> Money {
    Money::from_roubles(roubles)
}

pub fn january() -> PayrollMonth {
    "2026-01".parse().unwrap()
}

fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

/// The worked example: 7.77 for the hours, a hundred less for lateness, a task for 123.
pub fn shift_352(user_id: i64, day: &str) -> (ShiftFacts, Vec<TaskFacts>) {
    let late = LatenessFacts {
        planned_start: NOON,
        actual_start: opora::clock::Millis(NOON.0 + 15 * 60_000),
        threshold_minutes: 5,
        penalty_per_minute: roubles(10),
    };
    let facts = ShiftFacts {
        shift_id: 352,
        user_id,
        day: day.to_owned(),
        worked_seconds: 252,
        rate: roubles(111),
        lateness: Some(late),
        mandatory_task_penalty: roubles(50),
        paid_time: PaidTime::default(),
    };
    let task = |task_id, text: &str, amount| TaskFacts {
        task_id,
        text: text.into(),
        amount,
        is_mandatory: false,
        is_done: true,
    };
    (facts, vec![task(1, "Drive 123 km", roubles(123)), task(2, "Look around", Money::ZERO)])
}

/// Closes shift 352, as the shifts room does.
pub async fn post_352(app: &App, user_id: i64, day: &str) {
    post_shift(app, 352, user_id, day).await;
}

/// Posts another shift with the same amounts.
async fn post_shift(app: &App, shift_id: i64, user_id: i64, day: &str) {
    let (facts, tasks) = shift_352(user_id, day);
    let facts = ShiftFacts { shift_id, ..facts };
    let rows = adjustments_of(&facts, &tasks);
    app.domain.write(move |db| Box::pin(Payroll::post(db, rows, NOON))).await.unwrap();
}

struct PayrollFixture {
    firm: Firm,
    owner: i64,
    vera: Person,
}

impl PayrollFixture {
    async fn open(kind: StorageKind) -> Self {
        let firm = Firm::with_rooms(kind, Rooms::all()).await;
        let owner = firm.member("Anna", &[Role::Owner]).await.key().user;
        let vera = firm.member("Vera", &[Role::Employee]).await.key().user;
        let owner = firm.app.people.by_telegram(owner).await.unwrap().unwrap().id;
        let vera = firm.app.people.by_telegram(vera).await.unwrap().unwrap();
        Self { firm, owner, vera }
    }

    fn payroll(&self) -> &Payroll {
        &self.firm.app.payroll
    }

    async fn total(&self, period: &str) -> String {
        let earnings = self.payroll().of_person(self.vera.id, period.parse().unwrap()).await.unwrap();
        earnings.entry.map_or("nothing".into(), |entry| entry.total.to_string())
    }

    async fn sql(&self, sql: &'static str) -> Result<(), NotWritten> {
        self.firm.app.domain.write(move |db| Box::pin(execute(db, sql.into()))).await
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(done: Result<T, ActionError>, why: PayrollRefusal) {
    assert!(matches!(&done, Err(ActionError::Refused(said)) if *said == why), "{done:?}");
}

async fn a_shift_is_posted_once_and_its_sums_agree_with_its_rows(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let app = &fixture.firm.app;
    // Two taps and the safety-net job at once.
    tokio::join!(
        post_352(app, fixture.vera.id, "2026-01-01"),
        post_352(app, fixture.vera.id, "2026-01-01"),
        post_352(app, fixture.vera.id, "2026-01-01")
    );
    let lines = fixture.payroll().of_shift(352).await.unwrap();
    let amounts: Vec<_> = lines.iter().map(|line| (line.kind, line.amount.kopecks())).collect();
    assert_eq!(amounts, [(PayKind::ShiftBase, 777), (PayKind::LateStart, -10_000), (PayKind::TaskBonus, 12_300)]);
    let sheet = fixture.payroll().of_period(january(), 0).await.unwrap();
    let [entry] = &sheet.entries[..] else { panic!("{sheet:?}") };
    assert_eq!((entry.total.kopecks(), entry.hours.hundredths()), (3077, 7));
    assert_eq!((sheet.people, sheet.sum.total, sheet.names[&fixture.vera.id].as_str()), (1, entry.total, "Vera"));
    assert_eq!(fixture.payroll().totals_of_shifts(&[352, 353]).await.unwrap(), [(352, entry.total)].into());
    let room: &dyn workforce::rooms::Room = &payroll::PayrollRoom;
    let exported = room.export(&app.domain, &fixture.vera).await.unwrap();
    assert_eq!(exported["amounts"][1]["amount"], "-100.00", "{exported}");
    let explained = fixture.payroll().explain(352, workforce::texts::Language::En).await.unwrap();
    let words: Vec<_> = explained.iter().map(|(_, _, words)| words.replace('\u{a0}', " ")).collect();
    assert_eq!(
        words,
        [
            "0:04:12 worked, that's 0.07 h at 111 ₽ an hour",
            "15 min late, 5 forgiven: 10 min at 10 ₽ a minute",
            "“Drive 123 km”: done"
        ]
    );
    // The database prevents a flipped sign and a second payment of a task.
    let flipped = "UPDATE adjustments SET amount_kopecks = 1 WHERE kind = 'late_start'";
    assert!(fixture.sql(flipped).await.is_err(), "{flipped}");
    let twice = "INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, shift_id, basis, created_at)
        SELECT user_id, period, day, kind, amount_kopecks, shift_id, basis, created_at FROM adjustments
        WHERE kind = 'shift_base'";
    assert!(fixture.sql(twice).await.is_err(), "{twice}");
}

async fn manual_amounts_are_edited_with_a_history(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    assert_refused(payroll.add_manual(owner, vera, day(1), Money::ZERO, "x").await, PayrollRefusal::BadAmount);
    assert_refused(payroll.add_manual(owner, vera, day(1), roubles(5), "  ").await, PayrollRefusal::BadReason);
    assert_refused(payroll.add_manual(owner, 999, day(1), roubles(5), "x").await, PayrollRefusal::Gone);
    payroll.add_manual(owner, vera, day(1), roubles(500), "A happy client").await.unwrap();
    let id = payroll.of_person(vera, january()).await.unwrap().lines[0].id;
    payroll.change(owner, id, 1, roubles(-200), "A broken cup").await.unwrap();
    assert_eq!(fixture.total("2026-01").await, "-200.00");
    // An edit of an old version is refused.
    assert_refused(payroll.change(owner, id, 1, roubles(900), "late").await, PayrollRefusal::Stale);
    assert_refused(payroll.remove(owner, id, 1, "late").await, PayrollRefusal::Stale);
    payroll.remove(owner, id, 2, "a mistake").await.unwrap();
    assert_eq!(fixture.total("2026-01").await, "0.00");
    assert_refused(payroll.change(owner, id, 3, roubles(1), "x").await, PayrollRefusal::Gone);
    payroll.restore(owner, id).await.unwrap();
    assert_refused(payroll.restore(owner, id).await, PayrollRefusal::Gone);
    assert_eq!(fixture.total("2026-01").await, "-200.00");
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    assert_eq!(earnings.lines[0].kind, PayKind::ManualDeduction);
    let deeds: Vec<_> = earnings.changes.iter().map(|one| (one.deed.as_str(), one.amount.kopecks(), one.by)).collect();
    let expected = [("added", 50_000), ("changed", -20_000), ("removed", -20_000), ("restored", -20_000)];
    assert_eq!(deeds, expected.map(|(deed, amount)| (deed, amount, owner)));
    // Amounts that follow from work cannot be edited.
    post_352(&fixture.firm.app, vera, "2026-01-01").await;
    let base = payroll.of_shift(352).await.unwrap()[0].id;
    assert_refused(payroll.remove(owner, base, 1, "x").await, PayrollRefusal::NotManual);
}

async fn changes_after_closing_count_in_the_next_month(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let december: PayrollMonth = "2025-12".parse().unwrap();
    let then = NaiveDate::from_ymd_opt(2025, 12, 30).unwrap();
    payroll.add_manual(owner, vera, then, roubles(1000), "New year").await.unwrap();
    assert_refused(payroll.close_period(owner, january()).await, PayrollRefusal::NotOver);
    payroll.close_period(owner, december).await.unwrap();
    assert_refused(payroll.close_period(owner, december).await, PayrollRefusal::Closed);
    for sql in [
        "UPDATE adjustments SET amount_kopecks = 1",
        "DELETE FROM adjustments",
        "UPDATE payroll_periods SET closed_at = 1 WHERE id = '2025-12'",
        "DELETE FROM payroll_periods",
        "UPDATE payroll_entries SET total_kopecks = 1, bonus_kopecks = 1",
    ] {
        assert!(fixture.sql(sql).await.is_err(), "{sql}");
    }
    // A shift of the closed month that is closed late, and a bonus.
    post_352(&fixture.firm.app, vera, "2025-12-31").await;
    payroll.add_manual(owner, vera, then, roubles(10), "Forgotten").await.unwrap();
    assert_eq!((fixture.total("2025-12").await, fixture.total("2026-01").await), ("1000.00".into(), "40.77".into()));
    let line = payroll.of_person(vera, december).await.unwrap().lines.remove(0);
    payroll.change(owner, line.id, line.version, roubles(700), "Too much").await.unwrap();
    assert_eq!((fixture.total("2025-12").await, fixture.total("2026-01").await), ("1000.00".into(), "-259.23".into()));
    assert_refused(payroll.change(owner, line.id, line.version, roubles(1), "stale").await, PayrollRefusal::Stale);
    let line = payroll.of_person(vera, december).await.unwrap().lines.remove(0);
    assert_eq!(line.corrected, Some(roubles(700)));
    payroll.remove(owner, line.id, line.version, "Not at all").await.unwrap();
    assert_eq!((fixture.total("2025-12").await, fixture.total("2026-01").await), ("1000.00".into(), "-959.23".into()));
}

async fn payments_are_recorded_once_and_can_be_taken_back(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    assert_refused(payroll.mark_paid(owner, january(), vera, roubles(1), 1, false).await, PayrollRefusal::NothingThere);
    payroll.add_manual(owner, vera, day(1), roubles(500), "A happy client").await.unwrap();
    let pay = |version| payroll.mark_paid(owner, january(), vera, roubles(300), version, false);
    assert_refused(payroll.mark_paid(owner, january(), vera, roubles(-1), 1, true).await, PayrollRefusal::BadAmount);
    // A double click on one page.
    let (one, other) = tokio::join!(pay(1), pay(1));
    assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|ok| **ok).count(), 1);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    let entry = earnings.entry.unwrap();
    assert_eq!((entry.paid, entry.due(), entry.version), (roubles(300), roubles(200), 2));
    payroll.take_back(owner, earnings.payments[0].id).await.unwrap();
    assert_refused(payroll.take_back(owner, earnings.payments[0].id).await, PayrollRefusal::Gone);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    assert_eq!(earnings.entry.unwrap().paid, Money::ZERO);
    assert!(earnings.payments[0].is_taken_back);
}

async fn overpayment_needs_an_advance_and_counts_later(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let (december, february): (PayrollMonth, PayrollMonth) = ("2025-12".parse().unwrap(), "2026-02".parse().unwrap());
    let then = NaiveDate::from_ymd_opt(2025, 12, 30).unwrap();
    payroll.add_manual(owner, vera, then, roubles(500), "New year").await.unwrap();
    payroll.add_manual(owner, vera, day(1), roubles(300), "A happy client").await.unwrap();
    assert_refused(payroll.mark_paid(owner, december, vera, roubles(501), 1, false).await, PayrollRefusal::MoreThanDue);
    let of = async |period| payroll.of_person(vera, period).await.unwrap();
    // A refused payment leaves nothing, and a payment of exactly what is due is no advance.
    assert_eq!((of(december).await.due(), of(december).await.payments.len()), (roubles(500), 0));
    payroll.mark_paid(owner, december, vera, roubles(500), 1, false).await.unwrap();
    payroll.mark_paid(owner, december, vera, roubles(120), 2, true).await.unwrap();
    assert_eq!((of(december).await.due(), of(december).await.credit()), (roubles(-120), Money::ZERO));
    let next = of(january()).await;
    assert_eq!((next.credit(), next.due()), (roubles(120), roubles(180)));
    // The list and the exports show the same amount.
    let listed = payroll.all_of_period(january()).await.unwrap();
    assert_eq!((listed.entries[0].due(), listed.sum.due()), (roubles(180), roubles(180)));
    // The credit reduces what is due.
    let paid = |amount, version| payroll.mark_paid(owner, january(), vera, roubles(amount), version, false);
    assert_refused(paid(300, 1).await, PayrollRefusal::MoreThanDue);
    paid(180, 1).await.unwrap();
    assert_eq!((of(january()).await.due(), of(february).await.credit()), (Money::ZERO, Money::ZERO));
    // Taking a payment back removes its credit.
    let advance = of(december).await.payments[1].id;
    payroll.take_back(owner, advance).await.unwrap();
    assert_eq!((of(january()).await.credit(), of(january()).await.due()), (Money::ZERO, roubles(120)));
}

async fn an_advance_without_earnings_is_paid_once(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let pay = |period, is_advance| payroll.mark_paid(owner, period, vera, roubles(300), NO_ENTRY, is_advance);
    // Nothing is due, and the payment is not marked as an advance.
    assert_refused(pay(january(), false).await, PayrollRefusal::NothingThere);
    assert_refused(payroll.mark_paid(owner, january(), 999, roubles(300), NO_ENTRY, true).await, PayrollRefusal::Gone);
    assert!(payroll.entry_of(vera, january()).await.unwrap().is_none());
    // Two owners at once.
    let (one, other) = tokio::join!(pay(january(), true), pay(january(), true));
    let (done, late) = if one.is_ok() { (one, other) } else { (other, one) };
    done.unwrap();
    assert_refused(late, PayrollRefusal::Stale);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    let entry = earnings.entry.as_ref().unwrap();
    assert_eq!((entry.total, entry.paid, entry.version, earnings.payments.len()), (Money::ZERO, roubles(300), 1, 1));
    // Later earnings are paid by the advance.
    payroll.add_manual(owner, vera, day(2), roubles(500), "A happy client").await.unwrap();
    payroll::rebuild(&fixture.firm.app, january()).await.unwrap();
    let entry = payroll.entry_of(vera, january()).await.unwrap().unwrap();
    assert_eq!((entry.due(), entry.version), (roubles(200), 2));
    assert_refused(pay(january(), true).await, PayrollRefusal::Stale);
    // A closed month takes no advance.
    let december: PayrollMonth = "2025-12".parse().unwrap();
    payroll.close_period(owner, december).await.unwrap();
    assert_refused(pay(december, true).await, PayrollRefusal::NothingThere);
    assert!(payroll.entry_of(vera, december).await.unwrap().is_none());
}

async fn an_advance_goes_no_farther_ahead_than_the_next_month(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let march: PayrollMonth = "2026-03".parse().unwrap();
    let pay = |period| payroll.mark_paid(owner, period, vera, roubles(300), NO_ENTRY, true);
    assert_refused(pay(march).await, PayrollRefusal::TooFarAhead);
    assert_refused(pay("2036-01".parse().unwrap()).await, PayrollRefusal::TooFarAhead);
    assert!(payroll.entry_of(vera, march).await.unwrap().is_none());
    pay(january().next()).await.unwrap();
    // A month later it is February.
    fixture.firm.stage.clock().advance(std::time::Duration::from_secs(31 * 24 * 3600));
    pay(march).await.unwrap();
}

async fn changes_of_pay_are_told_with_reason_and_month(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let december: PayrollMonth = "2025-12".parse().unwrap();
    let line = async |period| payroll.of_person(vera, period).await.unwrap().lines.remove(0);
    // Refused changes and an owner's changes of their own pay send no notice.
    assert_refused(payroll.add_manual(owner, vera, day(1), Money::ZERO, "x").await, PayrollRefusal::BadAmount);
    assert_refused(
        payroll.mark_paid(owner, january(), vera, roubles(1), NO_ENTRY, false).await,
        PayrollRefusal::NothingThere,
    );
    payroll.add_manual(owner, owner, day(1), roubles(10), "Thanks to myself").await.unwrap();
    assert_eq!(unsent_notices(&fixture).await, [""; 0]);

    payroll.add_manual(owner, vera, day(1), roubles(-500), "A broken cup").await.unwrap();
    let cup = line(january()).await.id;
    payroll.change(owner, cup, 1, roubles(-300), "A small cup").await.unwrap();
    payroll.remove(owner, cup, 2, "x").await.unwrap();
    payroll.restore(owner, cup).await.unwrap();
    let expected = [
        "January 2026: 500 ₽ was deducted from your pay. Reason: A broken cup",
        "January 2026: in your pay, −500 ₽ is now −300 ₽. Reason: A small cup",
        "January 2026: −300 ₽ was removed from your pay. It was for: A small cup",
        "January 2026: −300 ₽ is back in your pay. Reason: A small cup",
    ];
    assert_eq!(unsent_notices(&fixture).await, expected);

    let then = NaiveDate::from_ymd_opt(2025, 12, 30).unwrap();
    payroll.add_manual(owner, vera, then, roubles(1000), "New year").await.unwrap();
    payroll.mark_paid(owner, december, vera, roubles(1000), 1, false).await.unwrap();
    let paid = payroll.of_person(vera, december).await.unwrap().payments[0].id;
    payroll.take_back(owner, paid).await.unwrap();
    payroll.close_period(owner, december).await.unwrap();
    let bonus = line(december).await;
    payroll.change(owner, bonus.id, bonus.version, roubles(700), "Too much").await.unwrap();
    let bonus = line(december).await;
    payroll.remove(owner, bonus.id, bonus.version, "x").await.unwrap();
    let expected = [
        "December 2025: you got a bonus, +1,000 ₽. Reason: New year",
        "December 2025: you were paid 1,000 ₽.",
        "December 2025: the note that you were paid 1,000 ₽ was a mistake and has been undone.",
        "December 2025: in your pay, +1,000 ₽ is now +700 ₽. Reason: Too much\n\
        That month is closed, so the difference goes into another one: January 2026.",
        "December 2025: +700 ₽ was removed from your pay. It was for: New year\n\
        That month is closed, so the difference goes into another one: January 2026.",
    ];
    assert_eq!(unsent_notices(&fixture).await[4..], expected);
}

/// The unsent notices. All must be for Vera.
async fn unsent_notices(fixture: &PayrollFixture) -> Vec<String> {
    let untold = notices::unsent(&fixture.firm.app.domain).await.unwrap();
    let words = untold.into_iter().map(|(_, user, notice)| {
        assert_eq!(user, fixture.vera.id, "{notice:?}");
        notice.text(Language::En).replace('\u{a0}', " ")
    });
    words.collect()
}

async fn earnings_in_the_chat_explain_each_amount(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let firm = &fixture.firm;
    let (vera, anna) =
        (firm.member("Vera two", &[Role::Employee]).await, firm.member("Anna two", &[Role::Owner]).await);
    let person = firm.app.people.by_telegram(vera.key().user).await.unwrap().unwrap();
    vera.sends("/start").await;
    vera.presses("💰 My earnings").await;
    vera.sees("January 2026: no earnings.");
    post_352(&firm.app, person.id, "2026-01-01").await;
    vera.sends("/start").await;
    vera.presses("💰 My earnings").await;
    let answer = vera.answers().join("\n").replace('\u{a0}', " ");
    for words in ["January 2026: 30.77 ₽", "+7.77 ₽ Hours worked", "−100 ₽ Late start", "“Drive 123 km”: done"]
    {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    assert!(!vera.transcript().contains("[February 2026]"), "{}", vera.transcript());
    vera.presses("December 2025").await;
    vera.sees("December 2025: no earnings.");
    // A site whose clock is ahead already has a shift in the next month.
    post_shift(&firm.app, 353, person.id, "2026-02-01").await;
    vera.presses("January 2026").await;
    vera.presses("February 2026").await;
    vera.sees("February 2026: 30.77");
    assert!(!vera.transcript().contains("[March 2026]"), "{}", vera.transcript());
    // The report is for owners only, also by forged button data.
    vera.presses_data("pay:report").await;
    vera.sees_toast("You don't have permission to do this.");
    anna.sends("/start").await;
    anna.presses("📊 Report").await;
    anna.sends("yesterday").await;
    anna.sees("Please write the dates like Nov 1, 2026 - Nov 15, 2026: up to a year, between 2000 and 2100.");
    anna.sends("01.01.2026 - 15.01.2026").await;
    anna.sees("Jan 1, 2026 – Jan 15, 2026\n1 person, 0.07 h, 30.77\u{a0}₽\nVera two: 0.07 h, 30.77\u{a0}₽");
    anna.sees_button("🏠 Main menu");
}

async fn earnings_after_an_advance_add_up(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner) = (fixture.payroll(), fixture.owner);
    let zoe = fixture.firm.member("Zoe", &[Role::Employee]).await;
    let id = fixture.firm.app.people.by_telegram(zoe.key().user).await.unwrap().unwrap().id;
    let told = async |zoe: &ChatUser| {
        zoe.sends("/start").await;
        zoe.presses("💰 My earnings").await;
        zoe.answers().join("\n").replace('\u{a0}', " ")
    };
    payroll.add_manual(owner, id, day(1), roubles(1000), "A happy client").await.unwrap();
    let before = told(&zoe).await;
    assert!(before.contains("Paid: 0 ₽, due: 1,000 ₽") && !before.contains("advance"), "{before}");
    payroll.mark_paid(owner, "2025-12".parse().unwrap(), id, roubles(800), NO_ENTRY, true).await.unwrap();
    let after = told(&zoe).await;
    let words = "Paid: 0 ₽, due: 200 ₽\nCounted from earlier overpayment: 800 ₽";
    assert!(after.contains(words), "{after}");
}
