//! Sites, slots and tasks as pages and other rooms see them.
//!
//! What an owner fills in is a value of its own (`About…`), the same for making, changing and showing.

use chrono::NaiveDate;
use chrono_tz::Tz;
use opora::clock::Millis;
use sea_orm::{DbErr, Set};
use serde::{Deserialize, Serialize};

use super::Why;
use super::rules::{Hours, Period, Position, WorkingDays};
use super::tables::{site, slot, task};
use crate::domain::{days, typed};

/// The highest amount that is taken for one: a million.
pub const KOPECKS_MOST: i64 = 100_000_000;
const NAME_MOST: usize = 100;
const ADDRESS_MOST: usize = 300;
const TEXT_MOST: usize = 300;
const PLACES_MOST: i64 = 1000;
const DAY_MINUTES: i64 = 24 * 60;

/// Where people work.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    pub id: i64,
    pub about: AboutSite,
    pub deleted_at: Option<Millis>,
    /// Raised by every change.
    pub version: i64,
}

/// What an owner says of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AboutSite {
    pub name: String,
    pub address: String,
    /// Unknown: nobody's distance is measured.
    pub position: Option<Position>,
    pub time_zone: Tz,
    /// From when to when it is open; of equal length and around the clock if both are the same.
    pub hours: Hours,
    pub working_days: WorkingDays,
    /// By the hour.
    pub rate_kopecks: i64,
    pub max_distance_m: i64,
    pub auto_close_minutes: i64,
    pub late_threshold_minutes: i64,
    /// What a minute costs: not below zero. The penalty that comes of it is.
    pub late_minute_kopecks: i64,
}

/// A time for which people are wanted at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub id: i64,
    pub site_id: i64,
    pub about: AboutSlot,
    pub period: Period,
    /// Places that have a plan.
    pub taken: i64,
    pub deleted_at: Option<Millis>,
    pub version: i64,
}

/// What an owner says of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutSlot {
    /// Such as the post that is to be filled; may be empty.
    pub title: String,
    pub day: NaiveDate,
    pub hours: Hours,
    /// By the hour; none: the site's.
    pub rate_kopecks: Option<i64>,
    pub capacity: i64,
    pub penalises_lateness: bool,
    pub ignores_site_tasks: bool,
}

/// What is to be done in every shift at a site, or in those of one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: i64,
    pub site_id: i64,
    /// None: it is the site's.
    pub slot_id: Option<i64>,
    pub about: AboutTask,
    pub deleted_at: Option<Millis>,
    pub version: i64,
}

/// What an owner says of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutTask {
    pub text: String,
    /// Above zero a bonus, below zero a penalty; it keeps its sign wherever it goes.
    pub amount_kopecks: i64,
    pub is_mandatory: bool,
    pub needs_media: bool,
}

impl AboutSite {
    /// A site as most are; the name and the address are for its owner to say.
    pub fn usual(time_zone: Tz) -> Self {
        Self {
            name: String::new(),
            address: String::new(),
            position: None,
            time_zone,
            hours: Hours::new(9 * 60, 18 * 60),
            working_days: WorkingDays::MONDAY_TO_FRIDAY,
            rate_kopecks: 0,
            max_distance_m: 500,
            auto_close_minutes: 60,
            late_threshold_minutes: 0,
            late_minute_kopecks: 0,
        }
    }

    /// The names of what is not as it should be.
    pub fn mistakes(&self) -> Vec<&'static str> {
        let checks = [
            ("name", is_text(&self.name, NAME_MOST)),
            ("address", is_text(&self.address, ADDRESS_MOST)),
            ("position", self.position.is_none_or(Position::is_on_earth)),
            ("hours", self.hours.are_of_a_day()),
            ("working_days", self.working_days.0 <= WorkingDays::EVERY.0),
            ("rate", is_price(self.rate_kopecks)),
            ("max_distance", (1..=100_000).contains(&self.max_distance_m)),
            ("auto_close", (1..=DAY_MINUTES).contains(&self.auto_close_minutes)),
            ("late_threshold", (0..=DAY_MINUTES).contains(&self.late_threshold_minutes)),
            ("late_minute", is_price(self.late_minute_kopecks)),
        ];
        mistakes(&checks)
    }

    /// None where it is open around the clock.
    pub fn closing_hours(&self) -> Option<Hours> {
        (self.hours.from_minute != self.hours.to_minute).then_some(self.hours)
    }

    pub(super) fn row(&self) -> site::ActiveModel {
        site::ActiveModel {
            name: Set(typed::line(&self.name)),
            address: Set(typed::line(&self.address)),
            latitude: Set(self.position.map(|position| position.latitude)),
            longitude: Set(self.position.map(|position| position.longitude)),
            time_zone: Set(self.time_zone.name().to_owned()),
            opens_minute: Set(self.hours.from_minute),
            closes_minute: Set(self.hours.to_minute),
            working_days: Set(i64::from(self.working_days.0)),
            rate_kopecks: Set(self.rate_kopecks),
            max_distance_m: Set(self.max_distance_m),
            auto_close_minutes: Set(self.auto_close_minutes),
            late_threshold_minutes: Set(self.late_threshold_minutes),
            late_minute_kopecks: Set(self.late_minute_kopecks),
            ..Default::default()
        }
    }
}

