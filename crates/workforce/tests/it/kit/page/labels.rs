//! A page as a person uses it: by what is written on it. Nothing here knows test ids, names of fields or classes.
//!
//! A label is the text that is seen, without a count in a badge behind it; `Reject…` stands for its beginning. While a
//! dialog is open, only the dialog can be used.

use serde_json::{Value, json};
use thirtyfour::{By, WebElement, WindowHandle};

use super::forms::keys_for;
use super::{Page, click};
use crate::kit::demo::until;

impl Page {
    /// Clicks what has this label: a link, a button, a tab, the title of a fold, a box to tick.
    pub async fn click(&self, label: &str) {
        self.click_one(CLICKABLE, label, "").await;
    }

    /// Clicks what has this label beside a text, such as the button in a row of a list.
    pub async fn click_beside(&self, text: &str, label: &str) {
        self.click_one(CLICKABLE, label, text).await;
    }

    /// Clicks the lowest thing with this label: in a chat, the newest.
    pub async fn click_newest(&self, label: &str) {
        self.click_one(NEWEST, label, "").await;
    }

    /// Clicks a link that opens another tab, and switches to it.
    pub async fn click_to_new_tab(&self, label: &str) -> WindowHandle {
        let before = self.driver.windows().await.unwrap();
        self.click_newest(label).await;
        let is_new = |tab: &WindowHandle| !before.contains(tab);
        let tab = until("another tab is open", async || self.driver.windows().await.ok()?.into_iter().find(is_new));
        let tab = tab.await;
        self.switch_to(&tab).await;
        tab
    }

    /// Follows the navigation; on a phone by its menu, if there is no tab.
    pub async fn navigate(&self, place: &str) {
        let what = format!("{place:?} is in the navigation");
        let step = async || {
            if let Some(link) = self.labelled(NAVIGATION, place, "").await {
                return click(&link).await;
            }
            click(&self.labelled(NAVIGATION, "More", "").await?).await;
            None
        };
        until(&what, step).await;
        self.wait_until(&format!("{place} is open"), &format!("document.title.startsWith({})", Value::from(place)))
            .await;
    }

    /// Replaces the content of the field with this label. Dates are `2026-01-31`, times `18:00`. Of a list the choice
    /// with this text is taken.
    pub async fn fill_in(&self, label: &str, value: &str) {
        let what = format!("{label:?} can be filled in");
        let field = until(&what, async || self.labelled(FIELD, label, "").await).await;
        let kind = field.prop("type").await.unwrap().unwrap_or_default();
        if kind.starts_with("select") {
            return choose(&field, value).await;
        }
        if !matches!(kind.as_str(), "date" | "time") {
            field.clear().await.unwrap();
        }
        field.send_keys(keys_for(&kind, value)).await.unwrap();
        assert_eq!(field.value().await.unwrap().as_deref(), Some(value), "{label}");
    }

    /// Waits until the page shows a text.
    pub async fn sees(&self, text: &str) {
        self.wait_until(&format!("the page shows {text:?}"), &shows(text)).await;
    }

    /// Waits until the page does not show a text any more.
    pub async fn sees_no(&self, text: &str) {
        self.wait_until(&format!("the page does not show {text:?}"), &format!("!{}", shows(text))).await;
    }

    /// How often the page shows a text now.
    pub async fn count_of(&self, text: &str) -> u64 {
        self.evaluate(&occurrences(text)).await.as_u64().unwrap()
    }

    /// Waits until the page shows a text more often than before.
    pub async fn sees_more_than(&self, before: u64, text: &str) {
        let condition = format!("{} > {before}", occurrences(text));
        self.wait_until(&format!("the page shows {text:?} more often"), &condition).await;
    }

    async fn click_one(&self, find: &str, label: &str, beside: &str) {
        let what = if beside.is_empty() { String::new() } else { format!(" beside {beside:?}") };
        let what = format!("{label:?}{what} can be clicked");
        until(&what, async || click(&self.labelled(find, label, beside).await?).await).await;
    }

    async fn labelled(&self, find: &str, label: &str, beside: &str) -> Option<WebElement> {
        let script = format!("{TOOLS}\n{find}");
        let found = self.driver.execute(script, vec![json!(label), json!(beside)]).await.ok()?;
        found.element().ok()
    }
}

/// Takes the choice with this text.
pub(super) async fn choose(list: &WebElement, text: &str) {
    let choices = list.find_all(By::Tag("option")).await.unwrap();
    for choice in choices {
        if choice.text().await.unwrap().trim() == text {
            return choice.click().await.unwrap();
        }
    }
    panic!("the list has no choice {text:?}");
}

/// A script: whether the page shows a text.
fn shows(text: &str) -> String {
    format!("document.body.innerText.replaceAll(/\\s+/g, ' ').includes({})", Value::from(text))
}

/// A script: how often the page shows a text.
fn occurrences(text: &str) -> String {
    format!("(document.body.innerText.replaceAll(/\\s+/g, ' ').split({}).length - 1)", Value::from(text))
}

/// What all scripts need: the area that can be used, what is visible, and how its text reads.
const TOOLS: &str = r#"
const [label, beside] = arguments;
const area = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
const plain = (text) => (text ?? "").replaceAll(/\s+/g, " ").trim();
const start = label.endsWith("…") ? label.slice(0, -1) : null;
const reads = (text) => {
    const shown = plain(text);
    if (start !== null) return shown.startsWith(start);
    return shown === label || (shown.startsWith(label) && /^[ \d+]+$/.test(shown.slice(label.length)));
};
// Without decoration, such as the initials in a picture of a person.
const words = (one) => {
    const decoration = [...one.querySelectorAll("[aria-hidden=true]")].map((part) => plain(part.innerText));
    return decoration.reduce((text, part) => plain(text.replace(part, "")), plain(one.innerText));
};
const kinds = "a, button, summary, label, [role=tab], [role=menuitem], [role=button]";
const fitting = (place) => [...place.querySelectorAll(kinds)].filter((one) =>
    isShown(one) && (reads(words(one)) || (!words(one) && reads(one.ariaLabel))));
"#;

/// The first visible control with the label; beside a text, the one with the smallest common frame.
const CLICKABLE: &str = r#"
const fits = fitting(area);
if (!beside) return fits[0] ?? null;
const distance = (one) => { let steps = 0; for (let at = one; at; at = at.parentElement, steps += 1) if (plain(at.innerText).includes(beside)) return steps; return Infinity; };
return fits.filter((one) => distance(one) < Infinity).sort((a, b) => distance(a) - distance(b))[0] ?? null;
"#;

const NEWEST: &str = "return fitting(area).at(-1) ?? null;";

/// A link of the navigation around the page, or its menu.
const NAVIGATION: &str =
    "return [...area.querySelectorAll('nav')].filter((one) => !one.closest('main')).flatMap(fitting)[0] ?? null;";

/// The control of a label, or a field that is named without one.
const FIELD: &str = r#"
const caption = (one) => { const copy = one.cloneNode(true); for (const part of copy.querySelectorAll("input, select, textarea, small, span, p")) part.remove(); return copy.textContent; };
for (const one of area.querySelectorAll("label")) if (isShown(one) && (reads(one.innerText) || reads(caption(one))) && one.control) return one.control;
return [...area.querySelectorAll("input, textarea, select")].find((one) => isShown(one) && (reads(one.ariaLabel) || reads(one.placeholder))) ?? null;
"#;
