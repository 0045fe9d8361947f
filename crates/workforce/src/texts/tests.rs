//! Checks of all texts: both languages have them, the code uses them, and they fit Telegram's limits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

use super::Language;
use crate::audit;
use crate::text;

/// Assumed maximum length of an inserted value, in UTF-16 units.
const VALUE_UNITS: usize = 100;

/// Words that texts used for something that has another name. Compared in lower case, from the beginning of a word.
const OTHER_WORDS_RU: [(&str, &str); 9] = [
    ("руководител", "менеджер"),
    ("заблокировать", "закрыть доступ"),
    ("заблокированн", "доступ закрыт"),
    ("разблокир", "открыть доступ"),
    ("геопозици", "местоположение"),
    ("положени", "местоположение"),
    ("opora", "Опора"),
    ("водительские права", "водительское удостоверение"),
    ("имя пользователя", "@имя"),
];
const OTHER_WORDS_EN: [(&str, &str); 9] = [
    ("free place", "open spot"),
    ("applications waiting", "registrations awaiting approval"),
    ("the application", "the registration"),
    ("access is suspended", "access is blocked"),
    ("access has been suspended", "access has been blocked"),
    ("rate per hour", "hourly rate"),
    ("shift clocked out", "shift closed by staff"),
    ("3500", "3,500"),
    ("still free", "still open"),
];
/// Whole words whose gender is wrong: what they are about is a woman, a document or a selfie as well.
const WRONG_GENDER_RU: [(&str, &str); 6] = [
    ("не пришёл", "нет на месте"),
    ("не пришел", "нет на месте"),
    ("не пришла", "нет на месте"),
    ("одобрен", "одобрено"),
    ("отклонён", "отклонено"),
    ("отказано", "отклонено"),
];
/// The name of a button in Telegram.
const TELEGRAM_LOCATION_RU: &str = "«Геопозиция»";

/// A text only for this test: shows plural forms.
const SAMPLE: &str = "minutes";

/// A text in a file.
#[derive(Debug, Default)]
struct Sentence {
    file: String,
    variables: BTreeSet<String>,
    /// Maximum length.
    units: usize,
}

#[test]
fn a_language_is_found_by_telegrams_code() {
    for (code, language) in [("ru", Language::Ru), ("ru-RU", Language::Ru), ("", Language::Ru), ("de", Language::En)] {
        assert_eq!(Language::of_code(code), language, "{code}");
    }
}

#[test]
fn numbers_are_declined() {
    let minutes = |language: Language, count: i64| text!(language, SAMPLE, count = count);
    assert_eq!(minutes(Language::Ru, 1), "1 минута");
    assert_eq!(minutes(Language::Ru, 3), "3 минуты");
    assert_eq!(minutes(Language::Ru, 11), "11 минут");
    assert_eq!(minutes(Language::En, 1), "1 minute");
    assert_eq!(minutes(Language::En, 2), "2 minutes");
}

/// The verb agrees with the number, too.
#[test]
fn what_waits_is_declined() {
    let counts = |shown: fn(i64) -> String| [1, 2, 5, 21].map(shown);
    let registrations = counts(|count| text!(Language::Ru, "registration-card", count = count));
    let waits = ["1 заявка ждёт решения", "2 заявки ждут решения", "5 заявок ждут решения", "21 заявка ждёт решения"];
    assert_eq!(registrations, waits);
    let cancellations = counts(|count| text!(Language::Ru, "overview-cancellations", count = count));
    assert_eq!(
        cancellations,
        ["1 отмена ждёт решения", "2 отмены ждут решения", "5 отмен ждут решения", "21 отмена ждёт решения"]
    );
    let in_chat = counts(|count| text!(Language::Ru, "registration-count", count = count));
    let waits =
        ["Ждёт решения 1 заявка.", "Ждут решения 2 заявки.", "Ждут решения 5 заявок.", "Ждёт решения 21 заявка."];
    assert_eq!(in_chat, waits);
}

#[test]
fn both_languages_have_the_same_keys_and_values() {
    let (russian, english) = (sentences(Language::Ru), sentences(Language::En));
    let outline = |sentences: &BTreeMap<String, Sentence>| -> Vec<_> {
        sentences.iter().map(|(key, one)| (key.clone(), one.file.clone(), one.variables.clone())).collect()
    };
    assert_eq!(outline(&russian), outline(&english));
}

#[test]
fn every_used_key_exists_and_gets_its_values() {
    let known = sentences(Language::En);
    let used = used();
    for Use { key, values, place } in &used {
        let sentence = known.get(key).unwrap_or_else(|| panic!("{place}: there is no sentence `{key}`"));
        if let Some(values) = values {
            assert_eq!(*values, sentence.variables, "{place}: `{key}`");
        }
    }
    let used: BTreeSet<_> = used.iter().map(|one| one.key.as_str()).collect();
    // Actions of the audit are looked up by name.
    let is_kept = |key: &str| key == SAMPLE || key.starts_with("audit-");
    let idle: Vec<_> = known.keys().filter(|key| !used.contains(key.as_str()) && !is_kept(key)).collect();
    assert!(idle.is_empty(), "unused texts: {idle:?}");
}

