//! Who may see a page, as extractors: a handler that asks for one runs for nobody else.
//!
//! A role is a guard, not a folder: one page serves all who may see it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use maud::Markup;

use super::oops::Oops;
use super::visit::Visit;
use crate::application::App;
use crate::person::{OPERATORS, OWNERS, Person, Role};
use crate::texts::Language;

/// Somebody who is signed in, on a page.
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

    /// A whole page.
    pub fn page(&self, title: &str, body: &Markup) -> Markup {
        self.visit.page(title, body)
    }

    async fn of(parts: &mut Parts, app: &App, roles: Option<&[Role]>) -> Result<Self, Oops> {
        let visit = Visit::from_request_parts(parts, app).await?;
        let (person, session) = visit.member().ok_or(Oops::SignIn)?;
        if roles.is_some_and(|roles| !person.may(roles)) {
            return Err(Oops::Forbidden);
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
            type Rejection = Oops;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Oops> {
                Visitor::of(parts, app, $roles).await.map(Self)
            }
        }
    )*};
}

guards! {
    /// Anybody who is signed in.
    SignedIn: None;
    /// Owners and superadmins.
    Owner: Some(OWNERS);
    /// Superadmins.
    Operator: Some(OPERATORS);
}
