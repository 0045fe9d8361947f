//! Pay: rows are posted once, sums agree with them, closed months stay as they are, and the bot tells everybody their own.

use chrono::NaiveDate;
use opora::store::WriteError;
use opora::testing::chat::Someone;
use sea_orm::{ConnectionTrait, Statement};
use workforce::application::App;
use workforce::domain::{NotWritten, Writing};
use workforce::money::{Kind as PayKind, Money, Period};
use workforce::notices;
use workforce::payroll::{self, LatenessFacts, NO_ENTRY, NotDone, Payroll, ShiftFacts, TaskFacts, Why, adjustments_of};
use workforce::person::{Person, Role};
use workforce::rooms::Rooms;
use workforce::texts::Language;

use crate::kit::firm::{Firm, Kind, NOON, on_every_database};

mod closed;
mod exported;
mod nightly;
mod pages;
mod random;

on_every_database! {
    a_shift_is_posted_once_and_its_sums_agree_with_its_rows,
    amounts_by_hand_are_changed_removed_and_brought_back_with_their_history,
    a_closed_month_stays_and_what_comes_later_goes_into_the_next,
    payments_are_marked_once_and_can_be_taken_back,
    more_than_is_due_is_paid_only_as_an_advance_and_counts_in_later_months,
    an_advance_is_paid_before_anything_was_earned_and_once,
    an_advance_goes_no_farther_ahead_than_the_next_month,
    whose_pay_is_changed_by_somebody_else_is_told_what_why_and_for_which_month,
    everybody_is_told_their_own_earnings_with_reasons,
    what_is_told_of_a_month_after_an_advance_adds_up,
}

pub fn roubles(roubles: i64) -> Money {
    Money::from_roubles(roubles)
}

pub fn january() -> Period {
    "2026-01".parse().unwrap()
}

fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

/// The shift of the books: 7.77 for the hours, a hundred less for lateness, a task for 123.
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

/// Closes shift 352, as the room of shifts does.
pub async fn post_352(app: &App, user_id: i64, day: &str) {
    post(app, 352, user_id, day).await;
}

/// Another one like it.
async fn post(app: &App, shift_id: i64, user_id: i64, day: &str) {
    let (facts, tasks) = shift_352(user_id, day);
    let facts = ShiftFacts { shift_id, ..facts };
    let rows = adjustments_of(&facts, &tasks);
    app.domain.write(move |db| Box::pin(Payroll::post(db, rows, NOON))).await.unwrap();
}

struct Office {
    firm: Firm,
    owner: i64,
    vera: Person,
}

impl Office {
    async fn open(kind: Kind) -> Self {
        let firm = Firm::with(kind, Rooms::all()).await;
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
        async fn run(db: &Writing<'_, '_>, sql: &str) -> Result<(), WriteError> {
            db.execute_raw(Statement::from_string(db.get_database_backend(), sql)).await?;
            Ok(())
        }
        self.firm.app.domain.write(move |db| Box::pin(run(db, sql))).await
    }
}

#[track_caller]
fn refused(done: Result<(), NotDone>, why: Why) {
    assert!(matches!(&done, Err(NotDone::Refused(said)) if *said == why), "{done:?}");
}

