//! A page as a person uses it: by what is written on it. Nothing here knows test ids, names of fields or classes.
//!
//! A label is the text that is seen, without a count in a badge behind it; `Reject…` stands for its beginning. While a
//! dialog is open, only the dialog can be used.

use serde_json::{Value, json};
use thirtyfour::WebElement;

use super::{Page, click};
use crate::kit::demo::until;

impl Page {
    /// Clicks what has this label: a link, a button, a tab, the title of a fold, a box to tick.
    pub async fn click(&self, label: &str) {
        let what = format!("{label:?} can be clicked");
        until(&what, async || click(&self.labelled(CLICKABLE, label, "").await?).await).await;
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
