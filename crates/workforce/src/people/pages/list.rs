//! The list of people.

use axum::extract::{Query, State};
use futures_util::future::try_join_all;
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::people::{PAGE, Page};
use crate::person::{OWNERS, Person};
use crate::text;
use crate::web::ui::{Button, Icon};
use crate::web::{PageError, PageNumber, SignedIn, Visitor, role_label, status_label};

/// The query string.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    page: PageNumber,
}

/// `GET /people`: all people for owners; for managers, people with a contract for the sites whose employees they
/// manage.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(wanted): Query<ListQuery>,
) -> Result<Markup, PageError> {
    let visible = visible_ids(&app, &visitor.person).await?;
    let page = app.people.page_of(visible.as_deref(), &wanted.q, wanted.page.index()).await?;
    Ok(draw(&visitor, &wanted.q, wanted.page.number(), &page))
}

/// Ids of the people that the visitor may see; none means everybody.
pub async fn visible_ids(app: &App, viewer: &Person) -> Result<Option<Vec<i64>>, PageError> {
    if viewer.may(OWNERS) {
        return Ok(None);
    }
    let rooms: Vec<_> = app.rooms.iter().collect();
    let of_rooms = try_join_all(rooms.iter().map(|room| room.managed_people(app, viewer))).await?;
    let known: Vec<Vec<i64>> = of_rooms.into_iter().flatten().collect();
    if known.is_empty() {
        return Err(PageError::Forbidden);
    }
    Ok(Some(known.concat()))
}

/// The page of a person: for managers the contracts, because the rest is for owners.
pub fn path_of(viewer: &Person, id: i64) -> String {
    format!("/people/{id}{}", if viewer.may(OWNERS) { "" } else { "/contracts" })
}

fn is_owner(visitor: &Visitor) -> bool {
    visitor.person.may(OWNERS)
}

fn draw(visitor: &Visitor, q: &str, number: u64, page: &Page) -> Markup {
    let language = visitor.language();
    let title = text!(language, "web-people");
    visitor.page(
        &title,
        &html! {
            div.headline {
                h1 { (title) }
                div.row.actions {
                    (Button::plain(&text!(language, "web-invite")).icon(Icon::Link).testid("invite").link("/people/invite"))
                    @if is_owner(visitor) {
                        (Button::plain(&text!(language, "import-title")).icon(Icon::Upload).testid("import").link("/import"))
                    }
                    (Button::primary(&text!(language, "cabinet-offer-contract")).icon(Icon::Plus).testid("offer-contract").link("/contracts/new"))
                }
            }
            @if !is_owner(visitor) { p.quiet data-testid="of-sites" { (text!(language, "web-people-of-sites")) } }
            form.search method="get" action="/people" role="search" {
                input type="search" name="q" value=(q) maxlength="64" aria-label=(text!(language, "web-search"))
                    placeholder=(text!(language, "web-search-hint")) data-testid="search";
                button type="submit" { (text!(language, "web-search")) }
            }
            div #people data-live="people" {
                p.quiet { (text!(language, "web-people-count", count = page.total)) }
                @if page.people.is_empty() {
                    div.card.empty { (text!(language, "web-nobody-found")) }
                } @else {
                    (table(visitor, page))
                }
                (pager(visitor, q, number, page.total))
            }
        },
    )
}

fn table(visitor: &Visitor, page: &Page) -> Markup {
    let language = visitor.language();
    html! {
        table.list data-testid="people" {
            thead { tr {
                th { (text!(language, "web-name")) }
                th { (text!(language, "web-roles")) }
                th { (text!(language, "web-status")) }
                th { (text!(language, "web-phone")) }
            } }
            tbody { @for person in &page.people { (row(visitor, person)) } }
        }
    }
}

fn row(visitor: &Visitor, person: &Person) -> Markup {
    let language = visitor.language();
    let path = path_of(&visitor.person, person.id);
    html! {
        tr {
            td {
                a.name href=(path) data-testid={ "person-" (person.telegram_id) } {
                    (person.full_name)
                }
                @if let Some(username) = &person.username { span.quiet { " @" (username) } }
            }
            td { @for role in person.roles.iter() { (role_label(role, language)) " " } }
            td { (status_label(person.status, language)) }
            td.none[person.phone.is_none()] { (person.phone.as_deref().unwrap_or("–")) }
        }
    }
}

fn pager(visitor: &Visitor, q: &str, number: u64, total: u64) -> Markup {
    let language = visitor.language();
    let pages = total.div_ceil(PAGE).max(1);
    let wanted: String = form_urlencoded::byte_serialize(q.as_bytes()).collect();
    let to = |page: u64| format!("/people?q={wanted}&page={page}");
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
