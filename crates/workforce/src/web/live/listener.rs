//! The person on an open page, with the rights that filter events.

use std::collections::BTreeSet;

use sea_orm::DbErr;

use crate::application::App;
use crate::person::{MANAGERS, OWNERS, Permission, Person, SitePermissions};
use crate::rooms;
use crate::web::sessions;

/// A person with an open page.
#[derive(Clone, Debug)]
pub struct Listener {
    pub person: Person,
    /// A manager's permissions by site; empty for other roles.
    permissions: SitePermissions,
    /// The sites of the person's active contracts.
    pub works_at: BTreeSet<i64>,
}

impl Listener {
    /// The person of a session, as stored now; none if the session has ended.
    pub async fn for_session(app: &App, session: i64) -> Result<Option<Self>, DbErr> {
        let Some(person) = sessions::person_of(app, session).await? else { return Ok(None) };
        let sites = rooms::permissions();
        let is_manager = person.may(MANAGERS) && !person.may(OWNERS);
        let permissions =
            if is_manager { sites.site_permissions(app, person.id).await? } else { SitePermissions::new() };
        let works_at = sites.works_at(app, person.id).await?;
        Ok(Some(Self { person, permissions, works_at }))
    }

    /// Whether a manager has a permission at a site.
    pub fn may(&self, what: Permission, site: i64) -> bool {
        self.permissions.get(&site).is_some_and(|permitted| permitted.contains(&what))
    }
}
