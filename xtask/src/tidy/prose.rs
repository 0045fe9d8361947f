//! Comments and documents read well: lines that fit, sentences that end, words that the glossary keeps.
//!
//! A sentence ends at a full stop, a colon or a semicolon. Code blocks, tables and headings of documents are not prose.

use super::Findings;
use super::tree::{Module, TextFile, Tree};

const COMMENT_WIDTH: usize = 120;
const DOCUMENT_WIDTH: usize = 132;
const SENTENCE_WORDS: usize = 40;
const FUNCTION_NAME_LENGTH: usize = 60;

/// Words that `docs/glossary.md` retired, and what to write instead.
const RETIRED: [(&str, &str); 9] = [
    ("anew", "say what is repeated, or `again`"),
    ("whoever", "name the subject"),
    ("apology", "failure notice"),
    ("haste", "direct update"),
    ("hearer", "handler"),
    ("hearers", "handlers"),
    ("unheard", "unhandled"),
    ("witness", "last-seen record"),
    ("witnesses", "last-seen records"),
];
/// Words that hide their subject. Natural uses exist, so only their number is limited.
const HIDES_ITS_SUBJECT: [&str; 2] = ["nobody", "somebody"];
const HIDDEN_SUBJECTS_ALLOWED: usize = 50;
/// Files whose words and comments are English. Of the texts for people only `locales/en` is.
const ENGLISH_ENDINGS: [&str; 7] = [".conf", ".lua", ".md", ".rs", ".sh", ".sql", ".toml"];
/// The glossary names the retired words, and so does this rule.
const SPEAKS_OF_WORDS: [&str; 2] = ["docs/glossary.md", "xtask/src/tidy"];

/// One paragraph: the line that it begins at, and its text.
#[derive(Debug, PartialEq)]
struct Paragraph {
    line: usize,
    text: String,
}

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let mut hidden_subjects = Vec::new();
    for module in &tree.modules {
        let mut is_code_block = false;
        for (index, line) in module.source.lines.iter().enumerate() {
            is_code_block ^= line.comment.trim_start_matches(['/', '!', ' ']).starts_with("```");
            if !is_code_block {
                comment_width(module, index, findings);
            }
            function_name(&module.path, index + 1, &line.code, findings);
        }
        sentences(&module.path, &paragraphs_of_comments(module), findings);
    }
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        sentences(&file.path, &paragraphs_of_document(file, findings), findings);
    }
    for file in tree.files.iter().filter(|file| is_written_in_english(file)) {
        words(file, &mut hidden_subjects, findings);
    }
    if hidden_subjects.len() > HIDDEN_SUBJECTS_ALLOWED {
        let number = hidden_subjects.len();
        for (path, line) in hidden_subjects {
            let why =
                format!("`nobody` and `somebody` stand in {number} places, {HIDDEN_SUBJECTS_ALLOWED} are allowed");
            findings.refuse(&path, line, format!("{why}: name the subject"));
        }
    }
}

fn is_written_in_english(file: &TextFile) -> bool {
    let has_ending = ENGLISH_ENDINGS.iter().any(|ending| file.path.ends_with(ending));
    let is_english_text = file.path.contains("/locales/en/") && file.path.ends_with(".ftl");
    (has_ending || is_english_text) && !SPEAKS_OF_WORDS.iter().any(|start| file.path.starts_with(start))
}

fn words(file: &TextFile, hidden_subjects: &mut Vec<(String, usize)>, findings: &mut Findings) {
    for (index, line) in file.text.lines().enumerate() {
        for word in line.split(|character: char| !character.is_ascii_alphabetic()).map(str::to_lowercase) {
            if let Some((_, instead)) = RETIRED.iter().find(|(retired, _)| *retired == word) {
                findings.refuse(&file.path, index + 1, format!("`{word}` is a retired word: {instead}"));
            }
            if HIDES_ITS_SUBJECT.contains(&word.as_str()) {
                hidden_subjects.push((file.path.clone(), index + 1));
            }
        }
    }
}

fn comment_width(module: &Module, index: usize, findings: &mut Findings) {
    let line = &module.source.lines[index];
    // Code before a comment counts without the contents of its strings: rustfmt looks at those lines.
    let width = line.code.chars().count() + line.comment.chars().count();
    if !line.comment.is_empty() && width > COMMENT_WIDTH && !line.comment.contains("](http") {
        let why = format!("a comment of {width} columns: wrap it at {COMMENT_WIDTH}");
        findings.refuse(&module.path, index + 1, why);
    }
}

