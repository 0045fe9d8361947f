//! Roles, and the role sets that pages, menus and rules use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key;
use crate::texts::Language;

/// Decide on people and on the business.
pub const OWNERS: &[Role] = &[Role::Owner, Role::Superadmin];
/// Run the installation.
pub const OPERATORS: &[Role] = &[Role::Superadmin];
/// Act at the sites where they have permissions.
pub const MANAGERS: &[Role] = &[Role::Manager];
/// Look after sites: owners at all sites, managers where they have permissions.
pub const SITE_STAFF: &[Role] = &[Role::Manager, Role::Owner, Role::Superadmin];
/// May answer people's questions.
pub const ANSWERERS: &[Role] = SITE_STAFF;
/// May judge cancellations: owners at all sites, managers where they have permissions.
pub const JUDGES: &[Role] = SITE_STAFF;
/// Plan and work shifts.
pub const WORKERS: &[Role] = &[Role::Employee, Role::Master, Role::Manager];
/// See shifts, their own or those of others.
pub const SHIFT_READERS: &[Role] = &[Role::Employee, Role::Master, Role::Manager, Role::Owner, Role::Superadmin];
/// Take orders, assign them and see all of them.
pub const DISPATCHERS: &[Role] = &[Role::Dispatcher, Role::Owner, Role::Superadmin];
/// Work on orders.
pub const MASTERS: &[Role] = &[Role::Master];
/// See orders, their own or all.
pub const ORDER_READERS: &[Role] = &[Role::Master, Role::Dispatcher, Role::Owner, Role::Superadmin];
/// Earn pay.
pub const EARNERS: &[Role] = &[Role::Employee, Role::Master, Role::Dispatcher, Role::Manager];
/// Answer the questionnaire.
pub const QUESTIONED: &[Role] = &[Role::Employee, Role::Master, Role::Dispatcher];

/// A role. A person may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Applicant,
    Employee,
    Master,
    Dispatcher,
    Manager,
    Owner,
    Superadmin,
}

/// The roles of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u8);

impl Role {
    /// All roles, from the least to the most powerful.
    pub const ALL: [Self; 7] =
        [Self::Applicant, Self::Employee, Self::Master, Self::Dispatcher, Self::Manager, Self::Owner, Self::Superadmin];

    /// The role's name in the database and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Applicant => "applicant",
            Self::Employee => "employee",
            Self::Master => "master",
            Self::Dispatcher => "dispatcher",
            Self::Manager => "manager",
            Self::Owner => "owner",
            Self::Superadmin => "superadmin",
        }
    }
}

impl Roles {
    pub const fn has(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// Whether the person has any of these roles.
    pub fn has_any(self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has(*role))
    }

    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |bits, role| bits | 1 << role as u8))
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| format!("no role `{name}`: {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The role's name for people.
pub fn role_name(role: Role, language: Language) -> String {
    language.text(match role {
        Role::Applicant => key!("role-applicant"),
        Role::Employee => key!("role-employee"),
        Role::Master => key!("role-master"),
        Role::Dispatcher => key!("role-dispatcher"),
        Role::Manager => key!("role-manager"),
        Role::Owner => key!("role-owner"),
        Role::Superadmin => key!("role-superadmin"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_set_has_exactly_its_roles() {
        let roles = Roles::from_iter([Role::Owner, Role::Employee, Role::Owner]);
        assert_eq!(roles.iter().collect::<Vec<_>>(), [Role::Employee, Role::Owner]);
        assert!(roles.has_any(OWNERS) && !roles.has(Role::Superadmin) && !roles.has_any(&[]));
        assert!(Roles::default().iter().next().is_none());
    }

    #[test]
    fn role_names_parse_and_others_list_the_choices() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert!("boss".parse::<Role>().unwrap_err().contains("dispatcher"));
    }
}
