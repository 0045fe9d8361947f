//! Clients. A client of the office is known by the phone, a client of the bot by the Telegram account.
//!
//! A phone that a client typed proves nothing, so it opens nobody's orders. One that Telegram confirms joins the client
//! of the office with this phone and the account.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, Set};

use super::tables::{client, equipment, notice, order, recurrence};
use super::{OrderRefusal, fields};
use crate::domain::Transaction;
use crate::texts::Language;

/// A client as staff sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub id: i64,
    pub name: String,
    pub phone: Option<String>,
    pub telegram_id: Option<i64>,
    pub language: Language,
    pub notes: Option<String>,
    pub has_blocked_bot: bool,
    pub version: i64,
}

/// A person who writes to the bot as a client.
#[derive(Clone, Debug)]
pub struct TelegramClient {
    pub telegram_id: i64,
    pub name: String,
    pub phone: String,
    /// The phone came as the person's own contact.
    pub is_own_contact: bool,
    pub language: Language,
}

impl From<client::Model> for Client {
    fn from(row: client::Model) -> Self {
        Self {
            id: row.id,
            name: row.name,
            phone: row.phone,
            telegram_id: row.telegram_id,
            language: Language::of_code(&row.language),
            notes: row.notes,
            has_blocked_bot: row.bot_blocked_at.is_some(),
            version: row.version,
        }
    }
}

/// The client with this account, unless it is forgotten.
pub async fn client_of_telegram(db: &impl ConnectionTrait, telegram_id: i64) -> Result<Option<Client>, DbErr> {
    let own = client::Entity::find().filter(client::Column::TelegramId.eq(telegram_id));
    Ok(own.one(db).await?.map(Client::from))
}

/// The client of the office with this phone, or a new one. Returns the id.
pub async fn find_or_create(db: &Transaction<'_, '_>, name: &str, phone: &str, at: Millis) -> Result<i64, WriteError> {
    if let Some(known) = known_by_phone(db, phone).await? {
        return Ok(known.id);
    }
    let row = client::ActiveModel { phone_is_known: Set(true), ..row(name, phone, at) };
    Ok(row.insert(db).await?.id)
}

/// Stores a person of the bot as a client, and joins it with the client of the office if the phone is proved. Returns
/// the id.
pub async fn enrol_client(db: &Transaction<'_, '_>, new: TelegramClient, at: Millis) -> Result<i64, WriteError> {
    let name = fields::client_name(&new.name).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let phone = fields::phone(&new.phone).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let own = client_of_telegram(db, new.telegram_id).await?.map(|client| client.id);
    let known = if new.is_own_contact { known_by_phone(db, &phone).await? } else { None };
    let of_office = known.filter(|known| known.telegram_id.is_none()).map(|known| known.id);
    let id = match (own, of_office) {
        (Some(own), Some(office)) => {
            join(db, own, office).await?;
            office
        }
        (Some(id), None) | (None, Some(id)) => id,
        (None, None) => row(&name, &phone, at).insert(db).await?.id,
    };
    let is_known = new.is_own_contact && known_by_phone(db, &phone).await?.is_none_or(|known| known.id == id);
    let enrolled = client::ActiveModel {
        name: Set(name),
        phone: Set(Some(phone)),
        phone_is_known: Set(is_known),
        telegram_id: Set(Some(new.telegram_id)),
        language: Set(new.language.code().to_owned()),
        bot_blocked_at: Set(None),
        updated_at: Set(at.0),
        ..Default::default()
    };
    update(db, id, enrolled).await?;
    Ok(id)
}

/// Marks that a client has blocked the bot, or unblocked it. An unknown account changes nothing.
pub async fn note_blocked_bot(
    db: &Transaction<'_, '_>,
    telegram_id: i64,
    is_blocked: bool,
    at: Millis,
) -> Result<(), WriteError> {
    let blocked = client::ActiveModel {
        bot_blocked_at: Set(is_blocked.then_some(at.0)),
        updated_at: Set(at.0),
        ..Default::default()
    };
    client::Entity::update_many().set(blocked).filter(client::Column::TelegramId.eq(telegram_id)).exec(db).await?;
    Ok(())
}

/// Changes the notes of a client, and the name; refused if the client has another version.
pub async fn edit_client(
    db: &Transaction<'_, '_>,
    (id, version): (i64, i64),
    name: &str,
    notes: &str,
    at: Millis,
) -> Result<(), WriteError> {
    let name = fields::client_name(name).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let notes = fields::notes(notes).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let row = client::ActiveModel { name: Set(name), notes: Set(notes), updated_at: Set(at.0), ..Default::default() };
    let updated = client::Entity::update_many()
        .set(row)
        .col_expr(client::Column::Version, Expr::col(client::Column::Version).add(1))
        .filter(client::Column::Id.eq(id).and(client::Column::Version.eq(version)))
        .filter(client::Column::ForgottenAt.is_null())
        .exec(db)
        .await?;
    if updated.rows_affected == 0 { Err(OrderRefusal::Stale.refusal()) } else { Ok(()) }
}

async fn known_by_phone(db: &Transaction<'_, '_>, phone: &str) -> Result<Option<client::Model>, DbErr> {
    let known = client::Column::Phone.eq(phone).and(client::Column::PhoneIsKnown.eq(true));
    client::Entity::find().filter(known).one(db).await
}

pub(super) fn row(name: &str, phone: &str, at: Millis) -> client::ActiveModel {
    client::ActiveModel {
        name: Set(name.to_owned()),
        phone: Set(Some(phone.to_owned())),
        language: Set(Language::Ru.code().to_owned()),
        created_at: Set(at.0),
        updated_at: Set(at.0),
        version: Set(1),
        ..Default::default()
    }
}

async fn update(db: &Transaction<'_, '_>, id: i64, row: client::ActiveModel) -> Result<(), WriteError> {
    client::Entity::update_many()
        .set(row)
        .col_expr(client::Column::Version, Expr::col(client::Column::Version).add(1))
        .filter(client::Column::Id.eq(id))
        .exec(db)
        .await?;
    Ok(())
}

/// Moves everything of one client to another, and deletes the first.
async fn join(db: &Transaction<'_, '_>, from: i64, to: i64) -> Result<(), WriteError> {
    macro_rules! move_rows {
        ($($table:ident),+) => {$(
            $table::Entity::update_many()
                .set($table::ActiveModel { client_id: Set(to), ..Default::default() })
                .filter($table::Column::ClientId.eq(from))
                .exec(db)
                .await?;
        )+};
    }
    move_rows!(order, equipment, recurrence, notice);
    client::Entity::delete_many().filter(client::Column::Id.eq(from)).exec(db).await?;
    Ok(())
}
