//! What this room needs from the room of shifts: plans, shifts and openings of sites.

use std::collections::BTreeSet;
use std::fmt::Debug;

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::store::WriteError;
use sea_orm::DbErr;

use super::{ActionError, ChangedBy, Site, Slot};
use crate::application::App;
use crate::domain::Transaction;
use crate::person::Person;

/// Attendance at sites. Functions that change something run inside the commit of the change that calls them.
pub trait Attendance: Debug + Send + Sync {
    /// Those of these sites that are open now.
    fn open_sites<'a>(&'a self, app: &'a App, sites: &'a [i64]) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>>;

    /// Opens a site for a member of staff.
    fn open_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), ActionError>>;

    /// Closes a site for a member of staff.
    fn close_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), ActionError>>;

    /// The shifts that a person is signed up for and that are not over: the site of each, and the day by its clock.
    fn planned_days<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<(i64, NaiveDate)>, DbErr>>;

    /// Called when a site is deleted. Refuses while the site has active shifts or future plans; closes the site.
    fn site_deleted<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        site_id: i64,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<(), WriteError>>;

    /// Called when the hours of a slot change. Moves its plans and writes notices.
    fn slot_moved<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        before: &'a Slot,
        after: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<(), WriteError>>;

    /// Called when a slot is deleted. Cancels its plans and returns how many places stay taken.
    fn slot_deleted<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<i64, WriteError>>;

    /// Called when a slot is restored. Restores its plans and returns how many places are taken.
    fn slot_restored<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<i64, WriteError>>;

    /// Whether a person has a place in a slot.
    fn has_place_in<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        user_id: i64,
        slot_id: i64,
    ) -> BoxFuture<'a, Result<bool, DbErr>>;
}
