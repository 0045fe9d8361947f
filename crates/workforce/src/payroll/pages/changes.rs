//! What owners change on a person's month: amounts by hand and payments. Each is said in a toast with its amount, and
//! with a button to undo it while the month is open.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chrono::NaiveDate;

use super::super::{ActionError, Kind, Money, PayrollMonth, PayrollRefusal};
use super::{BONUS, DEDUCTION, KIND, TOPIC, person_page};
use crate::application::App;
use crate::person::OWNERS;
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, Submitted, form_key, submit, version_only};
use crate::web::ui::Toast;
use crate::web::{Event, Owner, PageError, Visitor};

/// The person and the month that a form is about.
struct PersonMonth<'a> {
    app: &'a App,
    visitor: &'a Visitor,
    user_id: i64,
    period: PayrollMonth,
}

/// `POST /payroll/people/<id>/amounts`.
pub async fn add(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: id, period: period_of(&typed)? };
    let (by, reason, day) = (visitor.person.id, field(&typed, "reason"), posting_day(&app, month.period).await?);
    let (amount, once) = (signed_amount_of(&typed), form_key(&visitor, &typed));
    let act = async |_| app.payroll.add_manual_once(by, id, day, amount?, &reason, once).await;
    let added = submit(&visitor, typed, version_only, act).await?;
    let (language, name) = (visitor.language(), month.name().await?);
    let said = |added: i64| {
        let amount = amount.unwrap_or_default();
        let text = if amount.is_negative() {
            text!(language, "payroll-done-deduction", amount = size(amount).shown(language), name = name.as_str())
        } else {
            text!(language, "payroll-done-bonus", amount = amount.shown(language), name = name.as_str())
        };
        // A second click has no new amount.
        if added == 0 { Toast::new(text) } else { month.undoing(text, &remove_path(added), removal(1, language)) }
    };
    month.answer(added.map(said)).await
}

/// `POST /payroll/amounts/<id>/change`.
pub async fn change(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: user_of(&typed)?, period: period_of(&typed)? };
    let before = Before::find(&app, id).await?;
    let (by, reason, amount) = (visitor.person.id, field(&typed, "reason"), signed_amount_of(&typed));
    let act = async |version| {
        app.payroll.change(by, id, version, amount?, &reason).await?;
        Ok::<_, ActionError>(version)
    };
    let language = visitor.language();
    let said = |seen: i64| {
        let now = amount.unwrap_or_default();
        let was = before.amount;
        let text = text!(language, "payroll-done-changed", before = was.signed(language), now = now.signed(language));
        let path = format!("/payroll/amounts/{id}/change");
        let fields = vec![
            ("version", (seen + 1).to_string()),
            (KIND, kind_of(was).to_owned()),
            ("amount", size(was).to_string()),
            ("reason", before.reason.clone()),
        ];
        if before.is_undoable(seen) { month.undoing(text, &path, fields) } else { Toast::new(text) }
    };
    let changed = submit(&visitor, typed, version_only, act).await?;
    month.answer(changed.map(said)).await
}

/// `POST /payroll/amounts/<id>/remove`.
pub async fn remove(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: user_of(&typed)?, period: period_of(&typed)? };
    let before = Before::find(&app, id).await?;
    let (by, reason) = (visitor.person.id, field(&typed, "reason"));
    let act = async |version| {
        app.payroll.remove(by, id, version, &reason).await?;
        Ok::<_, ActionError>(version)
    };
    let language = visitor.language();
    let said = |seen: i64| {
        let text = removed_text(before.amount, language);
        let path = format!("/payroll/amounts/{id}/restore");
        if before.is_undoable(seen) { month.undoing(text, &path, Vec::new()) } else { Toast::new(text) }
    };
    let removed = submit(&visitor, typed, version_only, act).await?;
    month.answer(removed.map(said)).await
}

/// `POST /payroll/amounts/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: user_of(&typed)?, period: period_of(&typed)? };
    let (by, language, before) = (visitor.person.id, visitor.language(), Before::find(&app, id).await?);
    let restored = submit(&visitor, typed, version_only, async |_| app.payroll.restore(by, id).await).await?;
    let said = |()| {
        let text = text!(language, "payroll-done-restored", amount = before.amount.signed(language));
        month.undoing(text, &remove_path(id), removal(before.version + 1, language))
    };
    month.answer(restored.map(said)).await
}

/// `POST /payroll/people/<id>/paid`.
pub async fn pay(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: id, period: period_of(&typed)? };
    let (by, period, amount) = (visitor.person.id, month.period, amount_of(&typed, "amount"));
    let is_advance = typed.contains_key("is_advance");
    let act = async |version| app.payroll.mark_paid(by, period, id, amount?, version, is_advance).await;
    let paid = submit(&visitor, typed, version_only, act).await?;
    let (language, name) = (visitor.language(), month.name().await?);
    let said = |payment: i64| {
        let amount = amount.unwrap_or_default().shown(language);
        let text = text!(language, "payroll-done-paid", amount = amount, name = name.as_str());
        month.undoing(text, &format!("/payroll/payments/{payment}/take-back"), Vec::new())
    };
    month.answer(paid.map(said)).await
}

