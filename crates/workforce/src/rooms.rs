//! The register of rooms: what the product does, each thing in a place of its own.
//!
//! A room is registered here and nowhere else; the bot, the pages, the menu and the schedule are made of this list. A
//! room calls another room's front door, never its tables.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::{Child, Script};
use opora::store::{BoxError, WriteError};
use opora::turn::Turn;
use sea_orm::DbErr;
use serde_json::Value;

use crate::application::App;
use crate::attachments::AttachmentsRoom;
use crate::domain::{Domain, Writing};
use crate::notices::NoticesRoom;
use crate::onboarding::OnboardingRoom;
use crate::overview::Overview;
use crate::payroll::{PayrollRoom, Unsettled};
use crate::people::PeopleRoom;
use crate::person::{Permission, Person, Role, Status};
use crate::registration::Registering;
use crate::settings::SettingsRoom;
use crate::shifts::ShiftsRoom;
use crate::sites::{Attendance, SitesRoom};
use crate::web::{Card, NavItem, Oops, Permissions, Routes, Section, Web};

/// Every room of the product, in the order in which menus and the navigation show what they have.
const ALL: &[&dyn Room] = &[
    &ShiftsRoom,
    &Overview,
    &SitesRoom,
    &PayrollRoom,
    &SettingsRoom,
    &PeopleRoom,
    &Web,
    &Registering,
    &OnboardingRoom,
    &AttachmentsRoom,
    &NoticesRoom,
];

/// The navigation of the pages, in the order in which it is shown. What is not named here comes last.
const NAVIGATION: &[&str] = &[
    "/calendar",
    "/schedule",
    "/shifts",
    "/sites",
    "/cancellations",
    "/managers",
    "/charts",
    "/settings",
    "/payroll",
    "/earnings",
    "/people",
    "/admin",
    "/registrations",
];

/// Databases take only so many values at once.
const NAMES_AT_ONCE: usize = 500;

