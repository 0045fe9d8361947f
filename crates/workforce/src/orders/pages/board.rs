//! The board: open orders by status or by master, and as a table for a day. It changes live.
//!
//! With the page's script an order can be dragged to a master or to a day. The same forms are on the order's page.

use std::collections::HashMap;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use opora::clock::Millis;

use super::place::BoardQuery;
use super::require_reader;
use crate::application::App;
use crate::orders::{Board, EquipmentType, MasterLoad, OrderStatus, Orders, SeenOrder};
use crate::person::DISPATCHERS;
use crate::settings::TIME_ZONE;
use crate::sites::{Period, local};
use crate::web::form::FormAttempt;
use crate::web::{PageError, SignedIn, Visitor};

mod card;
mod columns;
mod table;
mod view;

/// Days that are links and targets of a drag.
const DAYS: u64 = 7;

/// The data of the board.
struct BoardPage {
    query: BoardQuery,
    board: Board,
    /// For those who dispatch; empty for masters.
    masters: Vec<MasterLoad>,
    kinds: Vec<EquipmentType>,
    today: NaiveDate,
    zone: Tz,
    now: Millis,
    may_dispatch: bool,
}

impl BoardPage {
    /// The first of the days that are links.
    fn first_day(&self) -> NaiveDate {
        let last = self.today.checked_add_days(Days::new(DAYS - 1)).unwrap_or(self.today);
        let selected = self.query.day().filter(|day| !(self.today..=last).contains(day));
        selected.unwrap_or(self.today)
    }

    /// All orders of the board, in order of time; those without a time last.
    fn by_time(&self) -> Vec<&SeenOrder> {
        let mut all: Vec<&SeenOrder> = self.board.orders.values().flatten().collect();
        all.sort_by_key(|seen| (seen.order.about.window.map_or(i64::MAX, |window| window.from.0), seen.order.id));
        all
    }

    fn name_of(&self, master: Option<i64>) -> Option<&str> {
        self.board.names.get(&master?).map(String::as_str)
    }

    /// The orders of each master, and those without one, in order of time.
    fn by_master(&self) -> HashMap<Option<i64>, Vec<&SeenOrder>> {
        let mut by_master: HashMap<Option<i64>, Vec<&SeenOrder>> = HashMap::new();
        for seen in self.by_time().into_iter().filter(|seen| seen.order.status != OrderStatus::Refused) {
            by_master.entry(seen.order.master_id).or_default().push(seen);
        }
        by_master
    }
}

/// `GET /orders`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<BoardQuery>,
) -> Result<Response, PageError> {
    page(&app, &visitor, query, &FormAttempt::default()).await
}

/// The board, after a form that was sent from it.
pub async fn page(
    app: &App,
    visitor: &Visitor,
    query: BoardQuery,
    attempt: &FormAttempt,
) -> Result<Response, PageError> {
    require_reader(visitor)?;
    let orders = Orders::of_app(app);
    let (now, zone) = (app.clock.now(), app.settings.get(&TIME_ZONE).await?);
    let day = query.day().and_then(|day| Period::of_days(day, 1, zone));
    let board = orders.board(&visitor.person, &query.filter(day)).await?;
    let may_dispatch = visitor.person.may(DISPATCHERS);
    let masters = if may_dispatch { orders.masters(None).await? } else { Vec::new() };
    let kinds = orders.equipment_types().await?;
    let today = local(now, zone).date();
    let page = BoardPage { query, board, masters, kinds, today, zone, now, may_dispatch };
    Ok((attempt.status(), view::board(visitor, &page, attempt)).into_response())
}
