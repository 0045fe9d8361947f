//! The pages: the frame that every room's pages stand in, and sign-in.
//!
//! A room gives its routes, its places in the [navigation](NavItem) and its [sections](Section) of a person's page. Its
//! handlers ask for a guard ([`SignedIn`], [`Owner`], [`Operator`]) and answer a page or an [`Oops`]; sessions,
//! CSRF tokens, limits, headers and error pages are the frame's, so no handler can forget them.

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;

pub use self::asked::{AskedDay, PageNumber};
pub use self::draw::{moment, role_label, status_label};
pub use self::file::{Downloads, ShownFile, file};
pub use self::frame::{Guests, framed};
pub use self::guards::{Operator, Owner, SignedIn, Visitor};
pub use self::layout::{Card, NavItem, Section};
pub use self::limits::{Asker, Limits};
pub use self::live::{Event, Events, across, work as live};
pub use self::oops::Oops;
pub use self::permissions::Permissions;
pub use self::routes::{Route, Routes};
pub use self::sign_in::{devices, offer_link, send_left_pins};
pub use self::visit::Visit;
use crate::application::App;
use crate::domain::{self, Writing};
use crate::key;
use crate::person::{OPERATORS, Person};
use crate::rooms::{Job, Room};

mod admin;
mod asked;
mod assets;
mod cookies;
mod csrf;
mod draw;
mod file;
pub mod form;
mod frame;
mod guards;
mod home;
mod layout;
mod limits;
mod live;
mod oops;
mod permissions;
mod routes;
mod secrets;
pub mod sessions;
mod sign_in;
mod visit;

const TIDY_EVERY: Duration = Duration::from_secs(60 * 60);

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
            .get("/admin", admin::show)
            .get("/live", live::connect)
            .get("/assets/{name}", assets::serve)
    }

    fn jobs(&self) -> Vec<Job> {
        vec![Job { name: "sessions", every: TIDY_EVERY, run: |app| Box::pin(tidy(app)) }]
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            sessions::end_all(db, person.id).await?;
            sign_in::forget(db, person).await?;
            Ok(Vec::new())
        })
    }

    fn links(&self) -> Vec<(&'static str, &'static str)> {
        vec![(key!("demo-cabinet"), "/"), (key!("demo-admin"), "/admin")]
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![NavItem { caption: key!("web-nav-admin"), path: "/admin", roles: OPERATORS, needs: None }]
    }
}

/// Removes sessions, PINs, counts and the keys of forms that are over.
async fn tidy(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                sessions::forget_expired(db, now).await?;
                sign_in::forget_idle(db, now).await?;
                domain::forget_sent(db, now).await?;
                sign_in::forget_expired(db, now).await
            })
        })
        .await?;
    Ok(())
}
