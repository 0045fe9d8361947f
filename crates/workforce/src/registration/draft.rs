//! The answers of a newcomer so far.

use opora::clock::Millis;
use serde::{Deserialize, Serialize};

use super::DocumentKind;
use crate::texts::Language;

/// An incomplete registration. Its values are already checked. Every step has the whole draft, so that nothing is asked
/// again, even after a break.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub language: Option<Language>,
    /// The consent to the processing of personal data. Nothing personal is asked before.
    pub consent: Option<GivenConsent>,
    pub name: Option<String>,
    pub phone: Option<String>,
    pub email: Option<String>,
    /// The optional address was asked for.
    pub is_email_answered: bool,
    pub kind: Option<DocumentKind>,
    pub document: Option<Picture>,
    pub selfie: Option<Picture>,
    /// The Telegram username.
    pub username: Option<String>,
}

/// A text that the person has agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenConsent {
    /// The hash of the text, see [`super::consent::version`].
    pub version: String,
    pub at: Millis,
}

/// A picture in Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub file_id: String,
    /// Equal for the same picture, however often it is sent.
    pub unique_id: String,
    /// Sent as a photo, not as a file.
    pub is_photo: bool,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftStep {
    Language,
    Consent,
    Name,
    Phone,
    Email,
    DocumentKind,
    Document,
    Selfie,
}

impl DraftStep {
    pub const ALL: [Self; 8] = [
        Self::Language,
        Self::Consent,
        Self::Name,
        Self::Phone,
        Self::Email,
        Self::DocumentKind,
        Self::Document,
        Self::Selfie,
    ];

    /// The previous step; none before the first.
    pub fn before(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|step| *step == self)?;
        Self::ALL.get(at.checked_sub(1)?).copied()
    }
}

impl Draft {
    /// The next step; none if the draft is complete.
    pub fn missing(&self) -> Option<DraftStep> {
        DraftStep::ALL.into_iter().find(|step| !self.has(*step))
    }

    /// Whether there is anything to lose.
    pub fn is_begun(&self) -> bool {
        self.language.is_some()
    }

    /// Number of completed steps.
    pub fn steps_done(&self) -> usize {
        DraftStep::ALL.into_iter().filter(|step| self.has(*step)).count()
    }

    fn has(&self, step: DraftStep) -> bool {
        match step {
            DraftStep::Language => self.language.is_some(),
            DraftStep::Consent => self.consent.is_some(),
            DraftStep::Name => self.name.is_some(),
            DraftStep::Phone => self.phone.is_some(),
            DraftStep::Email => self.is_email_answered,
            DraftStep::DocumentKind => self.kind.is_some(),
            DraftStep::Document => self.document.is_some(),
            DraftStep::Selfie => self.selfie.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_step_is_next() {
        let mut draft = Draft { language: Some(Language::Ru), name: Some("Анна".into()), ..Draft::default() };
        assert_eq!((draft.missing(), draft.steps_done()), (Some(DraftStep::Consent), 2));
        draft.consent = Some(GivenConsent { version: "1".into(), at: Millis(0) });
        assert_eq!((draft.missing(), draft.steps_done()), (Some(DraftStep::Phone), 3));
        draft.phone = Some("+79991234567".into());
        assert_eq!(draft.missing(), Some(DraftStep::Email));
        draft.is_email_answered = true;
        assert_eq!(draft.missing(), Some(DraftStep::DocumentKind));
        assert_eq!((DraftStep::Phone.before(), DraftStep::Language.before()), (Some(DraftStep::Name), None));
    }
}
