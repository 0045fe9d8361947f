//! The frame that all rooms' pages share, and sign-in.
//!
//! A room contributes routes, [navigation items](NavItem) and [sections](Section) of a person's page. Its handlers take
//! a guard ([`SignedIn`], [`Owner`], [`Operator`]) and return a page or a [`PageError`]. Sessions, CSRF tokens, limits,
//! headers and error pages belong to the frame, so no handler can forget them.

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;

pub use self::file::{Downloads, ShownFile, file};
pub use self::frame::{Guests, with_frame};
pub use self::guards::{Operator, Owner, SignedIn, Visitor};
pub use self::labels::{moment, role_label, status_label};
pub use self::layout::{Card, Section};
pub use self::limits::{Limits, RequestSource};
pub use self::live::{Event, Events, register_effect as register_live_effect, relay_events};
pub use self::nav::{NavGroup, NavItem};
pub use self::page_error::PageError;
pub use self::params::{DayParam, PageNumber};
pub use self::permissions::Permissions;
pub use self::routes::{Route, Routes};
pub use self::search::{MAX_HITS, SearchGroups, SearchHit};
pub use self::secrets::constant_time_eq;
pub use self::sign_in::{devices, offer_link, send_waiting_pins};
use self::ui::Icon;
pub use self::visit::Visit;
use crate::application::App;
use crate::domain::{self, Transaction};
use crate::jobs::{self, Jobs, scheduled_job};
use crate::key;
use crate::person::{OPERATORS, Person, Role};
use crate::rooms::Room;
pub use crate::texts::{day, day_and_time, day_range, long_day, short_day};

mod admin;
mod assets;
mod compression;
mod cookies;
mod csrf;
mod design;
mod file;
pub mod form;
mod frame;
mod guards;
mod home;
mod labels;
mod layout;
mod limits;
mod live;
mod nav;
mod page_error;
mod params;
mod permissions;
mod routes;
mod search;
mod secrets;
pub mod sessions;
mod sign_in;
pub mod ui;
mod visit;

/// The room.
#[derive(Debug)]
pub struct Web;

impl Room for Web {
    fn name(&self) -> &'static str {
        "web"
    }

    fn routes(&self) -> Routes {
        Routes::new()
            .get("/", home::show)
            .get("/sign-in", sign_in::show)
            .get("/sign-in/{token}", sign_in::show_link)
            .post("/auth/link", sign_in::log_in_by_link)
            .post("/auth/send-pin", sign_in::send_pin)
            .post("/auth/login", sign_in::log_in)
            .post("/auth/logout", sign_in::log_out)
            .get("/search", search::show)
            .get("/nav", nav::show)
            .get("/design", design::show)
            .get("/admin", admin::show)
            .get(live::PATH, live::connect)
            .get("/assets/{name}", assets::serve)
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.scheduled(Tidy {}, "0 * * * *", tidy)
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            sessions::end_all(db, person.id).await?;
            sign_in::forget(db, person).await?;
            Ok(Vec::new())
        })
    }

    fn demo_links(&self) -> Vec<(&'static str, &'static str)> {
        vec![(key!("demo-cabinet"), "/"), (key!("demo-admin"), "/admin")]
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(key!("web-home"), "/", Icon::Home, &Role::ALL),
            NavItem::new(key!("web-nav-admin"), "/admin", Icon::Server, OPERATORS).in_group(NavGroup::Account),
        ]
    }
}

scheduled_job! { Tidy = "sessions" in jobs::DEFAULT }

/// Deletes expired sessions, PINs, counters and form keys.
async fn tidy(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                sessions::delete_expired(db, now).await?;
                sign_in::delete_idle(db, now).await?;
                domain::delete_old_form_keys(db, now).await?;
                sign_in::delete_expired(db, now).await
            })
        })
        .await?;
    Ok(())
}
