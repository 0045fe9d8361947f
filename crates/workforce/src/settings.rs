//! What an owner may change while the product runs: settings with types, defaults and a history.
//!
//! A setting is declared here once. Whoever wants to know asks [`Settings::get`]; a value that was never set, or that this
//! version cannot read, is the default.

use std::fmt::Display;
use std::str::FromStr;

use chrono_tz::Tz;
use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set,
};
use serde_json::json;

pub use self::in_charge::InCharge;
use self::tables::{change, value};
use crate::audit;
use crate::domain::{self, Domain, Rule, Writing};
use crate::key;
use crate::money::Kopecks;
use crate::person::OWNERS;
use crate::rooms::Room;
use crate::text;
use crate::texts::Language;
use crate::web::form::{Means, Told};
use crate::web::{NavItem, Routes};

pub mod command;
mod in_charge;
mod pages;
mod tables;

/// How a commit refuses what was changed meanwhile.
const STALE: &str = "a setting was changed meanwhile";
/// How it refuses to let questions go to somebody who cannot answer them.
const NOBODY: &str = "nobody with this number may answer questions: a manager, an owner or a superadmin may";

/// Whether test users may sign in with any PIN; each of them needs the flag of their own, too.
pub const ENABLE_TEST_USERS: Setting<bool> = Setting { name: "enable_test_users", default: false };
/// What a mandatory task without a price costs whoever leaves it undone.
pub const MANDATORY_TASK_PENALTY: Setting<Kopecks> =
    Setting { name: "mandatory_task_penalty_roubles", default: Kopecks(5000) };
/// How long before its start a plan may be cancelled without it being short notice.
pub const CANCEL_NOTICE_HOURS: Setting<u16> = Setting { name: "cancel_notice_hours", default: 24 };
/// What cancelling at short notice costs, once the reason was rejected.
pub const CANCEL_SHORT_NOTICE_FINE: Setting<Kopecks> =
    Setting { name: "cancel_short_notice_fine_roubles", default: Kopecks(50_000) };
/// What cancelling for a reason that does not count costs.
pub const CANCEL_INVALID_REASON_FINE: Setting<Kopecks> =
    Setting { name: "cancel_invalid_reason_fine_roubles", default: Kopecks(50_000) };

/// The clock by which the business counts its days and months; sites have their own.
pub const TIME_ZONE: Setting<Tz> = Setting { name: "time_zone", default: Tz::Europe__Moscow };

/// Who answers the questions of people.
pub const QUESTIONS_GO_TO: Setting<InCharge> = Setting { name: "questions_go_to", default: InCharge::Managers };

/// All of them, for lists and for changes by name.
pub const ALL: [&dyn Declared; 7] = [
    &ENABLE_TEST_USERS,
    &MANDATORY_TASK_PENALTY,
    &CANCEL_NOTICE_HOURS,
    &CANCEL_SHORT_NOTICE_FINE,
    &CANCEL_INVALID_REASON_FINE,
    &TIME_ZONE,
    &QUESTIONS_GO_TO,
];

/// A setting of a type.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    pub name: &'static str,
    pub default: T,
}

/// How a value is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Flag,
    Number,
    Roubles,
    TimeZone,
    /// Managers, owners, or one of those who may answer.
    InCharge,
}

/// What a value can be.
pub trait Typed: FromStr + Display + Copy + Sync {
    const SHAPE: Shape;
}

/// What somebody wants a setting to be, who has looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub name: &'static str,
    /// The value that was looked at.
    pub seen: String,
    pub wanted: String,
}

/// A rule that said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody has changed it since it was looked at.
    Stale,
    /// Whoever is named cannot answer questions.
    Nobody,
}

/// It was not done.
pub type NotDone = domain::NotDone<Why>;

/// A setting whose type does not matter.
pub trait Declared: Sync {
    fn name(&self) -> &'static str;
    fn shape(&self) -> Shape;
    /// The default, as it is written.
    fn default_text(&self) -> String;
    /// A value as it is kept, if it is one.
    fn normal(&self, text: &str) -> Option<String>;
}