async fn a_shift_is_posted_once_and_its_sums_agree_with_its_rows(kind: Kind) {
    let office = Office::open(kind).await;
    let app = &office.firm.app;
    // Two taps, and the job that looks after both.
    tokio::join!(
        post_352(app, office.vera.id, "2026-01-01"),
        post_352(app, office.vera.id, "2026-01-01"),
        post_352(app, office.vera.id, "2026-01-01")
    );
    let lines = office.payroll().of_shift(352).await.unwrap();
    let amounts: Vec<_> = lines.iter().map(|line| (line.kind, line.amount.kopecks())).collect();
    assert_eq!(amounts, [(PayKind::ShiftBase, 777), (PayKind::LateStart, -10_000), (PayKind::TaskBonus, 12_300)]);
    let sheet = office.payroll().of_period(january(), 0).await.unwrap();
    let [entry] = &sheet.entries[..] else { panic!("{sheet:?}") };
    assert_eq!((entry.total.kopecks(), entry.hours.hundredths()), (3077, 7));
    assert_eq!((sheet.people, sheet.sum.total, sheet.names[&office.vera.id].as_str()), (1, entry.total, "Vera"));
    assert_eq!(office.payroll().totals_of_shifts(&[352, 353]).await.unwrap(), [(352, entry.total)].into());
    let room: &dyn workforce::rooms::Room = &payroll::PayrollRoom;
    let exported = room.export(&app.domain, &office.vera).await.unwrap();
    assert_eq!(exported["amounts"][1]["roubles"], "-100.00", "{exported}");
    let explained = office.payroll().explain(352, workforce::texts::Language::En).await.unwrap();
    let words: Vec<_> = explained.iter().map(|(_, _, words)| words.replace('\u{a0}', " ")).collect();
    assert_eq!(
        words,
        [
            "0:04:12 worked, that is 0.07 h, at 111.00 ₽ an hour",
            "10 minutes past the 5 allowed, at 10.00 ₽ a minute",
            "“Drive 123 km”: done"
        ]
    );
    // The database itself keeps a sign from flipping, and a task from being paid twice.
    let flipped = "UPDATE adjustments SET amount_kopecks = 1 WHERE kind = 'late_start'";
    assert!(office.sql(flipped).await.is_err(), "{flipped}");
    let twice = "INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, shift_id, basis, created_at)
        SELECT user_id, period, day, kind, amount_kopecks, shift_id, basis, created_at FROM adjustments
        WHERE kind = 'shift_base'";
    assert!(office.sql(twice).await.is_err(), "{twice}");
}

async fn amounts_by_hand_are_changed_removed_and_brought_back_with_their_history(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    refused(payroll.add_manual(owner, vera, day(1), Money::ZERO, "x").await, Why::BadAmount);
    refused(payroll.add_manual(owner, vera, day(1), roubles(5), "  ").await, Why::BadReason);
    refused(payroll.add_manual(owner, 999, day(1), roubles(5), "x").await, Why::Gone);
    payroll.add_manual(owner, vera, day(1), roubles(500), "A happy client").await.unwrap();
    let id = payroll.of_person(vera, january()).await.unwrap().lines[0].id;
    payroll.change(owner, id, 1, roubles(-200), "A broken cup").await.unwrap();
    assert_eq!(office.total("2026-01").await, "-200.00");
    // Whoever still sees the first version is told.
    refused(payroll.change(owner, id, 1, roubles(900), "late").await, Why::Stale);
    refused(payroll.remove(owner, id, 1, "late").await, Why::Stale);
    payroll.remove(owner, id, 2, "a mistake").await.unwrap();
    assert_eq!(office.total("2026-01").await, "0.00");
    refused(payroll.change(owner, id, 3, roubles(1), "x").await, Why::Gone);
    payroll.restore(owner, id).await.unwrap();
    refused(payroll.restore(owner, id).await, Why::Gone);
    assert_eq!(office.total("2026-01").await, "-200.00");
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    assert_eq!(earnings.lines[0].kind, PayKind::ManualDeduction);
    let deeds: Vec<_> = earnings.changes.iter().map(|one| (one.deed.as_str(), one.amount.kopecks(), one.by)).collect();
    let expected = [("added", 50_000), ("changed", -20_000), ("removed", -20_000), ("restored", -20_000)];
    assert_eq!(deeds, expected.map(|(deed, amount)| (deed, amount, owner)));
    // What follows from work is not changed by hand.
    post_352(&office.firm.app, vera, "2026-01-01").await;
    let base = payroll.of_shift(352).await.unwrap()[0].id;
    refused(payroll.remove(owner, base, 1, "x").await, Why::NotManual);
}

