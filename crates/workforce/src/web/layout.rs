//! The layout of every page: sidebar, tabs for phones, the menu of the person, and what rooms contribute.

use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::csrf;
use super::nav::{NavEntry, NavGroup, badge_topics};
use super::ui::{Icon, Tab, count_badge, tabs};
use super::visit::Visit;
use crate::person::Person;
use crate::text;
use crate::texts::Language;

/// Items in the bar at the bottom of a phone; the rest is behind "More".
const BOTTOM_TABS: usize = 4;

/// A titled part of a page.
#[derive(Clone, Debug)]
pub struct Section {
    pub title: String,
    pub body: Markup,
}

/// A number on the front page, with its link.
#[derive(Clone, Debug)]
pub struct Card {
    pub label: String,
    pub number: u64,
    pub path: String,
}

impl Visit {
    /// A complete page.
    pub fn page(&self, title: &str, body: &Markup) -> Markup {
        let language = self.language();
        let member = self.person().map(|person| (person, self.nav_entries(person)));
        html! {
            (DOCTYPE)
            html lang=(language.code()) data-sidebar=[self.is_sidebar_collapsed().then_some("collapsed")] {
                (head(title, language))
                body.app[member.is_some()] {
                    a.skip href="#main" { (text!(language, "web-skip")) }
                    (self.sidebar(member.as_ref()))
                    main #main tabindex="-1" {
                        @if let Some((_, entries)) = &member { (self.page_tabs(entries)) }
                        (body)
                    }
                    div.toasts role="status" aria-live="polite" {
                        @if let Some(toast) = self.toast() { (toast.render(self)) }
                    }
                    @if let Some((person, entries)) = &member {
                        (self.bottom_tabs(person, entries))
                        (palette(language))
                    }
                }
            }
        }
    }

    /// A form that sends files.
    pub fn upload_form(&self, action: &str, fields: &Markup) -> Markup {
        html! {
            form method="post" action=(action) enctype="multipart/form-data" {
                input type="hidden" name=(csrf::FIELD) value=(self.csrf());
                (fields)
            }
        }
    }

    /// A form with an id, so that controls elsewhere on the page can belong to it.
    pub fn form_with_id(&self, id: &str, action: &str, fields: &Markup) -> Markup {
        html! {
            form id=(id) method="post" action=(action) {
                input type="hidden" name=(csrf::FIELD) value=(self.csrf());
                (fields)
            }
        }
    }

    /// A form with its CSRF token.
    pub fn form(&self, action: &str, fields: &Markup) -> Markup {
        html! {
            form method="post" action=(action) {
                input type="hidden" name=(csrf::FIELD) value=(self.csrf());
                (fields)
            }
        }
    }

    fn sidebar(&self, member: Option<&(&Person, Vec<NavEntry>)>) -> Markup {
        let language = self.language();
        html! {
            header.side {
                div.side-head {
                    a.brand href="/" { span.mark aria-hidden="true" {} span.brand-name { (text!(language, "web-brand")) } }
                    @if member.is_some() {
                        button.icon-button.collapse type="button" hidden aria-expanded=(!self.is_sidebar_collapsed())
                            aria-controls="sections" aria-label=(text!(language, "web-nav-collapse"))
                            title=(text!(language, "web-nav-collapse")) data-testid="collapse" { (Icon::Sidebar.svg()) }
                    }
                }
                @if let Some((person, entries)) = member {
                    a.search-button href="/search" title=(text!(language, "web-search")) data-opens-palette data-testid="search-button" {
                        (Icon::Search.svg()) span { (text!(language, "web-search")) } kbd aria-hidden="true" { "Ctrl K" }
                    }
                    nav #sections aria-label=(text!(language, "web-nav")) {
                        (self.group(entries, NavGroup::Work))
                        (self.group(entries, NavGroup::Setup))
                        @if let Some(chat) = &self.app().chat_page { ul { li { (chat_link(chat, language)) } } }
                    }
                    (self.account_menu(person, entries))
                }
            }
        }
    }

    fn group(&self, entries: &[NavEntry], group: NavGroup) -> Markup {
        html! {
            ul { @for entry in of_group(entries, group) { li { (self.item(entry, "badge")) } } }
        }
    }

    /// A link of the navigation. `place` keeps the ids of badges apart.
    fn item(&self, entry: &NavEntry, place: &str) -> Markup {
        let caption = self.language().text(entry.item.caption);
        let is_current = entry.items().any(|item| self.is_at(item.path));
        html! {
            a.nav-item href=(entry.item.path) aria-current=[is_current.then_some("page")] title=(caption) {
                (entry.item.icon.svg()) span.caption { (caption) } (self.nav_badge(entry, place))
            }
        }
    }

    /// The count of an item. It is a live part even while it is empty.
    fn nav_badge(&self, entry: &NavEntry, place: &str) -> Markup {
        let topics = entry.badge_topics();
        let name = entry.item.path.trim_matches('/').replace('/', "-");
        html! {
            @if !topics.is_empty() {
                span.nav-badge id={ (place) "-" (name) } data-live=(topics) { (count_badge(self.badge_of(entry))) }
            }
        }
    }

    /// Tabs of pages that belong together, such as people and their permissions.
    fn page_tabs(&self, entries: &[NavEntry]) -> Markup {
        let language = self.language();
        let here = self.path_only();
        let entry = entries.iter().find(|entry| entry.items().any(|item| item.path == here));
        let Some(entry) = entry.filter(|entry| !entry.children.is_empty()) else { return html! {} };
        let tab = |item: &super::NavItem| {
            let count = self.badge(item.path);
            Tab::new(language.text(item.caption), item.path.to_owned(), item.path == here).count(count)
        };
        let all: Vec<Tab> = entry.items().map(tab).collect();
        html! {
            div.page-tabs #page-tabs data-live=[Some(entry.badge_topics()).filter(|topics| !topics.is_empty())] {
                (tabs(&language.text(entry.item.caption), &all))
            }
        }
    }

    /// The person's own page, language, administration and sign-out.
    fn account_menu(&self, person: &Person, entries: &[NavEntry]) -> Markup {
        let language = self.language();
        html! {
            details.menu.account data-menu {
                summary data-testid="account" title=(text!(language, "web-account", name = person.full_name.as_str())) {
                    span.avatar aria-hidden="true" { (initials(&person.full_name)) }
                    span.caption { (person.full_name) }
                    (Icon::ChevronDown.svg())
                }
                div.menu-sheet { (self.account_items(entries, true)) }
            }
        }
    }

    fn account_items(&self, entries: &[NavEntry], has_testids: bool) -> Markup {
        let language = self.language();
        let testid = |name: &'static str| has_testids.then_some(name);
        html! {
            a.menu-item href="/me" data-testid=[testid("me")] { (Icon::Person.svg()) (text!(language, "web-me")) }
            @for entry in of_group(entries, NavGroup::Account) {
                a.menu-item href=(entry.item.path) { (entry.item.icon.svg()) (language.text(entry.item.caption)) }
            }
            @for other in Language::ALL.into_iter().filter(|other| *other != language) {
                (self.form("/me/language", &html! {
                    input type="hidden" name="language" value=(other.code());
                    button.menu-item type="submit" lang=(other.code()) { (Icon::Globe.svg()) (other.name()) }
                }))
            }
            (self.form("/auth/logout", &html! {
                button.menu-item type="submit" data-testid=[testid("sign-out")] { (Icon::SignOut.svg()) (text!(language, "web-sign-out")) }
            }))
        }
    }

    /// The bar at the bottom of a phone.
    fn bottom_tabs(&self, person: &Person, entries: &[NavEntry]) -> Markup {
        let language = self.language();
        let all: Vec<&NavEntry> = entries.iter().filter(|entry| entry.item.group != NavGroup::Account).collect();
        let (first, rest) = all.split_at(BOTTOM_TABS.min(all.len()));
        let waiting: u64 = rest.iter().map(|entry| self.badge_of(entry)).sum();
        let topics = badge_topics(rest.iter().flat_map(|entry| entry.items()));
        html! {
            nav.bottom aria-label=(text!(language, "web-nav")) data-testid="bottom-tabs" {
                @for entry in first { (self.item(entry, "tab")) }
                details.menu.more data-menu {
                    summary.nav-item data-testid="more" {
                        (Icon::More.svg()) span.caption { (text!(language, "web-more")) }
                        span.nav-badge #badge-more data-live=[Some(topics).filter(|topics| !topics.is_empty())] { (count_badge(waiting)) }
                    }
                    div.menu-sheet {
                        p.menu-name { (person.full_name) }
                        @for entry in rest { (self.item(entry, "more")) }
                        @if let Some(chat) = &self.app().chat_page { (chat_link(chat, language)) }
                        (self.account_items(entries, false))
                    }
                }
            }
        }
    }
}

