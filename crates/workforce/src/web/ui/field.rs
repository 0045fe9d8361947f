//! A form field with its label, hint and error.

use maud::{Markup, html};

/// A field. The hint says what to type before a mistake, the error says it after one, with an example.
#[derive(Clone, Copy, Debug, Default)]
pub struct Field<'a> {
    /// Also the id, so it is unique within the page; see `id`.
    pub name: &'a str,
    pub label: &'a str,
    pub hint: Option<&'a str>,
    pub error: Option<&'a str>,
    /// Another id, if the page has two fields with this name.
    pub id: Option<&'a str>,
    /// Whether it takes more of a row than others.
    pub is_wide: bool,
}

impl<'a> Field<'a> {
    pub fn new(name: &'a str, label: &'a str) -> Self {
        Self { name, label, ..Self::default() }
    }

    #[must_use]
    pub const fn hint(self, hint: &'a str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    #[must_use]
    pub const fn error(self, error: Option<&'a str>) -> Self {
        Self { error, ..self }
    }

    #[must_use]
    pub const fn id(self, id: &'a str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// A text input of an HTML type.
    pub fn input(self, kind: &str, value: &str, max_length: usize) -> Markup {
        self.around(&html! {
            input id=(self.own_id()) type=(kind) name=(self.name) value=(value) maxlength=(max_length)
                aria-invalid=[self.error.map(|_| "true")] aria-describedby=[self.described_by()];
        })
    }

    /// A text of several lines.
    pub fn text_area(self, value: &str, rows: usize, max_length: usize) -> Markup {
        self.around(&html! {
            textarea id=(self.own_id()) name=(self.name) rows=(rows) maxlength=(max_length)
                aria-invalid=[self.error.map(|_| "true")] aria-describedby=[self.described_by()] { (value) }
        })
    }

    /// A choice: value and caption of each option.
    pub fn select<V: AsRef<str>>(self, value: &str, options: &[(V, String)]) -> Markup {
        self.around(&html! {
            select id=(self.own_id()) name=(self.name) aria-invalid=[self.error.map(|_| "true")]
                aria-describedby=[self.described_by()] {
                @for (option, caption) in options { option value=(option.as_ref()) selected[option.as_ref() == value] { (caption) } }
            }
        })
    }

    /// Label, hint and error around another control. The control has [`Self::own_id`] and [`Self::described_by`].
    pub fn around(self, control: &Markup) -> Markup {
        let id = self.own_id();
        html! {
            div.field.wide[self.is_wide] {
                label for=(id) { (self.label) }
                (control)
                @if let Some(hint) = self.hint { p.hint id={ (id) "-hint" } { (hint) } }
                @if let Some(error) = self.error { p.bad id={ (id) "-error" } data-testid={ "error-" (self.name) } { (error) } }
            }
        }
    }

    pub fn own_id(self) -> &'a str {
        self.id.unwrap_or(self.name)
    }

    /// The value of `aria-describedby`.
    pub fn described_by(self) -> Option<String> {
        let id = self.own_id();
        let hint = self.hint.map(|_| format!("{id}-hint"));
        let error = self.error.map(|_| format!("{id}-error"));
        let ids: Vec<String> = [error, hint].into_iter().flatten().collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn a_field_names_its_hint_and_its_error() {
        let field = Field::new("zone", "Time zone").hint("Such as Europe/Moscow");
        assert_eq!(field.described_by().as_deref(), Some("zone-hint"));
        let field = field.error(Some("Type it like Europe/Moscow")).id("zone-2");
        assert_eq!(field.described_by().as_deref(), Some("zone-2-error zone-2-hint"));
        let markup = field.input("text", "Moscow", 40).into_string();
        assert!(markup.contains(r#"aria-invalid="true""#) && markup.contains(r#"<p class="bad" id="zone-2-error" "#));
        assert_eq!(Field::new("a", "A").described_by(), None);
    }
}
