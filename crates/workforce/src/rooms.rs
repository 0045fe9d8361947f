//! The list of rooms. Each room is one part of what the product does.
//!
//! A room is registered here and nowhere else. The bot, the pages, the menu and the jobs are built from this list. A
//! room calls the public functions of other rooms, never their tables.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use maud::Markup;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::{Child, Script};
use opora::store::{BoxError, WriteError};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

use crate::application::App;
use crate::attachments::AttachmentsRoom;
use crate::background::BackgroundRoom;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::notices::NoticesRoom;
use crate::onboarding::OnboardingRoom;
use crate::orders::OrdersRoom;
use crate::overview::OverviewRoom;
use crate::payroll::{PayrollRoom, Unsettled};
use crate::people::PeopleRoom;
use crate::person::{Permission, Person, Role, Status};
use crate::registration::RegistrationRoom;
use crate::settings::SettingsRoom;
use crate::shifts::ShiftsRoom;
use crate::sites::{Attendance, Site, SitesRoom};
use crate::texts::Language;
use crate::web::{Card, NavItem, PageError, Permissions, Routes, SearchGroups, Section, Visitor, Web};

/// All rooms of the product, in the order of menus.
const ALL: &[&dyn Room] = &[
    &ShiftsRoom,
    &OrdersRoom,
    &OverviewRoom,
    &SitesRoom,
    &PayrollRoom,
    &SettingsRoom,
    &PeopleRoom,
    &Web,
    &RegistrationRoom,
    &OnboardingRoom,
    &AttachmentsRoom,
    &NoticesRoom,
    &BackgroundRoom,
];

/// Order of the navigation of the pages. Items that are missing here come last.
const NAVIGATION: &[&str] = &[
    "/",
    "/calendar",
    "/schedule",
    "/orders",
    "/shifts",
    "/earnings",
    "/people",
    "/registrations",
    "/managers",
    "/payroll",
    "/charts",
    "/cancellations",
    "/sites",
    "/settings",
    "/admin",
    "/admin/jobs",
];

/// Databases limit the number of bound values in a statement.
const NAMES_PER_QUERY: usize = 500;