fn function_name(path: &str, line: usize, code: &str, findings: &mut Findings) {
    let Some((_, rest)) = code.split_once("fn ") else { return };
    let length = rest.chars().take_while(|character| character.is_alphanumeric() || *character == '_').count();
    if length > FUNCTION_NAME_LENGTH {
        let why = format!("a name of {length} characters: {FUNCTION_NAME_LENGTH} are enough for a sentence");
        findings.refuse(path, line, why);
    }
}

fn sentences(path: &str, paragraphs: &[Paragraph], findings: &mut Findings) {
    for paragraph in paragraphs {
        for sentence in split_sentences(&paragraph.text) {
            let words = sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
            if words > SENTENCE_WORDS {
                let begin: String = sentence.chars().take(60).collect();
                let why = format!("a sentence of {words} words, {SENTENCE_WORDS} are allowed: `{begin}…`");
                findings.refuse(path, paragraph.line, why);
            }
        }
    }
}

fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        let last = sentences.len() - 1;
        sentences[last].push_str(word);
        sentences[last].push(' ');
        if word.trim_end_matches(['"', ')', '*', '_', '`']).ends_with(['.', '!', '?', ':', ';']) {
            sentences.push(String::new());
        }
    }
    sentences
}

/// Paragraphs of comments: runs of lines that hold a comment only, all of one kind.
fn paragraphs_of_comments(module: &Module) -> Vec<Paragraph> {
    let mut prose = Prose::default();
    let mut last_marker = "";
    for (index, line) in module.source.lines.iter().enumerate() {
        let comment = line.comment.trim_start_matches(['/', '!', '*']);
        let marker = &line.comment[..line.comment.len() - comment.len()];
        if marker != last_marker {
            prose.end();
        }
        last_marker = marker;
        let comment = comment.trim();
        if line.code.trim().is_empty() && !line.comment.is_empty() {
            prose.line(index + 1, comment);
        } else {
            prose.end();
            prose.is_code = false;
        }
    }
    prose.paragraphs
}

/// Paragraphs of a document. Their lines are checked for width on the way.
fn paragraphs_of_document(file: &TextFile, findings: &mut Findings) -> Vec<Paragraph> {
    let mut prose = Prose::default();
    for (index, line) in file.text.lines().enumerate() {
        prose.line(index + 1, line.trim());
        let width = line.chars().count();
        if prose.is_within() && width > DOCUMENT_WIDTH {
            let why = format!("a line of {width} characters: wrap it at {DOCUMENT_WIDTH}");
            findings.refuse(&file.path, index + 1, why);
        }
    }
    prose.end();
    prose.paragraphs
}

/// Gathers lines to paragraphs.
#[derive(Debug, Default)]
struct Prose {
    paragraphs: Vec<Paragraph>,
    current: Option<Paragraph>,
    is_code: bool,
}

impl Prose {
    fn line(&mut self, number: usize, text: &str) {
        if text.starts_with("```") {
            self.is_code = !self.is_code;
            return self.end();
        }
        if self.is_code || text.is_empty() || text.starts_with(['|', '#', '<', '!']) {
            return self.end();
        }
        let is_item = text.starts_with("- ") || text.starts_with("* ") || starts_with_number(text);
        if is_item {
            self.end();
        }
        let paragraph = self.current.get_or_insert_with(|| Paragraph { line: number, text: String::new() });
        paragraph.text.push_str(text);
        paragraph.text.push(' ');
    }

    fn is_within(&self) -> bool {
        self.current.is_some()
    }

    fn end(&mut self) {
        self.paragraphs.extend(self.current.take());
    }
}

fn starts_with_number(text: &str) -> bool {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    digits > 0 && text[digits..].starts_with(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_stops_and_colons() {
        let text = "One. Two: `three`; (four.) five v1.2 six";
        assert_eq!(split_sentences(text), ["One. ", "Two: ", "`three`; ", "(four.) ", "five v1.2 six "]);
    }

    #[test]
    fn code_tables_and_headings_are_no_prose() {
        let text = "# Head\none\ntwo\n\n| a | b |\n```rust\nlet a = 1;\n```\n- item\n  goes on\n1. next\n";
        let file = TextFile { path: "a.md".into(), text: text.into() };
        let found = paragraphs_of_document(&file, &mut Findings::default());
        let texts: Vec<_> = found.iter().map(|paragraph| (paragraph.line, paragraph.text.trim())).collect();
        assert_eq!(texts, [(2, "one two"), (9, "- item goes on"), (11, "1. next")]);
    }
}
