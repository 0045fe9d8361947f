//! Guards: extractors that decide who may see a page. A handler that takes one runs for no other visitors.
//!
//! One page serves all roles that may see it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use maud::Markup;

use super::page_error::PageError;
use super::ui::PageRedirect;
use super::visit::Visit;
use crate::application::App;
use crate::person::{OPERATORS, OWNERS, Person, Role};
use crate::texts::Language;

/// A signed-in person with the current request.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub person: Person,
    pub session: i64,
    pub visit: Visit,
}

impl Visitor {
    pub fn language(&self) -> Language {
        self.person.language
    }

    /// A complete page.
    pub fn page(&self, title: &str, body: &Markup) -> Markup {
        self.visit.page(title, body)
    }

    /// Redirects after a form; `with_toast` says on the next page what was done.
    pub fn redirect(&self, path: impl Into<String>) -> PageRedirect {
        PageRedirect::to(path)
    }

    async fn from_parts(parts: &mut Parts, app: &App, roles: Option<&[Role]>) -> Result<Self, PageError> {
        let visit = Visit::from_request_parts(parts, app).await?;
        let (person, session) = visit.member().ok_or(PageError::SignIn)?;
        if roles.is_some_and(|roles| !person.may(roles)) {
            return Err(PageError::Forbidden);
        }
        let person = person.clone();
        Ok(Self { person, session, visit })
    }
}

macro_rules! guards {
    ($($(#[$about:meta])* $name:ident: $roles:expr;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name(pub Visitor);

        impl FromRequestParts<App> for $name {
            type Rejection = PageError;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PageError> {
                Visitor::from_parts(parts, app, $roles).await.map(Self)
            }
        }
    )*};
}

guards! {
    /// Every signed-in person.
    SignedIn: None;
    /// Owners and superadmins.
    Owner: Some(OWNERS);
    /// Superadmins.
    Operator: Some(OPERATORS);
}
