//! News about an order: for its master, for dispatchers, and for its client.
//!
//! News name no client and no address: the reader opens the order and sees what he may see.

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::text;
use crate::texts::{Language, LocalPeriod, short_day_and_time};

/// What happened to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderNews {
    pub order: i64,
    /// As people call it.
    pub number: i64,
    pub what: OrderNewsKind,
}

/// Times are by the clock of the business.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub enum OrderNewsKind {
    /// To a master: the order is his; he has to answer.
    Assigned { when: Option<LocalPeriod> },
    /// To a master: he may take it until then.
    Offered { until: NaiveDateTime },
    /// To a master: another one took it, or the time is over.
    OfferOver,
    /// To a master: he does not have it any more.
    TakenBack,
    /// To a master: he has not answered for a while.
    Unaccepted { minutes: i64 },
    /// To the dispatcher who made it in the chat.
    Created,
    /// To dispatchers: a client placed it.
    FromClient,
    /// To dispatchers: a rule made it.
    FromRule,
    /// To dispatchers: a master does not take it.
    Declined { name: String, reason: String },
    /// To dispatchers: its master may not act any more, and the order is new.
    MasterGone { name: String },
    /// To dispatchers: a master took an offer.
    Taken { name: String },
    /// To dispatchers: nobody took it.
    NoTaker,
    /// To dispatchers: it has been in a status for too long.
    Overdue { status: String, hours: i64 },
    /// To dispatchers: its master has not answered.
    UnacceptedBy { name: String, minutes: i64 },
    /// To dispatchers: the client was not happy.
    LowRating { stars: i64 },
    /// To all concerned: it was refused.
    Refused { reason: String },
    /// To a master and a client.
    Rescheduled { when: Option<LocalPeriod>, reason: String },
    /// A message of the other side.
    Message { text: String },
    /// To a client: a dispatcher has confirmed it.
    Confirmed,
    /// To a client: who comes, and when.
    MasterFound { name: String, when: Option<LocalPeriod> },
    /// To a client.
    OnTheWay { arrives: NaiveDateTime },
    /// To a client: the amount, to be confirmed.
    AmountAsked { total: Money },
    /// To a master: the client has confirmed it.
    AmountConfirmed { total: Money },
    /// To a client: it is repaired elsewhere until that day.
    LongRepair { until: chrono::NaiveDate },
    /// To a client: done, and to be rated.
    Finished { total: Money },
}

impl OrderNews {
    /// Whether it is sent in quiet hours too.
    pub(super) const fn is_urgent(&self) -> bool {
        !matches!(self.what, OrderNewsKind::FromRule | OrderNewsKind::LowRating { .. })
    }

    /// The text that the reader sees.
    pub fn text(&self, language: Language) -> String {
        let number = self.number.to_string();
        match &self.what {
            OrderNewsKind::Assigned { when } => {
                text!(language, "orders-news-assigned", number = number, when = window(*when, language))
            }
            OrderNewsKind::Offered { until } => {
                let until = short_day_and_time(*until, language);
                text!(language, "orders-news-offered", number = number, until = until)
            }
            OrderNewsKind::OfferOver => text!(language, "orders-news-offer-over", number = number),
            OrderNewsKind::TakenBack => text!(language, "orders-news-taken-back", number = number),
            OrderNewsKind::Unaccepted { minutes } => {
                text!(language, "orders-news-unaccepted", number = number, minutes = *minutes)
            }
            OrderNewsKind::Created => text!(language, "orders-news-created", number = number),
            OrderNewsKind::FromClient => text!(language, "orders-news-from-client", number = number),
            OrderNewsKind::FromRule => text!(language, "orders-news-from-rule", number = number),
            OrderNewsKind::NoTaker => text!(language, "orders-news-no-taker", number = number),
            OrderNewsKind::Confirmed => text!(language, "orders-news-confirmed", number = number),
            OrderNewsKind::Refused { reason } => {
                text!(language, "orders-news-refused", number = number, reason = reason.as_str())
            }
            OrderNewsKind::Message { text } => {
                text!(language, "orders-news-message", number = number, text = text.as_str())
            }
            other => text_of(other, number, language),
        }
    }
}

/// The rest of the texts.
fn text_of(what: &OrderNewsKind, number: String, language: Language) -> String {
    match what {
        OrderNewsKind::Declined { name, reason } => {
            text!(language, "orders-news-declined", number = number, name = name.as_str(), reason = reason.as_str())
        }
        OrderNewsKind::Taken { name } => {
            text!(language, "orders-news-taken", number = number, name = name.as_str())
        }
        OrderNewsKind::MasterGone { name } => {
            text!(language, "orders-news-master-gone", number = number, name = name.as_str())
        }
        OrderNewsKind::Overdue { status, hours } => {
            let status = language.find_text(&status_key(status), &crate::texts::Values::new());
            let status = status.unwrap_or_default();
            text!(language, "orders-news-overdue", number = number, status = status, hours = *hours)
        }
        OrderNewsKind::UnacceptedBy { name, minutes } => {
            text!(language, "orders-news-unaccepted-by", number = number, name = name.as_str(), minutes = *minutes)
        }
        OrderNewsKind::LowRating { stars } => {
            text!(language, "orders-news-low-rating", number = number, stars = *stars)
        }
        OrderNewsKind::Rescheduled { when, reason } => {
            let when = window(*when, language);
            text!(language, "orders-news-rescheduled", number = number, when = when, reason = reason.as_str())
        }
        OrderNewsKind::MasterFound { name, when } => {
            let when = window(*when, language);
            text!(language, "orders-news-master-found", number = number, name = name.as_str(), when = when)
        }
        OrderNewsKind::OnTheWay { arrives } => {
            let arrives = arrives.format("%H:%M").to_string();
            text!(language, "orders-news-on-the-way", number = number, arrives = arrives)
        }
        OrderNewsKind::AmountAsked { total } => {
            text!(language, "orders-news-amount-asked", number = number, total = total.shown(language))
        }
        OrderNewsKind::AmountConfirmed { total } => {
            text!(language, "orders-news-amount-confirmed", number = number, total = total.shown(language))
        }
        OrderNewsKind::LongRepair { until } => {
            let until = crate::texts::day(*until, language);
            text!(language, "orders-news-long-repair", number = number, until = until)
        }
        OrderNewsKind::Finished { total } => {
            text!(language, "orders-news-finished", number = number, total = total.shown(language))
        }
        _ => String::new(),
    }
}

fn status_key(status: &str) -> String {
    format!("orders-status-{}", status.replace('_', "-"))
}

/// A window of time; a sentence says if there is none.
fn window(when: Option<LocalPeriod>, language: Language) -> String {
    when.map_or_else(|| text!(language, "orders-no-time"), |when| when.shown(language))
}
