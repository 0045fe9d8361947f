//! Paid time: from the opening or from the planned start, and rounded, as the settings say.

use super::{Workplace, closes, is_notified, opens, person, plans};
use crate::kit::firm::{StorageKind, on_databases};
use workforce::settings;
use workforce::texts::Language;

on_databases! { [sqlite Sqlite, postgres Postgres]
    an_early_start_is_paid_as_the_settings_say,
}

async fn set(workplace: &Workplace, name: &'static str, value: &'static str) {
    let at = workplace.firm.app.clock.now();
    workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, value, None, at))).await.unwrap();
}

/// It is `now` minutes after noon. The slot starts in 20 minutes; the person opens now and works 1:27:00.
async fn works_early(workplace: &Workplace, name: &str, now: i64) -> opora::testing::chat::ChatUser {
    let site = workplace.site(name, 10_000).await;
    workplace.slot(site, now + 20, 120, |_| {}).await;
    let someone = workplace.worker(name, &[site], |_| {}).await;
    plans(&someone).await;
    opens(&someone, name).await;
    workplace.minutes_pass(87).await;
    closes(&someone).await;
    someone
}

async fn an_early_start_is_paid_as_the_settings_say(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    works_early(&workplace, "Anna", 0).await;
    // 1:27:00 is 1.45 h.
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 14_500)]);
    set(&workplace, "pay_start", "planned_start").await;
    set(&workplace, "rounding_minutes", "15").await;
    let boris = works_early(&workplace, "Boris", 87).await;
    // 1:07:00 from the planned start, one hour in quarters.
    assert_eq!(workplace.adjustments().await.last().unwrap(), &("shift_base".to_owned(), 10_000));
    is_notified(&workplace, &boris, "Paid: 1.00 h.").await;
    let (app, id) = (&workplace.firm.app, person(&workplace.firm, &boris).await.id);
    let lines = app.payroll.of_person(id, "2026-01".parse().unwrap()).await.unwrap().lines;
    let start = workplace.rows("SELECT planned_start FROM shifts ORDER BY id DESC").await[0][0].clone();
    let start = workforce::sites::local(opora::clock::Millis(start.parse().unwrap()), chrono_tz::Europe::Moscow);
    let why = format!("; calculated from {}, the planned start; rounded to 15 min from 1:07:00", start.format("%H:%M"));
    assert!(lines[0].text(Language::En).ends_with(&why), "{}", lines[0].text(Language::En));
}
