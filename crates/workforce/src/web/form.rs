//! Forms that lose no input: typed values stay, wrong fields are marked, and concurrent changes are shown beside them,
//! with a button to save anyway.
//!
//! A form is identified by the path that it is sent to, so a page may have many. [`submit`] reads one and acts. A
//! refusal becomes a [`FormAttempt`], and the page is shown again with it. Nothing here knows the records of rooms.

use std::cell::Cell;
use std::collections::BTreeMap;

use axum::http::StatusCode;
use maud::{Markup, html};

pub use self::field_errors::{FieldError, FieldErrors};
pub use self::form_key::form_key;
use self::reading::localised;
pub use self::reading::{Reader, fields, money_field, time_of};
use super::guards::Visitor;
use super::page_error::PageError;
use super::ui::{Button, Field};
use crate::domain::{ActionError, RefusalReason};
use crate::money::Money;
use crate::text;
use crate::texts::Language;
use crate::time_zones;

mod field_errors;
mod form_key;
mod reading;

/// The field with the version that the person saw.
const VERSION: &str = "version";
/// Fields that people do not type.
const HIDDEN_FIELDS: [&str; 9] =
    [VERSION, form_key::FIELD, super::csrf::FIELD, "period", "user", "site", "seen", "kind", "at"];

/// The fields of a form by name, as typed. An unticked box is missing.
pub type Fields = BTreeMap<String, String>;

/// Refusals of a room that pages can show.
pub trait PageRefusal: RefusalReason {
    /// The text for the person.
    fn text(self, language: Language) -> String;
    /// How the page shows it.
    fn refusal_kind(self) -> PageRefusalKind;
    /// The field that was filled in wrongly, if it is one.
    fn field_error(self) -> Option<FieldError> {
        None
    }
}

/// How a page shows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRefusalKind {
    /// Another person changed the record since the page was loaded.
    Stale,
    /// The record is gone.
    Gone,
    /// A typed value is invalid.
    Mistake,
    /// The person may not do it.
    Forbidden,
    /// The present state does not allow it.
    Conflict,
    /// The person has to confirm it.
    Unconfirmed,
}

/// A form that was sent and refused. The default is a page without one.
#[derive(Clone, Debug, Default)]
pub struct FormAttempt {
    /// Where the form was sent.
    path: String,
    pub typed: Fields,
    pub bad: FieldErrors,
    /// The kind of refusal, and its text.
    refused: Option<(PageRefusalKind, String)>,
}

/// A form with its values.
#[derive(Debug)]
pub struct FilledForm<'a> {
    pub language: Language,
    pub typed: &'a Fields,
    /// The stored values, if they changed since the page was loaded.
    pub now: Option<&'a Fields>,
    /// The fields that do not fit; None for a form that was not sent.
    bad: Option<&'a FieldErrors>,
    /// Begins the ids of its controls, so that the forms of a page have different ones.
    id: String,
    /// Whether a wrong field was drawn. The first one gets the focus.
    has_focus: Cell<bool>,
}

/// The caption of a field, with a hint if the caption does not say what to type.
#[derive(Clone, Copy, Debug)]
pub struct FieldLabel<'a> {
    text: &'a str,
    hint: Option<&'a str>,
}

impl<'a> FieldLabel<'a> {
    pub const fn hinted(text: &'a str, hint: &'a str) -> Self {
        Self { text, hint: Some(hint) }
    }
}

impl<'a> From<&'a str> for FieldLabel<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, hint: None }
    }
}

impl<'a> From<&'a String> for FieldLabel<'a> {
    fn from(text: &'a String) -> Self {
        Self { text, hint: None }
    }
}

/// What a control says about its field.
struct ControlState {
    id: String,
    described_by: Option<String>,
    /// The value of `aria-invalid`.
    invalid: Option<&'static str>,
    /// Whether this is the first wrong field of the form, which gets the focus.
    is_first: bool,
}

/// A form to show: its path, its initial values and their version.
#[derive(Clone, Copy, Debug)]
pub struct FormSpec<'a> {
    pub path: &'a str,
    pub now: &'a Fields,
    /// None for new records: such a form has a form key instead.
    pub version: Option<i64>,
    /// The page with the form.
    pub back: &'a str,
    /// Caption and test id of its button.
    pub caption: &'a str,
    pub testid: &'a str,
}

/// What became of a form that was sent.
#[derive(Debug)]
#[must_use]
pub enum Submitted<R> {
    Done(R),
    Refused(FormAttempt),
}

impl<R> Submitted<R> {
    pub fn map<Other>(self, change: impl FnOnce(R) -> Other) -> Submitted<Other> {
        match self {
            Self::Done(done) => Submitted::Done(change(done)),
            Self::Refused(attempt) => Submitted::Refused(attempt),
        }
    }
}