/// One change of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub name: String,
    pub old: Option<String>,
    pub new: String,
    pub at: Millis,
    /// The person; nobody if it came from the command line.
    pub by: Option<i64>,
}

/// The room.
#[derive(Debug)]
pub struct SettingsRoom;

impl Room for SettingsRoom {
    fn name(&self) -> &'static str {
        "settings"
    }

    fn routes(&self) -> Routes {
        Routes::new().get("/settings", pages::show).post("/settings", pages::edit)
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![NavItem { caption: key!("cabinet-nav-settings"), path: "/settings", roles: OWNERS, needs: None }]
    }
}

/// The settings of this installation.
#[derive(Clone, Debug)]
pub struct Settings {
    domain: Domain,
}

impl<T: Typed> Declared for Setting<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self) -> Shape {
        T::SHAPE
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn normal(&self, text: &str) -> Option<String> {
        text.trim().parse::<T>().ok().map(|value| value.to_string())
    }
}

impl Typed for bool {
    const SHAPE: Shape = Shape::Flag;
}

impl Typed for u16 {
    const SHAPE: Shape = Shape::Number;
}

impl Typed for Kopecks {
    const SHAPE: Shape = Shape::Roubles;
}

impl Typed for Tz {
    const SHAPE: Shape = Shape::TimeZone;
}

impl Typed for InCharge {
    const SHAPE: Shape = Shape::InCharge;
}

impl Rule for Why {
    fn of(refusal: &str) -> Option<Self> {
        match refusal {
            STALE => Some(Self::Stale),
            NOBODY => Some(Self::Nobody),
            _ => None,
        }
    }
}

impl Told for Why {
    fn words(self, language: Language) -> String {
        match self {
            Self::Stale => text!(language, "web-form-stale"),
            Self::Nobody => text!(language, "cabinet-setting-nobody"),
        }
    }

    fn means(self) -> Means {
        match self {
            Self::Stale => Means::Stale,
            Self::Nobody => Means::Mistake,
        }
    }
}

impl Settings {
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The value of a setting.
    pub async fn get<T: FromStr + Copy>(&self, setting: &Setting<T>) -> Result<T, DbErr> {
        let row = value::Entity::find_by_id(setting.name).one(self.domain.read()).await?;
        Ok(row.and_then(|row| row.value.parse().ok()).unwrap_or(setting.default))
    }

    /// Every setting with its value as it is written.
    pub async fn all(&self) -> Result<Vec<(&'static str, String)>, DbErr> {
        let rows = value::Entity::find().all(self.domain.read()).await?;
        Ok(ALL.iter().map(|declared| (declared.name(), among(&rows, *declared))).collect())
    }

    /// All changes, the oldest first.
    pub async fn history(&self) -> Result<Vec<Change>, DbErr> {
        let rows = change::Entity::find().order_by_asc(change::Column::Id).all(self.domain.read()).await?;
        Ok(rows.into_iter().map(Change::from).collect())
    }

    /// The last changes, the newest first.
    pub async fn latest(&self, most: u64) -> Result<Vec<Change>, DbErr> {
        let newest = change::Entity::find().order_by_desc(change::Column::Id).limit(most);
        Ok(newest.all(self.domain.read()).await?.into_iter().map(Change::from).collect())
    }
}

impl From<change::Model> for Change {
    fn from(row: change::Model) -> Self {
        Self { name: row.name, old: row.old_value, new: row.new_value, at: Millis(row.changed_at), by: row.changed_by }
    }
}

