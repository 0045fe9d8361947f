//! Until when documents are valid: noted by owners, and what expires soon.

use chrono::{Days, NaiveDate};
use opora::store::{Refusal, WriteError};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::tables::document;
use super::{Document, DocumentStatus, Registrations};
use crate::audit;
use crate::domain::{ActionError, RefusalReason, Transaction};
use crate::people;
use crate::person::Person;
use crate::settings::TIME_ZONE;
use crate::sites;
use crate::text;
use crate::texts::Language;
use crate::web::form::{PageRefusal, PageRefusalKind};

/// Days before the end of a document's validity in which it needs attention.
pub const NOTICE_DAYS: u64 = 30;
/// Maximum of documents in a list of expiring ones.
const MAX_LISTED: u64 = 100;

const GONE: &str = "there is no such document any more";
const STALE: &str = "the date was changed meanwhile";

/// How long a document is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    Valid,
    /// It expires within 30 days.
    ExpiresSoon,
    Expired,
}

/// A document that is expired or expires soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiringDocument {
    pub document: Document,
    pub person: Person,
    pub valid_until: NaiveDate,
    pub validity: Validity,
}

/// Why a date was not noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidityRefusal {
    Gone,
    /// Another person has changed the date meanwhile.
    Stale,
}

/// A date that an owner notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedDate {
    pub document_id: String,
    /// The date that the owner saw.
    pub seen: Option<NaiveDate>,
    pub wanted: Option<NaiveDate>,
}

impl Validity {
    /// The validity on a day of a document whose last day is known.
    pub fn on(today: NaiveDate, valid_until: NaiveDate) -> Self {
        if valid_until < today {
            Self::Expired
        } else if valid_until <= last_day_of_notice(today) {
            Self::ExpiresSoon
        } else {
            Self::Valid
        }
    }
}

impl RefusalReason for ValidityRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        match refusal {
            GONE => Some(Self::Gone),
            STALE => Some(Self::Stale),
            _ => None,
        }
    }
}

impl PageRefusal for ValidityRefusal {
    fn text(self, language: Language) -> String {
        match self {
            Self::Gone => text!(language, "web-not-found"),
            Self::Stale => text!(language, "web-form-stale"),
        }
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Gone => PageRefusalKind::Gone,
            Self::Stale => PageRefusalKind::Stale,
        }
    }
}

impl Registrations {
    /// The day of the business.
    pub async fn today(&self) -> Result<NaiveDate, DbErr> {
        let zone = self.app.settings.get(&TIME_ZONE).await?;
        Ok(sites::local(self.app.clock.now(), zone).date())
    }

    /// Approved documents of members that are expired or expire within 30 days of the day, the earliest first. For
    /// owners.
    pub async fn expiring(&self, today: NaiveDate) -> Result<Vec<ExpiringDocument>, DbErr> {
        let is_due = document::Column::ValidUntil.lte(last_day_of_notice(today).to_string());
        let found = document::Entity::find()
            .filter(document::Column::Status.eq(DocumentStatus::Approved.name()))
            .filter(is_due)
            .filter(document::Column::UserId.in_subquery(people::verified_ids()))
            .order_by_asc(document::Column::ValidUntil)
            .limit(MAX_LISTED);
        let rows = found.all(self.app.domain.read()).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let owners: Vec<i64> = rows.iter().filter_map(|row| row.user_id).collect();
        let people = self.app.people.with_ids(&owners).await?;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            let document = Document::try_from(row)?;
            let person = people.iter().find(|person| person.id == document.user_id);
            if let (Some(person), Some(valid_until)) = (person, document.valid_until) {
                let validity = Validity::on(today, valid_until);
                listed.push(ExpiringDocument { document, person: person.clone(), valid_until, validity });
            }
        }
        Ok(listed)
    }

    /// Notes until when a document is valid. `by` is an owner.
    pub async fn note_validity(&self, by: &Person, noted: NotedDate) -> Result<(), ActionError<ValidityRefusal>> {
        let (by, at) = (by.clone(), self.app.clock.now());
        let write = self.app.domain.write(move |db| {
            Box::pin(async move {
                people::require_unchanged(db, &by).await?;
                let row = document::Entity::find_by_id(&noted.document_id).lock_exclusive().one(db).await?;
                let row = row.filter(|row| row.user_id.is_some()).ok_or_else(|| Refusal::because(GONE))?;
                if row.valid_until != noted.seen.map(|day| day.to_string()) {
                    return Err(Refusal::because(STALE));
                }
                set(db, &row.id, noted.wanted).await?;
                let day = noted.wanted.map_or_else(|| "–".to_owned(), |day| day.to_string());
                let detail = json!({ "kind": row.kind, "valid_until": day });
                let subject = ("user", row.user_id.unwrap_or_default());
                let action = "document validity noted";
                audit::record(db, audit::Entry { at, actor: Some(by.id), action, subject, detail }).await
            })
        });
        Ok(write.await?)
    }
}

/// Sets the last day of a document within a commit.
pub async fn set(db: &Transaction<'_, '_>, id: &str, day: Option<NaiveDate>) -> Result<(), WriteError> {
    document::Entity::update_many()
        .set(document::ActiveModel {
            valid_until: Set(day.map(|day| day.to_string())),
            expiry_told_days: Set(None),
            ..Default::default()
        })
        .filter(document::Column::Id.eq(id))
        .exec(db)
        .await?;
    Ok(())
}

fn last_day_of_notice(today: NaiveDate) -> NaiveDate {
    today.checked_add_days(Days::new(NOTICE_DAYS)).unwrap_or(today)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_valid_on_its_last_day() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let on = |last: &str| Validity::on(day("2026-01-01"), day(last));
        assert_eq!(on("2025-12-31"), Validity::Expired);
        assert_eq!((on("2026-01-01"), on("2026-01-31")), (Validity::ExpiresSoon, Validity::ExpiresSoon));
        assert_eq!(on("2026-02-01"), Validity::Valid);
    }
}
