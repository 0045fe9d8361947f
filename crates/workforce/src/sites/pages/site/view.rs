//! Markup of the list of sites and of a site's page.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::super::access::Access;
use super::super::tasks::{self, TaskListPlace};
use super::{DAYS, PAGE_SIZE, write_site};
use crate::key;
use crate::money::Money;
use crate::person::Permission;
use crate::sites::{Site, Task};
use crate::text;
use crate::texts::Language;
use crate::time_zones;
use crate::web::Visitor;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, time_of};

/// A pasted link may be long.
const MAX_POSITION_TEXT: usize = 1000;

/// The data of the list.
pub struct SiteListPage<'a> {
    pub access: &'a Access,
    pub sites: &'a [Site],
    /// The ids of the sites that are open now.
    pub open: &'a BTreeSet<i64>,
    pub deleted: &'a [Site],
    pub number: usize,
    pub total: usize,
}

/// The data of a site's page.
pub struct SitePage {
    pub access: Access,
    pub site: Site,
    pub tasks: Vec<Task>,
    pub is_open: bool,
    /// What skipping a mandatory task without a price costs.
    pub skipped: Option<Money>,
}

const DAY_NAMES: [&str; 7] = [
    key!("cabinet-day-0"),
    key!("cabinet-day-1"),
    key!("cabinet-day-2"),
    key!("cabinet-day-3"),
    key!("cabinet-day-4"),
    key!("cabinet-day-5"),
    key!("cabinet-day-6"),
];

/// The name of a day of the week; 0 is Monday.
pub fn day_name(day: usize, language: Language) -> String {
    DAY_NAMES.get(day).map(|key| language.text(key)).unwrap_or_default()
}

pub fn list(visitor: &Visitor, list: &SiteListPage<'_>, usual: &Fields, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-sites");
    let caption = text!(language, "cabinet-create");
    let sheet = FormSpec {
        path: "/sites",
        now: usual,
        version: None,
        back: "/sites",
        caption: &caption,
        testid: "create-site",
    };
    visitor.page(
        &title,
        &html! {
            h1 { (title) }
            (attempt.notice(language))
            div #sites data-live="sites shifts" {
                @if list.sites.is_empty() { div.card.empty { (text!(language, "cabinet-no-sites")) } }
                @else { (table(list, language)) }
                (pager("/sites", list.number, list.total.div_ceil(PAGE_SIZE), language))
                @if !list.deleted.is_empty() { (deleted(visitor, list.access, list.deleted)) }
            }
            @if list.access.is_owner() {
                details.card open[list.sites.is_empty() || attempt.status() != axum::http::StatusCode::OK] {
                    summary data-testid="new-site" { (text!(language, "cabinet-new-site")) }
                    (visitor.record_form(attempt, sheet, |form| site_fields(form, true)))
                }
            }
        },
    )
}

fn table(list: &SiteListPage<'_>, language: Language) -> Markup {
    html! {
        table.list data-testid="sites" {
            thead { tr {
                th { (text!(language, "cabinet-site")) }
                th { (text!(language, "cabinet-hours")) }
                th { (text!(language, "cabinet-state")) }
                th { (text!(language, "cabinet-rate")) }
            } }
            tbody {
                @for site in list.sites {
                    tr {
                        td { a.name href={ "/sites/" (site.id) } { (site.about.name) } span.quiet { " " (site.about.address) } }
                        td { (hours(site, language)) }
                        td { (open_label(list.open.contains(&site.id), language)) }
                        td.amount { (Money::from_kopecks(site.about.rate_kopecks).shown(language)) }
                    }
                }
            }
        }
    }
}

/// A badge that says whether a site is open.
pub fn open_label(is_open: bool, language: Language) -> Markup {
    let (class, text) = if is_open {
        ("badge verified", text!(language, "cabinet-open"))
    } else {
        ("badge", text!(language, "cabinet-closed"))
    };
    html! { span class=(class) { (text) } }
}

fn hours(site: &Site, language: Language) -> String {
    if site.about.closing_hours().is_none() {
        return text!(language, "cabinet-around-the-clock");
    }
    format!("{} – {}", time_of(site.about.hours.from_minute), time_of(site.about.hours.to_minute))
}

/// Says that the site is deleted, with the button that brings it back.
fn deleted_line(visitor: &Visitor, access: &Access, site: &Site) -> Markup {
    let language = visitor.language();
    html! {
        section.card.removed data-testid="deleted" {
            div.row {
                span.badge { (text!(language, "cabinet-site-deleted")) }
                @if access.may(Permission::Delete, site.id) {
                    (visitor.visit.form(&format!("/sites/{}/restore", site.id), &html! {
                        button.plain.small type="submit" data-testid="restore" { (text!(language, "cabinet-restore")) }
                    }))
                }
            }
        }
    }
}

/// Deleted sites, with a button to restore them.
fn deleted(visitor: &Visitor, access: &Access, sites: &[Site]) -> Markup {
    let language = visitor.language();
    html! {
        details.card {
            summary { (text!(language, "cabinet-deleted-sites")) }
            ul.rows {
                @for site in sites {
                    li.removed {
                        span { (site.about.name) }
                        @if access.may(Permission::Delete, site.id) {
                            (visitor.visit.form(&format!("/sites/{}/restore", site.id), &html! {
                                button.plain.small type="submit" data-testid="restore" { (text!(language, "cabinet-restore")) }
                            }))
                        }
                    }
                }
            }
        }
    }
}

