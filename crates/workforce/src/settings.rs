//! Settings that an owner may change while the product runs, with types, defaults and a history.
//!
//! A setting is declared here once and read by [`Settings::get`]. A value that was never set, or that this version
//! cannot parse, is the default.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use chrono_tz::Tz;
use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set,
};
use serde_json::json;

pub use self::long_text::{MAX_TEXT_UNITS, TextSetting};
pub use self::orders::{
    ORDER_LARGE_FROM, ORDER_LARGE_SHARE, ORDER_NEEDS_CHECKLIST, ORDER_NEEDS_CONFIRMED_AMOUNT, ORDER_NEEDS_PHOTO_AFTER,
    ORDER_NEEDS_PHOTO_BEFORE, ORDER_OUT_OF_TOWN_SHARE, ORDER_REVIEW_SHARE, ORDER_SMALL_SHARE, ORDERS_FROM_CLIENTS,
    OrderRules, Percent, order_rules,
};
pub use self::question_recipient::QuestionRecipient;
pub use self::quiet_hours::QuietHours;
use self::tables::{change, value};
use crate::audit;
use crate::domain::{self, Domain, RefusalReason, Transaction};
use crate::key;
use crate::money::{Kopecks, PaidTimeRules, PayStart, Rounding, RoundingDirection, RoundingStep};
use crate::person::OWNERS;
use crate::rooms::Room;
use crate::text;
use crate::texts::{Currency, Language};
use crate::web::form::{PageRefusal, PageRefusalKind};
use crate::web::ui::Icon;
use crate::web::{NavGroup, NavItem, Routes};

pub mod command;
mod long_text;
mod orders;
mod pages;
mod question_recipient;
mod quiet_hours;
mod tables;

/// How often a process looks whether another one has changed the currency.
const CURRENCY_INTERVAL: Duration = Duration::from_secs(10);
/// The refusal if a setting was changed meanwhile.
const STALE: &str = "a setting was changed meanwhile";
/// The refusal if the named person may not answer questions.
const CANNOT_ANSWER: &str = "no person with this id may answer questions: managers, owners and superadmins may";

/// Whether test users may sign in with any PIN; each of them also needs the personal flag.
pub const ENABLE_TEST_USERS: Setting<bool> = Setting { name: "enable_test_users", default: false };
/// The penalty for a mandatory task without a price that was not done.
pub const MANDATORY_TASK_PENALTY: Setting<Kopecks> = Setting { name: "mandatory_task_penalty", default: Kopecks(5000) };
/// From when a shift that was opened early is paid.
pub const PAY_START: Setting<PayStart> = Setting { name: "pay_start", default: PayStart::Opening };
/// To what the worked time of a shift is rounded.
pub const ROUNDING_STEP: Setting<RoundingStep> = Setting { name: "rounding_minutes", default: RoundingStep::None };
pub const ROUNDING_DIRECTION: Setting<RoundingDirection> =
    Setting { name: "rounding_direction", default: RoundingDirection::Down };
/// Cancellations later than this before the start of a plan are at short notice.
pub const CANCEL_NOTICE_HOURS: Setting<u16> = Setting { name: "cancel_notice_hours", default: 24 };
/// The fine for a cancellation at short notice whose reason was rejected.
pub const CANCEL_SHORT_NOTICE_FINE: Setting<Kopecks> =
    Setting { name: "cancel_short_notice_fine", default: Kopecks(50_000) };
/// The fine for a cancellation with an invalid reason.
pub const CANCEL_INVALID_REASON_FINE: Setting<Kopecks> =
    Setting { name: "cancel_invalid_reason_fine", default: Kopecks(50_000) };

/// The time zone of the business's days and months; sites have their own.
pub const TIME_ZONE: Setting<Tz> = Setting { name: "time_zone", default: Tz::Europe__Moscow };

/// The currency of all amounts. Amounts are not converted: only texts change.
pub const CURRENCY: Setting<Currency> = Setting { name: "currency", default: Currency::Rub };

/// Who answers people's questions.
pub const QUESTIONS_GO_TO: Setting<QuestionRecipient> =
    Setting { name: "questions_go_to", default: QuestionRecipient::Managers };

