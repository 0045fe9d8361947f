//! Who is in charge of questions, as an owner has set it.

use std::fmt;
use std::str::FromStr;

use sea_orm::{ConnectionTrait, DbErr};

use crate::people;
use crate::person::{ANSWERERS, MANAGERS, OWNERS, Person};

/// Whom questions go to. Where there is nobody of that kind they go to whoever else may answer: a question is not lost
/// because somebody has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InCharge {
    Managers,
    Owners,
    /// One person, by the number of the Telegram account.
    Person(i64),
}

impl InCharge {
    /// Whether whoever is named may answer, as a commit under way has it. Managers and owners always may.
    pub async fn may_answer(self, db: &impl ConnectionTrait) -> Result<bool, DbErr> {
        let Self::Person(telegram_id) = self else { return Ok(true) };
        let named = people::by_telegram(db, telegram_id).await?;
        Ok(named.is_some_and(|named| named.may(ANSWERERS)))
    }

    /// Those of the people who may answer that are in charge.
    pub fn among(self, able: Vec<Person>) -> Vec<Person> {
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

impl FromStr for InCharge {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "managers" => Ok(Self::Managers),
            "owners" => Ok(Self::Owners),
            other => {
                let number = other.parse().ok().filter(|number| *number > 0).map(Self::Person);
                number.ok_or_else(|| format!("`{other}` is none of managers, owners and the number of an account"))
            }
        }
    }
}

impl fmt::Display for InCharge {
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
    fn who_is_in_charge_is_read_and_written_back() {
        for text in ["managers", "owners", "1002"] {
            assert_eq!(text.parse::<InCharge>().unwrap().to_string(), text);
        }
        for text in ["", "everybody", "-5", "0", "10x"] {
            assert!(text.parse::<InCharge>().is_err(), "{text}");
        }
    }
}
