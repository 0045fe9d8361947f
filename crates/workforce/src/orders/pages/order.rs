//! The page of an order: everything that the viewer may see, and a form for everything that the viewer may do.

use std::collections::HashMap;

use axum::Form;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use chrono_tz::Tz;
use opora::clock::Millis;

use super::deed::{Deed, DeedContext};
use super::place::BoardQuery;
use super::{BOARD, board, path_of, require_reader};
use crate::application::App;
use crate::attachments::{self, Attachment};
use crate::orders::{
    Actor, Command, EquipmentType, MasterLoad, OrderDetails, OrderFile, OrderStatus, Orders, PriceItem, SeenOrder,
};
use crate::payroll::Adjustment;
use crate::person::{DISPATCHERS, OWNERS};
use crate::settings::TIME_ZONE;
use crate::shifts::pages::media;
use crate::text;
use crate::web::form::{Fields, FormAttempt, Submitted, submit, version_of};
use crate::web::{PageError, SignedIn, Visitor};

mod about;
mod dialogs;
mod facts;
mod view;

/// The data of the page.
struct OrderPage {
    details: OrderDetails,
    /// Those to whom the order can be given; empty for people who do not dispatch.
    masters: Vec<MasterLoad>,
    kinds: Vec<EquipmentType>,
    prices: Vec<PriceItem>,
    /// By Telegram's file id.
    files: HashMap<String, Attachment>,
    /// The master's share with its corrections, for owners and the master.
    shares: Vec<Adjustment>,
    now: Millis,
    zone: Tz,
}

impl OrderPage {
    fn seen(&self) -> &SeenOrder {
        &self.details.seen
    }

    /// Whether an offer is open.
    fn is_offered(&self) -> bool {
        self.details.offers.iter().any(|offer| offer.answer.is_none() && offer.until.is_some())
    }

    fn may(&self, deed: Deed) -> bool {
        deed.is_possible(self.seen(), self.is_offered())
    }

    fn path(&self, deed: Deed) -> String {
        format!("{}/{}", path_of(self.seen().order.id), deed.name())
    }

    fn name_of(&self, id: Option<i64>) -> &str {
        id.and_then(|id| self.details.names.get(&id)).map_or("–", String::as_str)
    }
}

/// `GET /orders/<id>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    page(&app, &visitor, id, &FormAttempt::default()).await
}

/// `POST /orders/<id>/<deed>`. A form that was sent from the board leads back there.
pub async fn act(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, deed)): Path<(i64, String)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    require_reader(&visitor)?;
    let deed: Deed = deed.parse().map_err(|_| PageError::NotFound)?;
    let (orders, actor) = (Orders::of_app(&app), Actor::Member(visitor.person.clone()));
    let seen = orders.seen_order(&actor, id).await?.ok_or(PageError::NotFound)?;
    let prices = if deed.needs_prices() { orders.price_items(None).await? } else { Vec::new() };
    let (now, zone) = (app.clock.now(), app.settings.get(&TIME_ZONE).await?);
    let context = DeedContext { order: &seen.order, prices: &prices, now, zone };
    let (version, place) = (version_of(&typed), BoardQuery::of_form(&typed));
    let act = async |commands: Vec<Command>| orders.execute_all(&actor, id, version, commands).await;
    match submit(&visitor, typed, |typed| deed.read(typed, &context), act).await? {
        Submitted::Done(()) => {
            let is_still_seen = orders.seen_order(&actor, id).await?.is_some();
            let back = match place {
                Some(place) => place.path(),
                None if is_still_seen => path_of(id),
                None => BOARD.to_owned(),
            };
            let done = text!(visitor.language(), deed.done());
            Ok(visitor.redirect(back).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => match place {
            // Nothing was typed there, so nothing has to be shown again.
            Some(place) => board::page(&app, &visitor, place, &attempt.at("", Fields::new())).await,
            None => page(&app, &visitor, id, &attempt).await,
        },
    }
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: &FormAttempt) -> Result<Response, PageError> {
    let page = load(app, visitor, id).await?;
    Ok((attempt.status(), view::order(visitor, &page, attempt)).into_response())
}

async fn load(app: &App, visitor: &Visitor, id: i64) -> Result<OrderPage, PageError> {
    require_reader(visitor)?;
    let (orders, person) = (Orders::of_app(app), &visitor.person);
    let actor = Actor::Member(person.clone());
    let details = orders.details(&actor, id).await?.ok_or(PageError::NotFound)?;
    let order = &details.seen.order;
    let may_dispatch = person.may(DISPATCHERS);
    let masters = if may_dispatch { orders.masters(order.about.position).await? } else { Vec::new() };
    let kinds = orders.equipment_types().await?;
    let kind = kinds.iter().find(|kind| kind.name == order.about.equipment_type).map(|kind| kind.id);
    let prices = orders.price_items(kind).await?;
    let files =
        attachments::find(app.domain.read(), details.files.iter().map(|one| one.telegram_file.as_str())).await?;
    let sees_share = person.may(OWNERS) || order.master_id == Some(person.id);
    let is_closed = order.status == OrderStatus::Closed;
    let shares = if sees_share && is_closed { app.payroll.of_order(id).await? } else { Vec::new() };
    let (now, zone) = (app.clock.now(), app.settings.get(&TIME_ZONE).await?);
    Ok(OrderPage { details, masters, kinds, prices, files, shares, now, zone })
}

/// `GET /orders/<id>/files/<file>`.
pub async fn file(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, file)): Path<(i64, i64)>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let file = found(&app, &visitor, id, file).await?;
    media::file(&app, &visitor, &file.telegram_file, &headers).await
}

/// `POST /orders/<id>/files/<file>/again`.
pub async fn file_again(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, file)): Path<(i64, i64)>,
) -> Result<Response, PageError> {
    let file = found(&app, &visitor, id, file).await?;
    attachments::retry(&app, file.telegram_file).await?;
    let done = text!(visitor.language(), "cabinet-media-asked-again");
    Ok(visitor.redirect(path_of(id)).with_toast(done).into_response())
}

async fn found(app: &App, visitor: &Visitor, id: i64, file: i64) -> Result<OrderFile, PageError> {
    require_reader(visitor)?;
    let actor = Actor::Member(visitor.person.clone());
    let details = Orders::of_app(app).details(&actor, id).await?.ok_or(PageError::NotFound)?;
    details.files.into_iter().find(|one| one.id == file).ok_or(PageError::NotFound)
}
