//! Consent to the processing of personal data.
//!
//! The text is a setting, one for each language. Its version is its hash, and every text that somebody agreed to is
//! kept under its version. A changed text is shown in new registrations only: people who have agreed are not asked
//! again.

use opora::clock::Millis;
use opora::prelude::*;
use opora::store::WriteError;
use ring::digest;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::Draft;
use super::draft::GivenConsent;
use super::questions::{advance, back_button};
use super::states::{AGREE, DISAGREE, Registration, language_of};
use super::tables::{consent, consent_text};
use crate::application::App;
use crate::domain::{Transaction, WriteInTurn};
use crate::front::reply;
use crate::settings::{CONSENT_TEXT_EN, CONSENT_TEXT_RU};
use crate::text;
use crate::texts::Language;

/// Bytes of the hash in a version.
const VERSION_BYTES: usize = 6;

/// A consent of a person, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    pub version: String,
    pub text: String,
    pub at: Millis,
}

/// The version of a text: the beginning of its SHA-256 in hexadecimal digits.
pub fn version(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(VERSION_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The text that newcomers read now.
pub async fn current_text(app: &App, language: Language) -> Result<String, DbErr> {
    let setting = match language {
        Language::Ru => &CONSENT_TEXT_RU,
        Language::En => &CONSENT_TEXT_EN,
    };
    app.settings.text(setting).await
}

pub async fn ask(turn: &mut Turn, draft: Draft) -> Result<(), BoxError> {
    let language = language_of(turn, &draft);
    let shown = current_text(&turn.context::<App>(), language).await?;
    let agree = Button::new(text!(language, "registration-agree-button"), format!("{AGREE}{}", version(&shown)));
    let disagree = Button::new(text!(language, "registration-disagree-button"), DISAGREE);
    turn.say(Say::text(shown).buttons([[agree], [disagree], [back_button(language)]]));
    Ok(())
}

/// The button names the text that the person has read. If it has changed since, the new one is shown.
pub async fn agree(turn: &mut Turn, draft: Draft, press: Press) -> Step<Registration> {
    let language = language_of(turn, &draft);
    let text = current_text(&turn.context::<App>(), language).await?;
    let version = version(&text);
    if press.rest != version {
        reply::drop_buttons(turn);
        turn.say(text!(language, "registration-consent-changed"));
        return Ok(Next::AskAgain);
    }
    let at = turn.now();
    reply::show_answer(turn, &text, &text!(language, "registration-agreed"));
    let stored = version.clone();
    turn.write(move |db| Box::pin(store_text(db, stored, text, at)));
    advance(turn, "consent", Draft { consent: Some(GivenConsent { version, at }), ..draft })
}

/// Nothing is kept of a person who does not agree.
pub async fn disagree(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    tracing::info!(user = turn.key().user, "registration: no consent; the draft is deleted");
    reply::drop_buttons(turn);
    turn.say(text!(language_of(turn, &draft), "registration-consent-refused"));
    Ok(Next::End)
}

pub(super) async fn store_text(
    db: &Transaction<'_, '_>,
    version: String,
    text: String,
    at: Millis,
) -> Result<(), WriteError> {
    let row = consent_text::ActiveModel { version: Set(version), text: Set(text), stored_at: Set(at.0) };
    let once = OnConflict::column(consent_text::Column::Version).do_nothing().to_owned();
    consent_text::Entity::insert(row).on_conflict(once).exec_without_returning(db).await?;
    Ok(())
}

/// Stores a consent with its person. Every registration has one.
pub async fn record(db: &Transaction<'_, '_>, user_id: i64, given: GivenConsent) -> Result<(), WriteError> {
    let row = consent::ActiveModel {
        user_id: Set(user_id),
        version: Set(given.version),
        given_at: Set(given.at.0),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}

/// The consents of a person, the oldest first.
pub async fn of_person(db: &impl ConnectionTrait, user_id: i64) -> Result<Vec<Consent>, DbErr> {
    let own = consent::Entity::find().filter(consent::Column::UserId.eq(user_id));
    let rows = own.order_by_asc(consent::Column::Id).all(db).await?;
    let versions = rows.iter().map(|row| row.version.as_str());
    let texts = consent_text::Entity::find().filter(consent_text::Column::Version.is_in(versions)).all(db).await?;
    let with_text = |row: consent::Model| {
        let text = texts.iter().find(|text| text.version == row.version).map(|text| text.text.clone());
        Consent { text: text.unwrap_or_default(), version: row.version, at: Millis(row.given_at) }
    };
    Ok(rows.into_iter().map(with_text).collect())
}

/// Deletes the consents of a person. Texts stay: they are not personal data.
pub async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    consent::Entity::delete_many().filter(consent::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_is_another_version() {
        assert_eq!(version("one").len(), 12);
        assert_eq!(version("one"), version("one"));
        assert_ne!(version("one"), version("one "));
    }
}
