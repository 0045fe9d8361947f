//! Events: what changed, and who may know.
//!
//! An event about a site reaches owners, and managers with the permission that shows it. It carries at most a type and
//! ids (`shift_created`, whose shift), so it cannot leak typed text.

use opora::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EFFECT, Listener};
use crate::person::{OWNERS, Permission, Role};

/// The topic for a page that missed events.
const EVERYTHING: &str = "*";
/// Maximum number of sites in an event, which has to fit a NOTIFY. Beyond it pages reload everything.
const MAX_SITES: usize = 400;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The topic, as pages name it in `data-live`: `people`, `person:7`.
    pub(super) topic: String,
    audience: Audience,
    /// Details, if any: a type and ids.
    pub(super) update: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Audience {
    Roles(Vec<Role>),
    Person(i64),
    /// Owners, and managers who have this permission at one of the sites.
    Permitted {
        needs: Permission,
        sites: Vec<i64>,
    },
    /// People with an active contract for one of the sites.
    Workers {
        sites: Vec<i64>,
    },
    Everybody,
}

impl Event {
    /// For people with any of these roles. Events about a site use [`Self::to_permitted`].
    pub fn to_roles(topic: impl Into<String>, roles: &[Role]) -> Self {
        Self { topic: topic.into(), audience: Audience::Roles(roles.to_vec()), update: None }
    }

    /// For one person.
    pub fn to_person(topic: impl Into<String>, id: i64) -> Self {
        Self { topic: topic.into(), audience: Audience::Person(id), update: None }
    }

    /// For owners, and for managers with a permission at one of these sites.
    pub fn to_permitted(topic: impl Into<String>, needs: Permission, sites: &[i64]) -> Self {
        Self::at_sites(topic, sites, |sites| Audience::Permitted { needs, sites })
    }

    /// For people with a contract for one of these sites.
    pub fn to_workers_at(topic: impl Into<String>, sites: &[i64]) -> Self {
        Self::at_sites(topic, sites, |sites| Audience::Workers { sites })
    }

    fn at_sites(topic: impl Into<String>, sites: &[i64], audience: impl FnOnce(Vec<i64>) -> Audience) -> Self {
        if sites.len() > MAX_SITES {
            return Self::everything();
        }
        Self { topic: topic.into(), audience: audience(sites.to_vec()), update: None }
    }

    /// Adds details. The whole audience gets them, so they hold ids and no text of people.
    #[must_use]
    pub fn with(self, update: &impl Serialize) -> Self {
        // A page that reloads everything needs no details.
        let update = if self.audience == Audience::Everybody { None } else { serde_json::to_value(update).ok() };
        Self { update, ..self }
    }

    /// Unknown changes: pages reload all live parts. It tells nothing, so it is for everybody.
    pub(super) fn everything() -> Self {
        Self { topic: EVERYTHING.to_owned(), audience: Audience::Everybody, update: None }
    }

    /// Publishes it after the turn's commit. Outside turns there is [`super::Events::publish`].
    pub fn publish_after(&self, turn: &mut Turn) {
        turn.effect_without_outcome(EFFECT, self);
    }

    pub(super) fn is_for(&self, listener: &Listener) -> bool {
        let person = &listener.person;
        match &self.audience {
            Audience::Roles(roles) => person.may(roles),
            Audience::Person(id) => person.id == *id,
            Audience::Permitted { needs, sites } => {
                person.may(OWNERS) || sites.iter().any(|site| listener.may(*needs, *site))
            }
            Audience::Workers { sites } => sites.iter().any(|site| listener.works_at.contains(site)),
            Audience::Everybody => true,
        }
    }
}
