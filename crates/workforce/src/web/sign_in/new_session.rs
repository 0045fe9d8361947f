//! Opens a session after the person was recognised by a PIN or a link.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use opora::clock::Millis;
use opora::store::WriteError;

use super::{devices, own_path};
use crate::application::App;
use crate::domain::Transaction;
use crate::person::Person;
use crate::web::cookies::Cookie;
use crate::web::page_error::PageError;
use crate::web::visit::Visit;
use crate::web::{Event, secrets, sessions};

/// A session to open, with its cookies.
#[derive(Clone)]
pub struct NewSession {
    user_id: i64,
    session: String,
    device: String,
    agent: String,
    at: Millis,
}

impl NewSession {
    pub async fn new(app: &App, visit: &Visit, headers: &HeaderMap, person: &Person) -> Result<Self, PageError> {
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

    /// Stores the session and remembers the device.
    pub async fn commit(self, db: &Transaction<'_, '_>) -> Result<(), WriteError> {
        devices::remember(db, self.user_id, &self.device, self.at).await?;
        sessions::begin(db, self.user_id, &self.session, &self.agent, self.at).await
    }

    /// The response after the commit: cookies, and a redirect to the wanted page.
    pub fn answer(self, app: &App, visit: &Visit, person: &Person, next: &str) -> Response {
        tracing::info!(user = person.id, "signed in");
        app.events.publish(Event::to_person("me", person.id));
        let is_https = visit.is_https();
        let cookies = [
            Cookie::Session.set(&self.session, sessions::IDLE_TTL, is_https),
            Cookie::Device.set(&self.device, devices::TTL, is_https),
            Cookie::Guest.set("", Duration::ZERO, is_https),
        ];
        let mut response = Redirect::to(own_path(next)).into_response();
        for cookie in cookies.into_iter().flatten() {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}
