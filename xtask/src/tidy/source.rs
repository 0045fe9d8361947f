//! A Rust file line by line, code apart from comments.
//!
//! Strings are emptied, so that a rule about code does not match a message, and comments are kept apart. Lines of tests
//! are marked. This is not a parser: it knows just enough of the language for the rules.

#[derive(Debug, Default)]
pub(super) struct Source {
    pub lines: Vec<Line>,
    /// Names of `mod name;` items behind `cfg(test)`.
    pub test_modules: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Line {
    /// The code, with empty strings.
    pub code: String,
    /// The comment, with its slashes.
    pub comment: String,
    pub is_test: bool,
}

impl Line {
    /// Whether the line has an ordinary comment. Documentation does not justify a panic.
    pub(super) fn justifies(&self) -> bool {
        let comment = self.comment.trim();
        let is_documentation = comment.starts_with("///") || comment.starts_with("//!");
        !is_documentation && comment.chars().any(char::is_alphanumeric)
    }
}

pub(super) fn read(text: &str) -> Source {
    let mut reader = Reader { text: text.chars().collect(), at: 0, lines: vec![Line::default()] };
    reader.read();
    let mut source = Source { lines: reader.lines, test_modules: Vec::new() };
    mark_tests(&mut source);
    source
}

struct Reader {
    text: Vec<char>,
    at: usize,
    lines: Vec<Line>,
}

impl Reader {
    fn read(&mut self) {
        while let Some(next) = self.peek(0) {
            match (next, self.peek(1)) {
                ('/', Some('/')) => self.comment_to_line_end(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('r', Some('"' | '#')) if self.raw_string_hashes().is_some() => self.raw_string(),
                ('\'', _) => self.quote(),
                _ => self.take_code(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Advances by one character and appends it to the string that `keep` returns. Line ends are always counted.
    fn advance(&mut self, keep: impl FnOnce(&mut Line) -> Option<&mut String>) {
        let Some(character) = self.peek(0) else { return };
        self.at += 1;
        if character == '\n' {
            self.lines.push(Line::default());
        } else if let Some(text) = self.lines.last_mut().and_then(keep) {
            text.push(character);
        }
    }

    fn take_code(&mut self) {
        self.advance(|line| Some(&mut line.code));
    }

    fn take_comment(&mut self) {
        self.advance(|line| Some(&mut line.comment));
    }

    fn drop_character(&mut self) {
        self.advance(|_| None);
    }

    fn comment_to_line_end(&mut self) {
        while self.peek(0).is_some_and(|next| next != '\n') {
            self.take_comment();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return,
                _ => {
                    self.take_comment();
                    continue;
                }
            }
            self.take_comment();
            self.take_comment();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take_code();
        while let Some(next) = self.peek(0) {
            match next {
                '"' => return self.take_code(),
                '\\' => {
                    self.drop_character();
                    self.drop_character();
                }
                _ => self.drop_character(),
            }
        }
    }

    /// How many hashes a raw string begins with, if one begins here.
    fn raw_string_hashes(&self) -> Option<usize> {
        let before = |back: usize| self.at.checked_sub(back).map(|at| self.text[at]);
        let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
        // `br"…"` and `cr"…"` are raw strings too; `for"` or `her#` are not.
        let begins = !is_word(before(1)) || (matches!(before(1), Some('b' | 'c')) && !is_word(before(2)));
        let hashes = self.text[self.at + 1..].iter().take_while(|c| **c == '#').count();
        (begins && self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_string_hashes().unwrap_or_default();
        for _ in 0..hashes + 2 {
            self.take_code();
        }
        while let Some(next) = self.peek(0) {
            if next == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                for _ in 0..=hashes {
                    self.take_code();
                }
                return;
            }
            self.drop_character();
        }
    }

    /// A character in quotes, or a lifetime.
    fn quote(&mut self) {
        let is_character = self.peek(1) == Some('\\') || self.peek(2) == Some('\'');
        self.take_code();
        if !is_character {
            return;
        }
        if self.peek(0) == Some('\\') {
            self.drop_character();
        }
        self.drop_character();
        while self.peek(0).is_some_and(|next| next != '\'' && next != '\n') {
            self.drop_character();
        }
        self.take_code();
    }
}

/// Marks the items behind `#[cfg(test)]` and `#[test]`.
fn mark_tests(source: &mut Source) {
    let mut index = 0;
    while index < source.lines.len() {
        let compact: String = source.lines[index].code.split_whitespace().collect();
        if compact.starts_with("#![cfg(test)]") {
            source.lines.iter_mut().for_each(|line| line.is_test = true);
            return;
        }
        if !begins_test(&compact) {
            index += 1;
            continue;
        }
        let last = last_line_of_item(&source.lines, index);
        source.test_modules.extend(declared_module(&source.lines[index..=last]));
        source.lines[index..=last].iter_mut().for_each(|line| line.is_test = true);
        index = last + 1;
    }
}

fn begins_test(compact: &str) -> bool {
    ["#[cfg(test)]", "#[cfg(all(test,", "#[cfg(any(test,", "#[test]", "#[tokio::test"]
        .iter()
        .any(|start| compact.starts_with(start))
}

/// An item ends with its outermost brace, or with a semicolon outside of every bracket.
fn last_line_of_item(lines: &[Line], first: usize) -> usize {
    let mut depth = 0_i32;
    for (index, line) in lines.iter().enumerate().skip(first) {
        for character in line.code.chars() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(character, '}' | ';') {
                return index;
            }
        }
    }
    lines.len() - 1
}

fn declared_module(item: &[Line]) -> Option<String> {
    let code: Vec<_> = item.iter().map(|line| line.code.as_str()).collect();
    let declaration = code.join(" ");
    let (_, name) = declaration.trim_end().strip_suffix(';')?.rsplit_once("mod ")?;
    Some(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        read(text).lines.into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_are_emptied_and_comments_set_apart() {
        let source = read("let a = \"// not \\\" a comment\"; // a comment");
        assert_eq!(source.lines[0].code, "let a = \"\"; ");
        assert_eq!(source.lines[0].comment, "// a comment");
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        assert_eq!(code("f(r#\"a \" b\"#, br\"x\", r\"\");"), ["f(r#\"\"#, br\"\", r\"\");"]);
    }

    #[test]
    fn quotes_of_characters_and_lifetimes_are_told_apart() {
        assert_eq!(code("f::<'a>('\"', '\\'', '\\u{1F600}', b'x')"), ["f::<'a>('', '', '', b'')"]);
    }

    #[test]
    fn strings_and_nested_comments_may_span_lines() {
        assert_eq!(code("a(\"one\ntwo\");\n/* x /* y */\nz */ b"), ["a(\"", "\");", "", " b"]);
    }

    #[test]
    fn a_test_module_is_marked_to_its_last_brace() {
        let source = read("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { [0; 2] }\n}\nfn c() {}");
        let marks: Vec<_> = source.lines.iter().map(|line| line.is_test).collect();
        assert_eq!(marks, [false, true, true, true, true, false]);
    }

    #[test]
    fn a_test_module_in_another_file_is_named() {
        assert_eq!(read("#[cfg(test)]\nmod tests;\nmod other;").test_modules, ["tests"]);
    }
}