/// Back to the demo's chat page.
fn chat_link(chat_page: &str, language: Language) -> Markup {
    let caption = text!(language, "demo-chat");
    html! { a.nav-item href=(chat_page) title=(caption) { (Icon::Message.svg()) span.caption { (caption) } } }
}

fn head(title: &str, language: Language) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="color-scheme" content="light dark";
            title { (title) " · " (text!(language, "web-brand")) }
            link rel="icon" href=(assets::path(assets::ICON)) type="image/svg+xml";
            link rel="stylesheet" href=(assets::path(assets::STYLE));
            script type="module" src=(assets::path(assets::SCRIPT)) {}
            script type="module" src=(assets::path(assets::UI_SCRIPT)) {}
        }
    }
}

/// The command palette. The script opens it; without a script the button leads to the page of the search.
fn palette(language: Language) -> Markup {
    html! {
        dialog.palette #palette aria-label=(text!(language, "web-search")) data-testid="palette" {
            form method="get" action="/search" role="search" {
                (Icon::Search.svg())
                input type="search" name="q" maxlength="64" autocomplete="off" role="combobox" aria-expanded="true"
                    aria-controls="palette-results" aria-label=(text!(language, "web-palette-hint"))
                    placeholder=(text!(language, "web-palette-hint")) data-testid="palette-input";
            }
            div #palette-results {}
        }
    }
}

fn of_group(entries: &[NavEntry], group: NavGroup) -> impl Iterator<Item = &NavEntry> {
    entries.iter().filter(move |entry| entry.item.group == group)
}

/// One or two letters for the round picture of a person.
fn initials(name: &str) -> String {
    let letters = name.split_whitespace().filter_map(|word| word.chars().find(|c| c.is_alphanumeric()));
    letters.take(2).flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::initials;

    #[test]
    fn initials_are_the_first_letters_of_two_names() {
        assert_eq!(initials("Анна Сергеевна Петрова"), "АС");
        assert_eq!(initials("  \"bob\" "), "B");
        assert_eq!(initials("…"), "");
    }
}
