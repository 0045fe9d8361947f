//! The questionnaire file of an owner, in TOML.
//!
//! A file is checked completely: every mistake is listed with its question. A file with mistakes is not used.

use std::collections::BTreeSet;
use std::fmt;

use toml::de::DeTable;
use toml::{Table, Value};

use super::questionnaire::{Choice, Kind, Question, Questionnaire, Wording};

/// The built-in questionnaire, also an example.
pub const BUILT_IN: &str = include_str!("default.toml");

/// More than a person would edit by hand.
const FILE_MAX_BYTES: usize = 256 * 1024;
const QUESTIONS_MAX: usize = 50;
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=20;
/// Ids are part of the data of buttons, which is short.
const ID_MAX_BYTES: usize = 32;
/// In characters; a question is sent with a hint and its number.
const QUESTION_MAX: usize = 1000;
/// The length that a button shows.
const OPTION_MAX: usize = 60;
/// Default bounds of a number.
const NUMBER: std::ops::RangeInclusive<i64> = -1_000_000_000..=1_000_000_000;

/// All mistakes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(pub Vec<String>);

/// A table of the file, its name in messages, and the mistakes so far.
struct Entry<'a> {
    table: &'a Table,
    name: String,
    mistakes: &'a mut Vec<String>,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for Mistakes {}

/// Parses a questionnaire, or lists its mistakes.
pub fn read(text: &str) -> Result<Questionnaire, Mistakes> {
    if text.len() > FILE_MAX_BYTES {
        return Err(Mistakes(vec![format!("it has {} bytes; {FILE_MAX_BYTES} are the most", text.len())]));
    }
    let (_, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mistakes = errors.iter().map(|error| format!("line {}: {}", line_of(text, error.span()), error.message()));
        return Err(Mistakes(mistakes.collect()));
    }
    let table: Table = text.parse().map_err(|error: toml::de::Error| Mistakes(vec![error.message().to_owned()]))?;
    let mut mistakes = Vec::new();
    let questions = questions(&table, &mut mistakes);
    if mistakes.is_empty() { Ok(Questionnaire { questions }) } else { Err(Mistakes(mistakes)) }
}

fn line_of(text: &str, span: Option<std::ops::Range<usize>>) -> usize {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    before.matches('\n').count() + 1
}

fn questions(table: &Table, mistakes: &mut Vec<String>) -> Vec<Question> {
    let mut whole = Entry { table, name: "the file".into(), mistakes };
    whole.allow_keys(&["questions"]);
    let listed = whole.tables("questions").unwrap_or_default();
    if listed.is_empty() || listed.len() > QUESTIONS_MAX {
        whole.add_mistake(format!("has {} questions; 1 to {QUESTIONS_MAX} fit", listed.len()));
    }
    let mut seen = BTreeSet::new();
    let read = listed.iter().enumerate().filter_map(|(index, table)| {
        let id = table.get("id").and_then(Value::as_str).unwrap_or("without an id");
        let entry = Entry { table, name: format!("question {} ({id})", index + 1), mistakes };
        question(entry, &mut seen)
    });
    read.collect()
}

fn question(mut entry: Entry<'_>, seen: &mut BTreeSet<String>) -> Option<Question> {
    entry.allow_keys(&["id", "kind", "ru", "en", "skippable", "options", "min", "max"]);
    let id = entry.id(seen);
    let text = entry.wording(QUESTION_MAX);
    let is_skippable = match entry.table.get("skippable") {
        None => false,
        Some(Value::Boolean(is_skippable)) => *is_skippable,
        Some(_) => {
            entry.add_mistake("skippable is neither true nor false");
            false
        }
    };
    let kind = entry.kind();
    Some(Question { id: id?, kind: kind?, text: text?, is_skippable })
}

