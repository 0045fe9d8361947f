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

/// What there is to say about each of these slots, by their ids; of most it is nothing.
pub fn about_each(slots: &[Slot], sites: &[Site], plans: &[Plan]) -> HashMap<i64, Vec<Warning>> {
    let of_one = |slot: &Slot| {
        let site = sites.iter().find(|site| site.id == slot.site_id)?;
        Some((slot.id, about(slot, site, slots, plans))).filter(|(_, found)| !found.is_empty())
    };
    slots.iter().filter_map(of_one).collect()
}

/// What there is to say about a slot: `slots` are those around it, `plans` all that its people have planned.
pub fn about(slot: &Slot, site: &Site, slots: &[Slot], plans: &[Plan]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let minutes = slot.period.minutes();
    if minutes > LONG_DAY_MINUTES {
        warnings.push(Warning::Long { minutes });
    }
    let is_like =
        |other: &&Slot| other.id != slot.id && other.site_id == slot.site_id && other.about.title == slot.about.title;
    if let Some(other) = slots.iter().filter(is_like).find(|other| other.period.overlaps(slot.period)) {
        let hours = other.about.hours;
        warnings.push(Warning::Meets { from_minute: hours.from_minute, to_minute: hours.to_minute });
    }
    for plan in plans.iter().filter(|plan| plan.slot_id == slot.id) {
        let others: Vec<Period> = plans
            .iter()
            .filter(|other| other.user_id == plan.user_id && other.id != plan.id)
            .map(|other| other.period)
            .collect();
        let day = minutes_of_day(plan.period, &others, &site.about);
        // A slot that is long by itself was told of.
        if day > LONG_DAY_MINUTES && day > minutes {
            warnings.push(Warning::LongDay { user_id: plan.user_id, minutes: day });
        }
    }
    warnings
}
