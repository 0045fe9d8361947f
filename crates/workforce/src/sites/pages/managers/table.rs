//! The table of permissions: a row for each manager, a column for each permission, for one site at a time.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::{SEEN, SITE, field, seen_text};
use crate::person::{Permission, Person, SitePermissions};
use crate::sites::Site;
use crate::text;
use crate::web::Visitor;
use crate::web::form::FormAttempt;
use crate::web::ui::{Button, Empty, Icon, Tab, headline, tabs};

/// The data of the table.
#[derive(Clone, Copy)]
pub struct ManagersTable<'a> {
    pub managers: &'a [Person],
    pub sites: &'a [Site],
    /// The site that is shown.
    pub site: Option<&'a Site>,
    pub permissions: &'a BTreeMap<i64, SitePermissions>,
}

pub fn page(visitor: &Visitor, table: &ManagersTable<'_>, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-managers");
    let tab = |site: &Site| {
        let is_current = table.site.is_some_and(|shown| shown.id == site.id);
        Tab::new(site.about.name.clone(), format!("/managers?site={}", site.id), is_current)
    };
    let body = html! {
        (headline(&title, &html! {}))
        p.quiet { (text!(language, "cabinet-managers-about")) }
        (attempt.notice(language))
        @if table.sites.len() > 1 {
            (tabs(&text!(language, "cabinet-nav-sites"), &table.sites.iter().map(tab).collect::<Vec<_>>()))
        }
        div #managers data-live="sites" {
            @if table.managers.is_empty() { (nothing(&text!(language, "cabinet-no-managers"))) }
            @else if let Some(site) = table.site { (rows(visitor, table, site, attempt)) }
            @else { (nothing(&text!(language, "cabinet-no-sites"))) }
        }
    };
    visitor.page(&title, &body)
}

fn nothing(title: &str) -> Markup {
    Empty { icon: Icon::People, title, text: "" }.render(&html! {})
}

fn rows(visitor: &Visitor, table: &ManagersTable<'_>, site: &Site, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    html! {
        div.table-frame {
            table.table data-testid="permissions-table" {
                thead { tr {
                    th scope="col" { (text!(language, "web-name")) }
                    @for one in Permission::ALL { th scope="col" { (one.text(language)) } }
                    th scope="col" { span.sr-only { (text!(language, "cabinet-save")) } }
                } }
                tbody { @for person in table.managers { (row(visitor, table, (site, person), attempt)) } }
            }
        }
    }
}

fn row(
    visitor: &Visitor,
    table: &ManagersTable<'_>,
    (site, person): (&Site, &Person),
    attempt: &FormAttempt,
) -> Markup {
    let (language, path, form) = (visitor.language(), format!("/managers/{}", person.id), format!("row-{}", person.id));
    let none = BTreeSet::new();
    let allowed = table.permissions.get(&person.id).and_then(|own| own.get(&site.id)).unwrap_or(&none);
    // After a refusal the ticks stay as they were sent.
    let is_ticked = |one: Permission| {
        if attempt.is_at(&path) { attempt.typed.contains_key(&field(site.id, one)) } else { allowed.contains(&one) }
    };
    let seen =
        if allowed.is_empty() { SitePermissions::new() } else { SitePermissions::from([(site.id, allowed.clone())]) };
    html! {
        tr data-testid={ "manager-" (person.id) } {
            td data-label=(text!(language, "web-name")) {
                a.name href=(path) data-testid={ "edit-" (person.telegram_id) } { (person.full_name) }
                (visitor.visit.form_with_id(&form, &path, &html! {
                    input type="hidden" name=(SITE) value=(site.id);
                    input type="hidden" name=(SEEN) value=(seen_text(&seen));
                }))
            }
            @for one in Permission::ALL {
                @let label = one.text(language);
                td.tick-cell data-label=(label) {
                    input type="checkbox" form=(form) name=(field(site.id, one)) checked[is_ticked(one)]
                        aria-label={ (person.full_name) ": " (label) };
                }
            }
            td {
                (Button::plain(&text!(language, "cabinet-save")).small().form(&form).testid(&format!("save-{}", person.telegram_id)).submit())
            }
        }
    }
}