/// Links to the previous and the next page of a list.
pub fn pager(path: &str, number: usize, pages: usize, language: Language) -> Markup {
    let joint = if path.contains('?') { '&' } else { '?' };
    let to = |page: usize| format!("{path}{joint}page={page}");
    html! {
        @if pages > 1 {
            nav.pager aria-label=(text!(language, "web-pages")) {
                @if number > 1 { a.button.plain rel="prev" href=(to(number - 1)) { (text!(language, "web-previous")) } }
                span { (text!(language, "web-page-of", page = number, pages = pages)) }
                @if number < pages { a.button.plain rel="next" href=(to(number + 1)) { (text!(language, "web-next")) } }
            }
        }
    }
}

pub fn site(visitor: &Visitor, shown: &SitePage, attempt: &FormAttempt) -> Markup {
    let SitePage { access, site, tasks, .. } = shown;
    let (language, page) = (visitor.language(), format!("/sites/{}", site.id));
    let may_edit = access.may(Permission::Edit, site.id) && site.deleted_at.is_none();
    visitor.page(
        &site.about.name,
        &html! {
            p.crumbs { a href="/sites" { (text!(language, "cabinet-nav-sites")) } }
            div.headline {
                h1 { (site.about.name) }
                a.button.plain href={ "/calendar?site=" (site.id) } { (text!(language, "cabinet-nav-calendar")) }
                a.button.plain href={ "/shifts?site=" (site.id) } { (text!(language, "cabinet-nav-shifts")) }
                @if access.may(Permission::Employees, site.id) {
                    a.button.plain href={ (page) "/broadcast" } data-testid="broadcast" { (text!(language, "cabinet-broadcast")) }
                }
            }
            (attempt.notice(language))
            @if site.deleted_at.is_some() { (deleted_line(visitor, access, site)) } @else { (open_state(visitor, shown)) }
            section.card #tasks {
                h2 { (text!(language, "cabinet-tasks")) }
                p.quiet { (text!(language, "cabinet-tasks-about")) }
                (tasks::list(visitor, TaskListPlace { page: &page, may_edit, skipped: shown.skipped }, tasks, attempt))
            }
            @if may_edit { (edit_site(visitor, access, site, attempt)) } @else { (facts(site, language)) }
        },
    )
}

/// Whether the site is open, and the button to open or close it.
fn open_state(visitor: &Visitor, shown: &SitePage) -> Markup {
    let (language, id) = (visitor.language(), shown.site.id);
    let (action, caption) = if shown.is_open {
        ("close", text!(language, "cabinet-close-site"))
    } else {
        ("open", text!(language, "cabinet-open-site"))
    };
    html! {
        section.card #doors data-live="shifts" {
            div.row {
                (open_label(shown.is_open, language))
                @if shown.access.may(Permission::Schedule, id) {
                    (visitor.visit.form(&format!("/sites/{id}/{action}"), &html! {
                        button.plain.small type="submit" data-testid={ (action) "-site" } { (caption) }
                    }))
                }
            }
        }
    }
}

fn edit_site(visitor: &Visitor, access: &Access, site: &Site, attempt: &FormAttempt) -> Markup {
    let (language, now) = (visitor.language(), write_site(&site.about));
    let (path, caption) = (format!("/sites/{}", site.id), text!(language, "cabinet-save"));
    let (version, may_see_rates) = (Some(site.version), access.may(Permission::Rates, site.id));
    let sheet = FormSpec { path: &path, now: &now, version, back: &path, caption: &caption, testid: "save-site" };
    html! {
        section.card {
            h2 { (text!(language, "cabinet-site")) }
            (visitor.record_form(attempt, sheet, |form| site_fields(form, may_see_rates)))
            @if access.may(Permission::Delete, site.id) {
                (visitor.visit.form(&format!("/sites/{}/delete", site.id), &html! {
                    input type="hidden" name="version" value=(site.version);
                    p.quiet { (text!(language, "cabinet-delete-site-about")) }
                    button.danger type="submit" data-testid="delete-site" { (text!(language, "cabinet-delete-site")) }
                }))
            }
        }
    }
}

fn site_fields(form: &FilledForm<'_>, may_see_rates: bool) -> Markup {
    let language = form.language;
    html! {
        div.row.fields {
            (form.line("name", &text!(language, "cabinet-name"), 100))
            (form.line("address", &text!(language, "cabinet-address"), 300))
        }
        div.row.fields {
            (form.line("position", &text!(language, "cabinet-position"), MAX_POSITION_TEXT))
            (form.short("max_distance", &text!(language, "cabinet-max-distance"), "number"))
            (form.time_zone("time_zone", &text!(language, "cabinet-time-zone")))
        }
        div.row.fields {
            (form.short("opens", &text!(language, "cabinet-opens"), "time"))
            (form.short("closes", &text!(language, "cabinet-closes"), "time"))
            (form.short_if(may_see_rates, "rate", &text!(language, "cabinet-rate-per-hour"), "text"))
            (form.short("auto_close", &text!(language, "cabinet-auto-close"), "number"))
        }
        div.row.fields {
            (form.short_if(may_see_rates, "late_threshold", &text!(language, "cabinet-late-threshold"), "number"))
            (form.short_if(may_see_rates, "late_minute", &text!(language, "cabinet-late-minute"), "text"))
        }
        fieldset {
            legend { (text!(language, "cabinet-working-days")) }
            div.row.choice { @for (at, name) in DAYS.iter().enumerate() { (form.tick(name, &day_name(at, language))) } }
        }
    }
}

fn facts(site: &Site, language: Language) -> Markup {
    html! {
        section.card {
            dl.facts {
                dt { (text!(language, "cabinet-address")) } dd { (site.about.address) }
                dt { (text!(language, "cabinet-hours")) } dd { (hours(site, language)) }
                dt { (text!(language, "cabinet-time-zone")) } dd { (time_zones::shown(site.about.time_zone, language)) }
            }
        }
    }
}
