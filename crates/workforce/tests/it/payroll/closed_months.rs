//! A closed month: the database itself protects its sums. Only payments can still be recorded.

use workforce::money::{Money, PayrollMonth};
use workforce::payroll;

use super::{PayrollFixture, day, january, post_352, roubles};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    closed_sums_stay_and_payments_can_be_recorded,
}

async fn closed_sums_stay_and_payments_can_be_recorded(kind: StorageKind) {
    let fixture = PayrollFixture::open(kind).await;
    let (payroll, owner, vera) = (fixture.payroll(), fixture.owner, fixture.vera.id);
    let december: PayrollMonth = "2025-12".parse().unwrap();
    post_352(&fixture.firm.app, vera, "2025-12-31").await;
    payroll.add_manual(owner, vera, day(1), roubles(500), "A happy client").await.unwrap();
    payroll.close_period(owner, december).await.unwrap();
    let closed = payroll.entry_of(vera, december).await.unwrap().unwrap();
    for sql in [
        "DELETE FROM payroll_entries",
        "INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
            deduction_kopecks, total_kopecks)
            SELECT '2025-12', MIN(id), 0, 0, 0, 0, 0 FROM users WHERE full_name = 'Anna'",
        // The total stays the same.
        "UPDATE payroll_entries SET earned_kopecks = earned_kopecks - 5, bonus_kopecks = bonus_kopecks + 5
            WHERE period = '2025-12'",
        "UPDATE payroll_entries SET hours_hundredths = 800 WHERE period = '2025-12'",
        "UPDATE payroll_entries SET total_kopecks = 1, bonus_kopecks = 1 - earned_kopecks - deduction_kopecks
            WHERE period = '2025-12'",
        "UPDATE payroll_entries SET user_id = (SELECT MIN(id) FROM users WHERE full_name = 'Anna')
            WHERE period = '2025-12'",
        // Moves an entry out of the month, and into it.
        "UPDATE payroll_entries SET period = '2026-02' WHERE period = '2025-12'",
        "UPDATE payroll_entries SET period = '2025-12', user_id = (SELECT MIN(id) FROM users WHERE full_name = 'Anna')
            WHERE period = '2026-01'",
    ] {
        let refused = fixture.sql(sql).await.unwrap_err().to_string();
        assert!(refused.contains("this period is closed"), "{sql}: {refused}");
    }
    assert_eq!(payroll.entry_of(vera, december).await.unwrap().unwrap(), closed);
    payroll.mark_paid(owner, december, vera, closed.total, closed.version, false).await.unwrap();
    let paid = payroll.of_person(vera, december).await.unwrap();
    assert_eq!((paid.due(), paid.entry.unwrap().total), (Money::ZERO, closed.total));
    payroll.take_back(owner, paid.payments[0].id).await.unwrap();
    assert_eq!(payroll.of_person(vera, december).await.unwrap().due(), closed.total);
    // An open month beside it can still be rebuilt.
    fixture.sql("DELETE FROM payroll_entries WHERE period = '2026-01'").await.unwrap();
    payroll::rebuild(&fixture.firm.app, january()).await.unwrap();
    assert_eq!((fixture.total("2025-12").await, fixture.total("2026-01").await), ("30.77".into(), "500.00".into()));
}
