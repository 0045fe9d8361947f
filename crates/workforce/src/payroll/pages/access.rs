//! Whose pay a visitor may see: owners all, managers what was earned at sites where they see finances.

use maud::{Markup, html};

use super::super::{AdjustmentCursor, Earnings, PayrollMonth};
use crate::application::App;
use crate::person::{OWNERS, Permission, Person};
use crate::sites::{Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::PageError;

/// How much of a month is visible.
#[derive(Clone, Debug)]
pub enum PayAccess {
    All,
    /// Only what was earned at these sites.
    Sites(Vec<Site>),
}

impl PayAccess {
    /// Refused for people who may not see the pay of others.
    pub async fn for_person(app: &App, person: &Person) -> Result<Self, PageError> {
        if person.may(OWNERS) {
            return Ok(Self::All);
        }
        let sites = Sites::of_app(app).permitted_sites_with_deleted(person, Permission::Finances).await?;
        if sites.is_empty() { Err(PageError::Forbidden) } else { Ok(Self::Sites(sites)) }
    }

    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// A hint about the visible sites.
    pub fn text(&self, language: Language) -> Markup {
        html! {
            @if let Self::Sites(sites) = self {
                @let names: Vec<&str> = sites.iter().map(|site| site.about.name.as_str()).collect();
                p.quiet data-testid="of-sites" { (text!(language, "payroll-of-sites", sites = names.join(", "))) }
            }
        }
    }
}

pub fn ids(sites: &[Site]) -> Vec<i64> {
    sites.iter().map(|site| site.id).collect()
}

/// A person's month, limited to these sites; refused if the person neither earned anything there nor has a contract.
pub async fn earnings(
    app: &App,
    sites: &[Site],
    user_id: i64,
    period: PayrollMonth,
    after: Option<&AdjustmentCursor>,
) -> Result<Earnings, PageError> {
    let (ids, api) = (ids(sites), Sites::of_app(app));
    let (earnings, contracts) =
        tokio::try_join!(app.payroll.of_person_at(&ids, user_id, period, after), api.contracts_of(user_id))?;
    let works_here = contracts.iter().any(|one| one.about.sites.iter().any(|site| ids.contains(site)));
    if earnings.lines.is_empty() && !works_here { Err(PageError::Forbidden) } else { Ok(earnings) }
}