/// Reads a form and acts on it.
pub async fn submit<T, R: Default, W: PageRefusal, E: Into<FieldErrors>>(
    visitor: &Visitor,
    typed: Fields,
    read: impl FnOnce(&Fields) -> Result<T, E>,
    act: impl AsyncFnOnce(T) -> Result<R, ActionError<W>>,
) -> Result<Submitted<R>, PageError> {
    let path = visitor.visit.path().to_owned();
    let input = match read(&typed) {
        Ok(input) => input,
        Err(bad) => return Ok(Submitted::Refused(FormAttempt { path, typed, bad: bad.into(), refused: None })),
    };
    match act(input).await {
        Ok(done) => Ok(Submitted::Done(done)),
        // A second click is answered like the first.
        Err(ActionError::Repeated) => Ok(Submitted::Done(R::default())),
        Err(ActionError::NotAllowed) => Err(PageError::Forbidden),
        Err(ActionError::Failed(error)) => Err(error.into()),
        Err(ActionError::Refused(refusal)) => match refusal.refusal_kind() {
            PageRefusalKind::Forbidden => Err(PageError::Forbidden),
            refusal_kind => {
                let refused = Some((refusal_kind, refusal.text(visitor.language())));
                let bad = refusal.field_error().map(FieldErrors::from).unwrap_or_default();
                Ok(Submitted::Refused(FormAttempt { path, typed, bad, refused }))
            }
        },
    }
}

/// The version in a form.
pub fn version_of(typed: &Fields) -> i64 {
    typed.get(VERSION).and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Reads a form that carries only a version.
pub fn version_only(typed: &Fields) -> Result<i64, FieldErrors> {
    Ok(version_of(typed))
}

impl FormAttempt {
    /// The same attempt for another form of the page, or with other values.
    #[must_use]
    pub fn at(self, path: impl Into<String>, typed: Fields) -> Self {
        Self { path: path.into(), typed, ..self }
    }

    pub fn status(&self) -> StatusCode {
        match self.refused {
            None if self.bad.is_empty() => StatusCode::OK,
            None | Some((PageRefusalKind::Mistake, _)) => StatusCode::UNPROCESSABLE_ENTITY,
            Some(_) => StatusCode::CONFLICT,
        }
    }

    /// Whether this form was sent.
    pub fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether this form waits for a confirmation.
    pub fn is_unconfirmed(&self, path: &str) -> bool {
        self.is_at(path) && self.refusal_kind() == Some(PageRefusalKind::Unconfirmed)
    }

    pub fn is_stale(&self) -> bool {
        self.refusal_kind() == Some(PageRefusalKind::Stale)
    }

    /// The values of a form: as typed, else as stored.
    pub fn filled<'a>(&'a self, path: &str, now: &'a Fields, language: Language) -> FilledForm<'a> {
        let (has_focus, id) = (Cell::new(false), path.trim_matches('/').replace('/', "-"));
        if !self.is_at(path) || self.typed.is_empty() {
            return FilledForm { language, typed: now, now: None, bad: None, id, has_focus };
        }
        let stored = self.is_stale().then_some(now);
        FilledForm { language, typed: &self.typed, now: stored, bad: Some(&self.bad), id, has_focus }
    }

    /// A line at the top of the page. It also shows the typed values for a record that is gone and has no form any
    /// more.
    pub fn notice(&self, language: Language) -> Markup {
        let text = match &self.refused {
            Some((PageRefusalKind::Stale, _)) if self.is_filled_in() => Some(text!(language, "web-form-stale")),
            Some((_, text)) => Some(text.clone()),
            None if !self.bad.is_empty() => Some(text!(language, "web-form-look-again")),
            None => None,
        };
        let typed_texts: Vec<&str> =
            if self.refusal_kind() == Some(PageRefusalKind::Gone) { self.typed_texts() } else { Vec::new() };
        html! {
            @if let Some(text) = text {
                div.notice-line role="status" data-testid="notice" {
                    (text)
                    @if !typed_texts.is_empty() { p data-testid="typed" { (text!(language, "web-form-typed")) " " (typed_texts.join(" · ")) } }
                }
            }
        }
    }

    fn refusal_kind(&self) -> Option<PageRefusalKind> {
        self.refused.as_ref().map(|(refusal_kind, _)| *refusal_kind)
    }

    /// Whether the form had any field to fill in.
    fn is_filled_in(&self) -> bool {
        self.typed.keys().any(|name| !HIDDEN_FIELDS.contains(&name.as_str()))
    }

    fn typed_texts(&self) -> Vec<&str> {
        let typed = self.typed.iter().filter(|(name, _)| !HIDDEN_FIELDS.contains(&name.as_str()));
        typed.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty() && *value != "on").collect()
    }
}

