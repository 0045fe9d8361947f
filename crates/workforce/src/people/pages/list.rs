//! The list of people, filtered by status, role, site and a search.

use axum::extract::{Query, State};
use futures_util::future::try_join_all;
use maud::{Markup, html};
use serde::Deserialize;

use crate::application::App;
use crate::people::{PAGE, Page, PeopleFilter};
use crate::person::{OWNERS, Person, Role, Status, role_name};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{self, Button, Column, Empty, Field, Icon, Tab, headline};
use crate::web::{PageError, PageNumber, SignedIn, Visitor, role_label, status_label};

const PATH: &str = "/people";
const MAX_SEARCH_LENGTH: usize = 64;

/// The query string.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    /// A role, a status and the id of a site; empty for all.
    role: String,
    status: String,
    site: String,
    page: PageNumber,
}

/// The data of the page.
struct PeoplePage<'a> {
    visitor: &'a Visitor,
    query: &'a ListQuery,
    role: Option<Role>,
    status: Option<Status>,
    site: Option<i64>,
    /// The sites of the filter, with their names.
    sites: Vec<(i64, String)>,
    found: Page,
}

/// `GET /people`: all people for owners; for managers, people with a contract for the sites whose employees they
/// manage.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Markup, PageError> {
    let visible = visible_ids(&app, &visitor.person).await?;
    let sites = workplaces(&app, &visitor.person).await?;
    let site = query.site.parse().ok().filter(|id| sites.iter().any(|(known, _)| known == id));
    let ids = match site {
        Some(site) => Some(workers_at(&app, site, visible.as_deref()).await?),
        None => visible,
    };
    let (role, status) = (query.role.parse().ok(), query.status.parse().ok());
    let filter = PeopleFilter { ids: ids.as_deref(), wanted: &query.q, role, status };
    let found = app.people.page_of(filter, query.page.index()).await?;
    Ok(PeoplePage { visitor: &visitor, query: &query, role, status, site, sites, found }.draw())
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

/// The sites whose people the viewer may see.
async fn workplaces(app: &App, viewer: &Person) -> Result<Vec<(i64, String)>, PageError> {
    let rooms: Vec<_> = app.rooms.iter().collect();
    Ok(try_join_all(rooms.iter().map(|room| room.workplaces(app, viewer))).await?.concat())
}

/// Ids of the people with a contract for a site, among those that the viewer may see.
async fn workers_at(app: &App, site: i64, visible: Option<&[i64]>) -> Result<Vec<i64>, PageError> {
    let rooms: Vec<_> = app.rooms.iter().collect();
    let mut ids = try_join_all(rooms.iter().map(|room| room.workers_at(app, site))).await?.concat();
    ids.retain(|id| visible.is_none_or(|visible| visible.contains(id)));
    Ok(ids)
}

/// The page of a person: for managers the contracts, because the rest is for owners.
pub fn path_of(viewer: &Person, id: i64) -> String {
    format!("/people/{id}{}", if viewer.may(OWNERS) { "" } else { "/contracts" })
}

