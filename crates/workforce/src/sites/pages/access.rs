//! What the visitor of a page may see and do: owners everything, managers according to their permissions.

use std::collections::HashSet;

use crate::application::App;
use crate::person::{MANAGERS, OWNERS, Permission, Person};
use crate::sites::{ActionError, Contract, Site, SiteRefusal, Sites};
use crate::web::PageError;

/// The rights of one person, loaded once for a page.
#[derive(Clone, Debug)]
pub struct Access {
    person_id: i64,
    is_owner: bool,
    permitted: HashSet<(i64, Permission)>,
}

impl Access {
    pub async fn for_person(app: &App, person: &Person) -> Result<Self, PageError> {
        let is_owner = person.may(OWNERS);
        let is_manager = person.may(MANAGERS);
        let permitted =
            if is_manager && !is_owner { Sites::of_app(app).permissions_of(person.id).await? } else { Vec::new() };
        Ok(Self { person_id: person.id, is_owner, permitted: permitted.into_iter().collect() })
    }

    pub const fn is_owner(&self) -> bool {
        self.is_owner
    }

    pub fn may(&self, what: Permission, site_id: i64) -> bool {
        self.is_owner || self.permitted.contains(&(site_id, what))
    }

    /// Whether this person may decide on that user. Only owners may decide on themselves.
    pub const fn decides_on(&self, user_id: i64) -> bool {
        self.is_owner || self.person_id != user_id
    }

    /// Whether this person has the permission at any site.
    pub fn may_somewhere(&self, what: Permission) -> bool {
        self.is_owner || self.permitted.iter().any(|(_, permitted)| *permitted == what)
    }

    /// Whether this person has the permission at all sites of a contract.
    pub fn may_with(&self, what: Permission, contract: &Contract) -> bool {
        let sites = &contract.about.sites;
        let at_all = !sites.is_empty() && sites.iter().all(|site| self.may(what, *site));
        self.is_owner || at_all
    }

    /// Whether this person manages employees at one of the contract's sites.
    pub fn sees(&self, contract: &Contract) -> bool {
        self.is_owner || contract.about.sites.iter().any(|site| self.may(Permission::Employees, *site))
    }

    /// The sites that this person may view.
    pub async fn sites(&self, app: &App) -> Result<Vec<Site>, PageError> {
        let mut sites = Sites::of_app(app).list().await?;
        sites.retain(|site| self.may(Permission::View, site.id));
        Ok(sites)
    }

    /// The sites that this person may view, with deleted ones at the end, for shifts and cancellations of the past.
    pub async fn sites_with_deleted(&self, app: &App) -> Result<Vec<Site>, PageError> {
        let mut sites = Sites::of_app(app).all().await?;
        sites.retain(|site| self.may(Permission::View, site.id));
        Ok(sites)
    }
}

/// The refusal that a page shows. Other errors become error pages.
pub fn refusal(error: ActionError) -> Result<SiteRefusal, PageError> {
    match error {
        ActionError::Refused(SiteRefusal::NotAllowed) | ActionError::NotAllowed => Err(PageError::Forbidden),
        ActionError::Refused(why) => Ok(why),
        ActionError::Repeated => Err(PageError::NotPossible),
        ActionError::Failed(error) => Err(error.into()),
    }
}
