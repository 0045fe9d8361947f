//! Opening a session in a browser, however its person was recognised.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use opora::clock::Millis;
use opora::store::WriteError;

use super::{devices, place};
use crate::application::App;
use crate::domain::Writing;
use crate::person::Person;
use crate::web::cookies::Cookie;
use crate::web::oops::Oops;
use crate::web::visit::Visit;
use crate::web::{Event, secrets, sessions};

/// A session to be opened, and the cookies that the browser gets with it.
#[derive(Clone)]
pub struct Opening {
    user_id: i64,
    session: String,
    device: String,
    agent: String,
    at: Millis,
}

impl Opening {
    pub async fn new(app: &App, visit: &Visit, headers: &HeaderMap, person: &Person) -> Result<Self, Oops> {
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let device = match devices::known(app, visit, headers, person.id).await? {
            Some(known) => known,
            None => secrets::token()?,
        };
        Ok(Self {
            user_id: person.id,
            session: secrets::token()?,
            device,
            agent: agent.to_owned(),
            at: app.clock.now(),
        })
    }

    /// Begins the session and knows the device.
    pub async fn commit(self, db: &Writing<'_, '_>) -> Result<(), WriteError> {
        devices::remember(db, self.user_id, &self.device, self.at).await?;
        sessions::begin(db, self.user_id, &self.session, &self.agent, self.at).await
    }

    /// What the browser gets after the commit: its cookies, and the page that its person wanted.
    pub fn answer(self, app: &App, visit: &Visit, person: &Person, next: &str) -> Response {
        tracing::info!(user = person.id, "signed in");
        app.events.publish(Event::to_person("me", person.id));
        let is_https = visit.is_https();
        let cookies = [
            Cookie::Session.set(&self.session, sessions::LIFE, is_https),
            Cookie::Device.set(&self.device, devices::LIFE, is_https),
            Cookie::Guest.set("", Duration::ZERO, is_https),
        ];
        let mut response = Redirect::to(place(next)).into_response();
        for cookie in cookies.into_iter().flatten() {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}
