//! Roles, and the sets of roles that pages, menus and doors ask for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key;
use crate::texts::Language;

/// Who decides on people and on the business.
pub const OWNERS: &[Role] = &[Role::Owner, Role::Superadmin];
/// Who looks after the installation.
pub const OPERATORS: &[Role] = &[Role::Superadmin];
/// Who does at some sites what was permitted there.
pub const MANAGERS: &[Role] = &[Role::Manager];
/// Who looks after sites: owners everywhere, managers where they were permitted.
pub const KEEPERS: &[Role] = &[Role::Manager, Role::Owner, Role::Superadmin];
/// Who may answer the questions of people.
pub const ANSWERERS: &[Role] = KEEPERS;
/// Who may judge why somebody does not come: owners everywhere, managers where they were permitted.
pub const JUDGES: &[Role] = KEEPERS;
/// Who plans and works shifts.
pub const WORKERS: &[Role] = &[Role::Employee, Role::Master, Role::Manager];
/// Who sees shifts: their own, or those of others.
pub const SHIFT_READERS: &[Role] = &[Role::Employee, Role::Master, Role::Manager, Role::Owner, Role::Superadmin];
/// Who earns something here.
pub const EARNERS: &[Role] = &[Role::Employee, Role::Master, Role::Dispatcher, Role::Manager];
/// Who is asked the questionnaire.
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
    /// All of them, from the least to the most.
    pub const ALL: [Self; 7] =
        [Self::Applicant, Self::Employee, Self::Master, Self::Dispatcher, Self::Manager, Self::Owner, Self::Superadmin];

    /// Its name in the database and on the command line.
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

    /// Whether there is any of these.
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

/// What people call a role.
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
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let roles = Roles::from_iter([Role::Owner, Role::Employee, Role::Owner]);
        assert_eq!(roles.iter().collect::<Vec<_>>(), [Role::Employee, Role::Owner]);
        assert!(roles.has_any(OWNERS) && !roles.has(Role::Superadmin) && !roles.has_any(&[]));
        assert!(Roles::default().iter().next().is_none());
    }

    #[test]
    fn names_are_read_back_and_others_are_refused_with_the_list() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert!("boss".parse::<Role>().unwrap_err().contains("dispatcher"));
    }
}
