//! Plans, shifts, their tasks and openings as pages and other rooms see them.

use std::str::FromStr;

use opora::clock::Millis;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};

use super::tables::{cancellation, medium, opening, plan, shift, task};
use crate::key;
use crate::sites::{Period, Position, Task};
use crate::texts::Language;

/// A person's place in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: i64,
    pub user_id: i64,
    pub slot_id: i64,
    pub site_id: i64,
    pub period: Period,
    pub status: PlanStatus,
    /// When the place was taken.
    pub created_at: Millis,
    /// Set if staff moved or restored the slot: when the person learned of the new hours, or was expected before.
    pub awaited_from: Option<Millis>,
    /// When the person was reported as missing.
    pub missed_at: Option<Millis>,
    pub version: i64,
}

/// The status of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    Planned,
    InProgress,
    Completed,
    Cancelled,
}

/// A person's work from opening to closing.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    pub id: i64,
    pub user_id: i64,
    pub site_id: i64,
    pub slot_id: Option<i64>,
    pub plan_id: Option<i64>,
    pub contract_id: Option<i64>,
    pub status: ShiftStatus,
    /// From the time at which the person was expected to the end of the slot; None without a plan.
    pub planned: Option<Period>,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// This field and the next three are as of the opening of the shift.
    pub rate_kopecks: i64,
    pub penalises_lateness: bool,
    pub late_threshold_minutes: i64,
    pub late_minute_kopecks: i64,
    pub opened_at: Option<Position>,
    pub closed_at: Option<Position>,
    pub closed_by: Option<ClosedBy>,
    pub version: i64,
}

/// The status of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShiftStatus {
    Active,
    Completed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The worker.
    Person,
    Staff,
    /// The job, because the time was over.
    Time,
}

/// A task as of the opening of the shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftTask {
    pub id: i64,
    pub shift_id: i64,
    /// Whether it is a task of the slot, not of the site.
    pub is_of_slot: bool,
    pub text: String,
    /// Positive for a bonus, negative for a penalty.
    pub amount_kopecks: i64,
    pub is_mandatory: bool,
    pub needs_media: bool,
    pub media_count: i64,
    pub done_at: Option<Millis>,
}

/// A file that shows that a task is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    pub id: i64,
    pub shift_task_id: i64,
    pub kind: MediumKind,
    /// Telegram's file id.
    pub telegram_file: String,
    pub created_at: Millis,
}

/// The kind of a sent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediumKind {
    Photo,
    Video,
    /// A round video.
    VideoNote,
    Document,
}

/// A period during which a site is or was open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub id: i64,
    pub site_id: i64,
    pub opened_by: i64,
    pub opened_at: Millis,
    /// None if the site closed automatically.
    pub closed_by: Option<i64>,
    pub closed_at: Option<Millis>,
}

/// A cancelled plan with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancellation {
    pub id: i64,
    pub plan_id: i64,
    pub user_id: i64,
    pub reason: Reason,
    pub words: Option<String>,
    pub document: Option<String>,
    pub photo_file: Option<String>,
    /// The kind of the sent file; None for rows that do not record it.
    pub photo_kind: Option<MediumKind>,
    pub is_short_notice: bool,
    pub cancelled_at: Millis,
    pub status: CancellationStatus,
    pub decided_by: Option<i64>,
    pub decided_at: Option<Millis>,
    /// Who took back the last decision before this one.
    pub reversed_by: Option<i64>,
    pub reversed_at: Option<Millis>,
}

/// Why a person cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Illness,
    Family,
    Transport,
    Other,
    /// Staff cancelled the plan.
    ByStaff,
}

/// What staff decided about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancellationStatus {
    Pending,
    Accepted,
    Rejected,
}

/// Conversions to and from the names in the database.
macro_rules! named {
    ($type:ident, $($value:ident = $name:literal),+) => {
        impl $type {
            /// Its name in the database and in buttons.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name => Ok(Self::$value),)+
                    _ => Err(format!("unknown name `{name}`")),
                }
            }
        }
    };
}
named!(PlanStatus, Planned = "planned", InProgress = "in_progress", Completed = "completed", Cancelled = "cancelled");
named!(ShiftStatus, Active = "active", Completed = "completed");
named!(ClosedBy, Person = "person", Staff = "staff", Time = "time");
named!(MediumKind, Photo = "photo", Video = "video", VideoNote = "video_note", Document = "document");
named!(Reason, Illness = "illness", Family = "family", Transport = "transport", Other = "other", ByStaff = "by_staff");
named!(CancellationStatus, Pending = "pending", Accepted = "accepted", Rejected = "rejected");

impl Reason {
    /// The reasons that people can choose.
    pub const OFFERED: [Self; 4] = [Self::Illness, Self::Family, Self::Transport, Self::Other];

    /// The text that people read.
    pub fn text(self, language: Language) -> String {
        language.text(match self {
            Self::Illness => key!("shifts-reason-illness-button"),
            Self::Family => key!("shifts-reason-family-button"),
            Self::Transport => key!("shifts-reason-transport-button"),
            Self::Other => key!("shifts-reason-other-button"),
            Self::ByStaff => key!("shifts-reason-by-staff"),
        })
    }
}

impl Plan {
    /// When the person is expected. A person who planned a slot after its start, or learned of the start later, is not
    /// late for the time before.
    pub fn expected_at(&self) -> Millis {
        self.period.from.max(self.created_at).max(self.awaited_from.unwrap_or(self.created_at))
    }
}

