//! Finding people, by an identifier and page by page.

use std::collections::HashMap;

use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DatabaseConnection, DbErr, EntityTrait, LoaderTrait, Order};
use sea_orm::{PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};

use super::tables::{role as user_role, user};
use super::{People, Person, Status, find, person};
use crate::domain::{in_ids, user_text};
use crate::person::{MAX_IDENTIFIER_LENGTH, PersonIdentifier, Role, stored_phone};
use crate::texts::Language;

/// People per page.
pub const PAGE: u64 = 50;

/// Which people are listed. The default is everybody.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeopleFilter<'a> {
    /// Only these people.
    pub ids: Option<&'a [i64]>,
    /// A part of a name, username or phone, or a Telegram id; empty for any.
    pub wanted: &'a str,
    pub role: Option<Role>,
    pub status: Option<Status>,
}

/// A page of people.
#[derive(Clone, Debug)]
pub struct Page {
    /// Applicants first, then by name.
    pub people: Vec<Person>,
    /// Number of people on all pages.
    pub total: u64,
    /// Number of people by the name of their status, for any status.
    pub by_status: HashMap<String, u64>,
}

impl People {
    /// The verified person with this identifier; none if two people share the phone.
    pub async fn verified(&self, who: &PersonIdentifier) -> Result<Option<Person>, DbErr> {
        let identified = match who {
            PersonIdentifier::Number(number) => {
                let by_phone = user::Column::Phone.eq(stored_phone(&number.to_string()));
                Condition::any().add(user::Column::TelegramId.eq(*number)).add(by_phone)
            }
            PersonIdentifier::Phone(phone) => user::Column::Phone.eq(phone.as_str()).into(),
            PersonIdentifier::Username(name) => {
                let username = Expr::expr(Func::lower(Expr::col(user::Column::Username)));
                Condition::all().add(username.eq(name.as_str()))
            }
        };
        let verified = user::Column::Status.eq(Status::Verified.name());
        let mut found = find(self.domain.read(), Condition::all().add(verified).add(identified)).await?;
        if let PersonIdentifier::Number(number) = who
            && let Some(at) = found.iter().position(|person| person.telegram_id == *number)
        {
            return Ok(Some(found.swap_remove(at)));
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    /// A page of the people that a filter finds.
    pub async fn page_of(&self, filter: PeopleFilter<'_>, page: u64) -> Result<Page, DbErr> {
        let wanted: String = user_text::line(filter.wanted).chars().take(MAX_IDENTIFIER_LENGTH).collect();
        let found = user::Entity::find()
            .apply_if(filter.ids, |query, ids| query.filter(in_ids(user::Column::Id, ids)))
            .apply_if(filter.role, |query, role| query.filter(user::Column::Id.in_subquery(with_role(role))))
            .apply_if((!wanted.is_empty()).then_some(wanted), |query, wanted| query.filter(matching(&wanted)));
        let db = self.domain.read();
        let counts = found.clone().select_only().column(user::Column::Status);
        let counts = counts.column_as(Expr::cust("COUNT(*)"), "people").group_by(user::Column::Status);
        let counts: Vec<(String, i64)> = counts.into_tuple().all(db).await?;
        let count = |(status, people)| (status, u64::try_from(people).unwrap_or_default());
        let by_status: HashMap<String, u64> = counts.into_iter().map(count).collect();
        let total = match filter.status {
            Some(status) => by_status.get(status.name()).copied().unwrap_or_default(),
            None => by_status.values().sum(),
        };
        let users = found
            .apply_if(filter.status, |query, status| query.filter(user::Column::Status.eq(status.name())))
            .order_by_desc(user::Column::Status.eq(Status::Pending.name()))
            .order_by_asc(user::Column::SearchName)
            .order_by_asc(user::Column::Id);
        let users = users.limit(PAGE).offset(page.saturating_mul(PAGE)).all(db).await?;
        Ok(Page { people: with_roles(db, users).await?, total, by_status })
    }

    /// Number of people with this status.
    pub async fn count(&self, status: Status) -> Result<u64, DbErr> {
        user::Entity::find().filter(user::Column::Status.eq(status.name())).count(self.domain.read()).await
    }

    /// The first people with this status, ordered by a moment that a room knows, else by when they were added. `moment`
    /// builds the subquery for a person's id.
    pub async fn first(
        &self,
        status: Status,
        max: u64,
        moment: impl FnOnce(Expr) -> SelectStatement,
    ) -> Result<Vec<Person>, DbErr> {
        let of_user = |column: user::Column| Expr::col((user::Entity, column));
        let moment = moment(of_user(user::Column::Id));
        let since = Func::coalesce([Expr::from(moment), of_user(user::Column::CreatedAt)]);
        let found = user::Entity::find().filter(user::Column::Status.eq(status.name())).limit(max);
        let found = found.order_by(since, Order::Asc).order_by_asc(user::Column::Id);
        with_roles(self.domain.read(), found.all(self.domain.read()).await?).await
    }

    /// The languages of these Telegram accounts; unknown accounts are left out.
    pub async fn languages(&self, telegram_ids: Vec<i64>) -> Result<HashMap<i64, Language>, DbErr> {
        let spoken = user::Entity::find().select_only().column(user::Column::TelegramId).column(user::Column::Language);
        let of_them = spoken.filter(user::Column::TelegramId.is_in(telegram_ids));
        let rows: Vec<(i64, String)> = of_them.into_tuple().all(self.domain.read()).await?;
        Ok(rows.into_iter().filter_map(|(telegram_id, code)| Some((telegram_id, code.parse().ok()?))).collect())
    }

    /// The names of these people.
    pub async fn names(&self, ids: impl IntoIterator<Item = i64>) -> Result<HashMap<i64, String>, DbErr> {
        names(self.domain.read(), ids).await
    }
}

/// The names of these people. Works within a commit.
pub async fn names(
    db: &impl ConnectionTrait,
    ids: impl IntoIterator<Item = i64>,
) -> Result<HashMap<i64, String>, DbErr> {
    let named = user::Entity::find().select_only().column(user::Column::Id).column(user::Column::FullName);
    let rows: Vec<(i64, String)> = named.filter(user::Column::Id.is_in(ids)).into_tuple().all(db).await?;
    Ok(rows.into_iter().collect())
}

async fn with_roles(db: &DatabaseConnection, users: Vec<user::Model>) -> Result<Vec<Person>, DbErr> {
    let roles = users.load_many(user_role::Entity, db).await?;
    users.into_iter().zip(roles).map(|(user, roles)| person(user, &roles)).collect()
}

/// The ids of people with a role.
fn with_role(role: Role) -> SelectStatement {
    let has_role = user_role::Entity::find().filter(user_role::Column::Role.eq(role.name()));
    has_role.select_only().column(user_role::Column::UserId).into_query()
}

fn matching(wanted: &str) -> Condition {
    let small = wanted.to_lowercase();
    let within = |text: &str| {
        let plain = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        LikeExpr::new(format!("%{plain}%")).escape('\\')
    };
    let username = Expr::expr(Func::lower(Expr::col(user::Column::Username)));
    let mut which = Condition::any()
        .add(user::Column::SearchName.like(within(&small)))
        .add(username.like(within(small.trim_start_matches('@'))));
    let digits: String = wanted.chars().filter(char::is_ascii_digit).collect();
    if !digits.is_empty() {
        which = which.add(user::Column::Phone.like(within(&digits)));
        which = which.add_option(digits.parse::<i64>().ok().map(|number| user::Column::TelegramId.eq(number)));
    }
    which
}
