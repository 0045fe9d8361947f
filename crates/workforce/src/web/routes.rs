//! The routes of the product: handlers, and the list of their paths and methods.
//!
//! Rooms register their pages only here, so the list is complete. Tests use it: every route has a row in the table of
//! roles, and is called with hostile values.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};

use crate::application::App;

/// Pages with their paths. A path with a page and a form is registered twice.
#[derive(Debug, Default)]
pub struct Routes {
    router: Router<App>,
    list: Vec<Route>,
}

/// A path such as `/people/{id}`, and its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
}

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a page.
    #[must_use]
    pub fn get<H: Handler<T, App>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.with(Method::GET, path, get(handler))
    }

    /// Adds the target of a form.
    #[must_use]
    pub fn post<H: Handler<T, App>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.with(Method::POST, path, post(handler))
    }

    /// Adds the routes of another room.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.list.extend(other.list);
        Self { router: self.router.merge(other.router), list: self.list }
    }

    /// All routes, in the order of registration.
    pub fn list(&self) -> &[Route] {
        &self.list
    }

    pub fn into_router(self) -> Router<App> {
        self.router
    }

    fn with(mut self, method: Method, path: &'static str, handler: MethodRouter<App>) -> Self {
        self.list.push(Route { method, path });
        Self { router: self.router.route(path, handler), list: self.list }
    }
}