/// What newcomers agree to before they give personal data, in each language.
pub const CONSENT_TEXT_RU: TextSetting =
    TextSetting { name: "consent_text_ru", language: Language::Ru, default_key: key!("registration-consent-default") };
pub const CONSENT_TEXT_EN: TextSetting =
    TextSetting { name: "consent_text_en", language: Language::En, default_key: key!("registration-consent-default") };

/// Days after which data of rejected applicants and documents of blocked staff are forgotten; 0 keeps them.
pub const RETENTION_DAYS: Setting<u16> = Setting { name: "retention_days", default: 0 };

/// When notices wait, for people who have chosen nothing else.
pub const QUIET_HOURS: Setting<QuietHours> = Setting { name: "quiet_hours", default: QuietHours::NONE };

/// All settings, for lists and for changes by name.
pub const ALL: [&dyn AnySetting; 25] = [
    &ENABLE_TEST_USERS,
    &MANDATORY_TASK_PENALTY,
    &PAY_START,
    &ROUNDING_STEP,
    &ROUNDING_DIRECTION,
    &CANCEL_NOTICE_HOURS,
    &CANCEL_SHORT_NOTICE_FINE,
    &CANCEL_INVALID_REASON_FINE,
    &TIME_ZONE,
    &CURRENCY,
    &QUESTIONS_GO_TO,
    &CONSENT_TEXT_RU,
    &CONSENT_TEXT_EN,
    &RETENTION_DAYS,
    &QUIET_HOURS,
    &ORDERS_FROM_CLIENTS,
    &ORDER_LARGE_FROM,
    &ORDER_LARGE_SHARE,
    &ORDER_SMALL_SHARE,
    &ORDER_REVIEW_SHARE,
    &ORDER_OUT_OF_TOWN_SHARE,
    &ORDER_NEEDS_PHOTO_BEFORE,
    &ORDER_NEEDS_PHOTO_AFTER,
    &ORDER_NEEDS_CHECKLIST,
    &ORDER_NEEDS_CONFIRMED_AMOUNT,
];

/// A setting with its type.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    pub name: &'static str,
    pub default: T,
}

/// How a value is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Flag,
    Number,
    Roubles,
    TimeZone,
    Currency,
    /// One of these values, each with the text key of its caption.
    Choice(&'static [(&'static str, &'static str)]),
    /// Managers, owners, or one person who may answer.
    QuestionRecipient,
    /// Several lines of text.
    Text,
}

/// A type of setting values.
pub trait SettingValue: FromStr + Display + Copy + Sync {
    const KIND: ValueKind;
}

/// A change that a person requests after seeing the present value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedChange {
    pub name: &'static str,
    /// The value that the person saw.
    pub seen: String,
    pub wanted: String,
}

/// Why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingRefusal {
    /// Changed by another person meanwhile.
    Stale,
    /// The named person may not answer questions.
    CannotAnswer,
}

pub type ActionError = domain::ActionError<SettingRefusal>;

/// A setting of any type.
pub trait AnySetting: Sync {
    fn name(&self) -> &'static str;
    fn kind(&self) -> ValueKind;
    /// The default, as text.
    fn default_text(&self) -> String;
    /// The stored form of a value, if it is valid.
    fn normalize(&self, text: &str) -> Option<String>;
}

/// A change of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub name: String,
    pub old: Option<String>,
    pub new: String,
    pub at: Millis,
    /// The person; none for the command line.
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
        let item = NavItem::new(key!("cabinet-nav-settings"), "/settings", Icon::Gear, OWNERS);
        vec![item.in_group(NavGroup::Setup)]
    }
}

/// The settings of this installation.
#[derive(Clone, Debug)]
pub struct Settings {
    domain: Domain,
}

impl<T: SettingValue> AnySetting for Setting<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> ValueKind {
        T::KIND
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn normalize(&self, text: &str) -> Option<String> {
        text.trim().parse::<T>().ok().map(|value| value.to_string())
    }
}

impl SettingValue for bool {
    const KIND: ValueKind = ValueKind::Flag;
}

