//! Buttons, and links that look like buttons.

use maud::{Markup, html};

use super::Icon;

/// How much a button asks for attention. A page has one primary button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    #[default]
    Primary,
    Plain,
    Danger,
}

/// A button that submits its form, or a link.
///
/// `Button::plain("Export").icon(Icon::Download).testid("export").submit()`
#[derive(Clone, Copy, Debug, Default)]
pub struct Button<'a> {
    caption: &'a str,
    look: Look,
    icon: Option<Icon>,
    is_small: bool,
    is_for_no_script: bool,
    testid: Option<&'a str>,
    /// Name and value that a form sends if this button submits it.
    value: Option<(&'a str, &'a str)>,
    /// The id of its form, if it is not within it.
    form: Option<&'a str>,
    is_pressed: Option<bool>,
    has_focus: bool,
}

impl<'a> Button<'a> {
    pub fn primary(caption: &'a str) -> Self {
        Self { caption, ..Self::default() }
    }

    pub fn plain(caption: &'a str) -> Self {
        Self { caption, look: Look::Plain, ..Self::default() }
    }

    /// For what takes something away.
    pub fn danger(caption: &'a str) -> Self {
        Self { caption, look: Look::Danger, ..Self::default() }
    }

    #[must_use]
    pub const fn icon(self, icon: Icon) -> Self {
        Self { icon: Some(icon), ..self }
    }

    #[must_use]
    pub const fn small(self) -> Self {
        Self { is_small: true, ..self }
    }

    /// Hides it where a script does its work, such as a filter that applies at once.
    #[must_use]
    pub const fn without_script(self) -> Self {
        Self { is_for_no_script: true, ..self }
    }

    #[must_use]
    pub const fn testid(self, testid: &'a str) -> Self {
        Self { testid: Some(testid), ..self }
    }

    /// What the form sends if this button submits it.
    #[must_use]
    pub const fn value(self, name: &'a str, value: &'a str) -> Self {
        Self { value: Some((name, value)), ..self }
    }

    /// The id of its form, if it is not within it.
    #[must_use]
    pub const fn form(self, id: &'a str) -> Self {
        Self { form: Some(id), ..self }
    }

    /// Whether it is the current one of several choices.
    #[must_use]
    pub const fn pressed(self, is_pressed: bool) -> Self {
        Self { is_pressed: Some(is_pressed), ..self }
    }

    /// Has the focus when the page is loaded.
    #[must_use]
    pub const fn focused(self) -> Self {
        Self { has_focus: true, ..self }
    }

    /// A submit button, within a form.
    pub fn submit(self) -> Markup {
        html! {
            button type="submit" class=(self.class()) data-testid=[self.testid] form=[self.form]
                name=[self.value.map(|(name, _)| name)] value=[self.value.map(|(_, value)| value)]
                aria-pressed=[self.is_pressed.map(|is_pressed| is_pressed.to_string())] autofocus[self.has_focus] {
                (self.content())
            }
        }
    }

    /// A button that copies the value of the field with this id, and says so with another caption. It needs the script.
    pub fn copies(self, field_id: &str, copied: &str) -> Markup {
        html! {
            button type="button" class=(self.class()) data-testid=[self.testid] data-copies=(field_id)
                data-copied=(copied) { (self.content()) }
        }
    }

    /// A button that prints the page. It needs the script.
    pub fn prints(self) -> Markup {
        html! { button type="button" class=(self.class()) data-testid=[self.testid] data-prints { (self.content()) } }
    }

    /// A link.
    pub fn link(self, path: &str) -> Markup {
        html! { a href=(path) class=(self.class()) data-testid=[self.testid] { (self.content()) } }
    }

    /// The link that opens the [`Dialog`](super::Dialog) with this id.
    pub fn opens(self, dialog_id: &str) -> Markup {
        html! {
            a href={ "#" (dialog_id) } class=(self.class()) data-testid=[self.testid] data-opens=(dialog_id)
                aria-haspopup="dialog" { (self.content()) }
        }
    }

    fn class(self) -> String {
        let look = match self.look {
            Look::Primary => "button",
            Look::Plain => "button plain",
            Look::Danger => "button danger",
        };
        let small = if self.is_small { " small" } else { "" };
        let hidden = if self.is_for_no_script { " without-script" } else { "" };
        format!("{look}{small}{hidden}")
    }

    fn content(self) -> Markup {
        html! { @if let Some(icon) = self.icon { (icon.svg()) } (self.caption) }
    }
}