/// What a room brings along. Everything but its name has a default: nothing.
pub trait Room: Debug + Send + Sync + 'static {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// Adds its dialogues. Handlers find the application by `turn.context::<App>()`.
    fn dialogues(&self, script: Script) -> Script {
        script
    }

    /// Says how work is carried out that its turns ask for, by [`Bot::effect`].
    fn work(&self, app: &App, bot: Bot) -> Bot {
        let _ = app;
        bot
    }

    /// Where people get into it from the main menu.
    fn menu(&self) -> Vec<MenuItem> {
        Vec::new()
    }

    /// Where `/start` leads people who are not verified: the way into registration. Of several rooms the first is asked.
    fn welcome(&self) -> Option<Welcome> {
        None
    }

    /// Its pages. Handlers get the application by `State<App>`.
    fn routes(&self) -> Routes {
        Routes::new()
    }

    /// Its places in the navigation of the pages.
    fn nav(&self) -> Vec<NavItem> {
        Vec::new()
    }

    /// What it counts on the front page for whoever looks at it.
    fn home<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, Oops>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What it shows on the front page above all counts, for whoever looks at it.
    fn front_page<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What it adds to a person's page for whoever looks at it: an owner or a superadmin.
    fn about_person<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        let _ = (app, viewer, person);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The people whom a manager looks after; nothing if that is not for this room to say, or for this person to see.
    fn looked_after<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Option<Vec<i64>>, DbErr>> {
        let _ = (app, viewer);
        Box::pin(async { Ok(None) })
    }

    /// Where a person stands who is not blocked any more, within the commit that unblocks; nothing if that is not for this
    /// room to say.
    fn standing<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Status>, DbErr>> {
        let _ = (db, person);
        Box::pin(async { Ok(None) })
    }

    /// Within the commit after which a person may not act any more: takes back what was left for the person to do. `by`
    /// is the person who has decided it.
    fn person_kept_out<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person_id: i64,
        by: Option<i64>,
        at: Millis,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        let _ = (db, person_id, by, at);
        Box::pin(async { Ok(()) })
    }

    /// After a person was blocked: tells open pages.
    fn after_block(&self, app: &App, person_id: i64) {
        let _ = (app, person_id);
    }

    /// What of some days of pay is not settled yet; both ends are included.
    fn unsettled<'a>(
        &'a self,
        app: &'a App,
        first: NaiveDate,
        last: NaiveDate,
    ) -> BoxFuture<'a, Result<Unsettled, DbErr>> {
        let _ = (app, first, last);
        Box::pin(async { Ok(Unsettled::default()) })
    }

    /// What it knows of a person, for the person; nothing is null. Files are named, not given.
    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        let _ = (domain, person);
        Box::pin(async { Ok(Value::Null) })
    }

    /// Forgets what is personal, within the commit that makes a number of the person; what is worked and paid stays under
    /// it. Answers the names of files that nobody owns any more.
    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        let _ = (db, person, at);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes files that only the states of conversations know, because their person is forgotten. What is there, as JSON.
    fn discard_drafts<'a>(&'a self, app: &'a App, states: &'a [Value]) -> BoxFuture<'a, anyhow::Result<()>> {
        let _ = (app, states);
        Box::pin(async { Ok(()) })
    }

    /// Which of these files it knows: what no room knows is nobody's, and goes once it is old.
    fn owned_files<'a>(&'a self, domain: &'a Domain, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DbErr>> {
        let _ = (domain, names);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// How many files it knows.
    fn count_files<'a>(&'a self, domain: &'a Domain) -> BoxFuture<'a, Result<u64, DbErr>> {
        let _ = domain;
        Box::pin(async { Ok(0) })
    }

    /// With which permission for which site a file at Telegram is seen.
    fn file_is_seen_with<'a>(
        &'a self,
        domain: &'a Domain,
        telegram_file: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(Permission, i64)>, DbErr>> {
        let _ = (domain, telegram_file);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What it does from time to time.
    fn jobs(&self) -> Vec<Job> {
        Vec::new()
    }

    /// Pages that the demo's welcome names: the key of what to call them, and their paths. The room with `/` has the
    /// front page.
    fn links(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// A button of the main menu. The room has an entry for its data: `start(button("…"), …)`.
#[derive(Clone, Copy, Debug)]
pub struct MenuItem {
    /// The key of its caption, `…-button`.
    pub caption: &'static str,
    pub data: &'static str,
    /// Who sees it. The entry checks the roles again: a button can be pressed long after.
    pub roles: &'static [Role],
}

/// Work that comes again and again. It runs at the instance that leads, at least once each time, and soon after every
/// start; so it does nothing where there is nothing to do. Its failure is logged, and it runs again when its time comes.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub name: &'static str,
    pub every: Duration,
    pub run: fn(App) -> BoxFuture<'static, anyhow::Result<()>>,
}

/// Says where somebody who is not verified begins, with what is known of the person; `None` where there is nothing to
/// begin, and the front has the word.
pub type Welcome = for<'t> fn(&'t mut Turn, Option<Person>) -> BoxFuture<'t, Result<Option<Child>, BoxError>>;

/// The room that knows who may do what at which site, for the pages.
pub fn permissions() -> &'static dyn Permissions {
    &SitesRoom
}

/// The room that knows who comes to a site, for the room of sites.
pub fn attendance() -> &'static dyn Attendance {
    &ShiftsRoom
}