impl SettingValue for u16 {
    const KIND: ValueKind = ValueKind::Number;
}

impl SettingValue for Kopecks {
    const KIND: ValueKind = ValueKind::Roubles;
}

impl SettingValue for Tz {
    const KIND: ValueKind = ValueKind::TimeZone;
}

impl SettingValue for Currency {
    const KIND: ValueKind = ValueKind::Currency;
}

impl SettingValue for PayStart {
    const KIND: ValueKind = ValueKind::Choice(Self::OPTIONS);
}

impl SettingValue for RoundingStep {
    const KIND: ValueKind = ValueKind::Choice(Self::OPTIONS);
}

impl SettingValue for RoundingDirection {
    const KIND: ValueKind = ValueKind::Choice(Self::OPTIONS);
}

impl SettingValue for QuietHours {
    const KIND: ValueKind = ValueKind::Choice(Self::OPTIONS);
}

impl SettingValue for QuestionRecipient {
    const KIND: ValueKind = ValueKind::QuestionRecipient;
}

impl RefusalReason for SettingRefusal {
    fn parse(refusal: &str) -> Option<Self> {
        match refusal {
            STALE => Some(Self::Stale),
            CANNOT_ANSWER => Some(Self::CannotAnswer),
            _ => None,
        }
    }
}

impl PageRefusal for SettingRefusal {
    fn text(self, language: Language) -> String {
        match self {
            Self::Stale => text!(language, "web-form-stale"),
            Self::CannotAnswer => text!(language, "cabinet-setting-cannot-answer"),
        }
    }

