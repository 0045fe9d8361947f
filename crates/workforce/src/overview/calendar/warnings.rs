//! What somebody should look at in a calendar: hours that meet, and days that get long. Nothing of it is forbidden.

use std::collections::HashMap;

use opora::clock::Millis;

use crate::shifts::{LONG_DAY_MINUTES, Plan, minutes_of_day};
use crate::sites::{LONGEST_DAY_MS, Period, Site, Slot};
use crate::text;
use crate::texts::Language;

use super::time_of;

/// Something about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// It is longer than a day of work should be.
    Long { minutes: i64 },
    /// Another slot for the same post has hours in common with it.
    Meets { from_minute: i64, to_minute: i64 },
    /// Somebody who comes works longer that day than a day of work should be.
    LongDay { user_id: i64, minutes: i64 },
    /// Somebody who is expected has no contract for the site by now.
    CannotCome { user_id: i64 },
}

impl Warning {
    pub fn words(&self, names: &HashMap<i64, String>, language: Language) -> String {
        let hours = |minutes: i64| (minutes + 30) / 60;
        match self {
            Self::Long { minutes } => text!(language, "cabinet-warns-long", hours = hours(*minutes)),
            Self::Meets { from_minute, to_minute } => {
                let when = format!("{}–{}", time_of(*from_minute), time_of(*to_minute));
                text!(language, "cabinet-warns-meets", when = when)
            }
            Self::LongDay { user_id, minutes } => {
                let name = names.get(user_id).map_or("–", String::as_str);
                text!(language, "cabinet-warns-long-day", name = name, hours = hours(*minutes))
            }
            Self::CannotCome { user_id } => {
                let name = names.get(user_id).map_or("–", String::as_str);
                text!(language, "cabinet-warns-cannot-come", name = name)
            }
        }
    }
}

/// Plans, to be found by their slots and by their people.
struct Planned<'a> {
    by_slot: HashMap<i64, Vec<&'a Plan>>,
    by_user: HashMap<i64, Vec<&'a Plan>>,
}

/// What there is to say about each of these slots, by their ids; of most it is nothing.
pub fn about_each(slots: &[Slot], sites: &[Site], plans: &[Plan]) -> HashMap<i64, Vec<Warning>> {
    let sites: HashMap<i64, &Site> = sites.iter().map(|site| (site.id, site)).collect();
    let (meets, planned) = (meetings(slots), Planned::of(plans));
    let of_one = |slot: &Slot| {
        let found = told(slot, sites.get(&slot.site_id)?, meets.get(&slot.id).copied(), &planned);
        (!found.is_empty()).then_some((slot.id, found))
    };
    slots.iter().filter_map(of_one).collect()
}

/// What there is to say about a slot: `slots` are those around it, `plans` all that its people have planned.
pub fn about(slot: &Slot, site: &Site, slots: &[Slot], plans: &[Plan]) -> Vec<Warning> {
    let mut like = slots.iter().filter(|other| other.id != slot.id && post(other) == post(slot));
    let meets = like.find(|other| other.period.overlaps(slot.period));
    told(slot, site, meets, &Planned::of(plans))
}

fn told(slot: &Slot, site: &Site, meets: Option<&Slot>, planned: &Planned<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let minutes = slot.period.minutes();
    if minutes > LONG_DAY_MINUTES {
        warnings.push(Warning::Long { minutes });
    }
    if let Some(other) = meets {
        let hours = other.about.hours;
        warnings.push(Warning::Meets { from_minute: hours.from_minute, to_minute: hours.to_minute });
    }
    for plan in planned.by_slot.get(&slot.id).into_iter().flatten() {
        let near = planned.near(plan).iter();
        let others: Vec<Period> = near.filter(|other| other.id != plan.id).map(|other| other.period).collect();
        let day = minutes_of_day(plan.period, &others, &site.about);
        // A slot that is long by itself was told of.
        if day > LONG_DAY_MINUTES && day > minutes {
            warnings.push(Warning::LongDay { user_id: plan.user_id, minutes: day });
        }
    }
    warnings
}

