//! Decides which days of the calendar show their slots, and which show totals.
//!
//! A page reads and draws a limited number of slots. The week of a single site is always complete, so everything can be
//! seen and changed there. Quiet days take precedence, and equally busy days look alike.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use chrono::NaiveDate;

use super::warnings::Warning;
use crate::sites::{DaySlotCounts, Slot};

/// How many slots a page reads. Busier days show totals only.
const MAX_SLOTS_READ: i64 = 600;
/// How many slots a page draws: seven on each day of a month. The others are read for their warnings.
const MAX_SLOTS_DRAWN: i64 = 300;
/// The most slots of a day with all sites.
const MAX_SLOTS_PER_WEEK_DAY: i64 = 40;
const MAX_SLOTS_PER_MONTH_DAY: i64 = 6;

/// The limits of a page.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    read: i64,
    drawn: i64,
    drawn_of_day: i64,
}

/// A day of the calendar.
#[derive(Debug, PartialEq, Eq)]
pub enum Day {
    Slots(Vec<Slot>),
    Sums {
        counted: DaySlotCounts,
        /// The number of slots with warnings; None if the slots were not read.
        warned: Option<usize>,
    },
}

impl Limits {
    pub const fn new(is_month: bool, is_one_site: bool) -> Self {
        let (read, drawn) = (MAX_SLOTS_READ, MAX_SLOTS_DRAWN);
        match (is_month, is_one_site) {
            (true, true) => Self { read, drawn, drawn_of_day: drawn },
            (true, false) => Self { read, drawn, drawn_of_day: MAX_SLOTS_PER_MONTH_DAY },
            (false, true) => Self { read: i64::MAX, drawn: i64::MAX, drawn_of_day: i64::MAX },
            (false, false) => Self { read, drawn, drawn_of_day: MAX_SLOTS_PER_WEEK_DAY },
        }
    }

    /// The days whose slots are read.
    pub fn read(self, counted: &[DaySlotCounts]) -> Vec<&str> {
        let max_slots = self.read_of_day(counted);
        counted.iter().filter(|day| day.slots <= max_slots).map(|day| day.day.as_str()).collect()
    }

    /// The shown days. `slots` are those of the days that were read.
    pub fn arrange(
        self,
        mut counted: Vec<DaySlotCounts>,
        shown: &RangeInclusive<NaiveDate>,
        slots: Vec<Slot>,
        warnings: &HashMap<i64, Vec<Warning>>,
    ) -> HashMap<NaiveDate, Day> {
        let read_of_day = self.read_of_day(&counted);
        counted.retain(|day| day_of(day).is_some_and(|day| shown.contains(&day)));
        let max_slots = self.drawn_of_day.min(busiest_day_within(&counted, self.drawn)).min(read_of_day);
        let mut by_day: HashMap<NaiveDate, Vec<Slot>> = HashMap::new();
        for slot in slots {
            by_day.entry(slot.about.day).or_default().push(slot);
        }
        let arranged = counted.into_iter().filter_map(|counted| {
            let day = day_of(&counted)?;
            let slots = by_day.remove(&day).unwrap_or_default();
            if counted.slots <= max_slots {
                return Some((day, Day::Slots(slots)));
            }
            let is_read = counted.slots <= read_of_day;
            let warned = is_read.then(|| slots.iter().filter(|slot| warnings.contains_key(&slot.id)).count());
            Some((day, Day::Sums { counted, warned }))
        });
        arranged.collect()
    }

    fn read_of_day(self, counted: &[DaySlotCounts]) -> i64 {
        busiest_day_within(counted, self.read)
    }
}

fn day_of(counted: &DaySlotCounts) -> Option<NaiveDate> {
    counted.day.parse().ok()
}

/// The highest number of slots per day such that all days up to it have at most `max_slots` slots together.
fn busiest_day_within(counted: &[DaySlotCounts], max_slots: i64) -> i64 {
    let mut counts: Vec<i64> = counted.iter().map(|day| day.slots).collect();
    counts.sort_unstable();
    let mut sum = 0;
    let alike = counts.chunk_by(|one, other| one == other);
    let fit = alike.take_while(|days| {
        sum += days.iter().sum::<i64>();
        sum <= max_slots
    });
    fit.filter_map(|days| days.first().copied()).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use opora::clock::Millis;
    use proptest::prelude::*;

    use super::*;
    use crate::sites::{AboutSlot, Hours, Period};

    const MONTH: Limits = Limits::new(true, false);

    fn day(number: i64) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 1, 1).unwrap() + chrono::TimeDelta::days(number)
    }

    /// A slot on a day; both have the same number.
    fn slot(at: i64) -> Slot {
        let about = AboutSlot::usual(day(at), Hours::new(9 * 60, 17 * 60));
        let period = Period { from: Millis(at), to: Millis(at + 1) };
        Slot { id: at, site_id: 1, about, period, taken: 0, deleted_at: None, version: 1 }
    }

    fn counted(counts: &[i64]) -> Vec<DaySlotCounts> {
        let of_day = |(at, slots): (i64, &i64)| DaySlotCounts {
            day: day(at).to_string(),
            slots: *slots,
            places: 2 * slots,
            taken: *slots,
        };
        (0..).zip(counts).map(of_day).collect()
    }

    /// Arranges days with these counts, all but the last of them shown. Returns the number of slots read, and the days.
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
    fn a_busy_month_shows_totals_with_counts_of_warnings() {
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
        let (_, shown) = arranged(MONTH, &[3, 7, 6, 1, 0]);
        assert_eq!(drawn(&shown), [Some(3), None, Some(6), Some(1)]);
    }

    #[test]
    fn the_week_of_one_site_is_drawn_completely() {
        let (_, shown) = arranged(Limits::new(false, true), &[500; 8]);
        assert_eq!(drawn(&shown), [Some(500); 7]);
    }

    proptest! {
        #[test]
        fn a_page_reads_and_draws_no_more_than_its_limits(
            counts in proptest::collection::vec(0_i64..90, 2..44), is_month: bool, is_one_site: bool,
        ) {
            let limits = Limits::new(is_month, is_one_site);
            let (read, shown) = arranged(limits, &counts);
            let drawn = drawn(&shown);
            prop_assert!(read <= limits.read);
            prop_assert!(drawn.iter().flatten().sum::<usize>() as i64 <= limits.drawn);
            prop_assert_eq!(drawn.len(), counts.len() - 1);
            for (count, drawn) in counts.iter().zip(&drawn) {
                // Only whole days are drawn, and no day is left out in favour of an equally busy or busier one.
                prop_assert!(drawn.is_none_or(|drawn| drawn as i64 == *count));
                let quieter = counts.iter().zip(&self::drawn(&shown)).all(|(other, is)| other > count || is.is_some());
                prop_assert!(drawn.is_none() || quieter);
            }
            let (all, highest) = (counts.iter().sum::<i64>(), counts.iter().max().copied().unwrap_or(0));
            prop_assert!(all > limits.drawn || highest > limits.drawn_of_day || drawn.iter().all(Option::is_some));
        }
    }
}
