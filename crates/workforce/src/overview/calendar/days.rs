//! Which days of a calendar are drawn slot by slot, and which as sums.
//!
//! A page reads and draws only so many slots, however many there are; the week of one site alone is always drawn whole, so
//! there is a place where everything can be seen and changed. Quiet days come first: none gives way to a busier one, and
//! days that are equally busy look alike.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use chrono::NaiveDate;

use super::warnings::Warning;
use crate::sites::{DayOfSlots, Slot};

/// So many slots are looked at for a page. Of days beyond that nothing is known but sums.
const READ_MOST: i64 = 600;
/// So many of them are drawn: seven on each day of a month. The others are looked at for their warnings.
const DRAWN_MOST: i64 = 300;
/// Nobody reads more in a day of all sites.
const WEEK_DAY_MOST: i64 = 40;
const MONTH_DAY_MOST: i64 = 12;

/// How many slots a page takes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    read: i64,
    drawn: i64,
    drawn_of_day: i64,
}

/// A day as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Day {
    Slots(Vec<Slot>),
    Sums {
        counted: DayOfSlots,
        /// Slots with something to look at; none where they were not looked at.
        warned: Option<usize>,
    },
}

impl Limits {
    pub const fn of(is_month: bool, is_one_site: bool) -> Self {
        let (read, drawn) = (READ_MOST, DRAWN_MOST);
        match (is_month, is_one_site) {
            (true, true) => Self { read, drawn, drawn_of_day: drawn },
            (true, false) => Self { read, drawn, drawn_of_day: MONTH_DAY_MOST },
            (false, true) => Self { read: i64::MAX, drawn: i64::MAX, drawn_of_day: i64::MAX },
            (false, false) => Self { read, drawn, drawn_of_day: WEEK_DAY_MOST },
        }
    }

    /// The days whose slots are read.
    pub fn read(self, counted: &[DayOfSlots]) -> Vec<&str> {
        let most = self.read_of_day(counted);
        counted.iter().filter(|day| day.slots <= most).map(|day| day.day.as_str()).collect()
    }

    /// The days that are shown, of those that were counted. `slots` are those of the days that were read.
    pub fn arrange(
        self,
        mut counted: Vec<DayOfSlots>,
        shown: &RangeInclusive<NaiveDate>,
        slots: Vec<Slot>,
        warnings: &HashMap<i64, Vec<Warning>>,
    ) -> HashMap<NaiveDate, Day> {
        let read_of_day = self.read_of_day(&counted);
        counted.retain(|day| day_of(day).is_some_and(|day| shown.contains(&day)));
        let most = self.drawn_of_day.min(busiest(&counted, self.drawn)).min(read_of_day);
        let mut by_day: HashMap<NaiveDate, Vec<Slot>> = HashMap::new();
        for slot in slots {
            by_day.entry(slot.about.day).or_default().push(slot);
        }
        let arranged = counted.into_iter().filter_map(|counted| {
            let day = day_of(&counted)?;
            let slots = by_day.remove(&day).unwrap_or_default();
            if counted.slots <= most {
                return Some((day, Day::Slots(slots)));
            }
            let is_read = counted.slots <= read_of_day;
            let warned = is_read.then(|| slots.iter().filter(|slot| warnings.contains_key(&slot.id)).count());
            Some((day, Day::Sums { counted, warned }))
        });
        arranged.collect()
    }

    fn read_of_day(self, counted: &[DayOfSlots]) -> i64 {
        busiest(counted, self.read)
    }
}

fn day_of(counted: &DayOfSlots) -> Option<NaiveDate> {
    counted.day.parse().ok()
}

