//! What people do with an order. [`execute`](super::execute) carries a command out, in one commit.

use chrono::NaiveDate;
use opora::clock::Millis;
use serde::{Deserialize, Serialize};

use super::{FileKind, FileStage, OrderStatus};
use crate::money::Money;
use crate::person::Person;
use crate::sites::{Period, Position};

/// Who acts.
#[derive(Clone, Debug)]
pub enum Actor {
    Member(Person),
    /// A client, by the id of the client.
    Client(i64),
    /// A job, or what a block of a person brings about.
    Job,
}

/// A command for one order. It is serializable, so that a dialogue can keep it until it is confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// A dispatcher confirms an order of a client.
    Confirm,
    Edit {
        change: FieldChange,
    },
    /// Gives the order to a master. One who has it loses it.
    Assign {
        master: i64,
    },
    /// Offers a new order to masters, one after the other or all at once, each for some minutes.
    Offer {
        masters: Vec<i64>,
        minutes: u16,
        all_at_once: bool,
    },
    /// Withdraws all open offers.
    WithdrawOffers,
    /// A master takes the order that is assigned or offered to him.
    Accept,
    /// A master does not take it. An assigned order is new again, and an offer goes to the next master.
    Decline {
        reason: String,
    },
    /// A dispatcher takes the order from its master: it is new again.
    TakeBack {
        reason: String,
    },
    /// A fact within `Accepted`, and within `LongRepair` when he comes back.
    OnTheWay {
        arrives_at: Millis,
    },
    Arrive,
    LongRepair {
        until: NaiveDate,
        prepayment: Money,
    },
    Resume,
    Reschedule {
        window: Option<Period>,
        reason: String,
    },
    Refuse {
        reason: String,
    },
    Reopen,
    /// The master tells the amount before he closes; the client is asked to confirm it.
    SetAmount {
        bill: Bill,
    },
    /// The client confirms exactly this total.
    ConfirmAmount {
        total: Money,
    },
    Complete {
        completion: Completion,
    },
    /// An owner corrects a closed order.
    Correct {
        completion: Completion,
        reason: String,
    },
    Rate {
        stars: u8,
        comment: Option<String>,
    },
    MarkItem {
        item: i64,
        is_done: bool,
    },
    AttachFile {
        file: NewFile,
    },
    Message {
        text: String,
    },
}

/// One field with its new content, as it was typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "field", content = "value", rename_all = "snake_case")]
pub enum FieldChange {
    EquipmentType(String),
    Description(String),
    ClientName(String),
    Phone(String),
    Address(String, Option<Position>),
    Notes(String),
    Window(Option<Period>),
    Equipment(Option<i64>),
}

/// What the client pays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// Items of the price list and others. Empty: only the total is known.
    #[serde(default)]
    pub lines: Vec<BillLine>,
    /// None: the sum of the lines.
    pub total: Option<Money>,
    pub materials: Money,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BillLine {
    /// The item of the price list, if it is one.
    pub price_item: Option<i64>,
    pub name: String,
    pub quantity: u16,
    pub price: Money,
}

/// How an order was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub bill: Bill,
    pub has_review: bool,
    pub is_out_of_town: bool,
    /// The master took cash, so the client need not confirm the amount.
    pub is_cash: bool,
}

/// A photo, a video or a voice message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFile {
    pub stage: FileStage,
    pub kind: FileKind,
    pub telegram_file: String,
    /// The same for the same picture.
    pub unique_id: String,
    /// What [`crate::attachments::download`] returned.
    pub is_too_large: bool,
    /// None: the download is requested later, by the job.
    pub asked_at: Option<Millis>,
}

impl Bill {
    /// A total without lines.
    pub fn of_total(total: Money, materials: Money) -> Self {
        Self { lines: Vec::new(), total: Some(total), materials }
    }

    /// The total, or the sum of the lines.
    pub fn sum(&self) -> Money {
        let lines = || self.lines.iter().map(|line| line.price.times(line.quantity.into())).sum();
        self.total.unwrap_or_else(lines)
    }
}

impl Command {
    /// The status to which the command leads an order, if it changes the status.
    pub const fn target(&self) -> Option<OrderStatus> {
        match self {
            Self::Assign { .. } => Some(OrderStatus::Assigned),
            Self::Accept => Some(OrderStatus::Accepted),
            Self::Decline { .. } | Self::TakeBack { .. } | Self::Reopen => Some(OrderStatus::New),
            Self::Arrive | Self::Resume => Some(OrderStatus::OnSite),
            Self::LongRepair { .. } => Some(OrderStatus::LongRepair),
            Self::Refuse { .. } => Some(OrderStatus::Refused),
            Self::Complete { .. } => Some(OrderStatus::Closed),
            _ => None,
        }
    }
}

impl Actor {
    /// The member, if it is one.
    pub const fn member(&self) -> Option<&Person> {
        match self {
            Self::Member(person) => Some(person),
            _ => None,
        }
    }

    /// The id of the member.
    pub fn member_id(&self) -> Option<i64> {
        self.member().map(|person| person.id)
    }

    /// The name in the database.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Member(_) => "member",
            Self::Client(_) => "client",
            Self::Job => "job",
        }
    }

    /// The id of the member or of the client.
    pub fn id(&self) -> Option<i64> {
        match self {
            Self::Member(person) => Some(person.id),
            Self::Client(client) => Some(*client),
            Self::Job => None,
        }
    }
}
