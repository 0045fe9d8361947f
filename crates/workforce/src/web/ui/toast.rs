//! A short message about what was just done, on the page after a redirect.
//!
//! A handler answers `visitor.redirect(path).with_toast(text)`. The frame puts the toast into a cookie that lives for
//! a minute and is deleted when a page has shown it. The cookie is signed with the browser's secret cookie, so neither
//! a link nor another site can make a page say anything.

use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::{Icon, Tone};
use crate::texts::Language;
use crate::web::secrets;
use crate::{text, web::visit::Visit};

/// Browsers keep cookies of up to 4 KB. A longer toast loses its action.
const MAX_COOKIE_BYTES: usize = 3_000;
/// A toast is a sentence.
const MAX_CHARS: usize = 240;

/// A message for the next page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toast {
    text: String,
    tone: String,
    action: Option<ToastAction>,
}

/// A form with one button, such as "Undo".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToastAction {
    caption: String,
    path: String,
    fields: Vec<(String, String)>,
}

/// A redirect that may carry a toast.
#[derive(Clone, Debug)]
pub struct PageRedirect {
    path: String,
    toast: Option<Toast>,
}

impl Toast {
    /// Says that something was done.
    pub fn new(text: impl Into<String>) -> Self {
        Self::with_tone(Tone::Good, text)
    }

    pub fn with_tone(tone: Tone, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { text: text.chars().take(MAX_CHARS).collect(), tone: tone.name().to_owned(), action: None }
    }

    /// Adds a button that posts these fields to a path of ours.
    #[must_use]
    pub fn action(self, caption: impl Into<String>, path: impl Into<String>, fields: &[(&str, String)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { action: Some(ToastAction { caption: caption.into(), path: path.into(), fields }), ..self }
    }

    /// The value of the cookie for a browser with this secret cookie.
    pub fn sealed(&self, secret: &str) -> String {
        let whole = self.signed(secret);
        if whole.len() <= MAX_COOKIE_BYTES { whole } else { Self { action: None, ..self.clone() }.signed(secret) }
    }

    /// The toast in a cookie; none if another browser's secret signed it.
    pub fn open(sealed: &str, secret: &str) -> Option<Self> {
        let (content, signature) = sealed.split_once('.')?;
        if secret.is_empty() || !secrets::constant_time_eq(signature, &signature_of(content, secret)) {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(content).ok()?).ok()
    }

    pub fn render(&self, visit: &Visit) -> Markup {
        let (tone, language) = (Tone::of_name(&self.tone), visit.language());
        let icon = if matches!(tone, Tone::Bad | Tone::Wait) { Icon::Alert } else { Icon::Check };
        html! {
            div class={ "toast tone-" (tone.name()) } data-testid="toast" data-keeps=[self.action.as_ref().map(|_| "long")] {
                (icon.svg())
                p { (self.text) }
                @if let Some(action) = &self.action {
                    (visit.form(&action.path, &html! {
                        @for (name, value) in &action.fields { input type="hidden" name=(name) value=(value); }
                        button.plain.small type="submit" data-testid="toast-action" { (action.caption) }
                    }))
                }
                (close_button(language))
            }
        }
    }

    fn signed(&self, secret: &str) -> String {
        let content = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default());
        let signature = signature_of(&content, secret);
        format!("{content}.{signature}")
    }
}

impl PageRedirect {
    pub fn to(path: impl Into<String>) -> Self {
        Self { path: path.into(), toast: None }
    }

    /// Says on the next page that something was done.
    #[must_use]
    pub fn with_toast(self, text: impl Into<String>) -> Self {
        self.with(Toast::new(text))
    }

    /// Shows this toast on the next page.
    #[must_use]
    pub fn with(self, toast: Toast) -> Self {
        Self { toast: Some(toast), ..self }
    }
}

impl IntoResponse for PageRedirect {
    fn into_response(self) -> Response {
        let mut response = Redirect::to(&self.path).into_response();
        if let Some(toast) = self.toast {
            response.extensions_mut().insert(toast);
        }
        response
    }
}

/// The signature covers the secret last, so nothing can be appended to a signed content.
fn signature_of(content: &str, secret: &str) -> String {
    secrets::hash(&["toast", content, secret])
}

/// Closes a toast; the script shows it.
fn close_button(language: Language) -> Markup {
    html! {
        button.icon-button type="button" hidden aria-label=(text!(language, "web-close")) data-closes-toast {
            (Icon::Close.svg())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toast_is_read_only_by_the_browser_that_it_was_made_for() {
        let toast = Toast::new("Сохранено").action("Вернуть", "/undo", &[("id", "7".to_owned())]);
        let sealed = toast.sealed("secret");
        assert_eq!(Toast::open(&sealed, "secret"), Some(toast));
        assert_eq!(Toast::open(&sealed, "other"), None);
        assert_eq!(Toast::open(&sealed, ""), None);
    }

    #[test]
    fn a_changed_text_is_not_shown() {
        let sealed = Toast::new("Saved").sealed("secret");
        let (_, signature) = sealed.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&Toast::new("Call +7 900")).unwrap());
        for forged in [format!("{other}.{signature}"), other.clone(), format!("{other}."), String::new()] {
            assert_eq!(Toast::open(&forged, "secret"), None, "{forged}");
        }
    }

    #[test]
    fn a_toast_fits_a_cookie() {
        let fields = [("names", "я".repeat(4000))];
        let sealed = Toast::new("ы".repeat(5000)).action("Undo", "/undo", &fields).sealed("secret");
        assert!(sealed.len() < MAX_COOKIE_BYTES, "{}", sealed.len());
        assert!(Toast::open(&sealed, "secret").is_some_and(|toast| toast.action.is_none()));
    }
}
