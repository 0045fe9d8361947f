//! Permissions of managers by site: the list, the form, and its history. For owners.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::audit::{self, Line};
use crate::person::{MANAGERS, OWNERS, Permission, Person, Role, SitePermissions};
use crate::sites::{Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, Submitted, submit};
use crate::web::ui::{Button, Card, headline};
use crate::web::{Owner, PageError, Section, Visitor, moment};

mod table;

/// The hidden field with the site of a row of the table.
const SITE: &str = "site";
/// The hidden field with the permissions that the owner saw.
const SEEN: &str = "seen";
/// How many lines of history are shown.
const HISTORY_LINES: u64 = 50;

/// The data of a manager's page.
struct ManagerPage {
    person: Person,
    sites: Vec<Site>,
    permissions: SitePermissions,
    lines: Vec<Line>,
    names: HashMap<i64, String>,
}

/// The link from a person's page to the manager's permissions.
pub fn section(viewer: &Person, person: &Person) -> Option<Section> {
    if !viewer.may(OWNERS) || !person.roles.has(Role::Manager) {
        return None;
    }
    let language = viewer.language;
    let body = html! {
        p { a.button.plain href={ "/managers/" (person.id) } data-testid="permissions" { (text!(language, "cabinet-permissions-edit")) } }
    };
    Some(Section { title: text!(language, "cabinet-permissions"), body })
}

/// The query string of the table.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TableQuery {
    site: Option<i64>,
}

/// `GET /managers`: a table for one site at a time.
pub async fn list(
    State(app): State<App>,
    Owner(visitor): Owner,
    Query(wanted): Query<TableQuery>,
) -> Result<Response, PageError> {
    table_page(&app, &visitor, wanted.site, FormAttempt::default()).await
}

async fn table_page(
    app: &App,
    visitor: &Visitor,
    wanted: Option<i64>,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let api = Sites::of_app(app);
    let managers = app.people.with_any(MANAGERS);
    let (managers, sites, permissions) = tokio::try_join!(managers, api.list(), api.all_permissions())?;
    let site = sites.iter().find(|site| Some(site.id) == wanted).or(sites.first());
    let table = table::ManagersTable { managers: &managers, sites: &sites, site, permissions: &permissions };
    Ok((attempt.status(), table::page(visitor, &table, &attempt)).into_response())
}

/// `GET /managers/<id>`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, PageError> {
    page(&app, &visitor, id, FormAttempt::default()).await
}

/// `POST /managers/<id>`.
pub async fn edit(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    manager(&app, id).await?;
    let mut sites: BTreeSet<i64> = api.list().await?.iter().map(|site| site.id).collect();
    // A row of the table is for one site, and leaves the others as they are.
    let of_row: Option<i64> = typed.get(SITE).and_then(|id| id.parse().ok());
    if let Some(site) = of_row {
        sites.retain(|id| *id == site);
    }
    let act = async |(seen, wanted)| api.set_permissions_at_sites(&visitor.person, id, seen, wanted).await;
    match submit(&visitor, typed, |typed| read(typed, &sites), act).await? {
        Submitted::Done(()) => {
            let back = of_row.map_or_else(|| format!("/managers/{id}"), |site| format!("/managers?site={site}"));
            let text = text!(visitor.language(), "cabinet-permissions-saved");
            Ok(visitor.redirect(back).with_toast(text).into_response())
        }
        Submitted::Refused(attempt) if of_row.is_some() => table_page(&app, &visitor, of_row, attempt).await,
        Submitted::Refused(attempt) => page(&app, &visitor, id, attempt).await,
    }
}

async fn manager(app: &App, id: i64) -> Result<Person, PageError> {
    let person = app.people.by_id(id).await?;
    person.filter(|person| person.roles.has(Role::Manager)).ok_or(PageError::NotFound)
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: FormAttempt) -> Result<Response, PageError> {
    let (person, api) = (manager(app, id).await?, Sites::of_app(app));
    let lines = audit::latest(&app.domain, ("manager", id), HISTORY_LINES);
    let (sites, permissions, lines) = tokio::try_join!(api.list(), api.site_permissions(id), lines)?;
    let names = app.people.names(lines.iter().filter_map(|line| line.actor)).await?;
    let page = ManagerPage { person, sites, permissions, lines, names };
    Ok((attempt.status(), draw(visitor, &page, &attempt)).into_response())
}