impl PeoplePage<'_> {
    fn draw(&self) -> Markup {
        let (visitor, language) = (self.visitor, self.language());
        let title = text!(language, "web-people");
        visitor.page(
            &title,
            &html! {
                (headline(&title, &self.actions()))
                @if !self.is_owner() { p.quiet data-testid="of-sites" { (text!(language, "web-people-of-sites")) } }
                (self.filters())
                div #people data-live="people" {
                    (self.statuses())
                    p.quiet { (text!(language, "web-people-count", count = self.found.total)) }
                    @if self.found.people.is_empty() { (self.empty()) } @else { (self.table()) }
                    (self.pager())
                }
            },
        )
    }

    fn language(&self) -> Language {
        self.visitor.language()
    }

    fn is_owner(&self) -> bool {
        self.visitor.person.may(OWNERS)
    }

    fn is_filtered(&self) -> bool {
        !self.query.q.is_empty() || self.role.is_some() || self.status.is_some() || self.site.is_some()
    }

    /// The path of the list with this status and page, and the other filters as they are.
    fn path(&self, status: Option<Status>, page: u64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let site = self.site.map(|site| site.to_string());
        let parts = [
            ("q", Some(self.query.q.as_str()).filter(|q| !q.is_empty())),
            ("role", self.role.map(Role::name)),
            ("site", site.as_deref()),
            ("status", status.map(Status::name)),
        ];
        for (name, value) in parts {
            query.extend_pairs(value.map(|value| (name, value)));
        }
        query.extend_pairs((page > 1).then(|| ("page", page.to_string())));
        let query = query.finish();
        if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") }
    }

    fn actions(&self) -> Markup {
        let language = self.language();
        html! {
            div.row.actions {
                (Button::plain(&text!(language, "web-invite")).icon(Icon::Link).testid("invite").link("/people/invite"))
                @if self.is_owner() {
                    (Button::plain(&text!(language, "import-title")).icon(Icon::Upload).testid("import").link("/import"))
                }
                (Button::primary(&text!(language, "cabinet-offer-contract")).icon(Icon::Plus).testid("offer-contract").link("/contracts/new"))
            }
        }
    }

    /// The filters apply at once with the script, and by their button without it.
    fn filters(&self) -> Markup {
        let language = self.language();
        let all_roles = (String::new(), text!(language, "web-all-roles"));
        let roles = Role::ALL.into_iter().map(|role| (role.name().to_owned(), role_name(role, language)));
        let roles: Vec<(String, String)> = [all_roles].into_iter().chain(roles).collect();
        let all_sites = (String::new(), text!(language, "cabinet-all-sites"));
        let sites = self.sites.iter().map(|(id, name)| (id.to_string(), name.clone()));
        let sites: Vec<(String, String)> = [all_sites].into_iter().chain(sites).collect();
        let (role, site) = (self.role.map_or("", Role::name), self.site.map(|id| id.to_string()).unwrap_or_default());
        html! {
            form.filters.people-filters method="get" action=(PATH) role="search" data-instant {
                @if let Some(status) = self.status { input type="hidden" name="status" value=(status.name()); }
                div.field.wide {
                    label for="q" { (text!(language, "web-search")) }
                    input #q type="search" name="q" value=(self.query.q) maxlength=(MAX_SEARCH_LENGTH)
                        placeholder=(text!(language, "web-search-hint")) data-testid="search";
                }
                (Field::new("role", &text!(language, "web-role")).select(role, &roles))
                @if self.sites.len() > 1 || self.site.is_some() {
                    (Field::new("site", &text!(language, "cabinet-site")).select(&site, &sites))
                }
                (Button::plain(&text!(language, "cabinet-show")).testid("filter").without_script().submit())
            }
        }
    }

    /// The statuses as tabs with the number of people that the other filters find.
    fn statuses(&self) -> Markup {
        let language = self.language();
        let all: u64 = self.found.by_status.values().sum();
        let tab = |status: Option<Status>, caption: String, count: u64| {
            Tab::new(caption, self.path(status, 1), self.status == status).count(count)
        };
        let mut tabs = vec![tab(None, text!(language, "web-all-people"), all)];
        for status in Status::ALL {
            let count = self.found.by_status.get(status.name()).copied().unwrap_or_default();
            if count > 0 || self.status == Some(status) {
                tabs.push(tab(Some(status), status_caption(status, language), count));
            }
        }
        html! { @if tabs.len() > 2 || self.status.is_some() { (ui::tabs(&text!(language, "web-status"), &tabs)) } }
    }

    fn empty(&self) -> Markup {
        let language = self.language();
        // A page number beyond the last page finds no one either.
        if self.is_filtered() || self.found.total > 0 {
            let (title, about) = (text!(language, "web-no-person-found"), text!(language, "web-no-person-found-about"));
            let all = Button::plain(&text!(language, "web-people-show-all")).testid("show-all").link(PATH);
            return Empty { icon: Icon::Search, title: &title, text: &about }.render(&all);
        }
        let (title, about) = (text!(language, "web-no-people-yet"), text!(language, "web-no-people-yet-about"));
        let invite = Button::primary(&text!(language, "web-invite")).icon(Icon::Link).link("/people/invite");
        Empty { icon: Icon::People, title: &title, text: &about }.render(&invite)
    }

    fn table(&self) -> Markup {
        let language = self.language();
        let columns = [
            Column::text(text!(language, "web-name")),
            Column::text(text!(language, "web-roles")),
            Column::text(text!(language, "web-status")),
            Column::text(text!(language, "web-phone")),
        ];
        let rows: Vec<Vec<Markup>> = self.found.people.iter().map(|person| self.row(person)).collect();
        ui::table("people", &columns, &rows)
    }

    /// A person. Applicants stand out with a button, because they wait for a decision.
    fn row(&self, person: &Person) -> Vec<Markup> {
        let (language, path) = (self.language(), path_of(&self.visitor.person, person.id));
        let is_waiting = person.status == Status::Pending && self.is_owner();
        vec![
            html! {
                a.name href=(path) data-testid={ "person-" (person.telegram_id) } { (person.full_name) }
                @if let Some(username) = &person.username { " " span.quiet { "@" (username) } }
            },
            html! { span.badges { @for role in person.roles.iter() { (role_label(role, language)) } } },
            html! {
                span.badges {
                    (status_label(person.status, language))
                    @if is_waiting {
                        (Button::plain(&text!(language, "web-review")).small().testid("review").link("/registrations"))
                    }
                }
            },
            html! { @match &person.phone { Some(phone) => a.quiet-link href={ "tel:" (phone) } { (phone) }, None => "–" } },
        ]
    }

    fn pager(&self) -> Markup {
        let (language, number) = (self.language(), self.query.page.number());
        let pages = self.found.total.div_ceil(PAGE).max(1);
        let to = |page: u64| self.path(self.status, page);
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
}

/// The caption of a status as a group of people.
fn status_caption(status: Status, language: Language) -> String {
    match status {
        Status::Pending => text!(language, "web-people-pending"),
        Status::Verified => text!(language, "web-people-verified"),
        Status::Rejected => text!(language, "web-people-rejected"),
        Status::Blocked => text!(language, "web-people-blocked"),
    }
}
