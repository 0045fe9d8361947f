//! With several contracts for a site the newest decides, when a shift is offered and when it is opened.

use workforce::sites::{AboutContract, ContractStatus};

use super::{Workplace, chooses_from_menu, person, shares_position};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    the_newest_contract_decides_on_unplanned_shifts,
}

async fn the_newest_contract_decides_on_unplanned_shifts(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (old, new) = (workplace.site("Old shop", 10_000).await, workplace.site("New shop", 10_000).await);
    let anna = workplace.worker("Anna", &[old], |contract| contract.allows_spontaneous = true).await;
    let id = person(&workplace.firm, &anna).await.id;
    let status = ContractStatus::Active;
    for (site, allows_spontaneous) in [(new, false), (old, false), (new, true)] {
        let about = AboutContract { status, rate_kopecks: None, allows_spontaneous, sites: vec![site] };
        workplace.sites.create_contract(&workplace.owner, id, about).await.unwrap();
    }
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees_button("New shop, unscheduled");
    assert!(!anna.transcript().contains("Old shop"), "{}", anna.transcript());
    anna.presses("New shop, unscheduled").await;
    shares_position(&anna).await;
    anna.sees("You clocked in at New shop");
}
