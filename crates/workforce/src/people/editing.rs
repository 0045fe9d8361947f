//! An owner edits what is known about a person.
//!
//! The username is not edited: Telegram tells it whenever the person talks to the bot. The commit checks the owner, the
//! person and the version that the form showed.

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::Set;
use serde_json::json;

use super::changes::{change, note};
use super::owners::{self, OwnerAction};
use super::tables::user;
use super::{People, Person};
use crate::domain::{self, RefusalReason};
use crate::key;
use crate::texts::Language;
use crate::web::form::{PageRefusal, PageRefusalKind};

/// The fields that an owner edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboutPerson {
    pub full_name: String,
    pub phone: Option<String>,
    pub email: Option<String>,
    pub language: Language,
}

/// Why an edit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonRefusal {
    /// The person has changed since the form was loaded.
    Stale,
    Gone,
}

pub type ActionError = domain::ActionError<PersonRefusal>;

impl From<&Person> for AboutPerson {
    fn from(person: &Person) -> Self {
        Self {
            full_name: person.full_name.clone(),
            phone: person.phone.clone(),
            email: person.email.clone(),
            language: person.language,
        }
    }
}

impl AboutPerson {
    /// The names of the fields that differ. The audit keeps names only: it holds no personal data.
    fn changed_fields(&self, before: &Self) -> Vec<&'static str> {
        let fields = [
            ("name", self.full_name != before.full_name),
            ("phone", self.phone != before.phone),
            ("email", self.email != before.email),
            ("language", self.language != before.language),
        ];
        fields.iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| *name).collect()
    }
}

impl People {
    /// Changes a person. Refused as [`PersonRefusal::Stale`] if the person has another version.
    pub async fn edit(
        &self,
        by: &Person,
        id: i64,
        version: i64,
        about: AboutPerson,
        at: Millis,
    ) -> Result<(), ActionError> {
        let actor = by.id;
        let write = self.domain.write(move |db| {
            Box::pin(async move {
                let person = owners::lock_and_check(db, OwnerAction::Edit, actor, id).await?;
                let person = person.ok_or_else(|| PersonRefusal::Gone.refusal())?;
                if person.version != version {
                    return Err(PersonRefusal::Stale.refusal());
                }
                let fields = about.changed_fields(&AboutPerson::from(&person));
                if fields.is_empty() {
                    return Ok(());
                }
                let row = user::ActiveModel {
                    full_name: Set(about.full_name),
                    phone: Set(about.phone),
                    email: Set(about.email),
                    language: Set(about.language.code().to_owned()),
                    ..Default::default()
                };
                change(db, id, row, at).await?;
                note(db, id, "person edited", json!({ "fields": fields }), Some(actor), at).await
            })
        });
        Ok(write.await?)
    }
}

impl PersonRefusal {
    const fn key(self) -> &'static str {
        match self {
            Self::Stale => key!("why-stale-toast"),
            Self::Gone => key!("why-gone-toast"),
        }
    }

    fn refusal(self) -> WriteError {
        Refusal::because(self.key())
    }
}

impl RefusalReason for PersonRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        [Self::Stale, Self::Gone].into_iter().find(|why| why.key() == refusal)
    }
}

impl PageRefusal for PersonRefusal {
    fn text(self, language: Language) -> String {
        language.text(self.key())
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Stale => PageRefusalKind::Stale,
            Self::Gone => PageRefusalKind::Gone,
        }
    }
}
