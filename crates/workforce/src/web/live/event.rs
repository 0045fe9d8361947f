//! Events: what has changed, and who may know of it.
//!
//! An event about a site reaches owners, and managers only where they have the permission that shows it. It carries at most
//! a type and numbers (`shift_created`, whose shift), so nothing that people typed can leak by it.

use opora::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EFFECT, Listener};
use crate::person::{OWNERS, Permission, Role};

/// The topic of those who missed something.
const EVERYTHING: &str = "*";
/// More sites are not named in one event: it has to fit a NOTIFY. Pages are told to load everything instead.
const SITES_MOST: usize = 400;

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What, as pages name it in `data-live`: `people`, `person:7`.
    pub(super) topic: String,
    audience: Audience,
    /// What exactly, where it is told: a type and numbers.
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
    /// For whoever may act in any of these roles. What is about a site is for [`Self::to_permitted`].
    pub fn to_roles(topic: impl Into<String>, roles: &[Role]) -> Self {
        Self { topic: topic.into(), audience: Audience::Roles(roles.to_vec()), update: None }
    }

    /// For one person.
    pub fn to_person(topic: impl Into<String>, id: i64) -> Self {
        Self { topic: topic.into(), audience: Audience::Person(id), update: None }
    }

    /// For owners, and for managers who have a permission at one of these sites.
    pub fn to_permitted(topic: impl Into<String>, needs: Permission, sites: &[i64]) -> Self {
        Self::at_sites(topic, sites, |sites| Audience::Permitted { needs, sites })
    }

    /// For people who work at one of these sites by contract.
    pub fn to_workers_at(topic: impl Into<String>, sites: &[i64]) -> Self {
        Self::at_sites(topic, sites, |sites| Audience::Workers { sites })
    }

    fn at_sites(topic: impl Into<String>, sites: &[i64], audience: impl FnOnce(Vec<i64>) -> Audience) -> Self {
        if sites.len() > SITES_MOST {
            return Self::everything();
        }
        Self { topic: topic.into(), audience: audience(sites.to_vec()), update: None }
    }

    /// The same, saying what exactly. It reaches everybody whom the event is for, so it has numbers and no words of people.
    #[must_use]
    pub fn with(self, update: &impl Serialize) -> Self {
        // A page that loads everything anew is told no more than that.
        let update = if self.audience == Audience::Everybody { None } else { serde_json::to_value(update).ok() };
        Self { update, ..self }
    }

    /// Something that is not known here: pages load all of their live parts anew. It says nothing, so it is for everybody.
    pub(super) fn everything() -> Self {
        Self { topic: EVERYTHING.to_owned(), audience: Audience::Everybody, update: None }
    }

    /// Publishes it once the turn has committed. Outside of turns there is [`super::Events::publish`].
    pub fn after(&self, turn: &mut Turn) {
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
