//! What people can do with an order on its page: who may do what when, and how a form becomes commands.

use std::str::FromStr;

use chrono_tz::Tz;
use opora::clock::Millis;

use super::fields::{changes, checked};
use super::{fields as form, time};
use crate::key;
use crate::money::Money;
use crate::orders::{
    Bill, BillLine, Command, Completion, FieldChange, Order, OrderRole, OrderSource, OrderStatus, PriceItem, SeenOrder,
    fields, may_go,
};
use crate::sites::MAX_KOPECKS;
use crate::web::form::{FieldErrors, Fields, Reader};

/// Those who dispatch.
const DISPATCH: &[OrderRole] = &[OrderRole::Dispatcher, OrderRole::Owner];
/// Those who work out the amount.
const BILLS: &[OrderRole] = &[OrderRole::Master, OrderRole::Owner];
const MINUTE_MS: i64 = 60_000;

/// An action on an order. Its name is the end of the path of its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Confirm,
    Accept,
    OnTheWay,
    Arrive,
    Resume,
    Complete,
    Assign,
    Offer,
    WithdrawOffers,
    Amount,
    LongRepair,
    Reschedule,
    Edit,
    Decline,
    TakeBack,
    Refuse,
    Reopen,
    Correct,
    /// Ticks an item of the checklist.
    Item,
    /// Writes to the client.
    Message,
    /// A gesture on the board: the same time on another day.
    Move,
}

/// What a form is read with.
#[derive(Debug)]
pub struct DeedContext<'a> {
    pub order: &'a Order,
    pub prices: &'a [PriceItem],
    pub now: Millis,
    pub zone: Tz,
}