async fn a_closed_month_stays_and_what_comes_later_goes_into_the_next(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    let december: Period = "2025-12".parse().unwrap();
    let then = NaiveDate::from_ymd_opt(2025, 12, 30).unwrap();
    payroll.add_manual(owner, vera, then, roubles(1000), "New year").await.unwrap();
    refused(payroll.close_period(owner, january()).await, Why::NotOver);
    payroll.close_period(owner, december).await.unwrap();
    refused(payroll.close_period(owner, december).await, Why::Closed);
    for sql in [
        "UPDATE adjustments SET amount_kopecks = 1",
        "DELETE FROM adjustments",
        "UPDATE payroll_periods SET status = 'open', closed_at = NULL WHERE id = '2025-12'",
        "DELETE FROM payroll_periods",
        "UPDATE payroll_entries SET total_kopecks = 1, bonus_kopecks = 1",
    ] {
        assert!(office.sql(sql).await.is_err(), "{sql}");
    }
    // A shift of the old month that is closed late, and a bonus.
    post_352(&office.firm.app, vera, "2025-12-31").await;
    payroll.add_manual(owner, vera, then, roubles(10), "Forgotten").await.unwrap();
    assert_eq!((office.total("2025-12").await, office.total("2026-01").await), ("1000.00".into(), "40.77".into()));
    let line = payroll.of_person(vera, december).await.unwrap().lines.remove(0);
    payroll.change(owner, line.id, line.version, roubles(700), "Too much").await.unwrap();
    assert_eq!((office.total("2025-12").await, office.total("2026-01").await), ("1000.00".into(), "-259.23".into()));
    refused(payroll.change(owner, line.id, line.version, roubles(1), "stale").await, Why::Stale);
    let line = payroll.of_person(vera, december).await.unwrap().lines.remove(0);
    assert_eq!(line.corrected, Some(roubles(700)));
    payroll.remove(owner, line.id, line.version, "Not at all").await.unwrap();
    assert_eq!((office.total("2025-12").await, office.total("2026-01").await), ("1000.00".into(), "-959.23".into()));
}

async fn payments_are_marked_once_and_can_be_taken_back(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    refused(payroll.mark_paid(owner, january(), vera, roubles(1), 1, false).await, Why::NothingThere);
    payroll.add_manual(owner, vera, day(1), roubles(500), "A happy client").await.unwrap();
    let pay = |version| payroll.mark_paid(owner, january(), vera, roubles(300), version, false);
    refused(payroll.mark_paid(owner, january(), vera, roubles(-1), 1, true).await, Why::BadAmount);
    // Two clicks on one page.
    let (one, other) = tokio::join!(pay(1), pay(1));
    assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|ok| **ok).count(), 1);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    let entry = earnings.entry.unwrap();
    assert_eq!((entry.paid, entry.due(), entry.version), (roubles(300), roubles(200), 2));
    payroll.take_back(owner, earnings.payments[0].id).await.unwrap();
    refused(payroll.take_back(owner, earnings.payments[0].id).await, Why::Gone);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    assert_eq!(earnings.entry.unwrap().paid, Money::ZERO);
    assert!(earnings.payments[0].is_taken_back);
}

async fn more_than_is_due_is_paid_only_as_an_advance_and_counts_in_later_months(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    let (december, february): (Period, Period) = ("2025-12".parse().unwrap(), "2026-02".parse().unwrap());
    let then = NaiveDate::from_ymd_opt(2025, 12, 30).unwrap();
    payroll.add_manual(owner, vera, then, roubles(500), "New year").await.unwrap();
    payroll.add_manual(owner, vera, day(1), roubles(300), "A happy client").await.unwrap();
    refused(payroll.mark_paid(owner, december, vera, roubles(501), 1, false).await, Why::MoreThanDue);
    let of = async |period| payroll.of_person(vera, period).await.unwrap();
    // What was refused has left nothing, and what is due exactly is no advance.
    assert_eq!((of(december).await.due(), of(december).await.payments.len()), (roubles(500), 0));
    payroll.mark_paid(owner, december, vera, roubles(500), 1, false).await.unwrap();
    payroll.mark_paid(owner, december, vera, roubles(120), 2, true).await.unwrap();
    assert_eq!((of(december).await.due(), of(december).await.credit()), (roubles(-120), Money::ZERO));
    let next = of(january()).await;
    assert_eq!((next.credit(), next.due()), (roubles(120), roubles(180)));
    // The list and the files say the same: whoever pays by them pays once.
    let listed = payroll.all_of_period(january()).await.unwrap();
    assert_eq!((listed.entries[0].due(), listed.sum.due()), (roubles(180), roubles(180)));
    // The credit counts: the month's own sum would be too much.
    let paid = |amount, version| payroll.mark_paid(owner, january(), vera, roubles(amount), version, false);
    refused(paid(300, 1).await, Why::MoreThanDue);
    paid(180, 1).await.unwrap();
    assert_eq!((of(january()).await.due(), of(february).await.credit()), (Money::ZERO, Money::ZERO));
    // A payment that is taken back takes its credit along.
    let advance = of(december).await.payments[1].id;
    payroll.take_back(owner, advance).await.unwrap();
    assert_eq!((of(january()).await.credit(), of(january()).await.due()), (Money::ZERO, roubles(120)));
}

