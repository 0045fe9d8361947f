//! Import of staff and sites from a table: read, checked whole, and written in one commit.
//!
//! Nothing is written while a line has a mistake. What exists already is left as it is, so the same table can be
//! imported twice. A person is known by the Telegram id, a site by its name.

use std::collections::{HashMap, HashSet};

use opora::store::WriteError;
use sea_orm::DbErr;

pub use self::lines::{ImportKind, Mistake, MistakeKind, SiteLine, StaffLine, TableReader, read_sites, read_staff};
pub use self::table::{MAX_COLUMNS, MAX_ROWS, MAX_TABLE_BYTES, Table, TableError, decode};
use super::changes::{self, ChangedBy};
use super::contracts::{self, AboutContract};
use super::events::changed;
use super::{ActionError, SiteRefusal, Sites, contract_notice};
use crate::domain::Transaction;
use crate::notices;
use crate::people::{self, Imported};
use crate::person::{OWNERS, Person, Status, WORKERS};
use crate::texts::Language;
use crate::web::Event;

mod lines;
mod table;

/// What an import did, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    pub people: u64,
    pub contracts: u64,
    pub sites: u64,
    /// Lines about people or sites that exist already.
    pub unchanged: u64,
}

/// What a line of staff would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaffEffect {
    pub is_new_person: bool,
    pub is_new_contract: bool,
    /// The person is known and has no access, such as a blocked one, and gets no contract.
    pub is_kept_out: bool,
}

impl Sites {
    /// What each line of staff would do now.
    pub async fn preview_staff(&self, lines: &[StaffLine]) -> Result<Vec<StaffEffect>, DbErr> {
        let ids: Vec<i64> = lines.iter().map(|line| line.telegram_id).collect();
        let known = self.app.people.with_telegram_ids(&ids).await?;
        let known: HashMap<i64, Person> = known.into_iter().map(|person| (person.telegram_id, person)).collect();
        let places = self.workplaces(&known.values().map(|person| person.id).collect()).await?;
        let effect = |line: &StaffLine| {
            let person = known.get(&line.telegram_id);
            let has_contract = |site| person.is_some_and(|person| places.contains(&(site, person.id)));
            let may_have_one = person.map_or(WORKERS.contains(&line.role), may_have_contract);
            let is_new_contract = may_have_one && line.site.is_some_and(|site| !has_contract(site));
            let is_kept_out = person.is_some_and(|person| person.status != Status::Verified);
            StaffEffect { is_new_person: person.is_none(), is_new_contract, is_kept_out }
        };
        Ok(lines.iter().map(effect).collect())
    }

    /// Imports staff. Owners only. The bot tells people about their new contracts.
    pub async fn import_staff(&self, by: &Person, lines: Vec<StaffLine>) -> Result<ImportCounts, ActionError> {
        let rights = self.require_owner(by)?;
        let sites: Vec<i64> = lines.iter().filter_map(|line| line.site).collect();
        let events = changed(&sites).into_iter().chain([Event::to_roles("people", OWNERS)]);
        let language = by.language;
        self.change(by, rights, events, move |db, by| {
            Box::pin(async move {
                // No site is deleted before the commit ends. In the order of ids, as in all commits.
                let locked = changes::lock_sites_shared(db, &sites).await?;
                if sites.iter().any(|id| locked.iter().all(|site| site.id != *id)) {
                    return Err(SiteRefusal::Gone.refusal());
                }
                let (mut counts, mut told) = (ImportCounts::default(), Vec::new());
                for line in lines {
                    let new = import_person(db, line, language, by, &mut counts).await?;
                    let Some((user_id, about)) = new else { continue };
                    let at_sites = locked.iter().filter(|site| about.sites.contains(&site.id)).cloned();
                    let notice = contract_notice::of(&about, &at_sites.collect::<Vec<_>>(), by.at);
                    told.extend(notice.map(|notice| (user_id, notice)));
                }
                notices::write(db, told, by.at).await?;
                Ok(counts)
            })
        })
        .await
    }

    /// Imports sites. Owners only. A site with a name that exists is left as it is.
    pub async fn import_sites(&self, by: &Person, lines: Vec<SiteLine>) -> Result<ImportCounts, ActionError> {
        let rights = self.require_owner(by)?;
        let events = [Event::to_roles(super::TOPIC, OWNERS)];
        self.change(by, rights, events, move |db, by| {
            Box::pin(async move {
                let mut names: HashSet<String> = changes::site_names(db).await?.into_iter().collect();
                let mut counts = ImportCounts::default();
                for line in lines {
                    if names.insert(line.about.name.to_lowercase()) {
                        changes::create_site(db, line.about, by).await?;
                        counts.sites += 1;
                    } else {
                        counts.unchanged += 1;
                    }
                }
                Ok(counts)
            })
        })
        .await
    }
}

/// Whether an import gives the person a contract: people without access get none.
fn may_have_contract(person: &Person) -> bool {
    person.status == Status::Verified && person.roles.has_any(WORKERS)
}

/// Returns the new contract of the line, with its person.
async fn import_person(
    db: &Transaction<'_, '_>,
    line: StaffLine,
    language: Language,
    by: ChangedBy,
    counts: &mut ImportCounts,
) -> Result<Option<(i64, AboutContract)>, WriteError> {
    let imported = Imported {
        telegram_id: line.telegram_id,
        full_name: line.full_name,
        phone: line.phone,
        role: line.role,
        language,
        by: by.person,
    };
    let (person, is_new) = people::import(db, imported, by.at).await?;
    let mut new_contract = None;
    counts.people += u64::from(is_new);
    // Locked before the check: another commit may be blocking the person.
    let has_access = people::lock_status(db, person.id).await? == Some(Status::Verified);
    if let Some(site) = line.site.filter(|_| has_access && may_have_contract(&person)) {
        let about = AboutContract { rate_kopecks: line.rate_kopecks, ..AboutContract::active(vec![site]) };
        if !contracts::has_conflict(db, person.id, &about).await? {
            contracts::create_contract(db, person.id, about.clone(), by).await?;
            counts.contracts += 1;
            new_contract = Some((person.id, about));
        }
    }
    counts.unchanged += u64::from(!is_new && new_contract.is_none());
    Ok(new_contract)
}
