//! What the pages ask of the room that knows who may do what at which site.

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures_util::future::BoxFuture;
use sea_orm::DbErr;

use crate::application::App;
use crate::person::{Permission, Permits};

/// What managers were permitted, and where people work.
pub trait Permissions: Debug + Send + Sync {
    /// What a manager may do, by site.
    fn permits_of<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Permits, DbErr>>;

    /// What a manager may do anywhere: a handful, however many sites there are.
    fn permitted_anywhere<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<Permission>, DbErr>>;

    /// The sites of a person's active contracts.
    fn works_at<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>>;
}
