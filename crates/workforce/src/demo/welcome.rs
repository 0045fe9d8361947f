//! The text that `opora demo` prints: links, who can sign in and how, the data directory, how to stop.

use std::path::Path;

use super::staff::RosterEntry;
use crate::application::App;
use crate::text;
use crate::texts::Language;

/// The address of the chat page.
pub fn chat_page(base: &str) -> String {
    format!("{base}/chat")
}

/// The whole text. `log` is a file in the data directory.
pub fn text(app: &App, language: Language, roster: &[RosterEntry], log: &Path) -> String {
    let base = &app.public_url;
    let mut pages = vec![(text!(language, "demo-chat"), chat_page(base))];
    pages.extend(app.rooms.demo_links().map(|(name, path)| (language.text(name), format!("{base}{path}"))));
    let width = pages.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![text!(language, "demo-running", version = env!("CARGO_PKG_VERSION")), String::new()];
    lines.extend(pages.iter().map(|(name, address)| format!("  {name:<width$}  {address}")));
    lines.extend([String::new(), text!(language, "demo-write"), text!(language, "demo-sign-in")]);
    let can_sign_in = roster.iter().filter(|entry| entry.has_any_pin());
    lines.extend(can_sign_in.map(|entry| format!("  {}", entry.describe(language))));
    let newcomers: Vec<_> = roster.iter().filter(|entry| entry.person.is_none()).map(|entry| &*entry.name).collect();
    if !newcomers.is_empty() {
        lines.push(text!(language, "demo-newcomers", names = newcomers.join(", ")));
    }
    let (folder, log) = (log.parent().unwrap_or(log).display().to_string(), log.display().to_string());
    lines.extend([
        String::new(),
        text!(language, "demo-data", folder = folder),
        text!(language, "demo-log", file = log),
    ]);
    lines.push(text!(language, "demo-stop"));
    lines.join("\n") + "\n"
}
