//! Whose pay somebody may see: owners everybody's, managers what was earned at sites where they see finances.

use maud::{Markup, html};

use super::super::{Earnings, LineMark, Period};
use crate::application::App;
use crate::person::{OWNERS, Permission, Person};
use crate::sites::{Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::Oops;

/// How much of a month is seen.
#[derive(Clone, Debug)]
pub enum Sight {
    All,
    /// Only what was earned there.
    Sites(Vec<Site>),
}

impl Sight {
    /// Refused for those who see nothing of others.
    pub async fn of(app: &App, person: &Person) -> Result<Self, Oops> {
        if person.may(OWNERS) {
            return Ok(Self::All);
        }
        let sites = Sites::of_app(app).where_ever_may(person, Permission::Finances).await?;
        if sites.is_empty() { Err(Oops::Forbidden) } else { Ok(Self::Sites(sites)) }
    }

    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// What is left out, in words.
    pub fn words(&self, language: Language) -> Markup {
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

/// A person's month as far as it was earned there; refused for people who have nothing to do with these sites.
pub async fn earnings(
    app: &App,
    sites: &[Site],
    user_id: i64,
    period: Period,
    after: Option<&LineMark>,
) -> Result<Earnings, Oops> {
    let (ids, doors) = (ids(sites), Sites::of_app(app));
    let (earnings, contracts) =
        tokio::try_join!(app.payroll.of_person_at(&ids, user_id, period, after), doors.contracts_of(user_id))?;
    let works_here = contracts.iter().any(|one| one.about.sites.iter().any(|site| ids.contains(site)));
    if earnings.lines.is_empty() && !works_here { Err(Oops::Forbidden) } else { Ok(earnings) }
}
