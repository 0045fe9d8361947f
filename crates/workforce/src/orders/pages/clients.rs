//! Clients: the list, and a client with notes, equipment, rules and earlier orders.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use chrono_tz::Tz;
use serde::Deserialize;

use super::fields::checked;
use super::require_dispatcher;
use crate::application::App;
use crate::key;
use crate::orders::{
    AboutEquipment, ActionError, Actor, ClientCard, EquipmentType, NewRecurrence, Orders, Recurrence, fields,
};
use crate::settings::TIME_ZONE;
use crate::sites::Hours;
use crate::web::form::{FieldErrors, Fields, FormAttempt, Reader, Submitted, form_key, submit, version_of};
use crate::web::{PageError, SignedIn, Visitor};

mod view;

pub const CLIENTS: &str = "/orders/clients";
/// How often a rule makes an order.
const FREQUENCIES: [&str; 4] = ["WEEKLY", "MONTHLY", "YEARLY", "DAILY"];
const MAX_INTERVAL: i64 = 99;
/// What every changed form answers.
const SAVED: &str = key!("orders-did-save");

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    before: String,
}

/// The data of a client's page.
struct ClientDetails {
    card: ClientCard,
    rules: Vec<Recurrence>,
    kinds: Vec<EquipmentType>,
    zone: Tz,
}

/// `GET /orders/clients`.
pub async fn list(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let wanted: String = query.q.trim().chars().take(64).collect();
    let found = Orders::of_app(&app).clients(&visitor.person, &wanted, query.before.parse().ok()).await?;
    Ok(view::list(&visitor, &wanted, &found).into_response())
}

/// `GET /orders/clients/<id>`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    page(&app, &visitor, id, &FormAttempt::default()).await
}

/// `POST /orders/clients/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (orders, seen) = (Orders::of_app(&app), (id, version_of(&typed)));
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let name = checked(&mut reader, "client_name", fields::client_name);
        let notes = checked(&mut reader, "notes", fields::notes).unwrap_or_default();
        reader.bad.or((name, notes))
    };
    let act = async |by: &Actor, (name, notes)| orders.edit_client(by, seen, name, notes).await;
    answer(&app, &visitor, id, typed, read, act).await
}

/// `POST /orders/clients/<id>/equipment`.
pub async fn add_equipment(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app).once(form_key(&visitor, &typed));
    let act = async |by: &Actor, about| orders.add_equipment(by, id, about).await.map(drop);
    answer(&app, &visitor, id, typed, read_equipment, act).await
}

/// `POST /orders/clients/<id>/equipment/<item>`.
pub async fn change_equipment(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, item)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (orders, seen) = (Orders::of_app(&app), (item, version_of(&typed)));
    let act = async |by: &Actor, about| orders.change_equipment(by, seen, Some(about)).await;
    answer(&app, &visitor, id, typed, read_equipment, act).await
}

/// `POST /orders/clients/<id>/equipment/<item>/delete`.
pub async fn delete_equipment(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, item)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (orders, seen) = (Orders::of_app(&app), (item, version_of(&typed)));
    let act = async |by: &Actor, ()| orders.change_equipment(by, seen, None).await;
    answer(&app, &visitor, id, typed, nothing, act).await
}

/// `POST /orders/clients/<id>/rules`.
pub async fn add_rule(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app).once(form_key(&visitor, &typed));
    let (now, zone) = (app.clock.now(), app.settings.get(&TIME_ZONE).await?);
    let read = |typed: &Fields| read_rule(typed, now, zone);
    let act = async |by: &Actor, rule| orders.add_recurrence(by, rule).await.map(drop);
    answer(&app, &visitor, id, typed, read, act).await
}

/// `POST /orders/clients/<id>/rules/<rule>/stop`.
pub async fn stop_rule(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path((id, rule)): Path<(i64, i64)>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app);
    let act = async |by: &Actor, ()| orders.stop_recurrence(by, rule).await;
    answer(&app, &visitor, id, typed, nothing, act).await
}

/// Reads a form, acts on it, and leads back to the client.
async fn answer<T>(
    app: &App,
    visitor: &Visitor,
    id: i64,
    typed: Fields,
    read: impl FnOnce(&Fields) -> Result<T, FieldErrors>,
    act: impl AsyncFnOnce(&Actor, T) -> Result<(), ActionError>,
) -> Result<Response, PageError> {
    require_dispatcher(visitor)?;
    let by = Actor::Member(visitor.person.clone());
    match submit(visitor, typed, read, async |input| act(&by, input).await).await? {
        Submitted::Done(()) => {
            let done = visitor.language().text(SAVED);
            Ok(visitor.redirect(format!("{CLIENTS}/{id}")).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => page(app, visitor, id, &attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: &FormAttempt) -> Result<Response, PageError> {
    require_dispatcher(visitor)?;
    let orders = Orders::of_app(app);
    let card = orders.client(&visitor.person, id).await?.ok_or(PageError::NotFound)?;
    let (rules, kinds) = tokio::try_join!(orders.recurrences(Some(id)), orders.equipment_types())?;
    let details = ClientDetails { card, rules, kinds, zone: app.settings.get(&TIME_ZONE).await? };
    Ok((attempt.status(), view::client(visitor, &details, attempt)).into_response())
}

fn nothing(_: &Fields) -> Result<(), FieldErrors> {
    Ok(())
}

fn read_equipment(typed: &Fields) -> Result<AboutEquipment, FieldErrors> {
    let mut reader = Reader::new(typed);
    let text = |reader: &Reader<'_>, name| Some(reader.clean_text(name)).filter(|text| !text.is_empty());
    let about = AboutEquipment {
        equipment_type: checked(&mut reader, "equipment_type", fields::equipment_type),
        model: text(&reader, "model"),
        serial: text(&reader, "serial"),
        warranty_until: reader.optional_day("warranty"),
        notes: checked(&mut reader, "notes", fields::notes),
    };
    reader.bad.or(about)
}

/// Reads a rule: what its orders have in common, the first day with its hours, and how often.
fn read_rule(typed: &Fields, now: opora::clock::Millis, zone: Tz) -> Result<NewRecurrence, FieldErrors> {
    let about = super::fields::read(typed, now, zone, None)?;
    let mut reader = Reader::new(typed);
    let day = reader.day("day");
    let hours = Hours::new(reader.minute("starts"), reader.minute("ends"));
    let frequency = reader.read("frequency", key!("web-form-bad-choice"), |name| {
        FREQUENCIES.into_iter().find(|frequency| *frequency == name)
    });
    let interval = reader.read("interval", key!("orders-bad-interval"), |text| {
        text.parse::<i64>().ok().filter(|interval| (1..=MAX_INTERVAL).contains(interval))
    });
    let lead_days = reader.number("lead_days");
    let start = chrono::TimeDelta::minutes(hours.from_minute);
    let rule = NewRecurrence {
        rule: format!("FREQ={frequency};INTERVAL={interval}"),
        starts_at: day.and_time(chrono::NaiveTime::MIN) + start,
        minutes: hours.minutes(),
        lead_days,
        about,
    };
    reader.bad.or(rule)
}
