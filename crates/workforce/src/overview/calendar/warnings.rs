//! Warnings in the calendar: overlapping slots and long days. Nothing here is forbidden.

use std::collections::HashMap;

use opora::clock::Millis;

use crate::shifts::{LONG_DAY_MINUTES, Plan, minutes_of_day};
use crate::sites::{LONGEST_DAY_MS, Period, Site, Slot};
use crate::text;
use crate::texts::Language;

use crate::web::form::time_of;

/// A warning about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The slot is longer than a working day should be.
    Long { minutes: i64 },
    /// The slot overlaps another slot for the same job.
    Overlaps { from_minute: i64, to_minute: i64 },
    /// A person works longer that day than a working day should be.
    LongDay { user_id: i64, minutes: i64 },
    /// An expected person has no contract for the site.
    NoContract { user_id: i64 },
}

impl Warning {
    pub fn text(&self, names: &HashMap<i64, String>, language: Language) -> String {
        let hours = |minutes: i64| (minutes + 30) / 60;
        match self {
            Self::Long { minutes } => text!(language, "cabinet-warns-long", hours = hours(*minutes)),
            Self::Overlaps { from_minute, to_minute } => {
                let when = format!("{}–{}", time_of(*from_minute), time_of(*to_minute));
                text!(language, "cabinet-warns-meets", when = when)
            }
            Self::LongDay { user_id, minutes } => {
                let name = names.get(user_id).map_or("–", String::as_str);
                text!(language, "cabinet-warns-long-day", name = name, hours = hours(*minutes))
            }
            Self::NoContract { user_id } => {
                let name = names.get(user_id).map_or("–", String::as_str);
                text!(language, "cabinet-warns-cannot-come", name = name)
            }
        }
    }
}

/// Plans by slot and by person.
struct PlanIndex<'a> {
    by_slot: HashMap<i64, Vec<&'a Plan>>,
    by_user: HashMap<i64, Vec<&'a Plan>>,
}

/// The warnings of these slots, by slot id; slots without any are left out.
pub fn warnings_by_slot(slots: &[Slot], sites: &[Site], plans: &[Plan]) -> HashMap<i64, Vec<Warning>> {
    let sites: HashMap<i64, &Site> = sites.iter().map(|site| (site.id, site)).collect();
    let (overlap, planned) = (overlapping_slots(slots), PlanIndex::new(plans));
    let of_one = |slot: &Slot| {
        let found = slot_warnings(slot, sites.get(&slot.site_id)?, overlap.get(&slot.id).copied(), &planned);
        (!found.is_empty()).then_some((slot.id, found))
    };
    slots.iter().filter_map(of_one).collect()
}

/// The warnings of a slot. `slots` are those around it, `plans` are all plans of its people.
pub fn warnings_of_slot(slot: &Slot, site: &Site, slots: &[Slot], plans: &[Plan]) -> Vec<Warning> {
    let mut like = slots.iter().filter(|other| other.id != slot.id && post(other) == post(slot));
    let overlap = like.find(|other| other.period.overlaps(slot.period));
    slot_warnings(slot, site, overlap, &PlanIndex::new(plans))
}

fn slot_warnings(slot: &Slot, site: &Site, overlap: Option<&Slot>, planned: &PlanIndex<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let minutes = slot.period.minutes();
    if minutes > LONG_DAY_MINUTES {
        warnings.push(Warning::Long { minutes });
    }
    if let Some(other) = overlap {
        let hours = other.about.hours;
        warnings.push(Warning::Overlaps { from_minute: hours.from_minute, to_minute: hours.to_minute });
    }
    for plan in planned.by_slot.get(&slot.id).into_iter().flatten() {
        let near = planned.near(plan).iter();
        let others: Vec<Period> = near.filter(|other| other.id != plan.id).map(|other| other.period).collect();
        let day = minutes_of_day(plan.period, &others, &site.about);
        // The warning about the slot's own length covers this.
        if day > LONG_DAY_MINUTES && day > minutes {
            warnings.push(Warning::LongDay { user_id: plan.user_id, minutes: day });
        }
    }
    warnings
}

/// For each slot the first other one for the same job that overlaps it. Sorted by start: the first earlier slot that
/// has not ended, else the next slot if it starts in time.
fn overlapping_slots(slots: &[Slot]) -> HashMap<i64, &Slot> {
    let mut posts: HashMap<(i64, &str), Vec<&Slot>> = HashMap::new();
    for slot in slots {
        posts.entry(post(slot)).or_default().push(slot);
    }
    let mut overlap = HashMap::new();
    for of_post in posts.values_mut() {
        of_post.sort_by_key(|slot| (slot.period.from, slot.id));
        // The latest end so far. It never decreases, so binary search works.
        let mut over_at: Vec<Millis> = Vec::with_capacity(of_post.len());
        for (at, slot) in of_post.iter().enumerate() {
            let earlier = over_at.partition_point(|over| *over <= slot.period.from);
            let other = if earlier < at { earlier } else { at + 1 };
            if let Some(other) = of_post.get(other).filter(|other| other.period.overlaps(slot.period)) {
                overlap.insert(slot.id, *other);
            }
            over_at.push(over_at.last().map_or(slot.period.to, |over| slot.period.to.max(*over)));
        }
    }
    overlap
}

/// The site and the job of a slot.
fn post(slot: &Slot) -> (i64, &str) {
    (slot.site_id, slot.about.title.as_str())
}