/// Changes a setting; refused if there is none of this name or the value is none of its type. What is so already makes
/// no history.
pub async fn set(db: &Writing<'_, '_>, name: &str, text: &str, by: Option<i64>, at: Millis) -> Result<(), WriteError> {
    let Some(declared) = ALL.iter().find(|declared| declared.name() == name) else {
        let known: Vec<_> = ALL.iter().map(|declared| declared.name()).collect();
        return Err(Refusal::because(format!("there is no setting `{name}`: {}", known.join(", "))));
    };
    let Some(new) = declared.normal(text) else {
        let example = declared.default_text();
        return Err(Refusal::because(format!("`{text}` is no value for {name}; {example} would be one")));
    };
    if name == QUESTIONS_GO_TO.name
        && let Ok(in_charge) = new.parse::<InCharge>()
        && !in_charge.may_answer(db).await?
    {
        return Err(Refusal::because(NOBODY));
    }
    let old = value::Entity::find_by_id(name).one(db).await?.map(|row| row.value);
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    keep(db, name, &new, by, at).await?;
    let row = change::ActiveModel {
        name: Set(name.to_owned()),
        old_value: Set(old),
        new_value: Set(new),
        changed_at: Set(at.0),
        changed_by: Set(by),
        ..Default::default()
    };
    let id = row.insert(db).await?.id;
    let detail = json!({ "name": name });
    audit::record(db, audit::Entry { at, actor: by, action: "setting changed", subject: ("setting", id), detail }).await
}

/// Changes settings as somebody wants them who has looked at them; refused as a whole where one has changed since.
pub async fn set_as_seen(db: &Writing<'_, '_>, wishes: Vec<Wish>, by: i64, at: Millis) -> Result<(), WriteError> {
    let wished = |declared: &&&dyn Declared| wishes.iter().any(|wish| wish.name == declared.name());
    let mut declared: Vec<&dyn Declared> = ALL.iter().filter(wished).copied().collect();
    // In one order, so that two who save at once wait for each other and not both.
    declared.sort_by_key(|declared| declared.name());
    let names: Vec<_> = declared.iter().map(|declared| declared.name()).collect();
    for declared in &declared {
        // What was never set has no row that two could meet at.
        begin(db, *declared, at).await?;
    }
    let rows = value::Entity::find().filter(value::Column::Name.is_in(names));
    let rows = rows.order_by_asc(value::Column::Name).lock_exclusive().all(db).await?;
    let is_as_seen = |declared: &&dyn Declared| {
        let now = among(&rows, *declared);
        wishes.iter().filter(|wish| wish.name == declared.name()).all(|wish| wish.seen == now)
    };
    if !declared.iter().all(is_as_seen) {
        return Err(Refusal::because(STALE));
    }
    // A handful at most: an owner has changed each by hand.
    for wish in &wishes {
        set(db, wish.name, &wish.wanted, Some(by), at).await?;
    }
    Ok(())
}

/// The value of a setting among rows, as it is written: what cannot be read is the default.
fn among(rows: &[value::Model], declared: &dyn Declared) -> String {
    let row = rows.iter().find(|row| row.name == declared.name());
    row.and_then(|row| declared.normal(&row.value)).unwrap_or_else(|| declared.default_text())
}

/// Writes the default down where nothing is set yet.
async fn begin(db: &impl ConnectionTrait, declared: &dyn Declared, at: Millis) -> Result<(), WriteError> {
    let row = value::ActiveModel {
        name: Set(declared.name().to_owned()),
        value: Set(declared.default_text()),
        changed_at: Set(at.0),
        changed_by: Set(None),
    };
    let known = OnConflict::column(value::Column::Name).do_nothing().to_owned();
    value::Entity::insert(row).on_conflict(known).exec_without_returning(db).await?;
    Ok(())
}

async fn keep(db: &impl ConnectionTrait, name: &str, new: &str, by: Option<i64>, at: Millis) -> Result<(), WriteError> {
    let row = value::ActiveModel {
        name: Set(name.to_owned()),
        value: Set(new.to_owned()),
        changed_at: Set(at.0),
        changed_by: Set(by),
    };
    let columns = [value::Column::Value, value::Column::ChangedAt, value::Column::ChangedBy];
    let replaced = OnConflict::column(value::Column::Name).update_columns(columns).to_owned();
    value::Entity::insert(row).on_conflict(replaced).exec_without_returning(db).await?;
    Ok(())
}
