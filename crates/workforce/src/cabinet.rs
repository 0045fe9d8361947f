//! The cabinet: the pages on which a business is run. Today, sites and their tasks, the calendar, shifts, charts.
//!
//! It has no tables and no rules of its own: it asks the front doors of sites, shifts and payroll, and draws. Owners see
//! everything, managers what they were permitted, employees what is theirs.

use futures_util::future::BoxFuture;

use crate::application::App;
use crate::key;
use crate::people::{Person, Role};
use crate::rooms::Room;
use crate::shifts::{Mark, WORKERS as PLANNERS};
use crate::sites::Permission;
use crate::text;
use crate::texts::Language;
use crate::web::{NavItem, OWNERS, Oops, Routes, Section};

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

    fn routes(&self) -> Routes {
        Routes::new()
            .get("/sites", sites::list)
            .post("/sites", sites::create)
            .get("/sites/{id}", sites::show)
            .post("/sites/{id}", sites::edit)
            .post("/sites/{id}/delete", sites::delete)
            .post("/sites/{id}/restore", sites::restore)
            .post("/sites/{id}/open", sites::open)
            .post("/sites/{id}/close", sites::close)
            .post("/sites/{id}/tasks", sites::create_task)
            .post("/sites/{id}/tasks/{task}", sites::edit_task)
            .post("/sites/{id}/tasks/{task}/delete", sites::delete_task)
            .post("/sites/{id}/tasks/{task}/restore", sites::restore_task)
            .get("/shifts", shifts::list)
            .get("/shifts/{id}", shifts::show)
            .post("/shifts/{id}/close", shifts::close)
            .post("/shifts/{id}/photos", shifts::photos)
            .get("/shifts/{id}/media/{medium}", media::show)
            .post("/shifts/{id}/media/{medium}/again", media::again)
            .get("/calendar", calendar::show)
            .post("/calendar/slots", calendar::create)
            .get("/calendar/slots/{id}", calendar::show_slot)
            .post("/calendar/slots/{id}", calendar::edit)
            .post("/calendar/slots/{id}/move", calendar::shift_day)
            .post("/calendar/slots/{id}/plans", calendar::put)
            .post("/calendar/slots/{id}/plans/{plan}/cancel", calendar::cancel)
            .post("/calendar/slots/{id}/tasks", calendar::create_task)
            .post("/calendar/slots/{id}/tasks/{task}", calendar::edit_task)
            .post("/calendar/slots/{id}/tasks/{task}/delete", calendar::delete_task)
            .post("/calendar/slots/{id}/tasks/{task}/restore", calendar::restore_task)
            .post("/calendar/slots/{id}/delete", calendar::delete)
            .post("/calendar/slots/{id}/restore", calendar::restore)
            .post("/calendar/copy-week", calendar::copy_week)
            .post("/calendar/fill", calendar::fill)
            .get("/cancellations", cancellations::show)
            .post("/cancellations/{id}/judge", cancellations::judge)
            .get("/cancellations/{id}/photo", cancellations::photo)
            .post("/cancellations/{id}/photo/again", cancellations::photo_again)
            .get("/people/{id}/contracts", contracts::show)
            .post("/people/{id}/contracts", contracts::create)
            .get("/contracts/new", contracts::ask_whom)
            .post("/contracts/new", contracts::offer)
            .post("/contracts/{id}", contracts::edit)
            .post("/contracts/{id}/delete", contracts::delete)
            .post("/contracts/{id}/restore", contracts::restore)
            .get("/schedule", places::show)
            .post("/schedule/slots/{id}/take", places::take)
            .get("/settings", settings::show)
            .post("/settings", settings::edit)
            .get("/managers", managers::list)
            .get("/managers/{id}", managers::show)
            .post("/managers/{id}", managers::edit)
            .get("/charts", charts::show)
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