impl Visitor {
    /// A form with its version, fields and button. After a concurrent change the button says that it overwrites the
    /// change.
    pub fn record_form(
        &self,
        attempt: &FormAttempt,
        spec: FormSpec<'_>,
        fields: impl FnOnce(&FilledForm<'_>) -> Markup,
    ) -> Markup {
        let language = self.language();
        let filled = attempt.filled(spec.path, spec.now, language);
        let is_stale = filled.now.is_some();
        // After another refusal the sent version stays, so that a concurrent change is noticed next time.
        let on_top = text!(language, "web-form-on-top");
        let caption = if is_stale { on_top.as_str() } else { spec.caption };
        let version = spec.version.map(|now| if is_stale { now } else { filled.version().unwrap_or(now) });
        self.visit.form(
            spec.path,
            &html! {
                @match version {
                    Some(version) => { input type="hidden" name=(VERSION) value=(version); },
                    None => { input type="hidden" name=(form_key::FIELD) value=(self.visit.request_id()); },
                }
                (fields(&filled))
                @if is_stale {
                    p.now data-testid="stale" { (text!(language, "web-form-on-top-about")) }
                }
                (Button::primary(caption).testid(spec.testid).submit())
                @if is_stale { " " (Button::plain(&text!(language, "web-form-drop")).link(spec.back)) }
            },
        )
    }
}

impl FilledForm<'_> {
    /// The value of a field.
    pub fn value(&self, name: &str) -> &str {
        self.typed.get(name).map_or("", String::as_str)
    }

    /// The version in the sent form.
    fn version(&self) -> Option<i64> {
        self.typed.get(VERSION).and_then(|version| version.parse().ok())
    }

    /// Whether a wrong field gets the focus: the first one of the form does.
    fn is_first_wrong(&self, name: &str) -> bool {
        self.bad.is_some_and(|bad| bad.has(name)) && !self.has_focus.replace(true)
    }

    /// What to type into a wrong field.
    fn error_text(&self, name: &str) -> Option<String> {
        let key = self.bad.and_then(|bad| bad.key(name))?;
        Some(text!(self.language, key))
    }

    /// What to type into a wrong field that is no single control; nothing for a field that fits.
    pub fn error(&self, name: &str) -> Markup {
        html! {
            @if let Some(text) = self.error_text(name) {
                span.bad id={ "error-" (name) } data-testid={ "error-" (name) } { (text) }
            }
        }
    }

    /// What is stored now, if it differs from what was typed.
    fn stored(&self, name: &str, shown: impl FnOnce(&str) -> String) -> Markup {
        let now = self.now.map(|now| now.get(name).map_or("", String::as_str));
        let now = now.filter(|now| !is_same(now, self.value(name)));
        html! {
            @if let Some(now) = now {
                span.now data-testid={ "now-" (name) } { (text!(self.language, "web-form-by-now", value = shown(now))) }
            }
        }
    }

    /// A field around its control.
    fn field(
        &self,
        name: &str,
        label: FieldLabel<'_>,
        is_wide: bool,
        control: impl FnOnce(&ControlState) -> Markup,
    ) -> Markup {
        let (id, error) = (format!("{}-{name}", self.id), self.error_text(name));
        let field =
            Field { name, label: label.text, hint: label.hint, error: error.as_deref(), id: Some(&id), is_wide };
        let invalid = error.is_some().then_some("true");
        let is_first = self.is_first_wrong(name);
        field.around(&control(&ControlState { id: id.clone(), described_by: field.described_by(), invalid, is_first }))
    }

