//! Reads what `json.loads` reads, and keeps what it would lose.

use super::text::{Text, spell, spell_unit};
use super::{DEPTH_MAX, Data, NotPythonJson, Number, Value};

type Read<T> = Result<T, NotPythonJson>;

/// Reads one value with nothing but space around it.
pub(super) fn read(json: &[u8]) -> Read<Value> {
    let text = std::str::from_utf8(json)
        .map_err(|error| NotPythonJson { what: "this is not UTF-8", at: error.valid_up_to() })?;
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return reader.wrong("something stands behind the value");
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Read<Value> {
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

    fn dict(&mut self, depth: usize) -> Read<Value> {
        let mut entries = Vec::new();
        self.items(b'}', |reader| {
            if reader.peek() != Some(b'"') {
                return reader.wrong("a name in quotes was expected");
            }
            let name = reader.string()?;
            reader.skip_space();
            if !reader.takes(":") {
                return reader.wrong("a colon was expected");
            }
            entries.push((name, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Value::Dict(Data { entries }))
    }

    fn list(&mut self, depth: usize) -> Read<Value> {
        let mut items = Vec::new();
        self.items(b']', |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::List(items))
    }

    /// Everything between two brackets, with commas between.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
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
                _ => return self.wrong("a comma or the end was expected"),
            }
        }
    }

    fn word(&mut self) -> Read<Value> {
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.takes(word) {
                return Ok(value);
            }
        }
        self.wrong("a value was expected")
    }

    fn number(&mut self) -> Read<Value> {
        let from = self.at;
        if !["NaN", "Infinity", "-Infinity"].iter().any(|word| self.takes(word)) {
            self.takes("-");
            let first = self.peek();
            let whole = self.digits();
            if whole == 0 || (whole > 1 && first == Some(b'0')) {
                return self.wrong("this is no number");
            }
            if self.takes(".") && self.digits() == 0 {
                return self.wrong("digits were expected behind the point");
            }
            if self.takes("e") || self.takes("E") {
                let _ = self.takes("+") || self.takes("-");
                if self.digits() == 0 {
                    return self.wrong("digits were expected in the exponent");
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

    fn string(&mut self) -> Read<Text> {
        self.at += 1;
        let mut spelled = String::new();
        loop {
            // What needs no escape is taken in one piece.
            let plain = self.text[self.at..].bytes();
            let plain = plain.take_while(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')).count();
            spelled.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.text[self.at..].chars().next() {
                Some('"') => {
                    self.at += 1;
                    return Ok(Text::spelled(spelled));
                }
                Some('\\') => self.escape(&mut spelled)?,
                Some('\0'..='\x1f') => return self.wrong("a control character stands in a text"),
                Some(character) => {
                    spell(&mut spelled, character);
                    self.at += character.len_utf8();
                }
                None => return self.wrong("a text does not end"),
            }
        }
    }

    fn escape(&mut self, spelled: &mut String) -> Read<()> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'u') => return self.unit(spelled),
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return self.wrong("this escape is not known"),
        };
        self.at += 1;
        spell(spelled, character);
        Ok(())
    }

    fn unit(&mut self, spelled: &mut String) -> Read<()> {
        let digits =
            self.text.as_bytes().get(self.at + 1..self.at + 5).filter(|four| four.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|four| std::str::from_utf8(four).ok());
        let Some(unit) = digits.and_then(|four| u16::from_str_radix(four, 16).ok()) else {
            return self.wrong("four hexadecimal digits were expected");
        };
        self.at += 5;
        match char::from_u32(unit.into()) {
            Some(character) => spell(spelled, character),
            None => spell_unit(spelled, unit),
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

    fn takes(&mut self, word: &str) -> bool {
        let is_there = self.text[self.at..].starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn wrong<T>(&self, what: &'static str) -> Read<T> {
        Err(NotPythonJson { what, at: self.at })
    }
}
