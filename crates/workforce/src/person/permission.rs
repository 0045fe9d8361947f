//! A manager's permissions at a site.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text;
use crate::texts::Language;

/// Permissions of a person by site. Sites without any are left out.
pub type SitePermissions = BTreeMap<i64, BTreeSet<Permission>>;

/// A permission of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    View,
    Edit,
    Delete,
    Employees,
    Finances,
    Rates,
    Schedule,
}

impl Permission {
    pub const ALL: [Self; 7] =
        [Self::View, Self::Edit, Self::Delete, Self::Employees, Self::Finances, Self::Rates, Self::Schedule];

    /// The permission's name in the database and in forms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Employees => "employees",
            Self::Finances => "finances",
            Self::Rates => "rates",
            Self::Schedule => "schedule",
        }
    }

    /// The permission's name for people.
    pub fn text(self, language: Language) -> String {
        match self {
            Self::View => text!(language, "sites-may-view"),
            Self::Edit => text!(language, "sites-may-edit"),
            Self::Delete => text!(language, "sites-may-delete"),
            Self::Employees => text!(language, "sites-may-employees"),
            Self::Finances => text!(language, "sites-may-finances"),
            Self::Rates => text!(language, "sites-may-rates"),
            Self::Schedule => text!(language, "sites-may-schedule"),
        }
    }
}

impl FromStr for Permission {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| format!("no permission `{name}`"))
    }
}