/// What a room contributes. Only the name is required; the defaults contribute nothing.
pub trait Room: Debug + Send + Sync + 'static {
    /// The room's name in logs.
    fn name(&self) -> &'static str;

    /// Adds the room's dialogues. Handlers find the application by `turn.context::<App>()`.
    fn dialogues(&self, script: Script) -> Script {
        script
    }

    /// Registers workers for the effects that its turns ask for, by [`Bot::effect`].
    fn effects(&self, app: &App, bot: Bot) -> Bot {
        let _ = app;
        bot
    }

    /// Buttons of the main menu, whatever the situation.
    fn menu(&self) -> Vec<MenuItem> {
        Vec::new()
    }

    /// What the main menu tells and offers a person now. By default the [items](Self::menu) for the person's roles.
    fn menu_now<'a>(
        &'a self,
        app: &'a App,
        person: &'a Person,
        now: Millis,
    ) -> BoxFuture<'a, Result<MenuPart, BoxError>> {
        let _ = (app, now);
        let items = self.menu().into_iter().filter(|item| person.may(item.roles));
        let buttons = items.map(|item| item.button(person.language)).collect();
        Box::pin(async { Ok(MenuPart { lines: Vec::new(), buttons }) })
    }

    /// Whether the open dialogue of this turn has shown a Telegram keyboard, which has to be removed when it is left.
    fn shows_keyboard(&self, turn: &Turn) -> bool {
        let _ = turn;
        false
    }

    /// Where `/start` leads people who are not verified. The first room with a welcome wins.
    fn welcome(&self) -> Option<Welcome> {
        None
    }

    /// The room's pages. Handlers get the application by `State<App>`.
    fn routes(&self) -> Routes {
        Routes::new()
    }

    /// Items in the navigation of the pages.
    fn nav(&self) -> Vec<NavItem> {
        Vec::new()
    }

    /// Counts beside items of the navigation, by path, for this viewer. Every page asks, so it is one query that an
    /// index answers, and counts only what the viewer may see. See [`NavItem::with_badge`].
    fn nav_badges<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<(&'static str, u64)>, DbErr>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What a search finds in this room, in titled groups of at most [`MAX_HITS`](crate::web::MAX_HITS): only what the
    /// viewer may see.
    fn search<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        words: &'a str,
    ) -> BoxFuture<'a, Result<SearchGroups, PageError>> {
        let _ = (app, viewer, words);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The top of the front page: the day and what needs attention. The first room that has one for this visitor wins.
    fn front_page<'a>(
        &'a self,
        app: &'a App,
        visitor: &'a Visitor,
    ) -> BoxFuture<'a, Result<Option<Markup>, PageError>> {
        let _ = (app, visitor);
        Box::pin(async { Ok(None) })
    }

    /// Counts on the front page, for this viewer.
    fn home_cards<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, PageError>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Sections on the front page above all counts, for this viewer.
    fn home_sections<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Sections on the viewer's own page.
    fn own_sections<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Sections on a person's page, for this viewer (an owner or a superadmin).
    fn person_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        let _ = (app, viewer, person);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The time zones of the places where people work; those that this room does not know are left out.
    fn time_zones_of<'a>(&'a self, app: &'a App, people: &'a [i64]) -> BoxFuture<'a, Result<HashMap<i64, Tz>, DbErr>> {
        let _ = (app, people);
        Box::pin(async { Ok(HashMap::new()) })
    }

    /// Sections on the first tab of a site, for this viewer, who may view the site.
    fn site_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        site: &'a Site,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        let _ = (app, viewer, site);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Ids of the people that a manager looks after; none if this room does not know, or the viewer has no such right.
    fn managed_people<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Vec<i64>>, DbErr>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(None) })
    }

    /// Places by which the viewer can filter people, with their names.
    fn workplaces<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<(i64, String)>, DbErr>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Ids of the people who work at such a place.
    fn workers_at<'a>(&'a self, app: &'a App, place: i64) -> BoxFuture<'a, Result<Vec<i64>, DbErr>> {
        let _ = (app, place);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The status of a person after an unblock, within that commit; none if this room does not decide it.
    fn status_after_unblock<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Status>, DbErr>> {
        let _ = (db, person);
        Box::pin(async { Ok(None) })
    }

    /// Cancels the pending work of a person who may no longer act, within that commit. `by` is the person who decided
    /// it. Returns how many pieces of work were given back.
    fn cancel_pending_work<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        by: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        let _ = (db, person_id, by, at);
        Box::pin(async { Ok(0) })
    }

    /// What a block of the person would give back now.
    fn pending_work<'a>(
        &'a self,
        app: &'a App,
        person_id: i64,
        language: Language,
    ) -> BoxFuture<'a, Result<PendingWork, DbErr>> {
        let _ = (app, person_id, language);
        Box::pin(async { Ok(PendingWork::default()) })
    }

    /// What the block of the person has given back and is not over.
    fn given_back<'a>(
        &'a self,
        app: &'a App,
        person_id: i64,
        language: Language,
    ) -> BoxFuture<'a, Result<Vec<GivenBack>, DbErr>> {
        let _ = (app, person_id, language);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Restores what a block has given back, as far as it is still free, within the commit of the unblock. Returns how
    /// many pieces of work are back.
    fn restore_work<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        by: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        let _ = (db, person_id, by, at);
        Box::pin(async { Ok(0) })
    }

    /// Within the commit that blocks or unblocks a person, after all rooms have given back or restored work.
    fn tell_of_block<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        change: BlockChange,
        at: Millis,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        let _ = (db, person_id, change, at);
        Box::pin(async { Ok(()) })
    }

    /// After a person was blocked or unblocked: tells open pages.
    fn after_block(&self, app: &App, person_id: i64) {
        let _ = (app, person_id);
    }

    /// What is still unsettled in the pay of these days, `first` and `last` included.
    fn unsettled<'a>(
        &'a self,
        app: &'a App,
        first: NaiveDate,
        last: NaiveDate,
    ) -> BoxFuture<'a, Result<Unsettled, DbErr>> {
        let _ = (app, first, last);
        Box::pin(async { Ok(Unsettled::default()) })
    }

    /// What the room knows about a person, for the person; null for nothing. Files are listed, not included.
    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        let _ = (domain, person);
        Box::pin(async { Ok(Value::Null) })
    }

    /// Forgets personal data, within the commit that replaces the person by a number. Work and pay stay. Returns the
    /// names of files that have no owner any more.
    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        let _ = (db, person, at);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes files that only the states of a forgotten person's conversations mention. `states` are JSON.
    fn discard_drafts<'a>(&'a self, app: &'a App, states: &'a [Value]) -> BoxFuture<'a, anyhow::Result<()>> {
        let _ = (app, states);
        Box::pin(async { Ok(()) })
    }

    /// Which of these files the room owns. A file without an owner is removed once it is old.
    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        let _ = (domain, names);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Number of files the room owns.
    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        let _ = domain;
        Box::pin(async { Ok(0) })
    }

    /// The permissions that show a Telegram file, each with its site.
    fn file_permissions<'a>(
        &'a self,
        domain: &'a Domain,
        telegram_file: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(Permission, i64)>, DbErr>> {
        let _ = (domain, telegram_file);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Adds the room's jobs: functions, and schedules for work that repeats.
    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs
    }

    /// Pages that the demo's welcome lists: the text key of the label, and the path. The room with `/` has the front
    /// page.
    fn demo_links(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// Work that a block would give back.
#[derive(Clone, Debug, Default)]
pub struct PendingWork {
    /// Planned work, one line each.
    pub plans: Vec<String>,
    /// Whether the person works right now.
    pub is_at_work: bool,
}

/// Work that a block has given back.
#[derive(Clone, Debug)]
pub struct GivenBack {
    pub text: String,
    /// Why it cannot be restored; None if it can.
    pub obstacle: Option<String>,
}

/// A block or its end, with the number of pieces of work that were given back or restored.
#[derive(Clone, Copy, Debug)]
pub enum BlockChange {
    Blocked { given_back: u64 },
    Unblocked { restored: u64 },
}

/// A button of the main menu. The room handles its data with `start(button("…"), …)`.
#[derive(Clone, Copy, Debug)]
pub struct MenuItem {
    /// Text key of the caption, `…-button`.
    pub caption: &'static str,
    pub data: &'static str,
    /// Roles that see it. The handler checks the roles again, because a button can be pressed much later.
    pub roles: &'static [Role],
}

impl MenuItem {
    /// The button in this language.
    pub fn button(&self, language: Language) -> MenuButton {
        MenuButton { caption: language.text(self.caption), data: self.data, is_urgent: false }
    }
}

/// What a room adds to the main menu of a person.
#[derive(Clone, Debug, Default)]
pub struct MenuPart {
    /// Sentences about the situation.
    pub lines: Vec<String>,
    pub buttons: Vec<MenuButton>,
}

/// A button of the main menu of a person.
#[derive(Clone, Debug)]
pub struct MenuButton {
    pub caption: String,
    pub data: &'static str,
    /// Whether it comes before the buttons of all rooms that are not urgent.
    pub is_urgent: bool,
}

impl MenuButton {
    /// The same button, before those that are not urgent.
    #[must_use]
    pub fn urgent(self) -> Self {
        Self { is_urgent: true, ..self }
    }

    /// The same button with the number of things that wait behind it; urgent if there are any.
    #[must_use]
    pub fn counting(self, waiting: u64) -> Self {
        if waiting == 0 {
            return self;
        }
        Self { caption: format!("{} · {waiting}", self.caption), ..self }.urgent()
    }
}

/// Chooses where a person who is not verified begins; `None` leaves the answer to the front.
pub type Welcome = for<'t> fn(&'t mut Turn, Option<Person>) -> BoxFuture<'t, Result<Option<Child>, BoxError>>;