impl Deed {
    /// All, in the order of the buttons.
    pub const ALL: [Self; 21] = [
        Self::Confirm,
        Self::Accept,
        Self::OnTheWay,
        Self::Arrive,
        Self::Resume,
        Self::Complete,
        Self::Assign,
        Self::Offer,
        Self::WithdrawOffers,
        Self::Amount,
        Self::LongRepair,
        Self::Reschedule,
        Self::Edit,
        Self::Decline,
        Self::TakeBack,
        Self::Refuse,
        Self::Reopen,
        Self::Correct,
        Self::Item,
        Self::Message,
        Self::Move,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Accept => "accept",
            Self::OnTheWay => "on-the-way",
            Self::Arrive => "arrive",
            Self::Resume => "resume",
            Self::Complete => "complete",
            Self::Assign => "assign",
            Self::Offer => "offer",
            Self::WithdrawOffers => "withdraw-offers",
            Self::Amount => "amount",
            Self::LongRepair => "long-repair",
            Self::Reschedule => "reschedule",
            Self::Edit => "edit",
            Self::Decline => "decline",
            Self::TakeBack => "take-back",
            Self::Refuse => "refuse",
            Self::Reopen => "reopen",
            Self::Correct => "correct",
            Self::Item => "item",
            Self::Message => "message",
            Self::Move => "move",
        }
    }

    /// The key of its button.
    pub const fn caption(self) -> &'static str {
        match self {
            Self::Confirm => key!("orders-do-confirm"),
            Self::Accept => key!("orders-do-accept"),
            Self::OnTheWay => key!("orders-do-on-the-way"),
            Self::Arrive => key!("orders-do-arrive"),
            Self::Resume => key!("orders-do-resume"),
            Self::Complete => key!("orders-do-complete"),
            Self::Assign => key!("orders-do-assign"),
            Self::Offer => key!("orders-do-offer"),
            Self::WithdrawOffers => key!("orders-do-withdraw"),
            Self::Amount => key!("orders-do-amount"),
            Self::LongRepair => key!("orders-do-long-repair"),
            Self::Reschedule | Self::Move => key!("orders-do-reschedule"),
            Self::Edit => key!("cabinet-edit"),
            Self::Decline => key!("orders-do-decline"),
            Self::TakeBack => key!("orders-do-take-back"),
            Self::Refuse => key!("orders-do-refuse"),
            Self::Reopen => key!("orders-do-reopen"),
            Self::Correct => key!("orders-do-correct"),
            Self::Item => key!("cabinet-save"),
            Self::Message => key!("orders-do-message"),
        }
    }

    /// The key of what the next page says.
    pub const fn done(self) -> &'static str {
        match self {
            Self::Confirm => key!("orders-did-confirm"),
            Self::Accept => key!("orders-did-accept"),
            Self::OnTheWay => key!("orders-did-on-the-way"),
            Self::Arrive | Self::Resume => key!("orders-did-arrive"),
            Self::Complete => key!("orders-did-complete"),
            Self::Assign => key!("orders-did-assign"),
            Self::Offer => key!("orders-did-offer"),
            Self::WithdrawOffers => key!("orders-did-withdraw"),
            Self::Reschedule | Self::Move => key!("orders-did-reschedule"),
            Self::Decline => key!("orders-did-decline"),
            Self::TakeBack => key!("orders-did-take-back"),
            Self::Refuse => key!("orders-did-refuse"),
            Self::Reopen => key!("orders-did-reopen"),
            Self::Message => key!("orders-did-message"),
            Self::Amount | Self::LongRepair | Self::Edit | Self::Correct | Self::Item => key!("orders-did-save"),
        }
    }

    /// Whether a click is enough. Others open a dialog.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Confirm | Self::Accept | Self::Arrive | Self::Resume | Self::Reopen | Self::WithdrawOffers)
    }

    /// Whether it takes something away.
    pub const fn is_danger(self) -> bool {
        matches!(self, Self::Decline | Self::TakeBack | Self::Refuse)
    }

    /// Whether its form reads the price list.
    pub const fn needs_prices(self) -> bool {
        matches!(self, Self::Amount | Self::Complete | Self::Correct)
    }

    /// Whether it is a button at the top of the page.
    pub const fn is_button(self) -> bool {
        !matches!(self, Self::Item | Self::Message | Self::Move)
    }

    /// Whether this person may do it now. `is_offered`: masters are asked.
    pub fn is_possible(self, seen: &SeenOrder, is_offered: bool) -> bool {
        let (order, status) = (&seen.order, seen.order.status);
        let is = |roles: &[OrderRole]| seen.roles.iter().any(|role| roles.contains(role));
        let goes = |to| may_go(status, to, &seen.roles);
        let is_master = is(&[OrderRole::Master]);
        match self {
            Self::Confirm => {
                let waits = order.source == OrderSource::Client && order.progress.confirmed_at.is_none();
                is(DISPATCH) && waits && status.is_open()
            }
            Self::Accept => is_master && matches!(status, OrderStatus::Assigned | OrderStatus::New),
            Self::Decline => is_master && matches!(status, OrderStatus::Assigned | OrderStatus::New),
            Self::OnTheWay => is_master && matches!(status, OrderStatus::Accepted | OrderStatus::LongRepair),
            Self::Arrive => status == OrderStatus::Accepted && goes(OrderStatus::OnSite),
            Self::Resume => status == OrderStatus::LongRepair && goes(OrderStatus::OnSite),
            Self::Complete => goes(OrderStatus::Closed),
            Self::Assign => is(DISPATCH) && status.is_open(),
            Self::Offer => is(DISPATCH) && status == OrderStatus::New,
            Self::WithdrawOffers => is(DISPATCH) && is_offered,
            Self::Amount => is(BILLS) && goes(OrderStatus::Closed),
            Self::LongRepair => goes(OrderStatus::LongRepair),
            Self::Reschedule => status.is_open() && (is(DISPATCH) || status != OrderStatus::New),
            Self::Edit | Self::Move => is(DISPATCH) && status.is_open(),
            Self::TakeBack => is(DISPATCH) && OrderStatus::AT_MASTER.contains(&status),
            Self::Refuse => goes(OrderStatus::Refused),
            Self::Reopen => status == OrderStatus::Refused && goes(OrderStatus::New),
            Self::Correct => is(&[OrderRole::Owner]) && status == OrderStatus::Closed,
            Self::Item => is(BILLS) && matches!(status, OrderStatus::OnSite | OrderStatus::LongRepair),
            Self::Message => is(DISPATCH) || is_master && order.master_id.is_some(),
        }
    }

    /// The commands of a form, or which fields do not fit.
    pub fn read(self, typed: &Fields, context: &DeedContext<'_>) -> Result<Vec<Command>, FieldErrors> {
        let mut reader = Reader::new(typed);
        let command = match self {
            Self::Confirm => Command::Confirm,
            Self::Accept => Command::Accept,
            Self::Arrive => Command::Arrive,
            Self::Resume => Command::Resume,
            Self::Reopen => Command::Reopen,
            Self::WithdrawOffers => Command::WithdrawOffers,
            Self::OnTheWay => {
                let minutes = reader.number("minutes").clamp(0, 24 * 60);
                Command::OnTheWay { arrives_at: Millis(context.now.0 + minutes * MINUTE_MS) }
            }
            Self::Assign => Command::Assign { master: reader.number("master") },
            Self::Offer => offer(&mut reader, typed),
            Self::Amount => Command::SetAmount { bill: bill(&mut reader, typed, context) },
            Self::Complete => Command::Complete { completion: completion(&mut reader, typed, context) },
            Self::Correct => {
                let completion = completion(&mut reader, typed, context);
                Command::Correct { completion, reason: checked(&mut reader, "reason", fields::reason) }
            }
            Self::LongRepair => {
                let prepayment = Money::from_kopecks(reader.optional_money("prepayment").unwrap_or_default());
                Command::LongRepair { until: reader.day("until"), prepayment }
            }
            Self::Reschedule => {
                let window = time::read(&mut reader, context.now, context.zone, None);
                Command::Reschedule { window, reason: checked(&mut reader, "reason", fields::reason) }
            }
            Self::Edit => return edits(typed, context),
            Self::Move => {
                let day = reader.day("day");
                let window = time::moved(context.order.about.window, day, context.zone);
                Command::Edit { change: FieldChange::Window(window) }
            }
            Self::Decline => Command::Decline { reason: checked(&mut reader, "reason", fields::reason) },
            Self::TakeBack => Command::TakeBack { reason: checked(&mut reader, "reason", fields::reason) },
            Self::Refuse => Command::Refuse { reason: checked(&mut reader, "reason", fields::reason) },
            Self::Item => Command::MarkItem { item: reader.number("item"), is_done: reader.tick("done") },
            Self::Message => Command::Message { text: checked(&mut reader, "message", fields::message) },
        };
        reader.bad.or(vec![command])
    }
}

