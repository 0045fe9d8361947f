//! The form of a new order. A known phone shows the client with earlier orders, and an order that may be the same
//! repair has to be confirmed.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::{fields, path_of, require_dispatcher, time};
use crate::application::App;
use crate::orders::{AboutOrder, Actor, ClientCard, EquipmentType, NewOrder, Orders, SeenOrder};
use crate::settings::TIME_ZONE;
use crate::text;
use crate::web::form::{Fields, FormAttempt, FormSpec, Submitted, form_key, submit};
use crate::web::ui::{Button, Card, headline};
use crate::web::{PageError, SignedIn, Visitor};

const PATH: &str = "/orders/new";
/// The field that says that the order is another repair.
const IS_OTHER: &str = "is_other";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NewQuery {
    /// What is known of the caller.
    phone: String,
}

/// The data of the page.
struct NewOrderPage {
    phone: String,
    known: Option<ClientCard>,
    kinds: Vec<EquipmentType>,
    /// Open orders that may be the same.
    duplicates: Vec<SeenOrder>,
}

/// `GET /orders/new`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<NewQuery>,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    page(&app, &visitor, query.phone, Vec::new(), &FormAttempt::default()).await
}

/// `POST /orders/new`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let (now, zone) = (app.clock.now(), app.settings.get(&TIME_ZONE).await?);
    let orders = Orders::of_app(&app).once(form_key(&visitor, &typed));
    let read = |typed: &Fields| fields::read(typed, now, zone, None);
    if let (Ok(about), None) = (read(&typed), typed.get(IS_OTHER)) {
        let duplicates = orders.duplicates(&visitor.person, &about.phone, &about.address).await?;
        if !duplicates.is_empty() {
            let attempt = FormAttempt::default().at(PATH, typed);
            let answer = page(&app, &visitor, about.phone, duplicates, &attempt).await?;
            return Ok((StatusCode::CONFLICT, answer).into_response());
        }
    }
    let phone = typed.get("client_phone").cloned().unwrap_or_default();
    let actor = Actor::Member(visitor.person.clone());
    let act = async |about: AboutOrder| {
        let new = NewOrder { about, equipment_id: None, files: Vec::new() };
        orders.create(&actor, new).await.map(|order| Some((order.id, order.number)))
    };
    match submit(&visitor, typed, read, act).await? {
        Submitted::Done(created) => {
            let language = visitor.language();
            let redirect = match created {
                Some((id, number)) => {
                    let done = text!(language, "orders-did-create", number = number.to_string());
                    visitor.redirect(path_of(id)).with_toast(done)
                }
                // A second click; the first one has created it.
                None => visitor.redirect(super::BOARD).with_toast(text!(language, "orders-did-save")),
            };
            Ok(redirect.into_response())
        }
        Submitted::Refused(attempt) => page(&app, &visitor, phone, Vec::new(), &attempt).await,
    }
}

async fn page(
    app: &App,
    visitor: &Visitor,
    phone: String,
    duplicates: Vec<SeenOrder>,
    attempt: &FormAttempt,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(app);
    let known = orders.client_card(&visitor.person, &phone).await?;
    let page = NewOrderPage { phone, known, kinds: orders.equipment_types().await?, duplicates };
    Ok((attempt.status(), page.draw(visitor, attempt)).into_response())
}

impl NewOrderPage {
    fn draw(&self, visitor: &Visitor, attempt: &FormAttempt) -> Markup {
        let language = visitor.language();
        let title = text!(language, "orders-new");
        let now = self.begins();
        let caption = text!(language, "orders-create");
        let spec = FormSpec {
            path: PATH,
            now: &now,
            version: None,
            back: super::BOARD,
            caption: &caption,
            testid: "create-order",
        };
        visitor.page(
            &title,
            &html! {
                p.crumbs { a href=(super::BOARD) { (text!(language, "orders-nav")) } }
                (headline(&title, &html! {}))
                (attempt.notice(language))
                div.order-new {
                    (Card::untitled().render(&visitor.record_form(attempt, spec, |form| html! {
                        (fields::inputs(form, &self.kinds))
                        @if !self.duplicates.is_empty() { (self.warning(visitor)) }
                    })))
                    (self.client(visitor))
                }
            },
        )
    }

    /// What the form begins with: what is known of the client.
    fn begins(&self) -> Fields {
        let mut now = time::usual();
        now.insert("client_phone".to_owned(), self.phone.clone());
        if let Some(card) = &self.known {
            now.insert("client_name".to_owned(), card.client.name.clone());
            if let Some(last) = card.orders.first() {
                now.insert("client_address".to_owned(), last.order.about.address.clone());
                now.insert("equipment_type".to_owned(), last.order.about.equipment_type.clone());
            }
        }
        now
    }

    fn warning(&self, visitor: &Visitor) -> Markup {
        let language = visitor.language();
        html! {
            div.notice-line role="status" data-testid="duplicates" {
                p { (text!(language, "orders-duplicates")) }
                ul { @for seen in &self.duplicates { li { (line(seen, visitor)) } } }
                label.tick {
                    input type="checkbox" name=(IS_OTHER) value="on" required;
                    (text!(language, "orders-is-other"))
                }
            }
        }
    }

    /// The client with this phone. Without a script the phone is looked up by its own button.
    fn client(&self, visitor: &Visitor) -> Markup {
        let language = visitor.language();
        html! {
            aside.card #known-client data-testid="known-client" {
                h2 { (text!(language, "orders-caller")) }
                form.search method="get" action=(PATH) {
                    input type="tel" name="phone" value=(self.phone) maxlength="40" data-testid="phone"
                        aria-label=(text!(language, "orders-client-phone"));
                    (Button::plain(&text!(language, "orders-find-client")).testid("find-client").submit())
                }
                @match &self.known {
                    Some(card) => {
                        p { strong { (card.client.name) } }
                        @if let Some(notes) = &card.client.notes { p.quiet.lines { (notes) } }
                        ul.rows { @for seen in &card.orders { li { (line(seen, visitor)) } } }
                    },
                    None if !self.phone.is_empty() => p.quiet { (text!(language, "orders-client-unknown")) },
                    None => p.quiet { (text!(language, "orders-caller-about")) },
                }
            }
        }
    }
}

/// An earlier order in a line.
fn line(seen: &SeenOrder, visitor: &Visitor) -> Markup {
    let (language, about) = (visitor.language(), &seen.order.about);
    html! {
        span {
            a href=(path_of(seen.order.id)) { (super::number(seen, language)) } " "
            (about.equipment_type) " · " (about.address)
        }
        " " span.quiet { (seen.order.status.text(language)) }
    }
}
