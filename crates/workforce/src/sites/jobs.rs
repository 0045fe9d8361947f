//! The job of this room: from 1 December on it creates the slots of the next year.

use chrono::{Datelike, NaiveDate, NaiveDateTime};

use super::changes::ChangedBy;
use super::rules::local;
use super::{Sites, slots};
use crate::application::App;
use crate::jobs::{SHIFTS, scheduled_job, written_or_skipped};

scheduled_job! { pub FillNextYear = "slots-of-next-year" in SHIFTS }

/// Creates the slots of the next year, once for each site, from 1 December 3:00 on by the site's clock. A site whose
/// slots cannot be written does not stop the others.
pub async fn fill_next_year(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    for site in Sites::of_app(&app).list().await? {
        let local = local(now, site.about.time_zone);
        if !is_time(local) {
            continue;
        }
        let (year, by) = (local.year() + 1, ChangedBy { person: None, at: now });
        let id = site.id;
        let filled = app.domain.write_and_get(move |db| Box::pin(slots::fill_year(db, id, year, by))).await;
        if let Some(made) = written_or_skipped(filled, "site", id)?.filter(|made| *made > 0) {
            tracing::debug!(site = id, year, slots = made, "slots of the next year created");
        }
    }
    Ok(())
}

fn is_time(local: NaiveDateTime) -> bool {
    let from = NaiveDate::from_ymd_opt(local.year(), 12, 1).and_then(|day| day.and_hms_opt(3, 0, 0));
    from.is_some_and(|from| local >= from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_created_from_1_december_3_oclock_on() {
        let at = |text: &str| text.parse::<NaiveDateTime>().unwrap();
        assert!(!is_time(at("2026-11-30T23:59:59")) && !is_time(at("2026-12-01T02:59:59")));
        assert!(is_time(at("2026-12-01T03:00:00")) && is_time(at("2026-12-31T23:00:00")));
    }
}
