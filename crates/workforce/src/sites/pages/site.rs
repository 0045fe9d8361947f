//! The list of sites, and a site with its tasks.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use futures_util::future::try_join_all;
use serde::Deserialize;

use super::access::Access;
use super::tasks;
use crate::application::App;
use crate::key;
use crate::people::PeopleFilter;
use crate::person::Permission;
use crate::rooms;
use crate::settings::TIME_ZONE;
use crate::sites::{AboutSite, ActionError, FIELD_HELP, Position, Site, Sites, WorkingDays, read_position};
use crate::text;
use crate::time_zones;
use crate::web::form::{
    FieldErrors, Fields, FormAttempt, Reader, Submitted, fields, form_key, money_field, submit, time_of, version_of,
    version_only,
};
use crate::web::{PageError, PageNumber, Section, SignedIn, Visitor};

mod view;

pub use self::view::{day_name, open_label, pager};

/// The names of the checkboxes for the days, Monday first.
const DAYS: [&str; 7] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6"];
const PAGE_SIZE: usize = 50;

/// A tab of a site's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SiteTab {
    Overview,
    Tasks,
    Staff,
    Settings,
}

impl SiteTab {
    const ALL: [Self; 4] = [Self::Overview, Self::Tasks, Self::Staff, Self::Settings];

    fn path(self, site: i64) -> String {
        match self {
            Self::Overview => format!("/sites/{site}"),
            Self::Tasks => format!("/sites/{site}/tasks"),
            Self::Staff => format!("/sites/{site}/staff"),
            Self::Settings => format!("/sites/{site}/settings"),
        }
    }

    fn is_for(self, access: &Access, site: i64) -> bool {
        match self {
            Self::Overview | Self::Tasks => true,
            Self::Staff => access.may(Permission::Employees, site),
            Self::Settings => access.may(Permission::Edit, site),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    page: PageNumber,
}

/// `GET /sites`.
pub async fn list(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    list_page(&app, &visitor, query.page, FormAttempt::default()).await
}

/// `POST /sites`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (mut made, api) = (None, Sites::of_app(&app).once(form_key(&visitor, &typed)));
    let result = submit(&visitor, typed, read_site, async |about| {
        made = Some(api.create(&visitor.person, about).await?);
        Ok::<_, ActionError>(())
    });
    match result.await? {
        Submitted::Done(()) => {
            // A form that was submitted twice has created the site already.
            let page = made.map_or("/sites".to_owned(), |id| format!("/sites/{id}"));
            let done = text!(visitor.language(), "cabinet-site-made");
            Ok(visitor.redirect(page).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => list_page(&app, &visitor, PageNumber::FIRST, attempt).await,
    }
}

/// `GET /sites/<id>`: the day of the site and what is known of it.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    site_page(&app, &visitor, (id, SiteTab::Overview), FormAttempt::default()).await
}

/// `GET /sites/<id>/tasks`.
pub async fn show_tasks(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    site_page(&app, &visitor, (id, SiteTab::Tasks), FormAttempt::default()).await
}

/// `GET /sites/<id>/staff`: for owners and managers of employees.
pub async fn show_staff(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    site_page(&app, &visitor, (id, SiteTab::Staff), FormAttempt::default()).await
}

/// `GET /sites/<id>/settings`.
pub async fn show_settings(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    site_page(&app, &visitor, (id, SiteTab::Settings), FormAttempt::default()).await
}

/// `POST /sites/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, version) = (Sites::of_app(&app), version_of(&typed));
    let result = submit(&visitor, typed, read_site, async |about| api.edit(&visitor.person, id, version, about).await);
    answer(&app, &visitor, (id, SiteTab::Settings), result.await?).await
}

/// `POST /sites/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let result = submit(&visitor, typed, version_only, async |version| api.delete(&visitor.person, id, version).await);
    answer(&app, &visitor, (id, SiteTab::Settings), result.await?).await
}

/// `POST /sites/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let api = Sites::of_app(&app);
    let result = submit(&visitor, Fields::new(), version_only, async |_| api.restore(&visitor.person, id).await);
    answer(&app, &visitor, (id, SiteTab::Overview), result.await?).await
}