async fn an_advance_is_paid_before_anything_was_earned_and_once(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    let pay = |period, is_advance| payroll.mark_paid(owner, period, vera, roubles(300), NO_ENTRY, is_advance);
    // Nothing is due, and nobody has said that it is an advance.
    refused(pay(january(), false).await, Why::NothingThere);
    refused(payroll.mark_paid(owner, january(), 999, roubles(300), NO_ENTRY, true).await, Why::Gone);
    assert!(payroll.entry_of(vera, january()).await.unwrap().is_none());
    // Two owners at once, neither of whom has seen the other's.
    let (one, other) = tokio::join!(pay(january(), true), pay(january(), true));
    let (done, late) = if one.is_ok() { (one, other) } else { (other, one) };
    done.unwrap();
    refused(late, Why::Stale);
    let earnings = payroll.of_person(vera, january()).await.unwrap();
    let entry = earnings.entry.as_ref().unwrap();
    assert_eq!((entry.total, entry.paid, entry.version, earnings.payments.len()), (Money::ZERO, roubles(300), 1, 1));
    // What is earned later is paid already.
    payroll.add_manual(owner, vera, day(2), roubles(500), "A happy client").await.unwrap();
    payroll::rebuild(&office.firm.app, january()).await.unwrap();
    let entry = payroll.entry_of(vera, january()).await.unwrap().unwrap();
    assert_eq!((entry.due(), entry.version), (roubles(200), 2));
    refused(pay(january(), true).await, Why::Stale);
    // A closed month stays as it is, and has no entry for an advance.
    let december: Period = "2025-12".parse().unwrap();
    payroll.close_period(owner, december).await.unwrap();
    refused(pay(december, true).await, Why::NothingThere);
    assert!(payroll.entry_of(vera, december).await.unwrap().is_none());
}

async fn an_advance_goes_no_farther_ahead_than_the_next_month(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    let march: Period = "2026-03".parse().unwrap();
    let pay = |period| payroll.mark_paid(owner, period, vera, roubles(300), NO_ENTRY, true);
    refused(pay(march).await, Why::TooFarAhead);
    refused(pay("2036-01".parse().unwrap()).await, Why::TooFarAhead);
    assert!(payroll.entry_of(vera, march).await.unwrap().is_none());
    pay(january().next()).await.unwrap();
    // It is February in a month.
    office.firm.stage.clock().advance(std::time::Duration::from_secs(31 * 24 * 3600));
    pay(march).await.unwrap();
}

async fn whose_pay_is_changed_by_somebody_else_is_told_what_why_and_for_which_month(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner, vera) = (office.payroll(), office.owner, office.vera.id);
    let december: Period = "2025-12".parse().unwrap();
    let line = async |period| payroll.of_person(vera, period).await.unwrap().lines.remove(0);
    // What is refused is not told, and what owners do to themselves they know.
    refused(payroll.add_manual(owner, vera, day(1), Money::ZERO, "x").await, Why::BadAmount);
    refused(payroll.mark_paid(owner, january(), vera, roubles(1), NO_ENTRY, false).await, Why::NothingThere);
    payroll.add_manual(owner, owner, day(1), roubles(10), "Thanks to myself").await.unwrap();
    assert_eq!(told(&office).await, [""; 0]);

    payroll.add_manual(owner, vera, day(1), roubles(-500), "A broken cup").await.unwrap();
    let cup = line(january()).await.id;
    payroll.change(owner, cup, 1, roubles(-300), "A small cup").await.unwrap();
    payroll.remove(owner, cup, 2, "x").await.unwrap();
    payroll.restore(owner, cup).await.unwrap();
    let expected = [
        "January 2026: a deduction from your pay, −500.00 ₽. Reason: A broken cup",
        "January 2026: −500.00 ₽ of your pay is now −300.00 ₽. Reason: A small cup",
        "January 2026: −300.00 ₽ of your pay has been removed and does not count any more. It was for: A small cup",
        "January 2026: −300.00 ₽ of your pay was removed before and counts again. Reason: A small cup",
    ];
    assert_eq!(told(&office).await, expected);

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
        "December 2025: a bonus for you, +1,000.00 ₽. Reason: New year",
        "December 2025: 1,000.00 ₽ was paid to you.",
        "December 2025: it was noted by mistake that 1,000.00 ₽ was paid to you. The note has been taken back.",
        "December 2025: +1,000.00 ₽ of your pay is now +700.00 ₽. Reason: Too much\n\
        That month is closed, so the difference counts in another one: January 2026.",
        "December 2025: +700.00 ₽ of your pay has been removed and does not count any more. It was for: New year\n\
        That month is closed, so the difference counts in another one: January 2026.",
    ];
    assert_eq!(told(&office).await[4..], expected);
}

