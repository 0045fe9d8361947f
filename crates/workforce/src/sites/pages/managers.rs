//! What managers may do, site by site: who has which, changing it, and its history. For owners.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use crate::application::App;
use crate::audit::{self, Line};
use crate::person::{MANAGERS, OWNERS, Permission, Permits, Person, Role};
use crate::sites::{Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Attempt, Fields, Filled, Sheet, carry_out};
use crate::web::{Oops, Owner, Section, Visitor, moment};

/// The field that says what was looked at.
const SEEN: &str = "seen";
/// How many lines of history are shown.
const LINES: u64 = 50;

/// A manager and everything about them.
struct Whole {
    person: Person,
    sites: Vec<Site>,
    permits: Permits,
    lines: Vec<Line>,
    names: HashMap<i64, String>,
}

/// The way here from a manager's page.
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

/// `GET /managers`.
pub async fn list(State(app): State<App>, Owner(visitor): Owner) -> Result<Markup, Oops> {
    let doors = Sites::of_app(&app);
    let managers = app.people.with_any(MANAGERS);
    let (managers, sites, permits) = tokio::try_join!(managers, doors.list(), doors.permits())?;
    let language = visitor.language();
    let title = text!(language, "cabinet-nav-managers");
    let none = Permits::new();
    let body = html! {
        h1 { (title) }
        p.quiet { (text!(language, "cabinet-managers-about")) }
        div #managers data-live="sites" {
            @if managers.is_empty() { div.card.empty { (text!(language, "cabinet-no-managers")) } }
            @for person in &managers { (card(person, &sites, permits.get(&person.id).unwrap_or(&none), language)) }
        }
    };
    Ok(visitor.page(&title, &body))
}

/// `GET /managers/<id>`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    page(&app, &visitor, id, Attempt::default()).await
}

/// `POST /managers/<id>`.
pub async fn edit(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    manager(&app, id).await?;
    let sites: BTreeSet<i64> = doors.list().await?.iter().map(|site| site.id).collect();
    let act = async |(seen, wanted)| doors.permit_at_sites(&visitor.person, id, seen, wanted).await;
    match carry_out(&visitor, typed, |typed| read(typed, &sites), act).await? {
        Ok(()) => Ok(Redirect::to(&format!("/managers/{id}")).into_response()),
        Err(attempt) => page(&app, &visitor, id, attempt).await,
    }
}

async fn manager(app: &App, id: i64) -> Result<Person, Oops> {
    let person = app.people.by_id(id).await?;
    person.filter(|person| person.roles.has(Role::Manager)).ok_or(Oops::NotFound)
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: Attempt) -> Result<Response, Oops> {
    let (person, doors) = (manager(app, id).await?, Sites::of_app(app));
    let lines = audit::latest(&app.domain, ("manager", id), LINES);
    let (sites, permits, lines) = tokio::try_join!(doors.list(), doors.permits_of(id), lines)?;
    let names = app.people.names(lines.iter().filter_map(|line| line.actor)).await?;
    let whole = Whole { person, sites, permits, lines, names };
    Ok((attempt.status(), draw(visitor, &whole, &attempt)).into_response())
}

fn card(person: &Person, sites: &[Site], permits: &Permits, language: Language) -> Markup {
    let here = sites.iter().filter_map(|site| Some((site, permits.get(&site.id)?)));
    html! {
        section.card data-testid={ "manager-" (person.id) } {
            div.headline {
                h2 { (person.full_name) }
                a.button.plain href={ "/managers/" (person.id) } data-testid={ "edit-" (person.telegram_id) } {
                    (text!(language, "cabinet-permissions-edit"))
                }
            }
            @if here.clone().next().is_none() { p.quiet { (text!(language, "cabinet-permitted-nothing")) } }
            ul.rows {
                @for (site, allowed) in here {
                    li {
                        a href={ "/sites/" (site.id) } { (site.about.name) }
                        div.chips { @for one in allowed { span.chip { (one.words(language)) } " " } }
                    }
                }
            }
        }
    }
}

