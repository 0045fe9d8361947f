//! What this room asks of the one that knows who comes: plans, shifts and openings of sites.

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures_util::future::BoxFuture;
use opora::store::WriteError;
use sea_orm::DbErr;

use super::{By, NotDone, Site, Slot};
use crate::application::App;
use crate::domain::Writing;
use crate::person::Person;

/// Who comes to a site. What changes something happens within the commit of the change it belongs to.
pub trait Attendance: Debug + Send + Sync {
    /// Which of these sites are open now.
    fn open_sites<'a>(&'a self, app: &'a App, sites: &'a [i64]) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>>;

    /// Opens a site, by staff.
    fn open_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), NotDone>>;

    /// Closes a site, by staff.
    fn close_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), NotDone>>;

    /// A site is being deleted: refused while somebody works there or means to. It is closed.
    fn site_deleted<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        site_id: i64,
        by: By,
    ) -> BoxFuture<'a, Result<(), WriteError>>;

    /// A slot has other hours: its plans move along, and their people are told.
    fn slot_moved<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        before: &'a Slot,
        after: &'a Slot,
        site: &'a Site,
        by: By,
    ) -> BoxFuture<'a, Result<(), WriteError>>;

    /// A slot is being deleted: its plans are cancelled. Answers how many places stay taken.
    fn slot_deleted<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: By,
    ) -> BoxFuture<'a, Result<i64, WriteError>>;

    /// A slot comes back, and the plans with it. Answers how many places are taken.
    fn slot_restored<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: By,
    ) -> BoxFuture<'a, Result<i64, WriteError>>;

    /// Whether a person has a place in a slot.
    fn has_place_in<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        user_id: i64,
        slot_id: i64,
    ) -> BoxFuture<'a, Result<bool, DbErr>>;
}
