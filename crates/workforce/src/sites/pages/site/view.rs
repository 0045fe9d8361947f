//! Markup of the list of sites and of a site's page.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::super::access::Access;
use super::super::tasks::{self, TaskListPlace};
use super::{DAYS, PAGE_SIZE, SiteTab, write_site};
use crate::key;
use crate::money::Money;
use crate::person::{Permission, Person};
use crate::sites::{Site, Task};
use crate::text;
use crate::texts::Language;
use crate::time_zones;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, time_of};
use crate::web::ui::{
    Button, Card, Column, Dialog, Empty, Icon, Tab, Tone, badge, card, headline, table as table_of, tabs,
};
use crate::web::{Section, Visitor, role_label};

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
    pub tab: SiteTab,
    pub tasks: Vec<Task>,
    pub is_open: bool,
    /// Ids of the people with an active contract today.
    pub workers: Vec<i64>,
    /// The first of them, for their tab.
    pub staff: Vec<Person>,
    /// What skipping a mandatory task without a price costs.
    pub skipped: Option<Money>,
    /// What other rooms say about the site, on the first tab.
    pub sections: Vec<Section>,
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
            (headline(&title, &html! {}))
            (attempt.notice(language))
            div #sites data-live="sites shifts" {
                @if list.sites.is_empty() {
                    (Empty { icon: Icon::Site, title: &text!(language, "cabinet-no-sites"), text: &text!(language, "cabinet-no-sites-about") }.render(&html! {}))
                } @else { (table(list, language)) }
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
    let columns = [
        Column::text(text!(language, "cabinet-site")),
        Column::text(text!(language, "cabinet-hours")),
        Column::text(text!(language, "cabinet-state")),
        Column::amount(text!(language, "cabinet-rate")),
    ];
    let row = |site: &Site| {
        vec![
            html! { a.name href={ "/sites/" (site.id) } { (site.about.name) } span.quiet { " " (site.about.address) } },
            html! { (hours(site, language)) },
            open_label(list.open.contains(&site.id), language),
            html! { (Money::from_kopecks(site.about.rate_kopecks).shown(language)) },
        ]
    };
    table_of("sites", &columns, &list.sites.iter().map(row).collect::<Vec<_>>())
}