/// `POST /payroll/payments/<id>/take-back`.
pub async fn take_back(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let month = PersonMonth { app: &app, visitor: &visitor, user_id: user_of(&typed)?, period: period_of(&typed)? };
    let (by, language) = (visitor.person.id, visitor.language());
    let amount = app.payroll.payment_amount(id).await?.unwrap_or_default();
    let taken = submit(&visitor, typed, version_only, async |_| app.payroll.take_back(by, id).await).await?;
    let entry = app.payroll.entry_of(month.user_id, month.period).await?;
    let said = |()| {
        let text = text!(language, "payroll-done-taken-back", amount = amount.shown(language));
        let fields = vec![
            ("amount", amount.to_string()),
            ("version", entry.map_or(0, |entry| entry.version).to_string()),
            // It may have been an advance, and was confirmed then.
            ("is_advance", "on".to_owned()),
        ];
        month.undoing(text, &format!("/payroll/people/{}/paid", month.user_id), fields)
    };
    month.answer(taken.map(said)).await
}

/// An adjustment before it is changed. The default stands for one that is gone, whose change is refused.
#[derive(Debug, Default)]
struct Before {
    amount: Money,
    reason: String,
    version: i64,
    /// Whether a change becomes no correction.
    is_open: bool,
}

impl Before {
    async fn find(app: &App, id: i64) -> Result<Self, PageError> {
        let Some(line) = app.payroll.adjustment(id).await? else { return Ok(Self::default()) };
        let period = line.period.parse().map_err(|_| PageError::NotFound)?;
        let is_open = line.corrected.is_none() && !app.payroll.month(period).await?.is_closed();
        let amount = line.corrected.unwrap_or(line.amount);
        Ok(Self { amount, reason: line.reason.unwrap_or_default(), version: line.version, is_open })
    }

    /// Whether the change of what the owner saw can be undone.
    const fn is_undoable(&self, seen: i64) -> bool {
        self.is_open && self.version == seen
    }
}

impl PersonMonth<'_> {
    async fn name(&self) -> Result<String, PageError> {
        let person = self.app.people.by_id(self.user_id).await?;
        Ok(person.map(|person| person.full_name).unwrap_or_default())
    }

    /// A toast with a button that posts these fields.
    fn undoing(&self, text: String, path: &str, fields: Vec<(&'static str, String)>) -> Toast {
        let about = [("period", self.period.to_string()), ("user", self.user_id.to_string())];
        let fields: Vec<(&str, String)> = about.into_iter().chain(fields).collect();
        Toast::new(text).action(text!(self.visitor.language(), "payroll-undo"), path, &fields)
    }

    /// Redirects to the month with a toast. A refused form is shown again.
    async fn answer(&self, done: Submitted<Toast>) -> Result<Response, PageError> {
        let Self { app, visitor, user_id, period } = *self;
        match done {
            Submitted::Done(toast) => {
                app.events.publish(Event::to_roles(TOPIC, OWNERS));
                app.events.publish(Event::to_person(TOPIC, user_id));
                app.bot.wake_jobs();
                let path = format!("/payroll/people/{user_id}?period={period}");
                Ok(visitor.redirect(path).with(toast).into_response())
            }
            Submitted::Refused(attempt) => {
                let current = PayrollMonth::containing(app.payroll.today().await?);
                person_page(app, visitor, user_id, (period, current), None, attempt).await
            }
        }
    }
}

/// Says what was removed: "Bonus of 500 ₽ removed".
fn removed_text(removed: Money, language: Language) -> String {
    let amount = size(removed).shown(language);
    if removed.is_negative() {
        text!(language, "payroll-done-removed-deduction", amount = amount)
    } else {
        text!(language, "payroll-done-removed-bonus", amount = amount)
    }
}

fn remove_path(id: i64) -> String {
    format!("/payroll/amounts/{id}/remove")
}

fn removal(version: i64, language: Language) -> Vec<(&'static str, String)> {
    vec![("version", version.to_string()), ("reason", text!(language, "payroll-removed"))]
}

/// The amount without its sign.
pub fn size(amount: Money) -> Money {
    if amount.is_negative() { -amount } else { amount }
}

/// The value of the field for the kind of an amount.
pub fn kind_of(amount: Money) -> &'static str {
    if amount.is_negative() { DEDUCTION } else { BONUS }
}

/// The kinds that a form offers.
pub const KINDS: [(&str, Kind); 2] = [(BONUS, Kind::ManualBonus), (DEDUCTION, Kind::ManualDeduction)];

pub fn field(typed: &Fields, name: &str) -> String {
    typed.get(name).cloned().unwrap_or_default()
}

/// The month that a form names.
pub fn period_of(typed: &Fields) -> Result<PayrollMonth, PageError> {
    field(typed, "period").parse().map_err(|_| PageError::BadRequest)
}

fn user_of(typed: &Fields) -> Result<i64, PageError> {
    field(typed, "user").parse().map_err(|_| PageError::BadRequest)
}

fn amount_of(typed: &Fields, name: &str) -> Result<Money, PayrollRefusal> {
    field(typed, name).parse().map_err(|_| PayrollRefusal::BadAmount)
}

/// A bonus or a deduction, as the choice says. A minus sign does not turn a bonus into a deduction.
fn signed_amount_of(typed: &Fields) -> Result<Money, PayrollRefusal> {
    match (amount_of(typed, "amount")?, field(typed, KIND).as_str()) {
        (amount, DEDUCTION) => Ok(amount.as_deduction()),
        (amount, BONUS) if !amount.is_negative() => Ok(amount),
        _ => Err(PayrollRefusal::BadAmount),
    }
}

/// Today, moved into the month.
async fn posting_day(app: &App, period: PayrollMonth) -> Result<NaiveDate, PageError> {
    Ok(app.payroll.today().await?.clamp(period.first_day(), period.last_day()))
}
