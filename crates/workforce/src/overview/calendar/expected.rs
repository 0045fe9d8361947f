//! Who is expected and cannot come: a plan stays when a contract ends or rests, and whoever runs the place should know.

use std::collections::{BTreeSet, HashMap, HashSet};

use opora::clock::Millis;

use super::warnings::Warning;
use crate::shifts::{Plan, PlanStatus};

/// The people of plans that are still to be used.
pub fn people(plans: &[Plan], now: Millis) -> BTreeSet<i64> {
    awaited(plans, now).map(|plan| plan.user_id).collect()
}

/// Adds to what is said of slots which of their people have no contract. `work` is where these people have one: pairs of
/// site and person.
pub fn look(plans: &[Plan], work: &HashSet<(i64, i64)>, now: Millis, warnings: &mut HashMap<i64, Vec<Warning>>) {
    for plan in awaited(plans, now).filter(|plan| !work.contains(&(plan.site_id, plan.user_id))) {
        warnings.entry(plan.slot_id).or_default().push(Warning::CannotCome { user_id: plan.user_id });
    }
}

fn awaited(plans: &[Plan], now: Millis) -> impl Iterator<Item = &Plan> {
    plans.iter().filter(move |plan| plan.status == PlanStatus::Planned && plan.period.to > now)
}
