//! Tabs: links between pages that belong together.

use maud::{Markup, html};

use super::count_badge;

/// A tab.
#[derive(Clone, Debug)]
pub struct Tab {
    pub caption: String,
    pub path: String,
    pub is_current: bool,
    /// Shown beside the caption unless it is zero.
    pub count: u64,
}

impl Tab {
    pub fn new(caption: String, path: String, is_current: bool) -> Self {
        Self { caption, path, is_current, count: 0 }
    }

    #[must_use]
    pub fn count(self, count: u64) -> Self {
        Self { count, ..self }
    }
}

/// A row of tabs. `label` names it for people who do not see it.
pub fn tabs(label: &str, tabs: &[Tab]) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            @for tab in tabs {
                a href=(tab.path) aria-current=[tab.is_current.then_some("page")] { (tab.caption) (count_badge(tab.count)) }
            }
        }
    }
}