impl AboutSlot {
    /// A place for one, at the site's rate.
    pub fn usual(day: NaiveDate, hours: Hours) -> Self {
        Self {
            title: String::new(),
            day,
            hours,
            rate_kopecks: None,
            capacity: 1,
            penalises_lateness: true,
            ignores_site_tasks: false,
        }
    }

    /// Whether whoever works in it earns the same: its title and its places may differ.
    pub fn pays_like(&self, other: &Self) -> bool {
        let (title, capacity) = (self.title.clone(), self.capacity);
        *self == Self { title, capacity, ..other.clone() }
    }

    /// The names of what is not as it should be.
    pub fn mistakes(&self) -> Vec<&'static str> {
        let checks = [
            ("title", self.title.chars().count() <= NAME_MOST),
            ("day", days::is_kept(self.day)),
            ("hours", self.hours.are_of_a_day()),
            ("rate", self.rate_kopecks.is_none_or(is_price)),
            ("capacity", (1..=PLACES_MOST).contains(&self.capacity)),
        ];
        mistakes(&checks)
    }

    pub(super) fn row(&self, site: &Site) -> Result<slot::ActiveModel, Why> {
        let period = self.hours.on(self.day, site.about.time_zone).ok_or(Why::Bad)?;
        Ok(slot::ActiveModel {
            site_id: Set(site.id),
            title: Set(typed::line(&self.title)),
            day: Set(self.day.to_string()),
            starts_minute: Set(self.hours.from_minute),
            ends_minute: Set(self.hours.to_minute),
            starts_at: Set(period.from.0),
            ends_at: Set(period.to.0),
            rate_kopecks: Set(self.rate_kopecks),
            capacity: Set(self.capacity),
            penalises_lateness: Set(self.penalises_lateness),
            ignores_site_tasks: Set(self.ignores_site_tasks),
            ..Default::default()
        })
    }
}

impl Slot {
    pub fn places_left(&self) -> i64 {
        (self.about.capacity - self.taken).max(0)
    }
}

impl AboutTask {
    /// The names of what is not as it should be.
    pub fn mistakes(&self) -> Vec<&'static str> {
        let is_amount = self.amount_kopecks.unsigned_abs() <= KOPECKS_MOST.unsigned_abs();
        mistakes(&[("text", is_text(&self.text, TEXT_MOST)), ("amount", is_amount)])
    }

    pub(super) fn row(&self) -> task::ActiveModel {
        task::ActiveModel {
            text: Set(typed::line(&self.text)),
            amount_kopecks: Set(self.amount_kopecks),
            is_mandatory: Set(self.is_mandatory),
            needs_media: Set(self.needs_media),
            ..Default::default()
        }
    }
}

pub(super) fn mistakes(checks: &[(&'static str, bool)]) -> Vec<&'static str> {
    checks.iter().filter(|(_, is_good)| !is_good).map(|(name, _)| *name).collect()
}

/// Whether it may be a rate, or the price of a minute.
pub fn is_price(kopecks: i64) -> bool {
    (0..=KOPECKS_MOST).contains(&kopecks)
}

fn is_text(text: &str, most: usize) -> bool {
    (1..=most).contains(&typed::line(text).chars().count())
}

impl TryFrom<site::Model> for Site {
    type Error = DbErr;

    fn try_from(row: site::Model) -> Result<Self, DbErr> {
        let position = row.latitude.zip(row.longitude).map(|(latitude, longitude)| Position { latitude, longitude });
        let about = AboutSite {
            name: row.name,
            address: row.address,
            position,
            time_zone: row.time_zone.parse().map_err(|_| DbErr::Custom(format!("no time zone `{}`", row.time_zone)))?,
            hours: Hours::new(row.opens_minute, row.closes_minute),
            working_days: WorkingDays(u8::try_from(row.working_days).unwrap_or_default()),
            rate_kopecks: row.rate_kopecks,
            max_distance_m: row.max_distance_m,
            auto_close_minutes: row.auto_close_minutes,
            late_threshold_minutes: row.late_threshold_minutes,
            late_minute_kopecks: row.late_minute_kopecks,
        };
        Ok(Self { id: row.id, about, deleted_at: row.deleted_at.map(Millis), version: row.version })
    }
}

impl TryFrom<slot::Model> for Slot {
    type Error = DbErr;

    fn try_from(row: slot::Model) -> Result<Self, DbErr> {
        let about = AboutSlot {
            title: row.title,
            day: row.day.parse().map_err(|_| DbErr::Custom(format!("no day `{}`", row.day)))?,
            hours: Hours::new(row.starts_minute, row.ends_minute),
            rate_kopecks: row.rate_kopecks,
            capacity: row.capacity,
            penalises_lateness: row.penalises_lateness,
            ignores_site_tasks: row.ignores_site_tasks,
        };
        Ok(Self {
            id: row.id,
            site_id: row.site_id,
            about,
            period: Period { from: Millis(row.starts_at), to: Millis(row.ends_at) },
            taken: row.taken,
            deleted_at: row.deleted_at.map(Millis),
            version: row.version,
        })
    }
}

impl From<task::Model> for Task {
    fn from(row: task::Model) -> Self {
        let about = AboutTask {
            text: row.text,
            amount_kopecks: row.amount_kopecks,
            is_mandatory: row.is_mandatory,
            needs_media: row.needs_media,
        };
        Self {
            id: row.id,
            site_id: row.site_id,
            slot_id: row.slot_id,
            about,
            deleted_at: row.deleted_at.map(Millis),
            version: row.version,
        }
    }
}
