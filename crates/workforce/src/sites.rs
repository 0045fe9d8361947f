//! Sites: where people work, the times for which people are wanted there, what is to be done, and by which contract.
//!
//! The front door is [`Sites`]. What two people edit at once has a version: whoever comes second is told, and nothing is
//! lost silently. What is deleted can come back. Who comes when, and what came of it, is the room of [shifts](crate::shifts).

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::Script;
use opora::store::WriteError;
use serde_json::Value;

pub use self::allowed::Rights;
pub use self::changes::{
    By, TASKS_MOST, create_site, create_task, delete_site, delete_task, edit_site, edit_task, live_site, restore_site,
    restore_task, site, site_to_change, tasks_for,
};
pub use self::contracts::{
    AboutContract, Contract, ContractStatus, Permission, contract_for, create_contract, permit, works_at,
};
pub use self::doors::{Sites, TOPIC};
pub use self::notices::Notice;
pub use self::permits::Permits;
pub use self::records::{AboutSite, AboutSlot, AboutTask, KOPECKS_MOST, Site, Slot, Task, is_price};
pub use self::rules::{Hours, LONGEST_DAY_MS, Period, Position, WorkingDays, local, monday_of};
pub use self::schedule::DayOfSlots;
pub use self::slots::{
    copy_week, create_slot, delete_slot, edit_slot, fill, fill_year, free_place, hold_slot, restore_slot, slot,
    take_place,
};
pub use self::why::{NotDone, Why, kept};
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::key;
use crate::people::{Person, Role};
use crate::rooms::{Job, MenuItem, Room};

mod allowed;
mod changes;
mod contracts;
mod doors;
pub mod jobs;
mod leaving;
pub mod notices;
mod owner;
mod permits;
mod records;
mod rules;
mod schedule;
mod slots;
mod tables;
mod updates;
mod why;
mod workers;

/// Who looks after sites: owners everywhere, managers where they were permitted.
pub const KEEPERS: &[Role] = &[Role::Manager, Role::Owner, Role::Superadmin];

/// The room.
#[derive(Debug)]
pub struct SitesRoom;

impl Room for SitesRoom {
    fn name(&self) -> &'static str {
        "sites"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(owner::dialogue())
    }

    fn work(&self, app: &App, bot: Bot) -> Bot {
        notices::work(app, bot)
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![
            MenuItem { caption: key!("sites-today-button"), data: owner::TODAY, roles: KEEPERS },
            MenuItem { caption: key!("sites-button"), data: owner::SITES, roles: KEEPERS },
        ]
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(leaving::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            leaving::forget(db, person, at).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self) -> Vec<Job> {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        vec![
            Job { name: "notices", every: minutes(1), run: |app| Box::pin(notices::tell(app)) },
            Job { name: "slots-of-next-year", every: minutes(60), run: |app| Box::pin(jobs::fill_next_year(app)) },
        ]
    }
}