impl<'a> PlanIndex<'a> {
    fn new(plans: &'a [Plan]) -> Self {
        let (mut by_slot, mut by_user) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for plan in plans {
            by_slot.entry(plan.slot_id).or_default().push(plan);
            by_user.entry(plan.user_id).or_default().push(plan);
        }
        for own in by_user.values_mut() {
            own.sort_by_key(|plan: &&Plan| plan.period.from);
        }
        Self { by_slot, by_user }
    }

    /// The plans of the same person that start within a day, including this one.
    fn near(&self, plan: &Plan) -> &[&'a Plan] {
        let own = self.by_user.get(&plan.user_id).map_or(&[][..], Vec::as_slice);
        let from = own.partition_point(|other| other.period.from.0 <= plan.period.from.0 - LONGEST_DAY_MS);
        let to = own.partition_point(|other| other.period.from.0 < plan.period.from.0 + LONGEST_DAY_MS);
        own.get(from..to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::{Berlin, Moscow};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::shifts::PlanStatus;
    use crate::sites::{AboutSite, AboutSlot, Hours, local};

    const HOUR_MS: i64 = 3_600_000;

    fn site(id: i64) -> Site {
        Site { id, about: AboutSite::usual(Moscow), deleted_at: None, version: 1 }
    }

    fn slot(id: i64, site_id: i64, title: &str, from: i64, hours: i64) -> Slot {
        let about =
            AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(from % 24 * 60, (from + hours) % 24 * 60));
        let period = Period { from: Millis(from * HOUR_MS), to: Millis((from + hours) * HOUR_MS) };
        let about = AboutSlot { title: title.into(), ..about };
        Slot { id, site_id, about, period, taken: 0, deleted_at: None, version: 1 }
    }

    fn plan(id: i64, user_id: i64, slot: &Slot) -> Plan {
        let (slot_id, site_id, period) = (slot.id, slot.site_id, slot.period);
        Plan {
            id,
            user_id,
            slot_id,
            site_id,
            period,
            status: PlanStatus::Planned,
            created_at: Millis(0),
            awaited_from: None,
            missed_at: None,
            version: 1,
        }
    }

    #[test]
    fn slots_that_only_touch_do_not_overlap() {
        let slots = [slot(1, 1, "", 8, 8), slot(2, 1, "", 16, 7), slot(3, 1, "", 20, 2), slot(4, 1, "cook", 9, 2)];
        let all = warnings_by_slot(&slots, &[site(1)], &[]);
        assert_eq!(all.keys().copied().collect::<std::collections::BTreeSet<_>>(), [2, 3].into());
    }

    /// The warnings of a slot, found by comparing all slots and plans.
    fn compared(slot: &Slot, site: &Site, slots: &[Slot], plans: &[Plan]) -> Vec<Warning> {
        let minutes = slot.period.minutes();
        let mut warnings: Vec<Warning> =
            (minutes > LONG_DAY_MINUTES).then_some(Warning::Long { minutes }).into_iter().collect();
        let mut others: Vec<&Slot> = slots.iter().filter(|other| other.id != slot.id).collect();
        others.retain(|other| post(other) == post(slot) && other.period.overlaps(slot.period));
        let first = others.iter().min_by_key(|other| (other.period.from, other.id)).map(|other| other.about.hours);
        warnings.extend(first.map(|Hours { from_minute, to_minute }| Warning::Overlaps { from_minute, to_minute }));
        let day = |at: Millis| local(at, site.about.time_zone).date();
        for plan in plans.iter().filter(|plan| plan.slot_id == slot.id) {
            let of_day = |other: &&Plan| other.id == plan.id || day(other.period.from) == day(plan.period.from);
            let own = plans.iter().filter(|other| other.user_id == plan.user_id);
            let minutes_of_day = own.filter(of_day).map(|other| other.period.minutes()).sum();
            if minutes_of_day > LONG_DAY_MINUTES.max(minutes) {
                warnings.push(Warning::LongDay { user_id: plan.user_id, minutes: minutes_of_day });
            }
        }
        warnings
    }

    proptest! {
        /// Two sites in different time zones, two jobs, night shifts, a day with a clock change, and people at both
        /// sites.
        #[test]
        fn warnings_equal_those_of_a_full_comparison(
            slots in vec((1_i64..3, 0_usize..2, 0_i64..100, 1_i64..30), 0..40),
            plans in vec((0_i64..6, 0_usize..40), 0..60),
        ) {
            // In October clocks in Berlin go back.
            let begin = 1_792_800_000_000 / HOUR_MS;
            let sites = [site(1), Site { about: AboutSite::usual(Berlin), ..site(2) }];
            let slots: Vec<Slot> = (0..)
                .zip(slots)
                .map(|(id, (site, title, from, hours))| slot(id, site, ["", "cashier"][title], begin + from, hours))
                .collect();
            let of = |(id, (user, at)): (i64, (i64, usize))| slots.get(at).map(|slot| plan(id, user, slot));
            let plans: Vec<Plan> = (0..).zip(plans).filter_map(of).collect();
            let all = warnings_by_slot(&slots, &sites, &plans);
            let mut in_order = slots.clone();
            in_order.sort_by_key(|slot| (slot.period.from, slot.id));
            for slot in &slots {
                let site = &sites[usize::from(slot.site_id == 2)];
                let expected = compared(slot, site, &slots, &plans);
                prop_assert_eq!(&warnings_of_slot(slot, site, &in_order, &plans), &expected, "alone: {:?}", slot);
                prop_assert_eq!(all.get(&slot.id).cloned().unwrap_or_default(), expected, "{:?}", slot);
            }
        }
    }
}
