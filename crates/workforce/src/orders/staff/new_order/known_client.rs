//! The card of a client who is known by the phone: earlier orders, and the name and addresses to take over.

use opora::prelude::*;

use super::super::{dispatcher, line};
use super::{AskResult, CreateOrderStates, Field, GO_ON, OrderDraft, USE_ADDRESS, USE_NAME};
use crate::application::App;
use crate::front::navigation::navigation_row;
use crate::front::reply;
use crate::front::text_limits::caption;
use crate::orders::{ClientCard, Orders, SeenOrder};
use crate::person::Person;
use crate::text;

/// Earlier orders on the card, and addresses as buttons.
const MAX_ORDERS: usize = 5;
const MAX_ADDRESSES: usize = 3;

/// The card of the client with the phone of the draft.
pub async fn card(app: &App, person: &Person, draft: &OrderDraft) -> Result<Option<ClientCard>, BoxError> {
    let phone = draft.client_phone.as_deref().unwrap_or_default();
    Ok(Orders::of_app(app).client_card(person, phone).await?)
}

pub async fn ask(turn: &mut Turn, draft: OrderDraft) -> AskResult {
    let Some(person) = dispatcher(turn).await? else { return Ok(()) };
    let language = person.language;
    let mut rows = vec![vec![Button::new(text!(language, "orders-client-go-button"), GO_ON)]];
    let text = match card(&turn.context::<App>(), &person, &draft).await? {
        None => text!(language, "orders-client-gone"),
        Some(card) => {
            if draft.client_name.as_ref() != Some(&card.client.name) {
                let text = text!(language, "orders-client-name-choice", name = card.client.name.as_str());
                rows.push(vec![Button::new(caption(&text), USE_NAME)]);
            }
            for (id, address) in addresses(&card.orders) {
                if draft.client_address.as_deref() != Some(address) {
                    let text = text!(language, "orders-client-address-choice", address = address);
                    rows.push(vec![Button::new(caption(&text), format!("{USE_ADDRESS}{id}"))]);
                }
            }
            let lines: Vec<String> = card.orders.iter().take(MAX_ORDERS).map(|seen| line(seen, language)).collect();
            let (name, count) = (card.client.name.as_str(), card.orders.len());
            let mut text = text!(language, "orders-client-known", name = name, count = count);
            if let Some(notes) = &card.client.notes {
                text = format!("{text}\n📝 {notes}");
            }
            [vec![text], lines].concat().join("\n")
        }
    };
    rows.push(navigation_row(language));
    reply::show(turn, text, rows);
    Ok(())
}

/// The addresses of earlier orders, each once, with the id of an order.
fn addresses(orders: &[SeenOrder]) -> Vec<(i64, &str)> {
    let mut found: Vec<(i64, &str)> = Vec::new();
    for seen in orders {
        let address = seen.order.about.address.as_str();
        if !found.iter().any(|(_, other)| *other == address) {
            found.push((seen.order.id, address));
        }
    }
    found.truncate(MAX_ADDRESSES);
    found
}

pub async fn use_name(turn: &mut Turn, mut draft: OrderDraft, _: Press) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    if let Some(card) = card(&turn.context::<App>(), &person, &draft).await? {
        draft.client_name = Some(card.client.name);
    }
    Ok(Next::Go(CreateOrderStates::KnownClient(draft)))
}

pub async fn use_address(turn: &mut Turn, mut draft: OrderDraft, press: Press) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    // Only an order of this client counts.
    let orders = card(&turn.context::<App>(), &person, &draft).await?.map(|card| card.orders).unwrap_or_default();
    let Some(seen) = orders.into_iter().find(|seen| press.rest == seen.order.id.to_string()) else {
        return Ok(Next::AskAgain);
    };
    draft.client_address = Some(seen.order.about.address);
    draft.position = seen.order.about.position;
    Ok(Next::Go(CreateOrderStates::KnownClient(draft)))
}

pub async fn go_on(_: &mut Turn, draft: OrderDraft, _: Press) -> Step<CreateOrderStates> {
    Ok(Next::Go(draft.after(Field::ClientPhone)))
}
