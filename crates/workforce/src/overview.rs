//! Pages and dialogues that join several rooms: today, calendar, own schedule, charts, and the owner's menu in the
//! chat.
//!
//! This room has no tables and no rules. It calls the public functions of sites, shifts and payroll. Owners see
//! everything, managers what their permissions allow, employees their own data.

use futures_util::future::BoxFuture;
use maud::Markup;
use opora::clock::Millis;
use opora::dialogue::Script;
use opora::store::BoxError;

use crate::application::App;
use crate::jobs::Jobs;
use crate::key;
use crate::person::{OWNERS, Permission, Person, SITE_STAFF, WORKERS};
use crate::rooms::{MenuItem, MenuPart, Room};
use crate::sites::Site;
use crate::web::ui::Icon;
use crate::web::{NavItem, PageError, Routes, Section, Visitor};

mod calendar;
mod charts;
mod dates;
mod owner;
mod schedule;
mod summary;
mod today;

#[derive(Debug)]
pub struct OverviewRoom;

impl Room for OverviewRoom {
    fn name(&self) -> &'static str {
        "overview"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(owner::dialogue()).dialogue(summary::dialogue())
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.scheduled(summary::SendSummaries {}, "0 * * * *", summary::send_summaries)
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![
            MenuItem { caption: key!("sites-today-button"), data: owner::TODAY, roles: SITE_STAFF },
            MenuItem { caption: key!("sites-button"), data: owner::SITES, roles: SITE_STAFF },
            MenuItem { caption: key!("summary-menu-button"), data: summary::OPEN, roles: OWNERS },
        ]
    }

    /// Today counts the cancellations that wait for a decision.
    fn menu_now<'a>(
        &'a self,
        app: &'a App,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<MenuPart, BoxError>> {
        Box::pin(async move {
            if !person.may(SITE_STAFF) {
                return Ok(MenuPart::default());
            }
            let items = self.menu().into_iter().filter(|item| person.may(item.roles));
            let mut buttons: Vec<_> = items.map(|item| item.button(person.language)).collect();
            if let Some(today) = buttons.first_mut() {
                *today = today.clone().counting(owner::count_waiting(app, person).await?);
            }
            Ok(MenuPart { lines: Vec::new(), buttons })
        })
    }

    fn routes(&self) -> Routes {
        Routes::new()
            .get("/calendar", calendar::show)
            .post("/calendar/slots", calendar::create)
            .get("/calendar/slots/{id}", calendar::show_slot)
            .post("/calendar/slots/{id}", calendar::edit)
            .post("/calendar/slots/{id}/move", calendar::move_to_day)
            .post("/calendar/slots/{id}/plans", calendar::add_person)
            .post("/calendar/slots/{id}/plans/{plan}/cancel", calendar::cancel)
            .post("/calendar/slots/{id}/tasks", calendar::create_task)
            .post("/calendar/slots/{id}/tasks/{task}", calendar::edit_task)
            .post("/calendar/slots/{id}/tasks/{task}/delete", calendar::delete_task)
            .post("/calendar/slots/{id}/tasks/{task}/restore", calendar::restore_task)
            .post("/calendar/slots/{id}/delete", calendar::delete)
            .post("/calendar/slots/{id}/restore", calendar::restore)
            .post("/calendar/copy-week", calendar::copy_week)
            .post("/calendar/fill", calendar::fill)
            .post("/calendar/take-back", calendar::take_back)
            .get("/schedule", schedule::show)
            .post("/schedule/slots/{id}/take", schedule::take)
            .get("/charts", charts::show)
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(key!("cabinet-nav-calendar"), "/calendar", Icon::Calendar, SITE_STAFF).needs(Permission::View),
            NavItem::new(key!("cabinet-nav-schedule"), "/schedule", Icon::Calendar, WORKERS),
            NavItem::new(key!("cabinet-nav-charts"), "/charts", Icon::Chart, OWNERS).under("/payroll"),
        ]
    }

    fn front_page<'a>(
        &'a self,
        app: &'a App,
        visitor: &'a Visitor,
    ) -> BoxFuture<'a, Result<Option<Markup>, PageError>> {
        Box::pin(today::front_page(app, visitor))
    }

    fn site_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        site: &'a Site,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(today::of_site(app, viewer, site))
    }

    fn own_sections<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(summary::own_sections(app, viewer))
    }

    fn home_sections<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(schedule::sections(app, viewer))
    }
}
