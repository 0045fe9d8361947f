//! Who listens on an open page, and what they may know of.

use std::collections::BTreeSet;

use sea_orm::DbErr;

use crate::application::App;
use crate::people::{Person, Role};
use crate::sites::{Permission, Permits, Sites};
use crate::web::{OWNERS, sessions};

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
        let doors = Sites::of_app(app);
        let is_manager = person.may(&[Role::Manager]) && !person.may(OWNERS);
        let permits = if is_manager { doors.permits_of(person.id).await? } else { Permits::new() };
        let works_at = doors.where_they_work(&BTreeSet::from([person.id])).await?;
        let works_at = works_at.into_iter().map(|(site, _)| site).collect();
        Ok(Some(Self { person, permits, works_at }))
    }

    /// Whether a manager has a permission at a site.
    pub fn may(&self, what: Permission, site: i64) -> bool {
        self.permits.get(&site).is_some_and(|permitted| permitted.contains(&what))
    }
}
