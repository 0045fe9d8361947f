//! A page as a person uses it: by what is written on it. Nothing here knows test ids, names of fields or classes.
//!
//! A label is the text that is seen, without a count in a badge behind it; `Reject…` stands for its beginning. While a dialog is open, only the dialog can be
//! used.

use serde_json::{Value, json};
use thirtyfour::WebElement;

use super::{Page, click, date_or_time_keys};
use crate::kit::demo::until;

impl Page {
    /// Clicks what has this label: a link, a button, a tab, the title of a fold, a box to tick.
    pub async fn click(&self, label: &str) {
        let what = format!("{label:?} can be clicked");
        until(&what, async || click(&self.labelled(CLICKABLE, label, "").await?).await).await;
    }

    /// Types into the field with this label, replacing what it has. Dates are `2026-01-31`, times `18:00`. In a list the
    /// choice with this text is taken.
    pub async fn type_into(&self, label: &str, value: &str) {
        let what = format!("{label:?} can be filled");
        let field = until(&what, async || self.labelled(FIELD, label, "").await).await;
        let kind = field.prop("type").await.unwrap().unwrap_or_default();
        if kind.starts_with("select") {
            let choice = json!([field.to_json().unwrap(), value]);
            let chosen = self.driver.execute(CHOOSE, choice.as_array().unwrap().clone()).await.unwrap();
            assert_eq!(chosen.json(), &Value::Bool(true), "{label:?} has no choice {value:?}");
            return;
        }
        if !matches!(kind.as_str(), "date" | "time") {
            field.clear().await.unwrap();
        }
        field.send_keys(date_or_time_keys(&kind, value)).await.unwrap();
    }

    /// Follows the navigation, on a phone by its menu if there is no tab.
    pub async fn navigate(&self, place: &str) {
        let what = format!("{place:?} is in the navigation");
        let step = async || {
            if let Some(link) = self.labelled(CLICKABLE, place, "").await {
                return click(&link).await;
            }
            click(&self.labelled(CLICKABLE, "More", "").await?).await;
            None
        };
        until(&what, step).await;
    }

    /// How many things have this label now.
    pub async fn count_labels(&self, label: &str) -> usize {
        let script =
            format!("{TOOLS}\n{}", CLICKABLE.replace("if (!beside) return fits[0] ?? null;", "return fits.length;"));
        let count = self.driver.execute(script, vec![json!(label), json!("")]).await.unwrap();
        usize::try_from(count.json().as_u64().unwrap()).unwrap()
    }

    /// Waits until the page shows a text.
    pub async fn sees(&self, text: &str) {
        let shown = format!("document.body.innerText.replaceAll(/\\s+/g, ' ').includes({})", Value::from(text));
        self.wait_until(&format!("the page shows {text:?}"), &shown).await;
    }

    async fn labelled(&self, find: &str, label: &str, beside: &str) -> Option<WebElement> {
        let script = format!("{TOOLS}\n{find}");
        let found = self.driver.execute(script, vec![json!(label), json!(beside)]).await.ok()?;
        found.element().ok()
    }
}

/// What both scripts need: the area that can be used, what is visible, and how its text reads.
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
"#;

/// The first visible control with the label; beside a text, the one with the smallest common frame.
const CLICKABLE: &str = r#"
const kinds = "a, button, summary, label, option, [role=tab], [role=menuitem], [role=button]";
const fits = [...area.querySelectorAll(kinds)].filter((one) => isShown(one) && (reads(one.innerText) || (!plain(one.innerText) && reads(one.ariaLabel))));
if (!beside) return fits[0] ?? null;
const distance = (one) => { let steps = 0; for (let at = one; at; at = at.parentElement, steps += 1) if (plain(at.innerText).includes(beside)) return steps; return Infinity; };
return fits.filter((one) => distance(one) < Infinity).sort((a, b) => distance(a) - distance(b))[0] ?? null;
"#;

/// The control of the label.
const FIELD: &str = r#"
const words = (one) => { const copy = one.cloneNode(true); for (const part of copy.querySelectorAll("input, select, textarea, small, .hint, .quiet")) part.remove(); return copy.textContent; };
for (const one of area.querySelectorAll("label")) if (isShown(one) && (reads(one.innerText) || reads(words(one))) && one.control) return one.control;
for (const one of area.querySelectorAll("fieldset")) if (reads(one.querySelector("legend")?.innerText)) return one.querySelector("input, select, textarea");
return [...area.querySelectorAll("input, textarea, select")].find((one) => isShown(one) && (reads(one.ariaLabel) || reads(one.placeholder))) ?? null;
"#;

/// Chooses from a list by the text of the choice.
const CHOOSE: &str = r#"
const [list, text] = arguments;
const choice = [...list.options].find((one) => one.text.trim() === text) ?? [...list.options].find((one) => one.text.includes(text));
if (!choice) return false;
list.value = choice.value;
list.dispatchEvent(new Event("input", { bubbles: true }));
list.dispatchEvent(new Event("change", { bubbles: true }));
return true;
"#;
