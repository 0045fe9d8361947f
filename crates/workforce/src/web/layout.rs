//! The layout of every page: the head with the navigation, and the parts that rooms contribute.

use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::csrf;
use super::visit::Visit;
use crate::person::{Permission, Person, Role};
use crate::text;

/// An item of the navigation.
#[derive(Clone, Copy, Debug)]
pub struct NavItem {
    /// Text key of the caption: `key!("…")`.
    pub caption: &'static str,
    pub path: &'static str,
    /// Roles that see it. The page has its own guard.
    pub roles: &'static [Role],
    /// The permission that a manager needs at some site to see it.
    pub needs: Option<Permission>,
}

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
        html! {
            (DOCTYPE)
            html lang=(language.code()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · " (text!(language, "web-brand")) }
                    link rel="icon" href=(assets::path(assets::ICON)) type="image/svg+xml";
                    link rel="stylesheet" href=(assets::path(assets::STYLE));
                    script type="module" src=(assets::path(assets::SCRIPT)) {}
                }
                body {
                    a.skip href="#main" { (text!(language, "web-skip")) }
                    (self.head())
                    main #main { (body) }
                }
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

    fn head(&self) -> Markup {
        let language = self.language();
        let items = self.person().map(|person| self.nav(person));
        html! {
            header.top {
                a.brand href="/" { span.mark aria-hidden="true" {} (text!(language, "web-brand")) }
                @if let Some(items) = &items {
                    nav aria-label=(text!(language, "web-nav")) {
                        @for item in items {
                            a href=(item.path) aria-current=[self.is_at(item.path).then_some("page")] {
                                (language.text(item.caption))
                            }
                        }
                    }
                }
                @if let Some(person) = self.person() {
                    div.who {
                        a data-testid="me" href="/me" { (person.full_name) }
                        (self.form("/auth/logout", &html! {
                            button.plain type="submit" data-testid="sign-out" { (text!(language, "web-sign-out")) }
                        }))
                    }
                }
            }
        }
    }

    /// The navigation items of a person.
    pub fn nav(&self, person: &Person) -> Vec<NavItem> {
        let items = self.app().rooms.nav().into_iter();
        let is_useful = |item: &NavItem| item.needs.is_none_or(|permission| self.may_somewhere(permission));
        items.filter(|item| person.may(item.roles) && is_useful(item)).collect()
    }

    fn is_at(&self, path: &str) -> bool {
        let current_path = self.path().split('?').next().unwrap_or_default();
        current_path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}