#[test]
fn every_text_fits_telegrams_limits() {
    for language in Language::ALL {
        for (key, sentence) in sentences(language) {
            let most = match key.rsplit('-').next() {
                Some("button") => 64,
                Some("toast") => 200,
                Some("caption") => 1024,
                Some("command") => 256,
                _ => 4096,
            };
            assert!(sentence.units <= most, "{language}: `{key}` may have {} units, {most} fit", sentence.units);
        }
    }
}

/// Dates such as `31.12.2026` are Russian; the pages of `web::routes` are looked at as well.
#[test]
fn english_texts_have_no_russian_dates() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("locales/en");
    for path in files(&folder, "ftl") {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_date = |word: &&str| {
            let parts: Vec<&str> = word.split('.').collect();
            let is_number = |part: &&str, digits: usize| {
                part.len() >= digits && part.bytes().take(digits).all(|byte| byte.is_ascii_digit())
            };
            parts.len() >= 3 && is_number(&parts[0], 2) && is_number(&parts[1], 2) && is_number(&parts[2], 4)
        };
        let found: Vec<_> = text.split([' ', '“', '\n']).filter(is_date).collect();
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn one_thing_has_one_name() {
    for (language, words) in [(Language::Ru, &OTHER_WORDS_RU[..]), (Language::En, &OTHER_WORDS_EN[..])] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("locales").join(language.code());
        for path in files(&folder, "ftl") {
            let text = std::fs::read_to_string(&path).unwrap().replace(TELEGRAM_LOCATION_RU, "");
            // Keys and comments are for engineers.
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let texts = lines.map(|line| line.split_once(" = ").map_or(line, |(_, text)| text).to_lowercase());
            for text in texts {
                for (other, name) in words {
                    let found = text.match_indices(other).any(|(at, _)| begins_word(&text, at));
                    assert!(!found, "{}: “{text}” has “{other}” for “{name}”", path.display());
                }
                for (other, name) in WRONG_GENDER_RU {
                    let is_word = |at: usize| {
                        begins_word(&text, at) && !text[at + other.len()..].starts_with(char::is_alphanumeric)
                    };
                    let found = text.match_indices(other).any(|(at, _)| is_word(at));
                    assert!(!found, "{}: “{text}” has “{other}” for “{name}”", path.display());
                }
            }
        }
    }
}

fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(char::is_alphanumeric)
}

#[test]
fn every_audited_action_has_a_text() {
    let actions = actions();
    for known in ["role granted", "status changed", "setting changed", "data exported"] {
        assert!(actions.iter().any(|(action, _)| action == known), "{known} was not found in the code");
    }
    for language in Language::ALL {
        let sentences = sentences(language);
        for (action, place) in &actions {
            let key = audit::key(action);
            assert!(
                sentences.contains_key(&key),
                "{place}: pages cannot tell `{action}`; locales/{language} lacks `{key}`"
            );
        }
    }
}

/// A use of a text in the code.
#[derive(Debug)]
struct Use {
    key: String,
    /// The names of inserted values; unknown if only the key is named.
    values: Option<BTreeSet<String>>,
    place: String,
}

fn sentences(language: Language) -> BTreeMap<String, Sentence> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("locales").join(language.code());
    let mut found = BTreeMap::new();
    for path in files(&folder, "ftl") {
        let text = std::fs::read_to_string(&path).unwrap();
        let resource = fluent_syntax::parser::parse(text.as_str())
            .unwrap_or_else(|(_, errors)| panic!("{}: {errors:?}", path.display()));
        for entry in resource.body {
            let Entry::Message(message) = entry else { continue };
            let key = message.id.name.to_owned();
            let mut sentence = Sentence { file: name(&path), ..Sentence::default() };
            let pattern = message.value.unwrap_or_else(|| panic!("{key} has no text"));
            sentence.units = measure(&pattern, &mut sentence.variables);
            assert!(found.insert(key.clone(), sentence).is_none(), "{key} is there twice");
        }
    }
    found
}

/// The maximum length of a pattern; collects its variables.
fn measure(pattern: &Pattern<&str>, variables: &mut BTreeSet<String>) -> usize {
    let elements = pattern.elements.iter().map(|element| match element {
        PatternElement::TextElement { value } => value.encode_utf16().count(),
        PatternElement::Placeable { expression: Expression::Inline(inline) } => measure_inline(inline, variables),
        PatternElement::Placeable { expression: Expression::Select { selector, variants } } => {
            measure_inline(selector, variables);
            variants.iter().map(|variant| measure(&variant.value, variables)).max().unwrap_or(0)
        }
    });
    elements.sum()
}

fn measure_inline(inline: &InlineExpression<&str>, variables: &mut BTreeSet<String>) -> usize {
    match inline {
        InlineExpression::StringLiteral { value } => value.encode_utf16().count(),
        InlineExpression::VariableReference { id } => {
            variables.insert(id.name.to_owned());
            VALUE_UNITS
        }
        InlineExpression::FunctionReference { id, .. } if id.name == "CURRENCY" => VALUE_UNITS,
        other => panic!("a sentence has something that this test does not know: {other:?}"),
    }
}

