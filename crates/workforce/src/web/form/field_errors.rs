//! Fields that do not fit, each with the text that says what to type.

use crate::key;

/// A field that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    /// The key of the text that says what to type, with an example.
    pub key: &'static str,
}

/// All fields of a form that do not fit, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors(Vec<FieldError>);

/// The text of a field that has none of its own.
const LOOK_AGAIN: &str = key!("web-form-bad-field");

impl FieldErrors {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a field. The first error of a field stays.
    pub fn add(&mut self, field: &'static str, key: &'static str) {
        if !self.has(field) {
            self.0.push(FieldError { field, key });
        }
    }

    /// Adds fields that a rule names. `help` has the text key of each field.
    pub fn add_named(&mut self, fields: &[&'static str], help: &[(&'static str, &'static str)]) {
        for field in fields {
            let key = help.iter().find(|(name, _)| name == field).map_or(LOOK_AGAIN, |(_, key)| *key);
            self.add(field, key);
        }
    }

    pub fn has(&self, field: &str) -> bool {
        self.key(field).is_some()
    }

    /// The text key of a field's error.
    pub fn key(&self, field: &str) -> Option<&'static str> {
        self.0.iter().find(|error| error.field == field).map(|error| error.key)
    }

    /// The names of the fields.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|error| error.field).collect()
    }

    /// The value, if all fields fit.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<FieldError> for FieldErrors {
    fn from(error: FieldError) -> Self {
        Self(vec![error])
    }
}

impl From<Vec<&'static str>> for FieldErrors {
    fn from(fields: Vec<&'static str>) -> Self {
        let mut errors = Self::default();
        errors.add_named(&fields, &[]);
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_field_stays() {
        let mut errors = FieldErrors::default();
        errors.add("rate", "web-form-bad-money");
        errors.add_named(&["rate", "name", "other"], &[("rate", "a"), ("name", "b")]);
        assert_eq!(errors.key("rate"), Some("web-form-bad-money"));
        assert_eq!((errors.key("name"), errors.key("other")), (Some("b"), Some(LOOK_AGAIN)));
        assert_eq!(errors.clone().or(1), Err(errors));
    }
}
