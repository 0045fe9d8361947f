//! Sites, slots and tasks as pages and other rooms see them.
//!
//! The fields that staff fill in form a struct of their own (`About…`), used to create, edit and show the record.

use chrono::NaiveDate;
use chrono_tz::Tz;
use opora::clock::Millis;
use sea_orm::{DbErr, Set};
use serde::{Deserialize, Serialize};

use super::SiteRefusal;
use super::rules::{Hours, Period, Position, WorkingDays};
use super::tables::{site, slot, task};
use crate::domain::{days, user_text};

/// The highest amount of a rate or a task: one million.
pub const MAX_KOPECKS: i64 = 100_000_000;
const MAX_NAME_LENGTH: usize = 100;
const MAX_ADDRESS_LENGTH: usize = 300;
const MAX_TEXT_LENGTH: usize = 300;
const MAX_CAPACITY: i64 = 1000;
const DAY_MINUTES: i64 = 24 * 60;

/// A place of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    pub id: i64,
    pub about: AboutSite,
    pub deleted_at: Option<Millis>,
    /// Raised by every change.
    pub version: i64,
}

/// The fields of a site that staff fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AboutSite {
    pub name: String,
    pub address: String,
    /// None: the distance is not checked.
    pub position: Option<Position>,
    pub time_zone: Tz,
    /// The opening hours. If both times are equal, the site is open around the clock.
    pub hours: Hours,
    pub working_days: WorkingDays,
    /// Per hour.
    pub rate_kopecks: i64,
    pub max_distance_m: i64,
    pub auto_close_minutes: i64,
    pub late_threshold_minutes: i64,
    /// The price of a late minute, never negative. The resulting adjustment is negative.
    pub late_minute_kopecks: i64,
}

/// A time at which people are wanted at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub id: i64,
    pub site_id: i64,
    pub about: AboutSlot,
    pub period: Period,
    /// How many places have a plan.
    pub taken: i64,
    pub deleted_at: Option<Millis>,
    pub version: i64,
}

/// The fields of a slot that staff fill in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutSlot {
    /// Such as the job to be done; may be empty.
    pub title: String,
    pub day: NaiveDate,
    pub hours: Hours,
    /// Per hour; None means the site's rate.
    pub rate_kopecks: Option<i64>,
    pub capacity: i64,
    pub penalises_lateness: bool,
    pub ignores_site_tasks: bool,
}

/// A task of every shift at a site, or of the shifts in one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: i64,
    pub site_id: i64,
    /// None for a task of the whole site.
    pub slot_id: Option<i64>,
    pub about: AboutTask,
    pub deleted_at: Option<Millis>,
    pub version: i64,
}

/// The fields of a task that staff fill in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutTask {
    pub text: String,
    /// Positive for a bonus, negative for a penalty.
    pub amount_kopecks: i64,
    pub is_mandatory: bool,
    pub needs_media: bool,
}

impl AboutSite {
    /// A site with default settings, without name and address.
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

    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        let checks = [
            ("name", is_text(&self.name, MAX_NAME_LENGTH)),
            ("address", is_text(&self.address, MAX_ADDRESS_LENGTH)),
            ("position", self.position.is_none_or(Position::is_on_earth)),
            ("hours", self.hours.are_valid()),
            ("working_days", self.working_days.0 <= WorkingDays::EVERY.0),
            ("rate", is_price(self.rate_kopecks)),
            ("max_distance", (1..=100_000).contains(&self.max_distance_m)),
            ("auto_close", (1..=DAY_MINUTES).contains(&self.auto_close_minutes)),
            ("late_threshold", (0..=DAY_MINUTES).contains(&self.late_threshold_minutes)),
            ("late_minute", is_price(self.late_minute_kopecks)),
        ];
        invalid_fields(&checks)
    }

    /// The opening hours; None if the site is open around the clock.
    pub fn closing_hours(&self) -> Option<Hours> {
        (self.hours.from_minute != self.hours.to_minute).then_some(self.hours)
    }

    pub(super) fn row(&self) -> site::ActiveModel {
        site::ActiveModel {
            name: Set(user_text::line(&self.name)),
            address: Set(user_text::line(&self.address)),
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
    /// A slot for one person at the site's rate.
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

    /// Whether a worker earns the same in both slots. Title and capacity may differ.
    pub fn has_same_pay(&self, other: &Self) -> bool {
        let (title, capacity) = (self.title.clone(), self.capacity);
        *self == Self { title, capacity, ..other.clone() }
    }

    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        let checks = [
            ("title", self.title.chars().count() <= MAX_NAME_LENGTH),
            ("day", days::is_kept(self.day)),
            ("hours", self.hours.are_valid()),
            ("rate", self.rate_kopecks.is_none_or(is_price)),
            ("capacity", (1..=MAX_CAPACITY).contains(&self.capacity)),
        ];
        invalid_fields(&checks)
    }

    pub(super) fn row(&self, site: &Site) -> Result<slot::ActiveModel, SiteRefusal> {
        let period = self.hours.on(self.day, site.about.time_zone).ok_or_else(|| SiteRefusal::bad("day"))?;
        Ok(slot::ActiveModel {
            site_id: Set(site.id),
            title: Set(user_text::line(&self.title)),
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
    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        let is_amount = self.amount_kopecks.unsigned_abs() <= MAX_KOPECKS.unsigned_abs();
        invalid_fields(&[("text", is_text(&self.text, MAX_TEXT_LENGTH)), ("amount", is_amount)])
    }

    pub(super) fn row(&self) -> task::ActiveModel {
        task::ActiveModel {
            text: Set(user_text::line(&self.text)),
            amount_kopecks: Set(self.amount_kopecks),
            is_mandatory: Set(self.is_mandatory),
            needs_media: Set(self.needs_media),
            ..Default::default()
        }
    }
}

pub(super) fn invalid_fields(checks: &[(&'static str, bool)]) -> Vec<&'static str> {
    checks.iter().filter(|(_, is_good)| !is_good).map(|(name, _)| *name).collect()
}

/// Whether the value is valid as an hourly rate or as the price of a minute.
pub fn is_price(kopecks: i64) -> bool {
    (0..=MAX_KOPECKS).contains(&kopecks)
}

fn is_text(text: &str, max_chars: usize) -> bool {
    (1..=max_chars).contains(&user_text::line(text).chars().count())
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