/// Every `text!(language, "key", …)`, `.text("key")` and `key!("key")` of the crate.
fn used() -> Vec<Use> {
    let audited = |(action, place): (String, String)| Use { key: audit::key(&action), values: None, place };
    let mut found: Vec<_> = actions().into_iter().map(audited).collect();
    for (place, code) in sources() {
        for mark in ["text!(", ".text(", "key!("] {
            for (at, _) in code.match_indices(mark) {
                let call = inside(&code[at + mark.len()..]);
                let Some(key) = call.split('"').nth(1).filter(|_| mark == "text!(" || call.starts_with('"')) else {
                    continue;
                };
                let values = (mark == "text!(").then(|| value_names(call));
                found.push(Use { key: key.to_owned(), values, place: place.clone() });
            }
        }
    }
    found
}

/// Every action that the audit may hold, with its file: from audit entries, and from calls of functions that take an
/// action, in files that define or import such a function.
fn actions() -> Vec<(String, String)> {
    let (sources, mut found) = (sources(), Vec::new());
    let action_functions: BTreeSet<ActionFunction> =
        sources.iter().flat_map(|(_, code)| action_functions(code)).collect();
    for (place, code) in &sources {
        let own: Vec<_> = self::action_functions(code).collect();
        let uses = |name: &str| code.lines().any(|line| line.starts_with("use ") && has_word(line, name));
        let entries = code.match_indices("action: \"").filter_map(|(at, _)| literal(&code[at + "action: ".len()..]));
        let mut named: Vec<String> = entries.collect();
        for function in action_functions
            .iter()
            .filter(|function| function.is_method || own.contains(function) || uses(&function.name))
        {
            named
                .extend(calls(code, function).filter_map(|call| literal(arguments(call).get(function.action)?.trim())));
        }
        found.extend(named.into_iter().map(|action| (action, place.clone())));
    }
    found
}

/// A function that takes an action, and the position of that argument.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ActionFunction {
    name: String,
    is_method: bool,
    action: usize,
}

fn action_functions(code: &str) -> impl Iterator<Item = ActionFunction> {
    let functions = code.match_indices("fn ").filter_map(|(at, _)| code[at + 3..].split_once('('));
    functions.filter_map(|(name, rest)| {
        let parameters = inside(rest).replace("<'_, '_>", "");
        let parameters = arguments(&parameters);
        let is_method = parameters.first().is_some_and(|first| has_word(first, "self"));
        let at = parameters.iter().position(|one| one.trim().starts_with("action: &'static str"))?;
        Some(ActionFunction { name: name.to_owned(), is_method, action: at - usize::from(is_method) })
    })
}

/// The arguments of each call.
fn calls<'c>(code: &'c str, function: &ActionFunction) -> impl Iterator<Item = &'c str> {
    let (mark, is_method) = (format!("{}(", function.name), function.is_method);
    let is_call = move |before: &str| match before.chars().next_back() {
        Some('.') => is_method,
        Some(letter) => !is_method && !letter.is_alphanumeric() && letter != '_' && letter != ':',
        None => false,
    };
    let starts: Vec<_> = code.match_indices(&mark).filter(|(at, _)| is_call(&code[..*at])).map(|(at, _)| at).collect();
    starts.into_iter().map(move |at| inside(&code[at + mark.len()..]))
}

/// The string literal at the beginning.
fn literal(text: &str) -> Option<String> {
    text.strip_prefix('"')?.split('"').next().map(ToOwned::to_owned)
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|one| one == word)
}

/// The crate's source files without comments, except this one, which only mentions calls.
fn sources() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let others = files(&source, "rs").into_iter().filter(|path| !path.ends_with("texts/tests.rs"));
    let read = others.map(|path| {
        let code = std::fs::read_to_string(&path).unwrap();
        let lines = code.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
        (name(&path), lines.collect::<Vec<_>>().join("\n"))
    });
    read.collect()
}

/// The text up to the closing bracket of a call.
fn inside(rest: &str) -> &str {
    let mut depth = 0_usize;
    let end = rest.char_indices().find(|(_, character)| match character {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth == 0 => true,
        ')' => {
            depth -= 1;
            false
        }
        _ => false,
    });
    &rest[..end.map_or(rest.len(), |(at, _)| at)]
}

/// The names in `language, "key", one = …, two = …`.
fn value_names(call: &str) -> BTreeSet<String> {
    let after_key = call.splitn(3, '"').nth(2).unwrap_or_default();
    let parts = arguments(after_key);
    let names = parts.iter().filter_map(|part| part.split_once(" = "));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Splits at commas outside brackets.
fn arguments(call: &str) -> Vec<&str> {
    let (mut depth, mut begins, mut parts) = (0_usize, 0, Vec::new());
    for (at, character) in call.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&call[begins..at]);
                begins = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&call[begins..]);
    parts
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    found.extend(folders.iter().flat_map(|folder| self::files(folder, ending)));
    found.sort();
    found
}
