//! Who listens on an open page, and what they may know of.

use std::collections::BTreeSet;

use sea_orm::DbErr;

use crate::application::App;
use crate::person::{MANAGERS, OWNERS, Permission, Permits, Person};
use crate::rooms;
use crate::web::sessions;

/// A person with an open page.
#[derive(Clone, Debug)]
pub struct Listener {
    pub person: Person,
    /// What a manager may do, by site. Of others the role says it.
    permits: Permits,
    /// The sites of the person's active contracts.
    pub works_at: BTreeSet<i64>,
}

impl Listener {
    /// The person of a session, as they are now; none if it is over.
    pub async fn of(app: &App, session: i64) -> Result<Option<Self>, DbErr> {
        let Some(person) = sessions::person_of(app, session).await? else { return Ok(None) };
        let doors = rooms::permissions();
        let is_manager = person.may(MANAGERS) && !person.may(OWNERS);
        let permits = if is_manager { doors.permits_of(app, person.id).await? } else { Permits::new() };
        let works_at = doors.works_at(app, person.id).await?;
        Ok(Some(Self { person, permits, works_at }))
    }

    /// Whether a manager has a permission at a site.
    pub fn may(&self, what: Permission, site: i64) -> bool {
        self.permits.get(&site).is_some_and(|permitted| permitted.contains(&what))
    }
}
