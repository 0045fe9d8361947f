//! What the pages need from the room that knows permissions.

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures_util::future::BoxFuture;
use sea_orm::DbErr;

use crate::application::App;
use crate::person::{Permission, SitePermissions};

/// Permissions of managers, and sites of workers.
pub trait Permissions: Debug + Send + Sync {
    /// A manager's permissions by site.
    fn site_permissions<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<SitePermissions, DbErr>>;

    /// A manager's permissions at any site: a handful, however many sites there are.
    fn permitted_anywhere<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<Permission>, DbErr>>;

    /// The sites of a person's active contracts.
    fn works_at<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>>;
}