    /// A text field.
    pub fn line<'l>(&self, name: &str, label: impl Into<FieldLabel<'l>>, max_length: usize) -> Markup {
        self.line_of(name, label.into(), max_length, None)
    }

    /// A text field with suggestions from the datalist with this id.
    pub fn suggested(&self, name: &str, label: &str, max_length: usize, list: &str) -> Markup {
        self.line_of(name, label.into(), max_length, Some(list))
    }

    /// A field for a time zone with suggestions. A page has one such field at most.
    pub fn time_zone<'l>(&self, name: &str, label: impl Into<FieldLabel<'l>>) -> Markup {
        html! {
            (self.line_of(name, label.into(), 60, Some(time_zones::LIST)))
            (time_zones::datalist(self.language))
        }
    }

    fn line_of(&self, name: &str, label: FieldLabel<'_>, max_length: usize, list: Option<&str>) -> Markup {
        self.field(name, label, true, |state| {
            html! {
                input type="text" name=(name) maxlength=(max_length) value=(self.value(name)) list=[list] id=(state.id)
                    aria-invalid=[state.invalid] aria-describedby=[&state.described_by] autofocus[state.is_first];
                (self.stored(name, or_dash))
            }
        })
    }

    /// A field for several lines.
    pub fn lines<'l>(&self, name: &str, label: impl Into<FieldLabel<'l>>, max_length: usize) -> Markup {
        self.field(name, label.into(), true, |state| {
            html! {
                textarea name=(name) rows="8" maxlength=(max_length) id=(state.id) aria-invalid=[state.invalid]
                    aria-describedby=[&state.described_by] autofocus[state.is_first] { "\n" (self.value(name)) }
                (self.stored(name, or_dash))
            }
        })
    }

    /// A short field of an HTML input type: `time`, `date`, `number` or `text`.
    pub fn short<'l>(&self, name: &str, label: impl Into<FieldLabel<'l>>, kind: &str) -> Markup {
        self.field(name, label.into(), false, |state| {
            html! {
                (self.input(name, kind, self.value(name), Some(state)))
                (self.stored(name, |now| or_dash(&localised(now, self.language))))
            }
        })
    }

    /// Like [`Self::short`]; read-only for people who may not change it.
    pub fn short_if(&self, may_change: bool, name: &str, label: &str, kind: &str) -> Markup {
        if may_change {
            return self.short(name, label, kind);
        }
        let value = self.now.map_or(self.value(name), |now| now.get(name).map_or("", String::as_str));
        let hint = text!(self.language, "web-form-not-yours");
        html! {
            label.field { (label) (self.input(name, kind, value, None)) span.hint { (hint) } }
        }
    }

    /// An input; read-only without a state.
    fn input(&self, name: &str, kind: &str, value: &str, state: Option<&ControlState>) -> Markup {
        html! {
            input type=(kind) name=(name) value=(localised(value, self.language)) maxlength="40" readonly[state.is_none()]
                inputmode=[(kind == "text").then_some("decimal")] id=[state.map(|state| &state.id)]
                aria-invalid=[state.and_then(|state| state.invalid)]
                aria-describedby=[state.and_then(|state| state.described_by.as_ref())]
                autofocus[state.is_some_and(|state| state.is_first)];
        }
    }

    /// A checkbox.
    pub fn tick(&self, name: &str, label: &str) -> Markup {
        let state = |now: &str| {
            if now.is_empty() {
                text!(self.language, "web-form-not-ticked")
            } else {
                text!(self.language, "web-form-ticked")
            }
        };
        html! {
            label.tick {
                input type="checkbox" name=(name) checked[self.typed.contains_key(name)] aria-label=(label);
                (label)
                (self.error(name))
                (self.stored(name, state))
            }
        }
    }

    /// Radio buttons: value and caption of each.
    pub fn radios(&self, name: &str, options: &[(&str, String)]) -> Markup {
        let error_id = self.error_text(name).map(|_| format!("error-{name}"));
        let is_first = self.is_first_wrong(name);
        html! {
            div.row.choice role="radiogroup" aria-describedby=[error_id] {
                @for (at, (value, caption)) in options.iter().enumerate() {
                    label {
                        input type="radio" name=(name) value=(value) required checked[self.value(name) == *value]
                            autofocus[is_first && at == 0];
                        (caption)
                    }
                }
                (self.error(name))
                (self.stored(name, |now| name_of(options, now)))
            }
        }
    }

    /// A select: value and caption of each option.
    pub fn choice<'l>(&self, name: &str, label: impl Into<FieldLabel<'l>>, options: &[(&str, String)]) -> Markup {
        self.field(name, label.into(), false, |state| {
            html! {
                select name=(name) id=(state.id) aria-invalid=[state.invalid] aria-describedby=[&state.described_by]
                    autofocus[state.is_first] {
                    @for (value, caption) in options { option value=(value) selected[self.value(name) == *value] { (caption) } }
                }
                (self.stored(name, |now| name_of(options, now)))
            }
        })
    }
}

/// Whether two values of a field mean the same: `50.00` and `50` do.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.parse::<Money>().is_ok_and(|amount| other.parse() == Ok(amount))
}

fn name_of(options: &[(&str, String)], value: &str) -> String {
    options.iter().find(|(one, _)| *one == value).map_or_else(|| or_dash(value), |(_, name)| name.clone())
}

fn or_dash(now: &str) -> String {
    if now.is_empty() { "–".to_owned() } else { now.to_owned() }
}