impl FromStr for Deed {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|deed| deed.name() == name).ok_or_else(|| format!("no deed `{name}`"))
    }
}

fn offer(reader: &mut Reader<'_>, typed: &Fields) -> Command {
    let ticked = typed.keys().filter_map(|name| name.strip_prefix("master")?.parse().ok());
    let minutes = u16::try_from(reader.number("minutes")).unwrap_or(u16::MAX);
    Command::Offer { masters: ticked.collect(), minutes, all_at_once: reader.tick("all_at_once") }
}

fn edits(typed: &Fields, context: &DeedContext<'_>) -> Result<Vec<Command>, FieldErrors> {
    let before = &context.order.about;
    let mut after = form::read(typed, context.now, context.zone, before.window)?;
    if after.address == before.address {
        after.position = before.position;
    }
    Ok(changes(before, after).into_iter().map(|change| Command::Edit { change }).collect())
}

/// The field with the number of pieces of a price-list item.
pub fn quantity_field(item: i64) -> String {
    format!("pieces{item}")
}

/// Reads lines of the price list, a total, or both.
fn bill(reader: &mut Reader<'_>, typed: &Fields, context: &DeedContext<'_>) -> Bill {
    let pieces = |item: &PriceItem| typed.get(&quantity_field(item.id))?.trim().parse::<u16>().ok();
    let lines = context.prices.iter().filter_map(|item| {
        let quantity = pieces(item).filter(|quantity| *quantity > 0)?;
        Some(BillLine { price_item: Some(item.id), name: item.name.clone(), quantity, price: item.price })
    });
    let lines: Vec<BillLine> = lines.collect();
    let total = if lines.is_empty() { Some(reader.money("total")) } else { reader.optional_money("total") };
    let materials = reader.optional_money("materials").unwrap_or_default();
    for (name, amount) in [("total", total.unwrap_or_default()), ("materials", materials)] {
        if !(0..=MAX_KOPECKS).contains(&amount) {
            reader.bad.add(name, key!("orders-bad-amount"));
        }
    }
    let bill = Bill { lines, total: total.map(Money::from_kopecks), materials: Money::from_kopecks(materials) };
    if bill.materials > bill.sum() {
        reader.bad.add("materials", key!("orders-why-materials-toast"));
    }
    bill
}

fn completion(reader: &mut Reader<'_>, typed: &Fields, context: &DeedContext<'_>) -> Completion {
    Completion {
        bill: bill(reader, typed, context),
        has_review: reader.tick("has_review"),
        is_out_of_town: reader.tick("is_out_of_town"),
        is_cash: reader.tick("is_cash"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parse() {
        for deed in Deed::ALL {
            assert_eq!(deed.name().parse(), Ok(deed));
        }
        assert!("pay".parse::<Deed>().is_err());
    }
}