/// The room that knows permissions, for the pages.
pub fn permissions() -> &'static dyn Permissions {
    &SitesRoom
}

/// The room that knows attendance, for the room of sites.
pub fn attendance() -> &'static dyn Attendance {
    &ShiftsRoom
}

/// A list of rooms, in order.
#[derive(Clone, Debug)]
pub struct Rooms(Arc<[&'static dyn Room]>);

impl Rooms {
    /// All rooms of the product.
    pub fn all() -> Self {
        Self::new(ALL)
    }

    /// Some rooms, for tests.
    pub fn new(rooms: &[&'static dyn Room]) -> Self {
        Self(rooms.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Room> + '_ {
        self.0.iter().copied()
    }

    /// The main menu of a person: what all rooms tell and offer now, urgent buttons first.
    pub async fn menu_of(&self, app: &App, person: &Person, now: Millis) -> Result<MenuPart, BoxError> {
        let mut menu = MenuPart::default();
        for room in self.iter() {
            let part = room.menu_now(app, person, now).await?;
            menu.lines.extend(part.lines);
            menu.buttons.extend(part.buttons);
        }
        // The sort is stable: buttons of a room keep their order.
        menu.buttons.sort_by_key(|button| !button.is_urgent);
        Ok(menu)
    }

    pub fn welcome(&self) -> Option<Welcome> {
        self.iter().find_map(Room::welcome)
    }

    pub fn demo_links(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.iter().flat_map(Room::demo_links)
    }

    /// Which of these files any room owns.
    pub async fn owned_files(&self, domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
        let mut owned = Vec::new();
        for names in names.chunks(NAMES_PER_QUERY) {
            for room in self.iter() {
                owned.extend(room.owned_files(domain, names).await?);
            }
        }
        Ok(owned)
    }

    /// The time zones of the places where people work, each from the first room that knows one.
    pub async fn time_zones_of(&self, app: &App, people: &[i64]) -> Result<HashMap<i64, Tz>, DbErr> {
        let mut zones = HashMap::new();
        for room in self.iter() {
            for (person, zone) in room.time_zones_of(app, people).await? {
                zones.entry(person).or_insert(zone);
            }
        }
        Ok(zones)
    }

    /// Number of files that all rooms own.
    pub async fn count_files(&self, domain: &Domain) -> Result<u64, DbErr> {
        let mut count = 0;
        for room in self.iter() {
            count += room.count_files(domain).await?;
        }
        Ok(count)
    }

    /// The items of the navigation, in order.
    pub fn nav(&self) -> Vec<NavItem> {
        let mut items: Vec<_> = self.iter().flat_map(Room::nav).collect();
        items.sort_by_key(|item| NAVIGATION.iter().position(|path| *path == item.path).unwrap_or(NAVIGATION.len()));
        items
    }

    /// The jobs of all rooms.
    pub fn jobs(&self) -> Jobs {
        self.iter().fold(Jobs::default(), |jobs, room| room.jobs(jobs))
    }
}

#[cfg(test)]
mod tests;
