//! What somebody should look at in a calendar: hours that meet, and days that get long. Nothing of it is forbidden.

use std::collections::HashMap;

use crate::shifts::{LONG_DAY_MINUTES, Plan, minutes_of_day};
use crate::sites::{Period, Site, Slot};
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
        let own = planned.by_user.get(&plan.user_id).into_iter().flatten();
        let others: Vec<Period> = own.filter(|other| other.id != plan.id).map(|other| other.period).collect();
        let day = minutes_of_day(plan.period, &others, &site.about);
        // A slot that is long by itself was told of.
        if day > LONG_DAY_MINUTES && day > minutes {
            warnings.push(Warning::LongDay { user_id: plan.user_id, minutes: day });
        }
    }
    warnings
}

/// The first other slot for the same post with which each one has hours in common. Those of a post are gone through by
/// their beginning, each only as far as it lasts.
fn meetings(slots: &[Slot]) -> HashMap<i64, &Slot> {
    let mut posts: HashMap<(i64, &str), Vec<&Slot>> = HashMap::new();
    for slot in slots {
        posts.entry(post(slot)).or_default().push(slot);
    }
    let mut meets = HashMap::new();
    for of_post in posts.values_mut() {
        of_post.sort_by_key(|slot| (slot.period.from, slot.id));
        for (at, slot) in of_post.iter().enumerate() {
            for later in of_post.iter().skip(at + 1).take_while(|later| later.period.from < slot.period.to) {
                meets.entry(slot.id).or_insert(*later);
                meets.entry(later.id).or_insert(*slot);
            }
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
        Self { by_slot, by_user }
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::Moscow;
    use opora::clock::Millis;

    use super::*;
    use crate::shifts::PlanStatus;
    use crate::sites::{AboutSite, AboutSlot, Hours};

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
            missed_at: None,
            version: 1,
        }
    }

    #[test]
    fn each_slot_is_told_what_it_is_told_when_looked_at_alone() {
        let sites = [site(1), site(2)];
        // Two sites, two posts, nights and long days; every third hour something begins.
        let slots: Vec<Slot> = (0..200_i64)
            .map(|at| slot(at, 1 + at % 2, ["", "cashier"][usize::from(at % 3 == 0)], at * 3, 1 + at * 7 % 15))
            .collect();
        let plans: Vec<Plan> = slots.iter().map(|slot| plan(slot.id, slot.id % 5, slot)).collect();
        let all = about_each(&slots, &sites, &plans);
        assert!(all.values().flatten().any(|one| matches!(one, Warning::Meets { .. })), "{all:?}");
        assert!(all.values().flatten().any(|one| matches!(one, Warning::LongDay { .. })), "{all:?}");
        for slot in &slots {
            let site = &sites[usize::from(slot.site_id == 2)];
            assert_eq!(all.get(&slot.id).cloned().unwrap_or_default(), about(slot, site, &slots, &plans), "{slot:?}");
        }
    }

    #[test]
    fn slots_that_only_touch_do_not_meet() {
        let slots = [slot(1, 1, "", 8, 8), slot(2, 1, "", 16, 7), slot(3, 1, "", 20, 2), slot(4, 1, "cook", 9, 2)];
        let all = about_each(&slots, &[site(1)], &[]);
        assert_eq!(all.keys().copied().collect::<std::collections::BTreeSet<_>>(), [2, 3].into());
    }
}