/// `POST /sites/<id>/open`.
pub async fn open(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let act = async |_| rooms::attendance().open_site(&app, &visitor.person, id).await;
    let done = submit(&visitor, Fields::new(), version_only, act).await?;
    answer(&app, &visitor, (id, SiteTab::Overview), done).await
}

/// `POST /sites/<id>/close`.
pub async fn close(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let act = async |_| rooms::attendance().close_site(&app, &visitor.person, id).await;
    let done = submit(&visitor, Fields::new(), version_only, act).await?;
    answer(&app, &visitor, (id, SiteTab::Overview), done).await
}

/// `POST /sites/<id>/tasks`.
pub async fn create_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    answer(&app, &visitor, (id, SiteTab::Tasks), tasks::create(&app, &visitor, id, None, typed).await?).await
}

/// `POST /sites/<id>/tasks/<task>`.
pub async fn edit_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    answer(&app, &visitor, (id, SiteTab::Tasks), tasks::edit(&app, &visitor, task, typed).await?).await
}

/// `POST /sites/<id>/tasks/<task>/delete`.
pub async fn delete_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    answer(&app, &visitor, (id, SiteTab::Tasks), tasks::delete(&app, &visitor, task, typed).await?).await
}

/// `POST /sites/<id>/tasks/<task>/restore`.
pub async fn restore_task(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, task)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    answer(&app, &visitor, (id, SiteTab::Tasks), tasks::restore(&app, &visitor, task).await?).await
}

/// Redirects to the site, or shows its page again with the refused form.
async fn answer(
    app: &App,
    visitor: &Visitor,
    (id, tab): (i64, SiteTab),
    result: Submitted<()>,
) -> Result<Response, PageError> {
    match result {
        Submitted::Done(()) => {
            // What was saved in the settings is on the first tab.
            let tab = if tab == SiteTab::Settings { SiteTab::Overview } else { tab };
            let saved = text!(visitor.language(), "cabinet-site-saved");
            Ok(visitor.redirect(tab.path(id)).with_toast(saved).into_response())
        }
        Submitted::Refused(attempt) => site_page(app, visitor, (id, tab), attempt).await,
    }
}

async fn list_page(
    app: &App,
    visitor: &Visitor,
    page: PageNumber,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may_somewhere(Permission::View) {
        return Err(PageError::Forbidden);
    }
    let sites = access.sites(app).await?;
    let total = sites.len();
    let number = page.within(total.div_ceil(PAGE_SIZE));
    let shown: Vec<Site> = sites.into_iter().skip((number - 1) * PAGE_SIZE).take(PAGE_SIZE).collect();
    let ids: Vec<i64> = shown.iter().map(|site| site.id).collect();
    let open = rooms::attendance().open_sites(app, &ids).await?;
    let is_deleting = access.may_somewhere(Permission::Delete);
    let mut deleted = if is_deleting { Sites::of_app(app).deleted().await? } else { Vec::new() };
    deleted.retain(|site| access.may(Permission::Delete, site.id));
    let usual = write_site(&AboutSite::usual(app.settings.get(&TIME_ZONE).await?));
    let list = view::SiteListPage { access: &access, sites: &shown, open: &open, deleted: &deleted, number, total };
    Ok((attempt.status(), view::list(visitor, &list, &usual, &attempt)).into_response())
}

async fn site_page(
    app: &App,
    visitor: &Visitor,
    (id, tab): (i64, SiteTab),
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let access = Access::for_person(app, &visitor.person).await?;
    if !access.may(Permission::View, id) || !tab.is_for(&access, id) {
        return Err(PageError::Forbidden);
    }
    let (api, here) = (Sites::of_app(app), [id]);
    let open = rooms::attendance().open_sites(app, &here);
    let (site, tasks, open) = tokio::try_join!(api.site(id), api.tasks_of_site(id), open)?;
    let (site, is_open) = (site.ok_or(PageError::NotFound)?, !open.is_empty());
    let workers = api.workers_at(id, api.today_at(&site)).await?.into_iter().collect();
    let (staff, skipped, sections) = (Vec::new(), None, Vec::new());
    let mut shown = view::SitePage { access, site, tab, tasks, is_open, workers, staff, skipped, sections };
    match tab {
        SiteTab::Overview => shown.sections = sections_of_rooms(app, visitor, &shown.site).await?,
        SiteTab::Tasks => shown.skipped = tasks::skipped(app).await?,
        SiteTab::Staff => {
            let filter = PeopleFilter { ids: Some(&shown.workers), ..PeopleFilter::default() };
            shown.staff = app.people.page_of(filter, 0).await?.people;
        }
        SiteTab::Settings => {}
    }
    Ok((attempt.status(), view::site(visitor, &shown, &attempt)).into_response())
}

