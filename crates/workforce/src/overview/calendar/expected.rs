//! Warnings about expected people without a contract: a plan stays when a contract ends or is suspended.

use std::collections::{BTreeSet, HashMap, HashSet};

use opora::clock::Millis;

use super::warnings::Warning;
use crate::shifts::{Plan, PlanStatus};

/// The people of plans that are not used yet.
pub fn people(plans: &[Plan], now: Millis) -> BTreeSet<i64> {
    awaited(plans, now).map(|plan| plan.user_id).collect()
}

/// Adds a warning for each person without a contract. `work` holds the pairs of site and person with one.
pub fn warn_without_contract(
    plans: &[Plan],
    work: &HashSet<(i64, i64)>,
    now: Millis,
    warnings: &mut HashMap<i64, Vec<Warning>>,
) {
    for plan in awaited(plans, now).filter(|plan| !work.contains(&(plan.site_id, plan.user_id))) {
        warnings.entry(plan.slot_id).or_default().push(Warning::NoContract { user_id: plan.user_id });
    }
}

fn awaited(plans: &[Plan], now: Millis) -> impl Iterator<Item = &Plan> {
    plans.iter().filter(move |plan| plan.status == PlanStatus::Planned && plan.period.to > now)
}
