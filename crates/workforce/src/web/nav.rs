//! The navigation: which pages a person sees, in which group, and how many things wait there.

use maud::{Markup, html};

use super::guards::SignedIn;
use super::ui::Icon;
use super::visit::Visit;
use crate::person::{Permission, Person, Role};
use crate::text;

/// `GET /nav`: the navigation alone. The script loads it when only badges may have changed.
pub async fn show(SignedIn(visitor): SignedIn) -> Markup {
    visitor.page(&text!(visitor.language(), "web-nav"), &html! {})
}

/// An item of the navigation.
#[derive(Clone, Copy, Debug)]
pub struct NavItem {
    /// Text key of the caption: `key!("…")`.
    pub caption: &'static str,
    pub path: &'static str,
    pub icon: Icon,
    /// Roles that see it. The page has its own guard.
    pub roles: &'static [Role],
    /// The permission that a manager needs at some site to see it.
    pub needs: Option<Permission>,
    pub group: NavGroup,
    /// The item below which this one is a tab.
    pub parent: Option<&'static str>,
    /// Live topics after which its badge is loaded again; empty for an item without a badge. `Room::nav_badges` counts.
    pub badge_topics: &'static str,
}

/// A part of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavGroup {
    /// Everyday work.
    Work,
    /// What is set up once.
    Setup,
    /// In the menu under the person's name.
    Account,
}

/// An item with the items that are its tabs.
#[derive(Clone, Debug)]
pub struct NavEntry {
    pub item: NavItem,
    pub children: Vec<NavItem>,
}

impl NavItem {
    /// An item of everyday work.
    pub const fn new(caption: &'static str, path: &'static str, icon: Icon, roles: &'static [Role]) -> Self {
        let group = NavGroup::Work;
        Self { caption, path, icon, roles, needs: None, group, parent: None, badge_topics: "" }
    }

    #[must_use]
    pub const fn needs(self, permission: Permission) -> Self {
        Self { needs: Some(permission), ..self }
    }

    #[must_use]
    pub const fn in_group(self, group: NavGroup) -> Self {
        Self { group, ..self }
    }

    /// Shows it as a tab of the item with this path.
    #[must_use]
    pub const fn under(self, parent: &'static str) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Gives it a badge that is loaded again after events of these topics.
    #[must_use]
    pub const fn with_badge(self, topics: &'static str) -> Self {
        Self { badge_topics: topics, ..self }
    }
}

impl NavEntry {
    /// The topics of all badges in this entry.
    pub fn badge_topics(&self) -> String {
        badge_topics(self.items())
    }

    pub fn items(&self) -> impl Iterator<Item = &NavItem> {
        std::iter::once(&self.item).chain(&self.children)
    }
}

/// The topics of the badges of these items, without repetitions.
pub fn badge_topics<'a>(items: impl Iterator<Item = &'a NavItem>) -> String {
    let mut topics: Vec<&str> = items.flat_map(|item| item.badge_topics.split_whitespace()).collect();
    topics.sort_unstable();
    topics.dedup();
    topics.join(" ")
}

impl Visit {
    /// The navigation items of a person.
    pub fn nav(&self, person: &Person) -> Vec<NavItem> {
        let items = self.app().rooms.nav().into_iter();
        let is_useful = |item: &NavItem| item.needs.is_none_or(|permission| self.may_somewhere(permission));
        items.filter(|item| person.may(item.roles) && is_useful(item)).collect()
    }

    /// The items of the sidebar with their tabs. A tab whose parent the person does not see is an item of its own.
    pub fn nav_entries(&self, person: &Person) -> Vec<NavEntry> {
        let items = self.nav(person);
        let has_parent =
            |item: &NavItem| item.parent.is_some_and(|parent| items.iter().any(|other| other.path == parent));
        let entry = |item: &NavItem| NavEntry {
            item: *item,
            children: items.iter().filter(|other| other.parent == Some(item.path)).copied().collect(),
        };
        items.iter().filter(|item| !has_parent(item)).map(entry).collect()
    }

    /// The count of an entry: its own and those of its tabs.
    pub fn badge_of(&self, entry: &NavEntry) -> u64 {
        entry.items().map(|item| self.badge(item.path)).sum()
    }

    /// Whether this page is below an item.
    pub fn is_at(&self, path: &str) -> bool {
        let current = self.path_only();
        let is_below = |rest: &str| rest.is_empty() || (path != "/" && rest.starts_with('/'));
        current.strip_prefix(path).is_some_and(is_below)
    }

    /// The path without its query.
    pub fn path_only(&self) -> &str {
        self.path().split('?').next().unwrap_or_default()
    }
}