impl Entry<'_> {
    fn add_mistake(&mut self, text: impl fmt::Display) {
        self.mistakes.push(format!("{}: {text}", self.name));
    }

    fn allow_keys(&mut self, names: &[&str]) {
        let strange: Vec<_> = self.table.keys().filter(|key| !names.contains(&key.as_str())).cloned().collect();
        for name in strange {
            self.add_mistake(format!("unknown key `{name}`; known keys are {}", names.join(", ")));
        }
    }

    /// A list of tables.
    fn tables(&mut self, name: &str) -> Option<Vec<Table>> {
        let listed = self.table.get(name)?.as_array();
        let tables = listed.and_then(|list| list.iter().map(|one| one.as_table().cloned()).collect());
        if tables.is_none() {
            self.add_mistake(format!("`{name}` is not a list of tables"));
        }
        tables
    }

    /// An id that is unique in the file.
    fn id(&mut self, seen: &mut BTreeSet<String>) -> Option<String> {
        let Some(id) = self.table.get("id").and_then(Value::as_str) else {
            self.add_mistake("it needs an id");
            return None;
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if id.is_empty() || id.len() > ID_MAX_BYTES || !id.bytes().all(is_plain) {
            self.add_mistake(format!("its id may have 1 to {ID_MAX_BYTES} Latin letters, digits, _ and -"));
        } else if !seen.insert(id.to_owned()) {
            self.add_mistake("its id is taken already");
        }
        Some(id.to_owned())
    }

    fn wording(&mut self, max_chars: usize) -> Option<Wording> {
        let [ru, en] = ["ru", "en"].map(|language| {
            let text = self.table.get(language).and_then(Value::as_str).map(str::trim).unwrap_or_default();
            let long = text.chars().count();
            if long == 0 || long > max_chars {
                self.add_mistake(format!("its text in `{language}` has {long} characters; 1 to {max_chars} fit"));
                return None;
            }
            Some(text.to_owned())
        });
        Some(Wording { ru: ru?, en: en? })
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = self.table.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let own: &[&str] = match kind.as_str() {
            "choice" => &["options"],
            "number" => &["min", "max"],
            _ => &[],
        };
        let misplaced = ["options", "min", "max"].into_iter().filter(|name| !own.contains(name));
        for name in misplaced.filter(|name| self.table.contains_key(*name)).collect::<Vec<_>>() {
            self.add_mistake(format!("`{name}` does not belong to a question of kind `{kind}`"));
        }
        match kind.as_str() {
            "text" => Some(Kind::Text),
            "scale" => Some(Kind::Scale),
            "number" => self.number(),
            "choice" => self.choice(),
            _ => {
                self.add_mistake("its kind is none of text, choice, number, scale");
                None
            }
        }
    }

    fn number(&mut self) -> Option<Kind> {
        let mut bound = |name: &str, default: i64| match self.table.get(name) {
            None => Some(default),
            Some(Value::Integer(bound)) if NUMBER.contains(bound) => Some(*bound),
            Some(_) => {
                self.add_mistake(format!(
                    "`{name}` is not a whole number between {} and {}",
                    NUMBER.start(),
                    NUMBER.end()
                ));
                None
            }
        };
        let (min, max) = (bound("min", *NUMBER.start()), bound("max", *NUMBER.end()));
        let (min, max) = (min?, max?);
        if min > max {
            self.add_mistake(format!("its least number {min} is above its greatest {max}"));
        }
        Some(Kind::Number { min, max })
    }

    fn choice(&mut self) -> Option<Kind> {
        let listed = self.tables("options").unwrap_or_default();
        if !OPTIONS.contains(&listed.len()) {
            self.add_mistake(format!("has {} options; {} to {} fit", listed.len(), OPTIONS.start(), OPTIONS.end()));
        }
        let mut seen = BTreeSet::new();
        let mut options = Vec::new();
        for (index, table) in listed.iter().enumerate() {
            let name = format!("{}, option {}", self.name, index + 1);
            let mut option = Entry { table, name, mistakes: self.mistakes };
            option.allow_keys(&["id", "ru", "en"]);
            let (id, text) = (option.id(&mut seen), option.wording(OPTION_MAX));
            options.extend(id.zip(text).map(|(id, text)| Choice { id, text }));
        }
        Some(Kind::Choice { options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_questionnaire_is_valid() {
        let built_in = read(BUILT_IN).unwrap();
        let has = |wanted: fn(&Kind) -> bool| built_in.questions.iter().any(|question| wanted(&question.kind));
        assert!(has(|kind| *kind == Kind::Text) && has(|kind| *kind == Kind::Scale));
        assert!(has(|kind| matches!(kind, Kind::Choice { .. })) && has(|kind| matches!(kind, Kind::Number { .. })));
        assert!(built_in.questions.iter().any(|question| question.is_skippable));
    }

    #[test]
    fn every_mistake_is_listed_with_its_question() {
        let text = r#"
            title = "x"
            [[questions]]
            id = "age"
            kind = "number"
            min = 9
            max = 3
            ru = "Возраст?"
            en = "Age?"
            [[questions]]
            id = "age"
            kind = "guess"
            ru = ""
            en = "Again?"
            skippable = "yes"
            [[questions]]
            kind = "choice"
            ru = "Какой?"
            en = "Which?"
            min = 1
            options = [{ id = "a b", ru = "А", en = "A", colour = "red" }]
        "#;
        let mistakes = read(text).unwrap_err();
        for expected in [
            "the file: unknown key `title`",
            "question 1 (age): its least number 9 is above its greatest 3",
            "question 2 (age): its id is taken already",
            "question 2 (age): its text in `ru` has 0 characters",
            "question 2 (age): skippable is neither",
            "question 2 (age): its kind is none of",
            "question 3 (without an id): it needs an id",
            "question 3 (without an id): `min` does not belong",
            "question 3 (without an id): has 1 options",
            "question 3 (without an id), option 1: unknown key `colour`",
            "question 3 (without an id), option 1: its id may have",
        ] {
            assert!(mistakes.0.iter().any(|mistake| mistake.starts_with(expected)), "no {expected:?} in {mistakes:#?}");
        }
        assert_eq!(mistakes.0.len(), 11, "{mistakes:#?}");
    }

    #[test]
    fn toml_errors_have_line_numbers() {
        let mistakes = read("[[questions]]\nid = \nkind = text\n").unwrap_err();
        assert!(mistakes.0.iter().any(|mistake| mistake.starts_with("line 2: ")), "{mistakes:?}");
        assert!(mistakes.0.iter().any(|mistake| mistake.starts_with("line 3: ")), "{mistakes:?}");
        assert!(read("").unwrap_err().0[0].contains("has 0 questions"));
        assert!(read("questions = 3").unwrap_err().0[0].contains("not a list"));
        assert!(read(&"#".repeat(FILE_MAX_BYTES + 1)).unwrap_err().0[0].contains("bytes"));
    }
}