/// What other rooms say about a site.
async fn sections_of_rooms(app: &App, visitor: &Visitor, site: &Site) -> Result<Vec<Section>, PageError> {
    let rooms: Vec<_> = app.rooms.iter().collect();
    let of_rooms = try_join_all(rooms.iter().map(|room| room.site_sections(app, &visitor.person, site))).await?;
    Ok(of_rooms.into_iter().flatten().collect())
}

/// The form fields of a site.
fn write_site(about: &AboutSite) -> Fields {
    let place = |at: Position| format!("{}, {}", at.latitude, at.longitude);
    let mut typed = fields([
        ("name", about.name.clone()),
        ("address", about.address.clone()),
        ("position", about.position.map(place).unwrap_or_default()),
        ("time_zone", about.time_zone.name().to_owned()),
        ("opens", time_of(about.hours.from_minute)),
        ("closes", time_of(about.hours.to_minute)),
        ("rate", money_field(Some(about.rate_kopecks))),
        ("max_distance", about.max_distance_m.to_string()),
        ("auto_close", about.auto_close_minutes.to_string()),
        ("late_threshold", about.late_threshold_minutes.to_string()),
        ("late_minute", money_field(Some(about.late_minute_kopecks))),
    ]);
    for (bit, name) in DAYS.iter().enumerate() {
        if about.working_days.0 & (1 << bit) != 0 {
            typed.insert((*name).to_owned(), "on".to_owned());
        }
    }
    typed
}

/// Reads the form fields, or says which do not fit.
fn read_site(typed: &Fields) -> Result<AboutSite, FieldErrors> {
    let mut reader = Reader::new(typed);
    let working_days =
        DAYS.iter().enumerate().filter(|(_, name)| reader.tick(name)).fold(0, |bits, (bit, _)| bits | 1 << bit);
    let time_zone = reader.read("time_zone", key!("web-form-bad-zone"), |text| time_zones::parse(text).map(Some));
    let about = AboutSite {
        name: reader.clean_text("name"),
        address: reader.clean_text("address"),
        position: position_in(&mut reader),
        time_zone: time_zone.unwrap_or(TIME_ZONE.default),
        hours: super::read_hours(&mut reader, "opens", "closes"),
        working_days: WorkingDays(working_days),
        rate_kopecks: reader.money("rate"),
        max_distance_m: reader.number("max_distance"),
        auto_close_minutes: reader.number("auto_close"),
        late_threshold_minutes: reader.number("late_threshold"),
        late_minute_kopecks: reader.money("late_minute"),
    };
    let invalid = about.invalid_fields();
    reader.finish(about, &invalid, &FIELD_HELP)
}

/// The position of a site; None for an empty field.
fn position_in(reader: &mut Reader<'_>) -> Option<Position> {
    let text = reader.clean_text("position");
    if text.is_empty() {
        return None;
    }
    read_position(&text).map_err(|why| reader.bad.add("position", why.key())).ok()
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;

    #[test]
    fn a_site_survives_its_form() {
        let mut about = AboutSite::usual(Tz::Asia__Yekaterinburg);
        about.name = "Lenin street".into();
        about.address = "Lenin street, 1".into();
        about.position = Some(Position { latitude: 56.83, longitude: 60.6 });
        about.rate_kopecks = 25_050;
        assert_eq!(read_site(&write_site(&about)), Ok(about));
    }

    #[test]
    fn invalid_fields_are_named() {
        let typed = fields([("name", "x".into()), ("position", "here".into()), ("rate", "much".into())]);
        let bad = read_site(&typed).unwrap_err();
        for name in ["position", "rate", "opens", "time_zone", "address"] {
            assert!(bad.has(name), "{name}: {bad:?}");
        }
        assert_eq!(bad.key("position"), Some("cabinet-bad-position"));
        assert_eq!(bad.key("time_zone"), Some("web-form-bad-zone"));
    }
}