impl ShiftTask {
    /// A task in a shift that is about to be opened.
    pub fn to_come(task: &Task) -> Self {
        Self {
            id: 0,
            shift_id: 0,
            is_of_slot: task.slot_id.is_some(),
            text: task.about.text.clone(),
            amount_kopecks: task.about.amount_kopecks,
            is_mandatory: task.about.is_mandatory,
            needs_media: task.about.needs_media,
            media_count: 0,
            done_at: None,
        }
    }
}

/// The tasks of a shift, in order: those of its slot, then those of its site. The only place where these tasks are
/// read.
pub async fn tasks_of(db: &impl ConnectionTrait, shift_id: i64) -> Result<Vec<ShiftTask>, DbErr> {
    tasks_of_all(db, &[shift_id]).await
}

/// The tasks of several shifts, by shift and in order.
pub async fn tasks_of_all(db: &impl ConnectionTrait, shifts: &[i64]) -> Result<Vec<ShiftTask>, DbErr> {
    let found = task::Entity::find().filter(task::Column::ShiftId.is_in(shifts.iter().copied()));
    let ordered = found.order_by_asc(task::Column::ShiftId).order_by_asc(task::Column::Place);
    Ok(ordered.all(db).await?.into_iter().map(ShiftTask::from).collect())
}

/// A shift by id. Works within a commit.
pub async fn shift(db: &impl ConnectionTrait, id: i64) -> Result<Option<Shift>, DbErr> {
    shift::Entity::find_by_id(id).one(db).await?.map(Shift::try_from).transpose()
}

/// A plan by id. Works within a commit.
pub async fn plan(db: &impl ConnectionTrait, id: i64) -> Result<Option<Plan>, DbErr> {
    plan::Entity::find_by_id(id).one(db).await?.map(Plan::try_from).transpose()
}

fn period(from: i64, to: i64) -> Period {
    Period { from: Millis(from), to: Millis(to) }
}

fn position(latitude: Option<f64>, longitude: Option<f64>) -> Option<Position> {
    latitude.zip(longitude).map(|(latitude, longitude)| Position { latitude, longitude })
}

impl TryFrom<plan::Model> for Plan {
    type Error = DbErr;

    fn try_from(row: plan::Model) -> Result<Self, DbErr> {
        Ok(Self {
            id: row.id,
            user_id: row.user_id,
            slot_id: row.slot_id,
            site_id: row.site_id,
            period: period(row.starts_at, row.ends_at),
            status: row.status.parse().map_err(DbErr::Custom)?,
            created_at: Millis(row.created_at),
            awaited_from: row.awaited_from.map(Millis),
            missed_at: row.missed_at.map(Millis),
            version: row.version,
        })
    }
}

impl TryFrom<shift::Model> for Shift {
    type Error = DbErr;

    fn try_from(row: shift::Model) -> Result<Self, DbErr> {
        Ok(Self {
            id: row.id,
            user_id: row.user_id,
            site_id: row.site_id,
            slot_id: row.slot_id,
            plan_id: row.plan_id,
            contract_id: row.contract_id,
            status: row.status.parse().map_err(DbErr::Custom)?,
            planned: row.planned_start.zip(row.planned_end).map(|(from, to)| period(from, to)),
            started_at: Millis(row.started_at),
            ended_at: row.ended_at.map(Millis),
            rate_kopecks: row.rate_kopecks,
            penalises_lateness: row.penalises_lateness,
            late_threshold_minutes: row.late_threshold_minutes,
            late_minute_kopecks: row.late_minute_kopecks,
            opened_at: position(row.opened_latitude, row.opened_longitude),
            closed_at: position(row.closed_latitude, row.closed_longitude),
            closed_by: row.closed_by.map(|name| name.parse()).transpose().map_err(DbErr::Custom)?,
            version: row.version,
        })
    }
}

impl From<task::Model> for ShiftTask {
    fn from(row: task::Model) -> Self {
        Self {
            id: row.id,
            shift_id: row.shift_id,
            is_of_slot: row.source == "slot",
            text: row.text,
            amount_kopecks: row.amount_kopecks,
            is_mandatory: row.is_mandatory,
            needs_media: row.needs_media,
            media_count: row.media_count,
            done_at: row.done_at.map(Millis),
        }
    }
}

impl TryFrom<medium::Model> for Medium {
    type Error = DbErr;

    fn try_from(row: medium::Model) -> Result<Self, DbErr> {
        Ok(Self {
            id: row.id,
            shift_task_id: row.shift_task_id,
            kind: row.kind.parse().map_err(DbErr::Custom)?,
            telegram_file: row.telegram_file,
            created_at: Millis(row.created_at),
        })
    }
}

impl From<opening::Model> for Opening {
    fn from(row: opening::Model) -> Self {
        Self {
            id: row.id,
            site_id: row.site_id,
            opened_by: row.opened_by,
            opened_at: Millis(row.opened_at),
            closed_by: row.closed_by,
            closed_at: row.closed_at.map(Millis),
        }
    }
}

impl TryFrom<cancellation::Model> for Cancellation {
    type Error = DbErr;

    fn try_from(row: cancellation::Model) -> Result<Self, DbErr> {
        Ok(Self {
            id: row.id,
            plan_id: row.plan_id,
            user_id: row.user_id,
            reason: row.reason.parse().map_err(DbErr::Custom)?,
            words: row.words,
            document: row.document,
            photo_file: row.photo_file,
            photo_kind: row.photo_kind.map(|name| name.parse()).transpose().map_err(DbErr::Custom)?,
            is_short_notice: row.is_short_notice,
            cancelled_at: Millis(row.cancelled_at),
            status: row.status.parse().map_err(DbErr::Custom)?,
            decided_by: row.decided_by,
            decided_at: row.decided_at.map(Millis),
            reversed_by: row.reversed_by,
            reversed_at: row.reversed_at.map(Millis),
        })
    }
}