fn draw(visitor: &Visitor, whole: &Whole, attempt: &Attempt) -> Markup {
    let (language, person) = (visitor.language(), &whole.person);
    let (path, caption, now) =
        (format!("/managers/{}", person.id), text!(language, "cabinet-save"), write(&whole.permits));
    let sheet =
        Sheet { path: &path, now: &now, version: None, back: &path, caption: &caption, testid: "save-permissions" };
    visitor.page(
        &person.full_name,
        &html! {
            p.crumbs { a href="/managers" { (text!(language, "cabinet-nav-managers")) } }
            div.headline {
                h1 { (person.full_name) }
                a.button.plain href={ "/people/" (person.id) } { (text!(language, "cabinet-their-page")) }
            }
            (attempt.notice(language))
            section.card {
                h2 { (text!(language, "cabinet-permissions")) }
                p.quiet { (text!(language, "cabinet-permissions-about")) }
                @if whole.sites.is_empty() { p.quiet { (text!(language, "cabinet-no-sites")) } }
                @else {
                    (visitor.sheet(attempt, sheet, |form| html! {
                        input type="hidden" name=(SEEN) value=(seen_text(&whole.permits));
                        @for site in &whole.sites { (boxes(form, site)) }
                    }))
                }
            }
            section.card {
                h2 { (text!(language, "cabinet-permissions-history")) }
                (history(whole, language))
            }
        },
    )
}

fn boxes(form: &Filled<'_>, site: &Site) -> Markup {
    html! {
        fieldset data-testid={ "site-" (site.id) } {
            legend { (site.about.name) }
            div.ticks {
                @for one in Permission::ALL { (form.tick(&field(site.id, one), &one.words(form.language))) }
            }
        }
    }
}

fn history(whole: &Whole, language: Language) -> Markup {
    html! {
        @if whole.lines.is_empty() { p.quiet { (text!(language, "cabinet-permissions-untouched")) } }
        ul.rows data-testid="permissions-history" {
            @for line in &whole.lines {
                @let actor = line.actor.and_then(|id| whole.names.get(&id)).map_or("–", String::as_str);
                li { div { (audit::in_words(line, language)) p.quiet { (actor) } } span.quiet { (moment(line.at)) } }
            }
        }
    }
}

fn field(site_id: i64, permission: Permission) -> String {
    format!("{}-{site_id}", permission.name())
}

/// Permissions as their form shows them.
fn write(permits: &Permits) -> Fields {
    let ticked = permits.iter().flat_map(|(site, allowed)| allowed.iter().map(|one| field(*site, *one)));
    ticked.map(|name| (name, "on".to_owned())).collect()
}

/// What was looked at, and what is wanted at these sites. Whoever may do something at a site sees it.
fn read(typed: &Fields, sites: &BTreeSet<i64>) -> Result<(Permits, Permits), Vec<&'static str>> {
    let mut seen: Permits = typed.get(SEEN).and_then(|text| read_seen(text)).ok_or_else(|| vec![SEEN])?;
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

/// `3:view,edit;4:view`.
fn seen_text(permits: &Permits) -> String {
    let names = |allowed: &BTreeSet<Permission>| allowed.iter().map(|one| one.name()).collect::<Vec<_>>().join(",");
    permits.iter().map(|(site, allowed)| format!("{site}:{}", names(allowed))).collect::<Vec<_>>().join(";")
}

fn read_seen(text: &str) -> Option<Permits> {
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
    fn permissions_come_back_from_their_form_as_they_were() {
        let permits = Permits::from([
            (3, BTreeSet::from([Permission::View, Permission::Finances])),
            (4, [Permission::View].into()),
        ]);
        let mut typed = write(&permits);
        typed.insert(SEEN.into(), seen_text(&permits));
        assert_eq!(read(&typed, &BTreeSet::from([3, 4, 5])), Ok((permits.clone(), permits)));
        typed.insert(SEEN.into(), "3:everything".into());
        assert_eq!(read(&typed, &BTreeSet::from([3])), Err(vec![SEEN]));
    }

    #[test]
    fn whoever_may_do_something_at_a_site_sees_it() {
        let typed = Fields::from([(SEEN.into(), String::new()), (field(3, Permission::Rates), "on".into())]);
        let wanted = Permits::from([(3, BTreeSet::from([Permission::View, Permission::Rates]))]);
        assert_eq!(read(&typed, &BTreeSet::from([3])), Ok((Permits::new(), wanted)));
    }
}