fn draw(visitor: &Visitor, page: &ManagerPage, attempt: &FormAttempt) -> Markup {
    let (language, person) = (visitor.language(), &page.person);
    let (path, caption, now) =
        (format!("/managers/{}", person.id), text!(language, "cabinet-save"), write(&page.permissions));
    let sheet =
        FormSpec { path: &path, now: &now, version: None, back: &path, caption: &caption, testid: "save-permissions" };
    visitor.page(
        &person.full_name,
        &html! {
            p.crumbs { a href="/managers" { (text!(language, "cabinet-nav-managers")) } }
            (headline(&person.full_name, &html! {
                (Button::plain(&text!(language, "cabinet-their-page")).link(&format!("/people/{}", person.id)))
            }))
            (attempt.notice(language))
            (Card::new(&text!(language, "cabinet-permissions")).render(&html! {
                p.quiet { (text!(language, "cabinet-permissions-about")) }
                @if page.sites.is_empty() { p.quiet { (text!(language, "cabinet-no-sites")) } }
                @else {
                    (visitor.record_form(attempt, sheet, |form| html! {
                        input type="hidden" name=(SEEN) value=(seen_text(&page.permissions));
                        @for site in &page.sites { (boxes(form, site)) }
                    }))
                }
            }))
            (Card::new(&text!(language, "cabinet-permissions-history")).render(&html! {
                (history(page, language))
            }))
        },
    )
}

fn boxes(form: &FilledForm<'_>, site: &Site) -> Markup {
    html! {
        fieldset data-testid={ "site-" (site.id) } {
            legend { (site.about.name) }
            div.ticks {
                @for one in Permission::ALL { (form.tick(&field(site.id, one), &one.text(form.language))) }
            }
        }
    }
}

fn history(page: &ManagerPage, language: Language) -> Markup {
    html! {
        @if page.lines.is_empty() { p.quiet { (text!(language, "cabinet-permissions-untouched")) } }
        ul.rows data-testid="permissions-history" {
            @for line in &page.lines {
                @let actor = line.actor.and_then(|id| page.names.get(&id)).map_or("–", String::as_str);
                li { div { (audit::in_words(line, language)) p.quiet { (actor) } } span.quiet { (moment(line.at, language)) } }
            }
        }
    }
}

fn field(site_id: i64, permission: Permission) -> String {
    format!("{}-{site_id}", permission.name())
}

/// The form fields of permissions.
fn write(permissions: &SitePermissions) -> Fields {
    let ticked = permissions.iter().flat_map(|(site, allowed)| allowed.iter().map(|one| field(*site, *one)));
    ticked.map(|name| (name, "on".to_owned())).collect()
}

/// The permissions that the owner saw, and those that the form asks for. Any permission at a site includes View.
fn read(typed: &Fields, sites: &BTreeSet<i64>) -> Result<(SitePermissions, SitePermissions), Vec<&'static str>> {
    let mut seen: SitePermissions = typed.get(SEEN).and_then(|text| read_seen(text)).ok_or_else(|| vec![SEEN])?;
    seen.retain(|site, _| sites.contains(site));
    let wanted = sites.iter().filter_map(|site| {
        let is_ticked = |one: &Permission| typed.contains_key(&field(*site, *one));
        let mut allowed: BTreeSet<Permission> = Permission::ALL.into_iter().filter(is_ticked).collect();
        if !allowed.is_empty() {
            allowed.insert(Permission::View);
        }
        (!allowed.is_empty()).then_some((*site, allowed))
    });
    Ok((seen, wanted.collect()))
}

/// The seen permissions as text: `3:view,edit;4:view`.
fn seen_text(permissions: &SitePermissions) -> String {
    let names = |allowed: &BTreeSet<Permission>| allowed.iter().map(|one| one.name()).collect::<Vec<_>>().join(",");
    permissions.iter().map(|(site, allowed)| format!("{site}:{}", names(allowed))).collect::<Vec<_>>().join(";")
}

fn read_seen(text: &str) -> Option<SitePermissions> {
    let one = |part: &str| -> Option<(i64, BTreeSet<Permission>)> {
        let (site, names) = part.split_once(':')?;
        let allowed: Result<BTreeSet<Permission>, _> = names.split(',').map(str::parse).collect();
        Some((site.parse().ok()?, allowed.ok()?))
    };
    let parts = text.split(';').filter(|part| !part.is_empty());
    parts.map(one).collect::<Option<BTreeMap<_, _>>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_survive_their_form() {
        let permissions = SitePermissions::from([
            (3, BTreeSet::from([Permission::View, Permission::Finances])),
            (4, [Permission::View].into()),
        ]);
        let mut typed = write(&permissions);
        typed.insert(SEEN.into(), seen_text(&permissions));
        assert_eq!(read(&typed, &BTreeSet::from([3, 4, 5])), Ok((permissions.clone(), permissions)));
        typed.insert(SEEN.into(), "3:everything".into());
        assert_eq!(read(&typed, &BTreeSet::from([3])), Err(vec![SEEN]));
    }

    #[test]
    fn any_permission_includes_view() {
        let typed = Fields::from([(SEEN.into(), String::new()), (field(3, Permission::Rates), "on".into())]);
        let wanted = SitePermissions::from([(3, BTreeSet::from([Permission::View, Permission::Rates]))]);
        assert_eq!(read(&typed, &BTreeSet::from([3])), Ok((SitePermissions::new(), wanted)));
    }
}
