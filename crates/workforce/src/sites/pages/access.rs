//! What whoever looks at a page may see and do there: owners everything, managers what they were permitted.

use std::collections::HashSet;

use crate::application::App;
use crate::person::{MANAGERS, OWNERS, Permission, Person};
use crate::sites::{Contract, NotDone, Site, Sites, Why};
use crate::web::Oops;

/// Asked once for a page.
#[derive(Clone, Debug)]
pub struct Access {
    person_id: i64,
    is_owner: bool,
    permitted: HashSet<(i64, Permission)>,
}

impl Access {
    pub async fn of(app: &App, person: &Person) -> Result<Self, Oops> {
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

    /// Whether this person may decide on somebody: everybody but themselves, which is for owners.
    pub const fn decides_on(&self, user_id: i64) -> bool {
        self.is_owner || self.person_id != user_id
    }

    /// Whether there is anything that this person may do so.
    pub fn may_somewhere(&self, what: Permission) -> bool {
        self.is_owner || self.permitted.iter().any(|(_, permitted)| *permitted == what)
    }

    /// Whether a contract may be handled so: by a permission at all of its sites.
    pub fn may_with(&self, what: Permission, contract: &Contract) -> bool {
        let sites = &contract.about.sites;
        let at_all = !sites.is_empty() && sites.iter().all(|site| self.may(what, *site));
        self.is_owner || at_all
    }

    /// Whether a contract is of somebody whom this person looks after, at one of its sites at least.
    pub fn sees(&self, contract: &Contract) -> bool {
        self.is_owner || contract.about.sites.iter().any(|site| self.may(Permission::Employees, *site))
    }

    /// The sites that this person may see.
    pub async fn sites(&self, app: &App) -> Result<Vec<Site>, Oops> {
        let mut sites = Sites::of_app(app).list().await?;
        sites.retain(|site| self.may(Permission::View, site.id));
        Ok(sites)
    }

    /// The same with deleted ones behind them, for what has been: it is still listed and judged.
    pub async fn sites_ever(&self, app: &App) -> Result<Vec<Site>, Oops> {
        let mut sites = Sites::of_app(app).all().await?;
        sites.retain(|site| self.may(Permission::View, site.id));
        Ok(sites)
    }
}

/// What was refused, for whoever may read it; what failed goes to the log.
pub fn why(error: NotDone) -> Result<Why, Oops> {
    match error {
        NotDone::Refused(Why::NotAllowed) | NotDone::NotAllowed => Err(Oops::Forbidden),
        NotDone::Refused(why) => Ok(why),
        NotDone::Repeated => Err(Oops::NotPossible),
        NotDone::Failed(error) => Err(error.into()),
    }
}
