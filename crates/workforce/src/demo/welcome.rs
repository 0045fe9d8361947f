//! The text that `opora demo` prints: links, who can sign in and how, the data directory, how to stop.

use std::path::Path;

use super::staff;
use crate::text;
use crate::texts::Language;

/// The address of the chat page.
pub fn chat_page(base: &str) -> String {
    format!("{base}/chat")
}

/// The whole text. `links` are the pages of the product: the text keys of their names, and their paths.
pub fn text(
    language: Language,
    base: &str,
    links: impl Iterator<Item = (&'static str, &'static str)>,
    data: &Path,
) -> String {
    let mut pages = vec![(text!(language, "demo-chat"), chat_page(base))];
    pages.extend(links.map(|(name, path)| (language.text(name), format!("{base}{path}"))));
    let width = pages.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![text!(language, "demo-running", version = env!("CARGO_PKG_VERSION")), String::new()];
    lines.extend(pages.iter().map(|(name, address)| format!("  {name:<width$}  {address}")));
    lines.extend([String::new(), text!(language, "demo-write"), text!(language, "demo-sign-in")]);
    lines.extend(staff::sign_in_list(language).iter().map(|member| format!("  {member}")));
    lines.push(text!(language, "demo-newcomers", names = staff::newcomers(language)));
    let folder = data.display().to_string();
    lines.extend([String::new(), text!(language, "demo-data", folder = folder), text!(language, "demo-stop")]);
    lines.join("\n") + "\n"
}
