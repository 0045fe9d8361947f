//! The setting that says who answers people's questions.

use std::fmt;
use std::str::FromStr;

use sea_orm::{ConnectionTrait, DbErr};

use crate::people;
use crate::person::{ANSWERERS, MANAGERS, OWNERS, Person};

/// Who gets people's questions. If there is no person of that kind, other people who may answer get them, so that no
/// question is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionRecipient {
    Managers,
    Owners,
    /// One person, by Telegram id.
    Person(i64),
}

impl QuestionRecipient {
    /// Whether the named person may answer, within a commit. Managers and owners always may.
    pub async fn may_answer(self, db: &impl ConnectionTrait) -> Result<bool, DbErr> {
        let Self::Person(telegram_id) = self else { return Ok(true) };
        let named = people::by_telegram(db, telegram_id).await?;
        Ok(named.is_some_and(|named| named.may(ANSWERERS)))
    }

    /// Chooses the recipients from the people who may answer.
    pub fn choose_from(self, able: Vec<Person>) -> Vec<Person> {
        if let Self::Person(telegram_id) = self
            && let Some(named) = able.iter().find(|one| one.telegram_id == telegram_id)
        {
            return vec![named.clone()];
        }
        let ranks = if self == Self::Owners { [OWNERS, MANAGERS] } else { [MANAGERS, OWNERS] };
        let (first, others) = able.into_iter().partition::<Vec<_>, _>(|one| one.may(ranks[0]));
        if first.is_empty() { others.into_iter().filter(|one| one.may(ranks[1])).collect() } else { first }
    }
}

impl FromStr for QuestionRecipient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "managers" => Ok(Self::Managers),
            "owners" => Ok(Self::Owners),
            other => {
                let number = other.parse().ok().filter(|number| *number > 0).map(Self::Person);
                number.ok_or_else(|| format!("`{other}` is none of managers, owners and a Telegram id"))
            }
        }
    }
}

impl fmt::Display for QuestionRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Managers => f.write_str("managers"),
            Self::Owners => f.write_str("owners"),
            Self::Person(telegram_id) => telegram_id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_parsed_and_formatted() {
        for text in ["managers", "owners", "1002"] {
            assert_eq!(text.parse::<QuestionRecipient>().unwrap().to_string(), text);
        }
        for text in ["", "everybody", "-5", "0", "10x"] {
            assert!(text.parse::<QuestionRecipient>().is_err(), "{text}");
        }
    }
}
