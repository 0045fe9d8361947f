//! Kinds of equipment with their checklists, and the price list.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::fields::checked;
use super::require_dispatcher;
use crate::application::App;
use crate::domain::user_text;
use crate::key;
use crate::money::Money;
use crate::orders::{ActionError, Actor, ChecklistItem, EquipmentType, Orders, PriceItem, fields};
use crate::sites::MAX_KOPECKS;
use crate::web::form::{FieldErrors, Fields, FormAttempt, Reader, Submitted, form_key, submit, version_of};
use crate::web::{PageError, SignedIn, Visitor};

mod view;

pub const PRICES: &str = "/orders/prices";
/// A line of a checklist that begins with this has to be done.
const REQUIRED: char = '*';
const MAX_NAME: usize = 200;
const MAX_ITEMS: usize = 50;

/// The data of the page.
struct PriceLists {
    kinds: Vec<EquipmentType>,
    items: Vec<PriceItem>,
}

/// `GET /orders/prices`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    page(&app, &visitor, &FormAttempt::default()).await
}

/// `POST /orders/prices`.
pub async fn add(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let orders = Orders::of_app(&app).once(form_key(&visitor, &typed));
    let kinds = orders.equipment_types().await?;
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let item = read_item(&mut reader);
        let kind = reader.read("kind", key!("web-form-bad-choice"), |text| {
            let known = kinds.iter().map(|kind| kind.id).find(|id| id.to_string() == text);
            (known.is_some() || text.is_empty()).then_some(known)
        });
        reader.bad.or((item, kind))
    };
    let act = async |by: &Actor, ((name, price), kind): ((String, Money), Option<i64>)| {
        orders.add_price_item(by, &name, kind, price).await.map(drop)
    };
    answer(&app, &visitor, typed, read, act).await
}

/// `POST /orders/prices/<id>`.
pub async fn change(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (orders, seen) = (Orders::of_app(&app), (id, version_of(&typed)));
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let item = read_item(&mut reader);
        reader.bad.or(item)
    };
    let act =
        async |by: &Actor, (name, price): (String, Money)| orders.change_price_item(by, seen, &name, Some(price)).await;
    answer(&app, &visitor, typed, read, act).await
}

/// `POST /orders/prices/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (orders, seen) = (Orders::of_app(&app), (id, version_of(&typed)));
    // The name of a deleted item stays.
    let read = |typed: &Fields| Ok(Reader::new(typed).clean_text("name"));
    let act = async |by: &Actor, name: String| orders.change_price_item(by, seen, &name, None).await;
    answer(&app, &visitor, typed, read, act).await
}

/// `POST /orders/kinds`.
pub async fn add_kind(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app).once(form_key(&visitor, &typed));
    let read = |typed: &Fields| {
        let mut reader = Reader::new(typed);
        let name = checked(&mut reader, "equipment_type", fields::equipment_type);
        reader.bad.or(name)
    };
    let act = async |by: &Actor, name: String| orders.add_equipment_type(by, &name).await.map(drop);
    answer(&app, &visitor, typed, read, act).await
}

/// `POST /orders/kinds/<id>/checklist`.
pub async fn set_checklist(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app);
    let act = async |by: &Actor, items| orders.set_checklist(by, id, items).await;
    answer(&app, &visitor, typed, read_checklist, act).await
}

/// `POST /orders/kinds/<id>/delete`.
pub async fn delete_kind(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let orders = Orders::of_app(&app);
    let act = async |by: &Actor, ()| orders.delete_equipment_type(by, id).await;
    answer(&app, &visitor, typed, |_| Ok(()), act).await
}

async fn answer<T>(
    app: &App,
    visitor: &Visitor,
    typed: Fields,
    read: impl FnOnce(&Fields) -> Result<T, FieldErrors>,
    act: impl AsyncFnOnce(&Actor, T) -> Result<(), ActionError>,
) -> Result<Response, PageError> {
    require_dispatcher(visitor)?;
    let by = Actor::Member(visitor.person.clone());
    match submit(visitor, typed, read, async |input| act(&by, input).await).await? {
        Submitted::Done(()) => {
            let done = visitor.language().text(key!("orders-did-save"));
            Ok(visitor.redirect(PRICES).with_toast(done).into_response())
        }
        Submitted::Refused(attempt) => page(app, visitor, &attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, attempt: &FormAttempt) -> Result<Response, PageError> {
    require_dispatcher(visitor)?;
    let orders = Orders::of_app(app);
    let (kinds, items) = tokio::try_join!(orders.equipment_types(), orders.price_items(None))?;
    Ok((attempt.status(), view::page(visitor, &PriceLists { kinds, items }, attempt)).into_response())
}

fn read_item(reader: &mut Reader<'_>) -> (String, Money) {
    let name = reader.read("name", key!("orders-bad-name"), |name| {
        (1..=MAX_NAME).contains(&name.chars().count()).then(|| name.to_owned())
    });
    let price = reader.money("price");
    if !(0..=MAX_KOPECKS).contains(&price) {
        reader.bad.add("price", key!("orders-bad-amount"));
    }
    (name, Money::from_kopecks(price))
}

/// A line for each item. Those that begin with a star are required.
fn read_checklist(typed: &Fields) -> Result<Vec<ChecklistItem>, FieldErrors> {
    let mut reader = Reader::new(typed);
    let lines = reader.clean_lines("items");
    let item = |line: &str| ChecklistItem {
        text: user_text::line(line.trim_start_matches([REQUIRED, ' '])),
        is_required: line.trim_start().starts_with(REQUIRED),
    };
    let items: Vec<ChecklistItem> = lines.lines().map(item).filter(|item| !item.text.is_empty()).collect();
    if items.len() > MAX_ITEMS || items.iter().any(|item| item.text.chars().count() > MAX_NAME) {
        reader.bad.add("items", key!("orders-bad-checklist"));
    }
    reader.bad.or(items)
}

/// A checklist as it is typed.
fn write_checklist(items: &[ChecklistItem]) -> String {
    let line = |item: &ChecklistItem| match item.is_required {
        true => format!("{REQUIRED} {}", item.text),
        false => item.text.clone(),
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::form::fields;

    #[test]
    fn a_checklist_is_read_as_it_is_written() {
        let item = |text: &str, is_required| ChecklistItem { text: text.into(), is_required };
        let items = vec![item("Check the hoses", true), item("Wipe the floor", false)];
        let typed = write_checklist(&items);
        assert_eq!(typed, "* Check the hoses\nWipe the floor");
        assert_eq!(read_checklist(&fields([("items", format!("\n{typed}\n\n *  "))])), Ok(items));
        let long = "x\n".repeat(MAX_ITEMS + 1);
        assert!(read_checklist(&fields([("items", long)])).is_err());
    }
}
