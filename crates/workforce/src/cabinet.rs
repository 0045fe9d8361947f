//! The cabinet: the pages on which a business is run. Today, sites and their tasks, the calendar, shifts, charts.
//!
//! It has no tables and no rules of its own: it asks the front doors of sites, shifts and payroll, and draws. Owners see
//! everything, managers what they were permitted, employees what is theirs.

use axum::Router;
use axum::routing::{get, post};
use futures_util::future::BoxFuture;

use crate::application::App;
use crate::key;
use crate::people::{Person, Role};
use crate::rooms::Room;
use crate::shifts::{Mark, WORKERS as PLANNERS};
use crate::sites::Permission;
use crate::text;
use crate::texts::Language;
use crate::web::{NavItem, OWNERS, Oops, Section};

mod access;
mod calendar;
mod cancellations;
mod charts;
mod contracts;
mod managers;
mod media;
mod places;
mod settings;
mod shifts;
mod sites;
mod tasks;
mod today;

/// Who may have something to run.
pub const RUNNERS: &[Role] = &[Role::Manager, Role::Owner, Role::Superadmin];
/// Who works shifts.
const WORKERS: &[Role] = &[Role::Employee, Role::Master, Role::Manager, Role::Owner, Role::Superadmin];

/// The room.
#[derive(Debug)]
pub struct Cabinet;

impl Room for Cabinet {
    fn name(&self) -> &'static str {
        "cabinet"
    }

    fn routes(&self) -> Router<App> {
        Router::new()
            .route("/sites", get(sites::list).post(sites::create))
            .route("/sites/{id}", get(sites::show).post(sites::edit))
            .route("/sites/{id}/delete", post(sites::delete))
            .route("/sites/{id}/restore", post(sites::restore))
            .route("/sites/{id}/open", post(sites::open))
            .route("/sites/{id}/close", post(sites::close))
            .route("/sites/{id}/tasks", post(sites::create_task))
            .route("/sites/{id}/tasks/{task}", post(sites::edit_task))
            .route("/sites/{id}/tasks/{task}/delete", post(sites::delete_task))
            .route("/sites/{id}/tasks/{task}/restore", post(sites::restore_task))
            .route("/shifts", get(shifts::list))
            .route("/shifts/{id}", get(shifts::show))
            .route("/shifts/{id}/close", post(shifts::close))
            .route("/shifts/{id}/photos", post(shifts::photos))
            .route("/shifts/{id}/media/{medium}", get(media::show))
            .route("/shifts/{id}/media/{medium}/again", post(media::again))
            .route("/calendar", get(calendar::show))
            .route("/calendar/slots", post(calendar::create))
            .route("/calendar/slots/{id}", get(calendar::show_slot).post(calendar::edit))
            .route("/calendar/slots/{id}/move", post(calendar::shift_day))
            .route("/calendar/slots/{id}/plans", post(calendar::put))
            .route("/calendar/slots/{id}/plans/{plan}/cancel", post(calendar::cancel))
            .route("/calendar/slots/{id}/tasks", post(calendar::create_task))
            .route("/calendar/slots/{id}/tasks/{task}", post(calendar::edit_task))
            .route("/calendar/slots/{id}/tasks/{task}/delete", post(calendar::delete_task))
            .route("/calendar/slots/{id}/tasks/{task}/restore", post(calendar::restore_task))
            .route("/calendar/slots/{id}/delete", post(calendar::delete))
            .route("/calendar/slots/{id}/restore", post(calendar::restore))
            .route("/calendar/copy-week", post(calendar::copy_week))
            .route("/calendar/fill", post(calendar::fill))
            .route("/cancellations", get(cancellations::show))
            .route("/cancellations/{id}/judge", post(cancellations::judge))
            .route("/cancellations/{id}/photo", get(cancellations::photo))
            .route("/cancellations/{id}/photo/again", post(cancellations::photo_again))
            .route("/people/{id}/contracts", get(contracts::show).post(contracts::create))
            .route("/contracts/new", get(contracts::ask_whom).post(contracts::offer))
            .route("/contracts/{id}", post(contracts::edit))
            .route("/contracts/{id}/delete", post(contracts::delete))
            .route("/contracts/{id}/restore", post(contracts::restore))
            .route("/schedule", get(places::show))
            .route("/schedule/slots/{id}/take", post(places::take))
            .route("/settings", get(settings::show).post(settings::edit))
            .route("/managers", get(managers::list))
            .route("/managers/{id}", get(managers::show).post(managers::edit))
            .route("/charts", get(charts::show))
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem {
                caption: key!("cabinet-nav-calendar"),
                path: "/calendar",
                roles: RUNNERS,
                needs: Some(Permission::View),
            },
            NavItem { caption: key!("cabinet-nav-schedule"), path: "/schedule", roles: PLANNERS, needs: None },
            NavItem { caption: key!("cabinet-nav-shifts"), path: "/shifts", roles: WORKERS, needs: None },
            NavItem {
                caption: key!("cabinet-nav-sites"),
                path: "/sites",
                roles: RUNNERS,
                needs: Some(Permission::View),
            },
            NavItem {
                caption: key!("cabinet-nav-cancellations"),
                path: "/cancellations",
                roles: RUNNERS,
                needs: Some(Permission::Employees),
            },
            NavItem { caption: key!("cabinet-nav-managers"), path: "/managers", roles: OWNERS, needs: None },
            NavItem { caption: key!("cabinet-nav-charts"), path: "/charts", roles: OWNERS, needs: None },
            NavItem { caption: key!("cabinet-nav-settings"), path: "/settings", roles: OWNERS, needs: None },
        ]
    }

    fn front_page<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(async move {
            let mut sections = today::sections(app, viewer).await?;
            sections.extend(places::sections(app, viewer).await?);
            Ok(sections)
        })
    }

    fn about_person<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(async move {
            let mut sections = contracts::section(app, viewer, person).await?;
            sections.extend(managers::section(viewer, person));
            Ok(sections)
        })
    }
}

/// The ways through a list of which nobody has counted the pages.
fn more(path: &str, newer: Option<Mark>, older: Option<Mark>, language: Language) -> maud::Markup {
    maud::html! {
        @if newer.is_some() || older.is_some() {
            nav.pager aria-label=(text!(language, "web-pages")) {
                @if let Some(mark) = newer { a.button.plain rel="prev" href={ (path) "&after=" (mark) } { (text!(language, "web-previous")) } }
                @if let Some(mark) = older { a.button.plain rel="next" href={ (path) "&before=" (mark) } { (text!(language, "web-next")) } }
            }
        }
    }
}
