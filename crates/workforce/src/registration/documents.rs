//! Documents, for pages and other rooms.

use std::str::FromStr;

use chrono::NaiveDate;
use opora::clock::Millis;
use sea_orm::DbErr;
use serde::{Deserialize, Serialize};

use super::tables::document;
use crate::domain::days::day_of;

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    Passport,
    DrivingLicence,
    Selfie,
}

/// The status of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentStatus {
    Pending,
    Approved,
    Rejected,
}

/// A document of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Also the name of its file.
    pub id: String,
    pub user_id: i64,
    pub kind: DocumentKind,
    pub media_type: String,
    pub size_bytes: i64,
    pub sha256: String,
    pub status: DocumentStatus,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// The last day on which it is valid, if the owner has noted it.
    pub valid_until: Option<NaiveDate>,
    pub created_at: Millis,
}

impl DocumentKind {
    pub const ALL: [Self; 3] = [Self::Passport, Self::DrivingLicence, Self::Selfie];

    /// The kind's name in the database and in buttons.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passport => "passport",
            Self::DrivingLicence => "driving_licence",
            Self::Selfie => "selfie",
        }
    }

    /// Whether it proves an identity; a selfie only shows who sent it.
    pub const fn is_main(self) -> bool {
        !matches!(self, Self::Selfie)
    }
}

impl DocumentStatus {
    const ALL: [Self; 3] = [Self::Pending, Self::Approved, Self::Rejected];

    /// The status's name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

impl FromStr for DocumentKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("no kind of document `{name}`"))
    }
}

impl FromStr for DocumentStatus {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no status `{name}`"))
    }
}

impl TryFrom<document::Model> for Document {
    type Error = DbErr;

    fn try_from(row: document::Model) -> Result<Self, DbErr> {
        Ok(Self {
            kind: row.kind.parse().map_err(DbErr::Custom)?,
            status: row.status.parse().map_err(DbErr::Custom)?,
            user_id: row.user_id.unwrap_or_default(),
            id: row.id,
            media_type: row.media_type,
            size_bytes: row.size_bytes,
            sha256: row.sha256,
            reason: row.reason,
            valid_until: row.valid_until.as_deref().and_then(day_of),
            created_at: Millis(row.created_at),
        })
    }
}
