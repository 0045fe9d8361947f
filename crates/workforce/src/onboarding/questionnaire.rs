//! A questionnaire: its questions, and what counts as an answer.
//!
//! Nothing here reads a file or a database. Its JSON is stored with the sessions that began with it, so every shape
//! that was ever stored must still load.

use serde::{Deserialize, Serialize};

use super::file;
use crate::domain::user_text;
use crate::texts::Language;

/// Maximum length of a text answer, in characters.
pub const ANSWER_MAX: usize = 2000;
/// The range of a scale.
pub const SCALE: std::ops::RangeInclusive<i64> = 1..=10;

/// Questions, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Questionnaire {
    pub questions: Vec<Question>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Stays when the question is reworded.
    pub id: String,
    #[serde(flatten)]
    pub kind: Kind,
    pub text: Wording,
    #[serde(default)]
    pub is_skippable: bool,
}

/// The kind of answer that a question expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    Text,
    Choice {
        options: Vec<Choice>,
    },
    /// A whole number within these bounds.
    Number {
        min: i64,
        max: i64,
    },
    Scale,
}

/// An option of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub id: String,
    pub text: Wording,
}

/// A text in both languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    pub ru: String,
    pub en: String,
}

/// An answer, as it was given.
#[derive(Clone, Copy, Debug)]
pub enum GivenAnswer<'a> {
    Typed(&'a str),
    Pressed(&'a str),
}

impl Wording {
    pub fn in_language(&self, language: Language) -> &str {
        match language {
            Language::Ru => &self.ru,
            Language::En => &self.en,
        }
    }

    fn is(&self, text: &str) -> bool {
        [&self.ru, &self.en].iter().any(|own| own.to_lowercase() == text.to_lowercase())
    }
}

impl Questionnaire {
    /// The built-in questionnaire.
    pub fn built_in() -> Self {
        let read = file::read(file::BUILT_IN);
        // A test reads the very same text.
        #[allow(clippy::expect_used, reason = "a test reads the very same text")]
        read.expect("the built-in questionnaire is valid")
    }

    pub fn question(&self, id: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.id == id)
    }

    /// The position of a question, from 0.
    pub fn index(&self, id: &str) -> Option<usize> {
        self.questions.iter().position(|question| question.id == id)
    }

    pub fn after(&self, id: &str) -> Option<&Question> {
        self.questions.get(self.index(id)? + 1)
    }

    pub fn before(&self, id: &str) -> Option<&Question> {
        self.questions.get(self.index(id)?.checked_sub(1)?)
    }

    /// The first question without an answer.
    pub fn first_open(&self, is_answered: impl Fn(&str) -> bool) -> Option<&Question> {
        self.questions.iter().find(|question| !is_answered(&question.id))
    }
}

impl Question {
    /// The answer in its stored form, if it is valid.
    pub fn read(&self, given: GivenAnswer<'_>) -> Option<String> {
        match (&self.kind, given) {
            (Kind::Text, GivenAnswer::Typed(text)) => {
                let text = user_text::lines(text);
                (!text.is_empty() && text.chars().count() <= ANSWER_MAX).then_some(text)
            }
            (Kind::Number { min, max }, GivenAnswer::Typed(text)) => whole(text, &(*min..=*max)),
            (Kind::Scale, GivenAnswer::Typed(text) | GivenAnswer::Pressed(text)) => whole(text, &SCALE),
            (Kind::Choice { options }, GivenAnswer::Pressed(id)) => {
                options.iter().find(|option| option.id == id).map(|option| option.id.clone())
            }
            (Kind::Choice { options }, GivenAnswer::Typed(text)) => {
                options.iter().find(|option| option.text.is(text.trim())).map(|option| option.id.clone())
            }
            (Kind::Text | Kind::Number { .. }, GivenAnswer::Pressed(_)) => None,
        }
    }

    /// A stored answer as people read it.
    pub fn shown(&self, answer: &str, language: Language) -> String {
        let Kind::Choice { options } = &self.kind else { return answer.to_owned() };
        let chosen = options.iter().find(|option| option.id == answer);
        chosen.map_or(answer, |option| option.text.in_language(language)).to_owned()
    }
}

fn whole(text: &str, bounds: &std::ops::RangeInclusive<i64>) -> Option<String> {
    let number: i64 = text.trim().parse().ok()?;
    bounds.contains(&number).then(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: Kind) -> Question {
        let text = Wording { ru: "Что?".into(), en: "What?".into() };
        Question { id: "q".into(), kind, text, is_skippable: false }
    }

    fn typed(question: &Question, text: &str) -> Option<String> {
        question.read(GivenAnswer::Typed(text))
    }

    #[test]
    fn a_text_answer_is_neither_empty_nor_too_long() {
        let text = question(Kind::Text);
        assert_eq!(typed(&text, "  with a drill\0 "), Some("with a drill".into()));
        assert_eq!((typed(&text, " \n "), typed(&text, &"я".repeat(ANSWER_MAX + 1))), (None, None));
        assert_eq!(typed(&text, &"я".repeat(ANSWER_MAX)).map(|text| text.chars().count()), Some(ANSWER_MAX));
        assert_eq!(text.read(GivenAnswer::Pressed("x")), None);
    }

    #[test]
    fn a_number_is_whole_and_within_its_bounds() {
        let number = question(Kind::Number { min: 0, max: 60 });
        assert_eq!((typed(&number, " 007 "), typed(&number, "60")), (Some("7".into()), Some("60".into())));
        for text in ["-1", "61", "1.5", "ten", "", "99999999999999999999"] {
            assert_eq!(typed(&number, text), None, "{text}");
        }
    }

    #[test]
    fn scales_and_choices_are_pressed_or_typed() {
        let scale = question(Kind::Scale);
        assert_eq!((typed(&scale, "7"), scale.read(GivenAnswer::Pressed("10"))), (Some("7".into()), Some("10".into())));
        assert_eq!((typed(&scale, "0"), scale.read(GivenAnswer::Pressed("11"))), (None, None));
        let car = Choice { id: "car".into(), text: Wording { ru: "На машине".into(), en: "By car".into() } };
        let choice = question(Kind::Choice { options: vec![car] });
        assert_eq!(
            (choice.read(GivenAnswer::Pressed("car")), choice.read(GivenAnswer::Pressed("bus"))),
            (Some("car".into()), None)
        );
        assert_eq!((typed(&choice, "на Машине "), typed(&choice, "car")), (Some("car".into()), None));
        assert_eq!(choice.shown("car", Language::Ru), "На машине");
        assert_eq!(choice.shown("tram", Language::En), "tram");
    }

    #[test]
    fn stored_questionnaires_are_read_back() {
        let built_in = Questionnaire::built_in();
        let serialized = serde_json::to_string(&built_in).unwrap();
        assert_eq!(serde_json::from_str::<Questionnaire>(&serialized).unwrap(), built_in);
        let old = r#"{"questions":[{"id":"age","kind":"number","min":0,"max":9,"text":{"ru":"а","en":"b"}}]}"#;
        let read: Questionnaire = serde_json::from_str(old).unwrap();
        assert_eq!(read.questions[0].kind, Kind::Number { min: 0, max: 9 });
    }
}
