//! Contracts that begin or end at midnight, by the clock of the site: sites are opened before, and closed after it.

use super::{Workplace, chooses_from_menu, shares_position};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_site_is_closed_by_its_opener_after_the_contract,
    a_site_is_opened_before_the_first_day,
}

/// By the clock of the site the tests begin at 15:00 on 1 January.
const TO_HALF_PAST_MIDNIGHT_MINUTES: u64 = 570;

async fn a_site_is_closed_by_its_opener_after_the_contract(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let last_day = |contract: &mut workforce::sites::AboutContract| contract.valid_until = "2026-01-01".parse().ok();
    let (anna, boris) =
        (workplace.worker("Anna", &[site], last_day).await, workplace.worker("Boris", &[site], last_day).await);
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    shares_position(&anna).await;
    anna.sees("Shop is open.");
    workplace.minutes_pass(TO_HALF_PAST_MIDNIGHT_MINUTES).await;
    boris.presses_data("site:close").await;
    boris.sees("You don't have a contract with any site yet.");
    chooses_from_menu(&anna, "🔒 Close a site").await;
    anna.presses("Shop").await;
    anna.sees("Shop is closed.");
    let closed = workplace.rows("SELECT site_id FROM site_openings WHERE closed_at IS NOT NULL").await;
    assert_eq!(closed, [[site.to_string()]]);
}

async fn a_site_is_opened_before_the_first_day(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.valid_from = "2026-01-02".parse().ok()).await;
    workplace.minutes_pass(TO_HALF_PAST_MIDNIGHT_MINUTES - 160).await;
    anna.presses_data("site:open").await;
    anna.sees("Nothing to open");
    // Half past eleven: a shift of the first day may start now, too.
    workplace.minutes_pass(100).await;
    chooses_from_menu(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    shares_position(&anna).await;
    anna.sees("Shop is open.");
}