/// The first other slot for the same post with which each one has hours in common. Those of a post are gone through by
/// their beginning: of the earlier ones the first that is not over yet, else the next one if it begins in time.
fn meetings(slots: &[Slot]) -> HashMap<i64, &Slot> {
    let mut posts: HashMap<(i64, &str), Vec<&Slot>> = HashMap::new();
    for slot in slots {
        posts.entry(post(slot)).or_default().push(slot);
    }
    let mut meets = HashMap::new();
    for of_post in posts.values_mut() {
        of_post.sort_by_key(|slot| (slot.period.from, slot.id));
        // When the last of those up to each one is over: it never falls, so it can be searched.
        let mut over_at: Vec<Millis> = Vec::with_capacity(of_post.len());
        for (at, slot) in of_post.iter().enumerate() {
            let earlier = over_at.partition_point(|over| *over <= slot.period.from);
            let other = if earlier < at { earlier } else { at + 1 };
            if let Some(other) = of_post.get(other).filter(|other| other.period.overlaps(slot.period)) {
                meets.insert(slot.id, *other);
            }
            over_at.push(over_at.last().map_or(slot.period.to, |over| slot.period.to.max(*over)));
        }
    }
    meets
}

/// What a slot is for: a site, and a post there.
fn post(slot: &Slot) -> (i64, &str) {
    (slot.site_id, slot.about.title.as_str())
}

impl<'a> Planned<'a> {
    fn of(plans: &'a [Plan]) -> Self {
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

    /// What its person has planned around a plan, this one too: whatever begins on the same day, by any clock.
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
    fn slots_that_only_touch_do_not_meet() {
        let slots = [slot(1, 1, "", 8, 8), slot(2, 1, "", 16, 7), slot(3, 1, "", 20, 2), slot(4, 1, "cook", 9, 2)];
        let all = about_each(&slots, &[site(1)], &[]);
        assert_eq!(all.keys().copied().collect::<std::collections::BTreeSet<_>>(), [2, 3].into());
    }

    /// What a slot is told by comparing everything with everything.
    fn compared(slot: &Slot, site: &Site, slots: &[Slot], plans: &[Plan]) -> Vec<Warning> {
        let minutes = slot.period.minutes();
        let mut told: Vec<Warning> =
            (minutes > LONG_DAY_MINUTES).then_some(Warning::Long { minutes }).into_iter().collect();
        let mut others: Vec<&Slot> = slots.iter().filter(|other| other.id != slot.id).collect();
        others.retain(|other| post(other) == post(slot) && other.period.overlaps(slot.period));
        let first = others.iter().min_by_key(|other| (other.period.from, other.id)).map(|other| other.about.hours);
        told.extend(first.map(|Hours { from_minute, to_minute }| Warning::Meets { from_minute, to_minute }));
        let day = |at: Millis| local(at, site.about.time_zone).date();
        for plan in plans.iter().filter(|plan| plan.slot_id == slot.id) {
            let of_day = |other: &&Plan| other.id == plan.id || day(other.period.from) == day(plan.period.from);
            let own = plans.iter().filter(|other| other.user_id == plan.user_id);
            let minutes_of_day = own.filter(of_day).map(|other| other.period.minutes()).sum();
            if minutes_of_day > LONG_DAY_MINUTES.max(minutes) {
                told.push(Warning::LongDay { user_id: plan.user_id, minutes: minutes_of_day });
            }
        }
        told
    }

    proptest! {
        /// Two sites with clocks of their own, two posts, nights, days that clocks make longer, and people who work anywhere.
        #[test]
        fn each_slot_is_told_what_it_is_told_when_compared_with_all(
            slots in vec((1_i64..3, 0_usize..2, 0_i64..100, 1_i64..30), 0..40),
            plans in vec((0_i64..6, 0_usize..40), 0..60),
        ) {
            // In October Berlin puts its clocks back.
            let begin = 1_792_800_000_000 / HOUR_MS;
            let sites = [site(1), Site { about: AboutSite::usual(Berlin), ..site(2) }];
            let slots: Vec<Slot> = (0..)
                .zip(slots)
                .map(|(id, (site, title, from, hours))| slot(id, site, ["", "cashier"][title], begin + from, hours))
                .collect();
            let of = |(id, (user, at)): (i64, (i64, usize))| slots.get(at).map(|slot| plan(id, user, slot));
            let plans: Vec<Plan> = (0..).zip(plans).filter_map(of).collect();
            let all = about_each(&slots, &sites, &plans);
            let mut in_order = slots.clone();
            in_order.sort_by_key(|slot| (slot.period.from, slot.id));
            for slot in &slots {
                let site = &sites[usize::from(slot.site_id == 2)];
                let told = compared(slot, site, &slots, &plans);
                prop_assert_eq!(&about(slot, site, &in_order, &plans), &told, "alone: {:?}", slot);
                prop_assert_eq!(all.get(&slot.id).cloned().unwrap_or_default(), told, "{:?}", slot);
            }
        }
    }
}
