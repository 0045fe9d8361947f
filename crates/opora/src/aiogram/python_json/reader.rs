//! Parses JSON like Python's `json.loads`, without loss.

use super::text::{Text, push_escaped, push_escaped_unit};
use super::{DEPTH_MAX, Data, Number, PythonJsonError, Value};

type ParseResult<T> = Result<T, PythonJsonError>;

/// Parses one value, with only whitespace around it.
pub(super) fn read(json: &[u8]) -> ParseResult<Value> {
    let text =
        std::str::from_utf8(json).map_err(|error| PythonJsonError { message: "not UTF-8", at: error.valid_up_to() })?;
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return reader.wrong("unexpected text after the value");
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> ParseResult<Value> {
        self.skip_space();
        if depth > DEPTH_MAX {
            return self.wrong("nested too deep");
        }
        match self.peek() {
            Some(b'{') => self.dict(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number(),
            _ => self.word(),
        }
    }

    fn dict(&mut self, depth: usize) -> ParseResult<Value> {
        let mut entries = Vec::new();
        self.items(b'}', |reader| {
            if reader.peek() != Some(b'"') {
                return reader.wrong("expected a name in quotes");
            }
            let name = reader.string()?;
            reader.skip_space();
            if !reader.consume(":") {
                return reader.wrong("expected a colon");
            }
            entries.push((name, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Value::Dict(Data { entries }))
    }

    fn list(&mut self, depth: usize) -> ParseResult<Value> {
        let mut items = Vec::new();
        self.items(b']', |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::List(items))
    }

    /// Parses the comma-separated items between two brackets.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> ParseResult<()>) -> ParseResult<()> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            item(self)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(found) if found == end => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.wrong("expected a comma or the end"),
            }
        }
    }

    fn word(&mut self) -> ParseResult<Value> {
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.consume(word) {
                return Ok(value);
            }
        }
        self.wrong("expected a value")
    }

    fn number(&mut self) -> ParseResult<Value> {
        let from = self.at;
        if !["NaN", "Infinity", "-Infinity"].iter().any(|word| self.consume(word)) {
            self.consume("-");
            let first = self.peek();
            let whole = self.digits();
            if whole == 0 || (whole > 1 && first == Some(b'0')) {
                return self.wrong("not a number");
            }
            if self.consume(".") && self.digits() == 0 {
                return self.wrong("expected digits after the point");
            }
            if self.consume("e") || self.consume("E") {
                let _ = self.consume("+") || self.consume("-");
                if self.digits() == 0 {
                    return self.wrong("expected digits in the exponent");
                }
            }
        }
        Ok(Value::Number(Number(self.text[from..self.at].into())))
    }

    fn digits(&mut self) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        digits
    }

    fn string(&mut self) -> ParseResult<Text> {
        self.at += 1;
        let mut escaped = String::new();
        loop {
            // Copies a run of plain characters at once.
            let plain = self.text[self.at..].bytes();
            let plain = plain.take_while(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')).count();
            escaped.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.text[self.at..].chars().next() {
                Some('"') => {
                    self.at += 1;
                    return Ok(Text::from_escaped(escaped));
                }
                Some('\\') => self.escape(&mut escaped)?,
                Some('\0'..='\x1f') => return self.wrong("control character in a text"),
                Some(character) => {
                    push_escaped(&mut escaped, character);
                    self.at += character.len_utf8();
                }
                None => return self.wrong("unterminated text"),
            }
        }
    }

    fn escape(&mut self, escaped: &mut String) -> ParseResult<()> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'u') => return self.unit(escaped),
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return self.wrong("unknown escape"),
        };
        self.at += 1;
        push_escaped(escaped, character);
        Ok(())
    }

    fn unit(&mut self, escaped: &mut String) -> ParseResult<()> {
        let digits =
            self.text.as_bytes().get(self.at + 1..self.at + 5).filter(|four| four.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|four| std::str::from_utf8(four).ok());
        let Some(unit) = digits.and_then(|four| u16::from_str_radix(four, 16).ok()) else {
            return self.wrong("expected four hexadecimal digits");
        };
        self.at += 5;
        match char::from_u32(unit.into()) {
            Some(character) => push_escaped(escaped, character),
            None => push_escaped_unit(escaped, unit),
        }
        Ok(())
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn consume(&mut self, word: &str) -> bool {
        let is_there = self.text[self.at..].starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn wrong<T>(&self, message: &'static str) -> ParseResult<T> {
        Err(PythonJsonError { message, at: self.at })
    }
}