/// Rooms in their order.
#[derive(Clone, Debug)]
pub struct Rooms(Arc<[&'static dyn Room]>);

impl Rooms {
    /// Those of the product.
    pub fn all() -> Self {
        Self::of(ALL)
    }

    /// Only these, for tests.
    pub fn of(rooms: &[&'static dyn Room]) -> Self {
        Self(rooms.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Room> + '_ {
        self.0.iter().copied()
    }

    /// The buttons of the main menu that a person sees.
    pub fn menu_of(&self, person: &Person) -> Vec<MenuItem> {
        let items = self.iter().flat_map(Room::menu);
        items.filter(|item| person.may(item.roles)).collect()
    }

    pub fn welcome(&self) -> Option<Welcome> {
        self.iter().find_map(Room::welcome)
    }

    pub fn links(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.iter().flat_map(Room::links)
    }

    /// Which of these files any room knows.
    pub async fn owned_files(&self, domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
        let mut owned = Vec::new();
        for names in names.chunks(NAMES_AT_ONCE) {
            for room in self.iter() {
                owned.extend(room.owned_files(domain, names).await?);
            }
        }
        Ok(owned)
    }

    /// How many files all rooms know.
    pub async fn count_files(&self, domain: &Domain) -> Result<u64, DbErr> {
        let mut count = 0;
        for room in self.iter() {
            count += room.count_files(domain).await?;
        }
        Ok(count)
    }

    /// The places of the navigation, in their order.
    pub fn nav(&self) -> Vec<NavItem> {
        let mut items: Vec<_> = self.iter().flat_map(Room::nav).collect();
        items.sort_by_key(|item| NAVIGATION.iter().position(|path| *path == item.path).unwrap_or(NAVIGATION.len()));
        items
    }

    pub fn jobs(&self) -> Vec<Job> {
        self.iter().flat_map(Room::jobs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application;
    use crate::texts::Language;

    #[test]
    fn the_dialogues_of_all_rooms_fit_together() {
        assert_eq!(application::script(&Rooms::all()).check(), Ok(()));
    }

    #[test]
    fn every_button_of_the_menu_has_a_caption_and_leaves_room_for_its_tag() {
        for item in Rooms::all().iter().flat_map(Room::menu) {
            assert!(item.data.len() <= 40 && item.caption.ends_with("-button"), "{item:?}");
            assert!(Language::ALL.iter().all(|language| language.knows(item.caption)), "{item:?}");
        }
    }

    #[test]
    fn every_place_of_the_navigation_has_a_caption() {
        for item in Rooms::all().iter().flat_map(Room::nav) {
            assert!(item.path.starts_with('/') && !item.roles.is_empty(), "{item:?}");
            assert!(Language::ALL.iter().all(|language| language.knows(item.caption)), "{item:?}");
        }
    }

    #[test]
    fn the_navigation_is_in_its_order_and_names_only_what_is_there() {
        let paths: Vec<_> = Rooms::all().nav().iter().map(|item| item.path).collect();
        let known: Vec<_> = NAVIGATION.iter().copied().filter(|path| paths.contains(path)).collect();
        assert_eq!(known, NAVIGATION);
        assert_eq!(paths[..known.len()], known);
    }

    /// The schedule, in minutes. Whoever takes a job away or changes its time has to say so here, and in docs/operating.md.
    #[test]
    fn every_job_is_there_once_and_comes_as_often_as_it_should() {
        let schedule = [
            ("attachments", 10),
            ("file-cleanup", 60),
            ("notices", 1),
            // Hourly, since no timer knows the clock of the business; it looks itself whether it is four in the morning.
            ("payroll", 60),
            ("questionnaire", 1),
            ("registration-news", 1),
            ("sessions", 60),
            ("shift-adjustments", 10),
            ("shift-auto-close", 30),
            ("shift-no-shows", 10),
            ("shift-reminders", 30),
            // Hourly, since each site has a clock of its own, by which it is the first of December, three in the morning.
            ("slots-of-next-year", 60),
        ];
        let mut jobs: Vec<_> = Rooms::all().jobs().iter().map(|job| (job.name, job.every)).collect();
        jobs.sort_unstable();
        assert_eq!(jobs, schedule.map(|(name, minutes)| (name, Duration::from_secs(60 * minutes))));
    }
}
