//! Fields packed into one text as `length:text`, so that nothing needs escaping. The server's functions use the same
//! format.

use crate::store::BoxError;

/// Appends a field.
pub(super) fn push(to: &mut String, field: &str) {
    to.push_str(&field.len().to_string());
    to.push(':');
    to.push_str(field);
}

pub(super) fn pack(fields: &[&str]) -> String {
    let mut packed = String::with_capacity(fields.iter().map(|field| field.len() + 6).sum());
    fields.iter().for_each(|field| push(&mut packed, field));
    packed
}

/// A row of a list: its id, then its fields.
pub(super) fn row(id: &str, fields: &[&str]) -> String {
    format!("{id}|{}", pack(fields))
}

/// Splits a row into its id and its fields.
pub(super) fn split_row(row: &str) -> Result<(i64, Fields<'_>), BoxError> {
    let (id, fields) = row.split_once('|').ok_or(NOT_A_ROW)?;
    Ok((id.parse()?, Fields(fields)))
}

const NOT_A_ROW: &str = "a row in Redis has an unknown format";

/// Reads fields one after another.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a str);

impl<'a> Fields<'a> {
    pub(super) fn next(&mut self) -> Result<&'a str, BoxError> {
        let (length, rest) = self.0.split_once(':').ok_or(NOT_A_ROW)?;
        let (field, rest) = rest.split_at_checked(length.parse()?).ok_or(NOT_A_ROW)?;
        self.0 = rest;
        Ok(field)
    }

    pub(super) fn number(&mut self) -> Result<i64, BoxError> {
        Ok(self.next()?.parse()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_whatever_they_hold() {
        let texts = ["", "5:a|b", "a\u{0}b", "ю"];
        let packed = row("0000000000000000017", &texts);
        let (id, mut fields) = split_row(&packed).unwrap();
        assert_eq!(id, 17);
        for text in texts {
            assert_eq!(fields.next().unwrap(), text);
        }
        assert!(fields.next().is_err());
        assert!(Fields("9:short").next().is_err());
        assert!(Fields("1:ю").next().is_err(), "half a character");
    }
}