    fn refusal_kind(self) -> PageRefusalKind {
        match self {
            Self::Stale => PageRefusalKind::Stale,
            Self::CannotAnswer => PageRefusalKind::Mistake,
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

    /// Makes texts of this process use the currency of the setting.
    pub async fn apply_currency(&self) -> Result<(), DbErr> {
        self.get(&CURRENCY).await?.make_current();
        Ok(())
    }

    /// The value of a text setting.
    pub async fn text(&self, setting: &TextSetting) -> Result<String, DbErr> {
        let row = value::Entity::find_by_id(setting.name).one(self.domain.read()).await?;
        Ok(row.and_then(|row| setting.normalize(&row.value)).unwrap_or_else(|| setting.default_text()))
    }

    /// All settings with their values as text.
    pub async fn all(&self) -> Result<Vec<(&'static str, String)>, DbErr> {
        let rows = value::Entity::find().all(self.domain.read()).await?;
        Ok(ALL.iter().map(|declared| (declared.name(), value_in(&rows, *declared))).collect())
    }

    /// All changes, oldest first.
    pub async fn history(&self) -> Result<Vec<Change>, DbErr> {
        let rows = change::Entity::find().order_by_asc(change::Column::Id).all(self.domain.read()).await?;
        Ok(rows.into_iter().map(Change::from).collect())
    }

    /// The last changes, newest first.
    pub async fn latest(&self, max_changes: u64) -> Result<Vec<Change>, DbErr> {
        let newest = change::Entity::find().order_by_desc(change::Column::Id).limit(max_changes);
        Ok(newest.all(self.domain.read()).await?.into_iter().map(Change::from).collect())
    }
}

/// Follows the currency of the setting until dropped: another process may change it.
pub async fn keep_currency(settings: &Settings) {
    loop {
        if let Err(error) = settings.apply_currency().await {
            tracing::debug!(%error, "the currency could not be read");
        }
        tokio::time::sleep(CURRENCY_INTERVAL).await;
    }
}

impl From<change::Model> for Change {
    fn from(row: change::Model) -> Self {
        Self { name: row.name, old: row.old_value, new: row.new_value, at: Millis(row.changed_at), by: row.changed_by }
    }
}

/// The rules of paid time, within the commit that calculates pay.
pub async fn paid_time_rules(db: &impl ConnectionTrait) -> Result<PaidTimeRules, DbErr> {
    let names = [PAY_START.name, ROUNDING_STEP.name, ROUNDING_DIRECTION.name];
    let rows = value::Entity::find().filter(value::Column::Name.is_in(names)).all(db).await?;
    let rounding = Rounding { step: typed_in(&rows, &ROUNDING_STEP), direction: typed_in(&rows, &ROUNDING_DIRECTION) };
    Ok(PaidTimeRules { pay_start: typed_in(&rows, &PAY_START), rounding })
}

fn typed_in<T: FromStr + Copy>(rows: &[value::Model], setting: &Setting<T>) -> T {
    let row = rows.iter().find(|row| row.name == setting.name);
    row.and_then(|row| row.value.parse().ok()).unwrap_or(setting.default)
}

/// Changes a setting; refused for an unknown name or an invalid value. Setting the present value leaves no history.
pub async fn set(
    db: &Transaction<'_, '_>,
    name: &str,
    text: &str,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    let Some(declared) = ALL.iter().find(|declared| declared.name() == name) else {
        let names: Vec<_> = ALL.iter().map(|declared| declared.name()).collect();
        return Err(Refusal::because(format!("there is no setting `{name}`: {}", names.join(", "))));
    };
    let Some(new) = declared.normalize(text) else {
        let example = declared.default_text();
        return Err(Refusal::because(format!("`{text}` is not a valid {name}; {example} is an example")));
    };
    if name == QUESTIONS_GO_TO.name
        && let Ok(recipient) = new.parse::<QuestionRecipient>()
        && !recipient.may_answer(db).await?
    {
        return Err(Refusal::because(CANNOT_ANSWER));
    }
    let old = value::Entity::find_by_id(name).one(db).await?.map(|row| row.value);
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    store(db, name, &new, by, at).await?;
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

/// Changes settings as requested; refused as a whole if one has changed since the person saw it.
pub async fn set_if_unchanged(
    db: &Transaction<'_, '_>,
    requested: Vec<RequestedChange>,
    by: i64,
    at: Millis,
) -> Result<(), WriteError> {
    let is_requested = |declared: &&&dyn AnySetting| requested.iter().any(|change| change.name == declared.name());
    let mut declared: Vec<&dyn AnySetting> = ALL.iter().filter(is_requested).copied().collect();
    // Always in the same order, so that two concurrent saves cannot deadlock.
    declared.sort_by_key(|declared| declared.name());
    let names: Vec<_> = declared.iter().map(|declared| declared.name()).collect();
    for declared in &declared {
        // A setting without a row would have nothing to lock.
        insert_default(db, *declared, at).await?;
    }
    let rows = value::Entity::find().filter(value::Column::Name.is_in(names));
    let rows = rows.order_by_asc(value::Column::Name).lock_exclusive().all(db).await?;
    let is_as_seen = |declared: &&dyn AnySetting| {
        let now = value_in(&rows, *declared);
        requested.iter().filter(|change| change.name == declared.name()).all(|change| change.seen == now)
    };
    if !declared.iter().all(is_as_seen) {
        return Err(Refusal::because(STALE));
    }
    // A handful at most: an owner changed each by hand.
    for change in &requested {
        set(db, change.name, &change.wanted, Some(by), at).await?;
    }
    Ok(())
}

/// The value of a setting in these rows, as text; the default if it is missing or invalid.
fn value_in(rows: &[value::Model], declared: &dyn AnySetting) -> String {
    let row = rows.iter().find(|row| row.name == declared.name());
    row.and_then(|row| declared.normalize(&row.value)).unwrap_or_else(|| declared.default_text())
}

/// Stores the default of a setting that has no row.
async fn insert_default(db: &impl ConnectionTrait, declared: &dyn AnySetting, at: Millis) -> Result<(), WriteError> {
    let row = value::ActiveModel {
        name: Set(declared.name().to_owned()),
        value: Set(declared.default_text()),
        changed_at: Set(at.0),
        changed_by: Set(None),
    };
    let on_conflict = OnConflict::column(value::Column::Name).do_nothing().to_owned();
    value::Entity::insert(row).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

async fn store(
    db: &impl ConnectionTrait,
    name: &str,
    new: &str,
    by: Option<i64>,
    at: Millis,
) -> Result<(), WriteError> {
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
