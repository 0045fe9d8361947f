//! What a newcomer has given so far.

use serde::{Deserialize, Serialize};

use super::DocumentKind;
use crate::texts::Language;

/// A registration that is not complete. What is there was checked when it was given; what was given is not asked again,
/// also after a break, so every step has the whole of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub language: Option<Language>,
    pub name: Option<String>,
    pub phone: Option<String>,
    pub email: Option<String>,
    /// It was asked for the address, which may be left out.
    pub is_email_answered: bool,
    pub kind: Option<DocumentKind>,
    pub document: Option<Picture>,
    pub selfie: Option<Picture>,
    /// As Telegram has it.
    pub username: Option<String>,
}

/// A picture at Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub file_id: String,
    /// The same for the same picture, however often it is sent.
    pub unique_id: String,
    /// It was sent as a photo, not as a file.
    pub is_photo: bool,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Language,
    Name,
    Phone,
    Email,
    DocumentKind,
    Document,
    Selfie,
}

impl Step {
    pub const ALL: [Self; 7] =
        [Self::Language, Self::Name, Self::Phone, Self::Email, Self::DocumentKind, Self::Document, Self::Selfie];

    /// The step before; none before the first.
    pub fn before(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|step| *step == self)?;
        Self::ALL.get(at.checked_sub(1)?).copied()
    }
}

impl Draft {
    /// What is to be asked next; none if it is complete.
    pub fn missing(&self) -> Option<Step> {
        Step::ALL.into_iter().find(|step| !self.has(*step))
    }

    /// Whether anything would be lost.
    pub fn is_begun(&self) -> bool {
        self.language.is_some()
    }

    /// How many steps are done.
    pub fn steps_done(&self) -> usize {
        Step::ALL.into_iter().filter(|step| self.has(*step)).count()
    }

    fn has(&self, step: Step) -> bool {
        match step {
            Step::Language => self.language.is_some(),
            Step::Name => self.name.is_some(),
            Step::Phone => self.phone.is_some(),
            Step::Email => self.is_email_answered,
            Step::DocumentKind => self.kind.is_some(),
            Step::Document => self.document.is_some(),
            Step::Selfie => self.selfie.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gap_is_asked_for_and_the_email_may_be_left_out() {
        let mut draft = Draft { language: Some(Language::Ru), name: Some("Анна".into()), ..Draft::default() };
        assert_eq!((draft.missing(), draft.steps_done()), (Some(Step::Phone), 2));
        draft.phone = Some("+79991234567".into());
        assert_eq!(draft.missing(), Some(Step::Email));
        draft.is_email_answered = true;
        assert_eq!(draft.missing(), Some(Step::DocumentKind));
        assert_eq!((Step::Phone.before(), Step::Language.before()), (Some(Step::Name), None));
    }
}