/// A badge that says whether a site is open.
pub fn open_label(is_open: bool, language: Language) -> Markup {
    if is_open {
        badge(Tone::Good, &text!(language, "cabinet-open"))
    } else {
        badge(Tone::Neutral, &text!(language, "cabinet-closed"))
    }
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
        (Card::untitled().class("removed").testid("deleted").render(&html! {
            div.row {
                span.badge { (text!(language, "cabinet-site-deleted")) }
                @if access.may(Permission::Delete, site.id) {
                    (visitor.visit.form(&format!("/sites/{}/restore", site.id), &html! {
                        (Button::plain(&text!(language, "cabinet-restore")).small().testid("restore").submit())
                    }))
                }
            }
        }))
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
                                (Button::plain(&text!(language, "cabinet-restore")).small().testid("restore").submit())
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
    let (language, site) = (visitor.language(), &shown.site);
    visitor.page(
        &site.about.name,
        &html! {
            p.crumbs { a href="/sites" { (text!(language, "cabinet-nav-sites")) } }
            (headline(&site.about.name, &html! {
                @if site.deleted_at.is_none() { span #doors data-live="shifts" { (open_label(shown.is_open, language)) } }
                (actions(visitor, shown))
            }))
            (tabs(&text!(language, "cabinet-site-sections"), &site_tabs(shown, language)))
            (attempt.notice(language))
            @if site.deleted_at.is_some() { (deleted_line(visitor, &shown.access, site)) }
            @match shown.tab {
                SiteTab::Overview => (overview(shown, language)),
                SiteTab::Tasks => (task_list(visitor, shown, attempt)),
                SiteTab::Staff => (staff(visitor, shown)),
                SiteTab::Settings => (edit_site(visitor, &shown.access, site, attempt)),
            }
        },
    )
}

fn site_tabs(shown: &SitePage, language: Language) -> Vec<Tab> {
    let tabs = SiteTab::ALL.into_iter().filter(|tab| tab.is_for(&shown.access, shown.site.id));
    let tasks = shown.tasks.iter().filter(|task| task.deleted_at.is_none()).count();
    let tab = |tab: SiteTab| {
        let (caption, count) = match tab {
            SiteTab::Overview => (text!(language, "cabinet-site-overview"), 0),
            SiteTab::Tasks => (text!(language, "cabinet-tasks"), tasks),
            SiteTab::Staff => (text!(language, "cabinet-site-staff"), shown.workers.len()),
            SiteTab::Settings => (text!(language, "cabinet-nav-settings"), 0),
        };
        Tab::new(caption, tab.path(shown.site.id), tab == shown.tab).count(count as u64)
    };
    tabs.map(tab).collect()
}

/// What is done most with a site: its calendar, its shifts, a message to its staff, opening and closing.
fn actions(visitor: &Visitor, shown: &SitePage) -> Markup {
    let (language, id, access) = (visitor.language(), shown.site.id, &shown.access);
    let (action, caption) = if shown.is_open {
        ("close", text!(language, "cabinet-close-site"))
    } else {
        ("open", text!(language, "cabinet-open-site"))
    };
    html! {
        div.row.actions {
            (Button::plain(&text!(language, "cabinet-nav-calendar")).icon(Icon::Calendar).link(&format!("/calendar?site={id}")))
            (Button::plain(&text!(language, "cabinet-nav-shifts")).icon(Icon::Clock).link(&format!("/shifts?site={id}")))
            @if access.may(Permission::Employees, id) {
                (Button::plain(&text!(language, "cabinet-broadcast")).icon(Icon::Send).testid("broadcast").link(&format!("/sites/{id}/broadcast")))
            }
            @if access.may(Permission::Schedule, id) && shown.site.deleted_at.is_none() {
                (visitor.visit.form(&format!("/sites/{id}/{action}"), &html! {
                    (Button::plain(&caption).testid(&format!("{action}-site")).submit())
                }))
            }
        }
    }
}

fn overview(shown: &SitePage, language: Language) -> Markup {
    html! {
        @for section in &shown.sections { (card(&section.title, &section.body)) }
        (card(&text!(language, "cabinet-site-about"), &facts(shown, language)))
    }
}

fn task_list(visitor: &Visitor, shown: &SitePage, attempt: &FormAttempt) -> Markup {
    let (language, site) = (visitor.language(), &shown.site);
    let (page, back) = (format!("/sites/{}", site.id), SiteTab::Tasks.path(site.id));
    let may_edit = shown.access.may(Permission::Edit, site.id) && site.deleted_at.is_none();
    let place = TaskListPlace { page: &page, back: &back, may_edit, skipped: shown.skipped };
    let body = html! {
        p.quiet { (text!(language, "cabinet-tasks-about")) }
        (tasks::list(visitor, place, &shown.tasks, attempt))
    };
    Card::new(&text!(language, "cabinet-tasks")).id("tasks").render(&body)
}

/// The people with an active contract today.
fn staff(visitor: &Visitor, shown: &SitePage) -> Markup {
    let language = visitor.language();
    let add = text!(language, "cabinet-offer-contract");
    let add = Button::primary(&add).icon(Icon::Plus).link(&format!("/contracts/new?site={}", shown.site.id));
    if shown.staff.is_empty() {
        let (title, about) = (text!(language, "cabinet-no-staff"), text!(language, "cabinet-no-staff-about"));
        return Empty { icon: Icon::People, title: &title, text: &about }.render(&add);
    }
    let columns = [
        Column::text(text!(language, "web-name")),
        Column::text(text!(language, "web-roles")),
        Column::text(text!(language, "web-phone")),
    ];
    let row = |person: &Person| {
        vec![
            html! { a.name href={ "/people/" (person.id) "/contracts" } { (person.full_name) } },
            html! { span.badges { @for role in person.roles.iter() { (role_label(role, language)) } } },
            html! { @match &person.phone { Some(phone) => a.quiet-link href={ "tel:" (phone) } { (phone) }, None => "–" } },
        ]
    };
    let rows: Vec<Vec<Markup>> = shown.staff.iter().map(row).collect();
    html! {
        div.row.deeds-row {
            (add)
            (Button::plain(&text!(language, "cabinet-staff-in-people")).icon(Icon::People).link(&format!("/people?site={}", shown.site.id)))
        }
        (table_of("staff", &columns, &rows))
    }
}

fn edit_site(visitor: &Visitor, access: &Access, site: &Site, attempt: &FormAttempt) -> Markup {
    if site.deleted_at.is_some() {
        return html! {};
    }
    let (language, now) = (visitor.language(), write_site(&site.about));
    let (path, back, caption) =
        (format!("/sites/{}", site.id), SiteTab::Settings.path(site.id), text!(language, "cabinet-save"));
    let (version, may_see_rates) = (Some(site.version), access.may(Permission::Rates, site.id));
    let sheet = FormSpec { path: &path, now: &now, version, back: &back, caption: &caption, testid: "save-site" };
    html! {
        (card(&text!(language, "cabinet-site"), &visitor.record_form(attempt, sheet, |form| site_fields(form, may_see_rates))))
        @if access.may(Permission::Delete, site.id) { (deletion(visitor, site)) }
    }
}

/// The question before a site is deleted.
fn deletion(visitor: &Visitor, site: &Site) -> Markup {
    let (language, name) = (visitor.language(), site.about.name.as_str());
    let title = text!(language, "cabinet-delete-site-sure", site = name);
    let (caption, cancel) = (text!(language, "cabinet-delete-site"), text!(language, "cabinet-keep-site"));
    let body = html! {
        p { (text!(language, "cabinet-delete-site-about")) }
        (visitor.visit.form(&format!("/sites/{}/delete", site.id), &html! {
            input type="hidden" name="version" value=(site.version);
            (Button::danger(&caption).testid("delete-site").submit())
        }))
    };
    html! {
        (Card::new(&text!(language, "cabinet-delete-site")).render(&html! {
            p.quiet { (text!(language, "cabinet-delete-site-about")) }
            (Button::danger(&text!(language, "cabinet-delete-site-ask")).icon(Icon::Trash).testid("ask-delete-site").opens("delete-this-site"))
            (Dialog { id: "delete-this-site", title: &title, cancel: &cancel, is_open: false }.render(&body))
        }))
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

fn facts(shown: &SitePage, language: Language) -> Markup {
    let (about, id) = (&shown.site.about, shown.site.id);
    let days: Vec<String> = (0..DAYS.len())
        .filter(|day| about.working_days.0 & (1 << day) != 0)
        .map(|day| day_name(day, language))
        .collect();
    html! {
        dl.facts {
            dt { (text!(language, "cabinet-address")) }
            dd {
                (about.address)
                @match about.position {
                    Some(at) => { " " a href=(format!("https://www.openstreetmap.org/?mlat={0}&mlon={1}#map=17/{0}/{1}", at.latitude, at.longitude)) rel="noopener noreferrer" { (text!(language, "cabinet-on-map")) } },
                    None => { " " span.quiet { (text!(language, "cabinet-no-position")) } },
                }
            }
            dt { (text!(language, "cabinet-hours")) } dd { (hours(&shown.site, language)) @if !days.is_empty() { p.quiet { (days.join(", ")) } } }
            dt { (text!(language, "cabinet-time-zone")) } dd { (time_zones::shown(about.time_zone, language)) }
            @if shown.access.may(Permission::Rates, id) {
                dt { (text!(language, "cabinet-rate-per-hour")) } dd { (Money::from_kopecks(about.rate_kopecks).shown(language)) }
                dt { (text!(language, "cabinet-late-minute")) } dd { (Money::from_kopecks(about.late_minute_kopecks).shown(language)) }
            }
        }
    }
}