/// How many slots a day may have, so that all days up to that have so many at most.
fn busiest(counted: &[DayOfSlots], most: i64) -> i64 {
    let mut counts: Vec<i64> = counted.iter().map(|day| day.slots).collect();
    counts.sort_unstable();
    let mut sum = 0;
    let alike = counts.chunk_by(|one, other| one == other);
    let fit = alike.take_while(|days| {
        sum += days.iter().sum::<i64>();
        sum <= most
    });
    fit.filter_map(|days| days.first().copied()).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use opora::clock::Millis;
    use proptest::prelude::*;

    use super::*;
    use crate::sites::{AboutSlot, Hours, Period};

    const MONTH: Limits = Limits::of(true, false);

    fn day(number: i64) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 1, 1).unwrap() + chrono::TimeDelta::days(number)
    }

    /// A slot of a day, which has its number.
    fn slot(at: i64) -> Slot {
        let about = AboutSlot::usual(day(at), Hours::new(9 * 60, 17 * 60));
        let period = Period { from: Millis(at), to: Millis(at + 1) };
        Slot { id: at, site_id: 1, about, period, taken: 0, deleted_at: None, version: 1 }
    }

    fn counted(counts: &[i64]) -> Vec<DayOfSlots> {
        let of_day = |(at, slots): (i64, &i64)| DayOfSlots {
            day: day(at).to_string(),
            slots: *slots,
            places: 2 * slots,
            taken: *slots,
        };
        (0..).zip(counts).map(of_day).collect()
    }

    /// The days with these counts, from the first to the one before the last: what was read of them, and how each is shown.
    fn arranged(limits: Limits, counts: &[i64]) -> (i64, Vec<Day>) {
        let days = counted(counts);
        let read: Vec<NaiveDate> = limits.read(&days).into_iter().map(|day| day.parse().unwrap()).collect();
        let mut slots = Vec::new();
        for (at, count) in (0..).zip(counts).filter(|(at, _)| read.contains(&day(*at))) {
            slots.extend((0..*count).map(|_| slot(at)));
        }
        let (of_read, last) = (slots.len() as i64, day(counts.len() as i64 - 2));
        let mut by_day = limits.arrange(days, &(day(0)..=last), slots, &HashMap::from([(0, Vec::new())]));
        let shown = (0..counts.len() as i64).filter_map(|at| by_day.remove(&day(at))).collect();
        (of_read, shown)
    }

    fn drawn(shown: &[Day]) -> Vec<Option<usize>> {
        let of_day = |day: &Day| match day {
            Day::Slots(slots) => Some(slots.len()),
            Day::Sums { .. } => None,
        };
        shown.iter().map(of_day).collect()
    }

    #[test]
    fn a_month_of_many_slots_is_sums_that_count_what_is_to_be_looked_at() {
        let (read, shown) = arranged(MONTH, &[10; 44]);
        assert_eq!((read, drawn(&shown)), (440, vec![None; 43]));
        let Day::Sums { counted, warned } = &shown[0] else { panic!("{shown:?}") };
        assert_eq!((counted.slots, counted.places, counted.taken, *warned), (10, 20, 10, Some(10)));
        let (read, shown) = arranged(MONTH, &[100; 44]);
        assert_eq!(read, 0);
        assert!(matches!(&shown[0], Day::Sums { warned: None, .. }), "{shown:?}");
    }

    #[test]
    fn quiet_days_are_drawn_beside_busy_ones() {
        let (_, shown) = arranged(MONTH, &[3, 13, 12, 1, 0]);
        assert_eq!(drawn(&shown), [Some(3), None, Some(12), Some(1)]);
    }

    #[test]
    fn the_week_of_a_site_is_drawn_whole() {
        let (_, shown) = arranged(Limits::of(false, true), &[500; 8]);
        assert_eq!(drawn(&shown), [Some(500); 7]);
    }

    proptest! {
        #[test]
        fn no_more_is_read_and_drawn_than_a_page_takes(
            counts in proptest::collection::vec(0_i64..90, 2..44), is_month: bool, is_one_site: bool,
        ) {
            let limits = Limits::of(is_month, is_one_site);
            let (read, shown) = arranged(limits, &counts);
            let drawn = drawn(&shown);
            prop_assert!(read <= limits.read);
            prop_assert!(drawn.iter().flatten().sum::<usize>() as i64 <= limits.drawn);
            prop_assert_eq!(drawn.len(), counts.len() - 1);
            for (count, drawn) in counts.iter().zip(&drawn) {
                // Whole days only; and none gives way to one that is as busy or busier.
                prop_assert!(drawn.is_none_or(|drawn| drawn as i64 == *count));
                let quieter = counts.iter().zip(&self::drawn(&shown)).all(|(other, is)| other > count || is.is_some());
                prop_assert!(drawn.is_none() || quieter);
            }
            let (all, most) = (counts.iter().sum::<i64>(), counts.iter().max().copied().unwrap_or(0));
            prop_assert!(all > limits.drawn || most > limits.drawn_of_day || drawn.iter().all(Option::is_some));
        }
    }
}
