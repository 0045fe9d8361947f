//! A person: who it is, in which roles, and what a manager was permitted.
//!
//! Plain values that the pages and all rooms share. Role sets are defined here and nowhere else. People are kept and changed
//! in the room of people.

use std::str::FromStr;

use opora::clock::Millis;

pub use self::permission::{Permission, Permits};
pub use self::role::{
    ANSWERERS, EARNERS, JUDGES, KEEPERS, MANAGERS, OPERATORS, OWNERS, QUESTIONED, Role, Roles, SHIFT_READERS, WORKERS,
    role_name,
};
pub use self::who::{LONGEST_NAME, Who, stored_phone};
use crate::text;
use crate::texts::Language;

mod permission;
mod role;
mod who;

/// A person as the rooms see one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub telegram_id: i64,
    pub full_name: String,
    pub phone: Option<String>,
    pub username: Option<String>,
    pub email: Option<String>,
    pub language: Language,
    pub status: Status,
    pub roles: Roles,
    /// May sign in with any PIN, where the system's own flag allows it too.
    pub is_test: bool,
    pub created_at: Millis,
    /// Raised by every change.
    pub version: i64,
}

/// Where a person stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Registered, and nobody has looked yet.
    Pending,
    Verified,
    Rejected,
    /// Kept out by staff.
    Blocked,
}

impl Person {
    /// Whether the person may act in any of these roles: nobody may who is blocked or not verified.
    pub fn may(&self, roles: &[Role]) -> bool {
        self.status == Status::Verified && self.roles.has_any(roles)
    }

    /// Only a number is left.
    pub const fn is_forgotten(&self) -> bool {
        self.telegram_id < 0
    }
}

impl Status {
    const ALL: [Self; 4] = [Self::Pending, Self::Verified, Self::Rejected, Self::Blocked];

    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Rejected => "rejected",
            Self::Blocked => "blocked",
        }
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no status `{name}`"))
    }
}

/// What people call a status.
pub fn status_name(status: Status, language: Language) -> String {
    match status {
        Status::Pending => text!(language, "web-status-pending"),
        Status::Verified => text!(language, "web-status-verified"),
        Status::Rejected => text!(language, "web-status-rejected"),
        Status::Blocked => text!(language, "web-status-blocked"),
    }
}
