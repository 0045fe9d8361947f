//! Of several contracts for a site the newest decides, when a shift is offered and when it is opened.

use workforce::sites::{AboutContract, ContractStatus};

use super::{Yard, chooses, is_here, person};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_shift_without_a_plan_is_offered_where_the_newest_contract_allows_it,
}

async fn a_shift_without_a_plan_is_offered_where_the_newest_contract_allows_it(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (old, new) = (yard.site("Old shop", 10_000).await, yard.site("New shop", 10_000).await);
    let anna = yard.worker("Anna", &[old], |contract| contract.allows_spontaneous = true).await;
    let id = person(&yard.firm, &anna).await.id;
    let status = ContractStatus::Active;
    for (site, allows_spontaneous) in [(new, false), (old, false), (new, true)] {
        let about = AboutContract { status, rate_kopecks: None, allows_spontaneous, sites: vec![site] };
        yard.sites.create_contract(&yard.owner, id, about).await.unwrap();
    }
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees_button("New shop, without a plan");
    assert!(!anna.transcript().contains("Old shop"), "{}", anna.transcript());
    anna.presses("New shop, without a plan").await;
    is_here(&anna).await;
    anna.sees("New shop is open since");
}
