//! A person: identity, roles and a manager's permissions.
//!
//! Plain values that the pages and all rooms share. Role sets are defined here and nowhere else. The room `people`
//! stores and changes people.

use std::str::FromStr;

use opora::clock::Millis;

pub use self::identifier::{MAX_IDENTIFIER_LENGTH, PersonIdentifier, stored_phone};
pub use self::permission::{Permission, SitePermissions};
pub use self::role::{
    ANSWERERS, DISPATCHERS, EARNERS, JUDGES, MANAGERS, MASTERS, OPERATORS, ORDER_READERS, OWNERS, QUESTIONED, Role,
    Roles, SHIFT_READERS, SITE_STAFF, WORKERS, role_name,
};
use crate::text;
use crate::texts::Language;

pub mod contact;
mod identifier;
mod permission;
mod role;

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
    /// May sign in with any PIN, while the setting `enable_test_users` is on.
    pub is_test: bool,
    pub created_at: Millis,
    /// Rises with every change.
    pub version: i64,
}

/// The status of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Registered, and not reviewed yet.
    Pending,
    Verified,
    Rejected,
    /// Blocked by staff.
    Blocked,
}

impl Person {
    /// Whether the person is verified and has one of these roles.
    pub fn may(&self, roles: &[Role]) -> bool {
        self.status == Status::Verified && self.roles.has_any(roles)
    }

    /// Whether the person was forgotten, and only the id is left.
    pub const fn is_forgotten(&self) -> bool {
        self.telegram_id < 0
    }
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Verified, Self::Rejected, Self::Blocked];

    /// The status's name in the database.
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

/// The status's name for people.
pub fn status_name(status: Status, language: Language) -> String {
    match status {
        Status::Pending => text!(language, "web-status-pending"),
        Status::Verified => text!(language, "web-status-verified"),
        Status::Rejected => text!(language, "web-status-rejected"),
        Status::Blocked => text!(language, "web-status-blocked"),
    }
}