/// What waits to be told, all of it to Vera.
async fn told(office: &Office) -> Vec<String> {
    let untold = notices::untold(&office.firm.app.domain).await.unwrap();
    let words = untold.into_iter().map(|(_, user, notice)| {
        assert_eq!(user, office.vera.id, "{notice:?}");
        notice.words(Language::En).replace('\u{a0}', " ")
    });
    words.collect()
}

async fn everybody_is_told_their_own_earnings_with_reasons(kind: Kind) {
    let office = Office::open(kind).await;
    let firm = &office.firm;
    let (vera, anna) =
        (firm.member("Vera two", &[Role::Employee]).await, firm.member("Anna two", &[Role::Owner]).await);
    let person = firm.app.people.by_telegram(vera.key().user).await.unwrap().unwrap();
    vera.sends("/start").await;
    vera.presses("💰 My earnings").await;
    vera.sees("January 2026: nothing was earned in this month.");
    post_352(&firm.app, person.id, "2026-01-01").await;
    vera.sends("/start").await;
    vera.presses("💰 My earnings").await;
    let told = vera.answers().join("\n").replace('\u{a0}', " ");
    for words in ["January 2026: 30.77 ₽", "+7.77 ₽ Hours worked", "−100.00 ₽ Late start", "“Drive 123 km”: done"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!vera.transcript().contains("[February 2026]"), "{}", vera.transcript());
    vera.presses("December 2025").await;
    vera.sees("December 2025: nothing was earned in this month.");
    // A site whose clock is ahead has a shift of the next month already.
    post(&firm.app, 353, person.id, "2026-02-01").await;
    vera.presses("January 2026").await;
    vera.presses("February 2026").await;
    vera.sees("February 2026: 30.77");
    assert!(!vera.transcript().contains("[March 2026]"), "{}", vera.transcript());
    // The report is the owner's, whatever button an employee finds.
    vera.presses_data("pay:report").await;
    vera.sees_toast("This is for others: your role does not include it.");
    anna.sends("/start").await;
    anna.presses("📊 Report").await;
    anna.sends("yesterday").await;
    anna.sees("Please write the days like 01.11.2026 - 15.11.2026: a year at most, from 2000 to 2100.");
    anna.sends("01.01.2026 - 15.01.2026").await;
    anna.sees("01.01.2026 – 15.01.2026\n1 person, 0.07 h, 30.77\u{a0}₽\nVera two: 0.07 h, 30.77\u{a0}₽");
    anna.sees_button("🏠 Main menu");
}

async fn what_is_told_of_a_month_after_an_advance_adds_up(kind: Kind) {
    let office = Office::open(kind).await;
    let (payroll, owner) = (office.payroll(), office.owner);
    let zoe = office.firm.member("Zoe", &[Role::Employee]).await;
    let id = office.firm.app.people.by_telegram(zoe.key().user).await.unwrap().unwrap().id;
    let told = async |zoe: &Someone| {
        zoe.sends("/start").await;
        zoe.presses("💰 My earnings").await;
        zoe.answers().join("\n").replace('\u{a0}', " ")
    };
    payroll.add_manual(owner, id, day(1), roubles(1000), "A happy client").await.unwrap();
    let before = told(&zoe).await;
    assert!(before.contains("Paid: 0.00 ₽, still to be paid: 1,000.00 ₽") && !before.contains("advance"), "{before}");
    payroll.mark_paid(owner, "2025-12".parse().unwrap(), id, roubles(800), NO_ENTRY, true).await.unwrap();
    let after = told(&zoe).await;
    let words = "Paid: 0.00 ₽, still to be paid: 200.00 ₽\nPaid in advance before, and counted here: 800.00 ₽";
    assert!(after.contains(words), "{after}");
}
