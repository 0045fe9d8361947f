//! The owner's page of settings: each with its default, and the history of changes.

use std::collections::HashMap;

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use crate::application::App;
use crate::key;
use crate::money::{Kopecks, Money};
use crate::people;
use crate::person::{ANSWERERS, OPERATORS, Person};
use crate::settings::{self, ActionError, AnySetting, Change, QuestionRecipient, ValueKind};
use crate::text;
use crate::texts::{Currency, Language};
use crate::time_zones;
use crate::web::form::{FieldErrors, FieldLabel, Fields, FilledForm, FormAttempt, FormSpec, Submitted, submit};
use crate::web::ui::{card, headline};
use crate::web::{Owner, PageError, Visitor, moment};

const PATH: &str = "/settings";
/// Changes on the page.
const CHANGES: u64 = 50;
/// How much of a long text is shown in the history, in characters.
const SHOWN_CHARS: usize = 60;
/// Prefix of the hidden field with the value that the person saw.
const SEEN: &str = "seen-";

/// A setting with the text keys of its title and of what it does.
type Offered = (&'static dyn AnySetting, &'static str, &'static str);

/// The settings of an owner by subject, with the text key of each subject.
const GROUPS: &[(&str, &[Offered])] = &[
    (
        key!("cabinet-settings-business"),
        &[
            (&settings::TIME_ZONE, key!("cabinet-setting-time-zone"), key!("cabinet-setting-time-zone-about")),
            (&settings::CURRENCY, key!("cabinet-setting-currency"), key!("cabinet-setting-currency-about")),
            (&settings::QUESTIONS_GO_TO, key!("cabinet-setting-questions"), key!("cabinet-setting-questions-about")),
            (&settings::QUIET_HOURS, key!("cabinet-setting-quiet"), key!("cabinet-setting-quiet-about")),
        ],
    ),
    (
        key!("cabinet-settings-pay"),
        &[
            (&settings::PAY_START, key!("cabinet-setting-pay-start"), key!("cabinet-setting-pay-start-about")),
            (&settings::ROUNDING_STEP, key!("cabinet-setting-rounding"), key!("cabinet-setting-rounding-about")),
            (
                &settings::ROUNDING_DIRECTION,
                key!("cabinet-setting-rounding-direction"),
                key!("cabinet-setting-rounding-direction-about"),
            ),
            (
                &settings::MANDATORY_TASK_PENALTY,
                key!("cabinet-setting-task-penalty"),
                key!("cabinet-setting-task-penalty-about"),
            ),
        ],
    ),
    (
        key!("cabinet-settings-cancelling"),
        &[
            (&settings::CANCEL_NOTICE_HOURS, key!("cabinet-setting-notice"), key!("cabinet-setting-notice-about")),
            (
                &settings::CANCEL_SHORT_NOTICE_FINE,
                key!("cabinet-setting-short-notice"),
                key!("cabinet-setting-short-notice-about"),
            ),
            (
                &settings::CANCEL_INVALID_REASON_FINE,
                key!("cabinet-setting-invalid-reason"),
                key!("cabinet-setting-invalid-reason-about"),
            ),
        ],
    ),
    (
        key!("cabinet-settings-orders"),
        &[
            (&settings::ORDER_SMALL_SHARE, key!("orders-setting-small"), key!("orders-setting-share-about")),
            (&settings::ORDER_LARGE_SHARE, key!("orders-setting-large"), key!("orders-setting-share-about")),
            (&settings::ORDER_LARGE_FROM, key!("orders-setting-large-from"), key!("orders-setting-share-about")),
            (&settings::ORDER_REVIEW_SHARE, key!("orders-setting-review"), key!("orders-setting-extra-about")),
            (&settings::ORDER_OUT_OF_TOWN_SHARE, key!("orders-setting-town"), key!("orders-setting-extra-about")),
            (&settings::ORDER_NEEDS_PHOTO_BEFORE, key!("orders-setting-before"), key!("orders-setting-needs-about")),
            (&settings::ORDER_NEEDS_PHOTO_AFTER, key!("orders-setting-after"), key!("orders-setting-needs-about")),
            (&settings::ORDER_NEEDS_CHECKLIST, key!("orders-setting-checklist"), key!("orders-setting-needs-about")),
            (
                &settings::ORDER_NEEDS_CONFIRMED_AMOUNT,
                key!("orders-setting-confirmed"),
                key!("orders-setting-confirmed-about"),
            ),
        ],
    ),
    (
        key!("cabinet-settings-personal"),
        &[
            (&settings::CONSENT_TEXT_RU, key!("cabinet-setting-consent-ru"), key!("cabinet-setting-consent-about")),
            (&settings::CONSENT_TEXT_EN, key!("cabinet-setting-consent-en"), key!("cabinet-setting-consent-about")),
            (&settings::RETENTION_DAYS, key!("cabinet-setting-retention"), key!("cabinet-setting-retention-about")),
        ],
    ),
    // A setting that affects sign-in is for operators.
    (
        key!("cabinet-settings-sign-in"),
        &[(&settings::ENABLE_TEST_USERS, key!("cabinet-setting-test-users"), key!("cabinet-setting-test-users-about"))],
    ),
];
/// How many of the groups are for owners; the rest is for operators.
const FOR_OWNERS: usize = GROUPS.len() - 1;

/// `GET /settings`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner) -> Result<Response, PageError> {
    page(&app, &visitor, FormAttempt::default()).await
}

/// `POST /settings`.
pub async fn edit(
    State(app): State<App>,
    Owner(visitor): Owner,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (by, at) = (visitor.person.clone(), app.clock.now());
    let act = async |requested| -> Result<(), ActionError> {
        let write = app.domain.write(move |db| {
            Box::pin(async move {
                people::require_unchanged(db, &by).await?;
                settings::set_if_unchanged(db, requested, by.id, at).await
            })
        });
        Ok(write.await?)
    };
    match submit(&visitor, typed, |typed| read(typed, groups(&visitor)), act).await? {
        Submitted::Done(()) => {
            app.settings.apply_currency().await?;
            let saved = text!(visitor.language(), "cabinet-settings-saved");
            Ok(visitor.redirect(PATH).with_toast(saved).into_response())
        }
        Submitted::Refused(attempt) => page(&app, &visitor, attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, attempt: FormAttempt) -> Result<Response, PageError> {
    let (values, changes) = tokio::try_join!(app.settings.all(), app.settings.latest(CHANGES))?;
    let (names, able) = tokio::try_join!(
        app.people.names(changes.iter().filter_map(|change| change.by)),
        app.people.with_any(ANSWERERS)
    )?;
    let language = visitor.language();
    let now: Fields = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let (title, caption) = (text!(language, "cabinet-nav-settings"), text!(language, "cabinet-save"));
    let spec =
        FormSpec { path: PATH, now: &now, version: None, back: PATH, caption: &caption, testid: "save-settings" };
    let body = html! {
        (headline(&title, &html! {}))
        (attempt.notice(language))
        div.settings {
            (visitor.record_form(&attempt, spec, |form| html! {
                @for (subject, offered) in groups(visitor) {
                    (card(&language.text(subject), &html! {
                        @for one in *offered { (field(form, one, now.get(one.0.name()).map_or("", String::as_str), &able)) }
                    }))
                }
            }))
            (card(&text!(language, "cabinet-settings-history"), &history(&changes, &names, &able, language)))
        }
    };
    Ok((attempt.status(), visitor.page(&title, &body)).into_response())
}

/// The groups that the visitor may change.
fn groups(visitor: &Visitor) -> &'static [(&'static str, &'static [Offered])] {
    if visitor.person.may(OPERATORS) { GROUPS } else { &GROUPS[..FOR_OWNERS] }
}

fn field(form: &FilledForm<'_>, (declared, title, about): &Offered, now: &str, able: &[Person]) -> Markup {
    let (language, name) = (form.language, declared.name());
    let usual =
        text!(language, "cabinet-setting-default", value = shown(*declared, &declared.default_text(), able, language));
    let (title, hint) = (language.text(title), format!("{} {usual}", language.text(about)));
    let label = FieldLabel::hinted(&title, &hint);
    html! {
        div.setting data-testid={ "setting-" (name) } {
            input type="hidden" name={ (SEEN) (name) } value=(now);
            @match declared.kind() {
                ValueKind::Flag => (form.choice(name, label, &[
                    ("true", text!(language, "cabinet-yes")),
                    ("false", text!(language, "cabinet-no")),
                ])),
                ValueKind::Number => (form.short(name, label, "number")),
                ValueKind::Roubles => (form.short(name, label, "text")),
                ValueKind::Currency => (currency_field(form, name, label)),
                ValueKind::Choice(options) => (form.choice(name, label, &captions(options, language))),
                ValueKind::TimeZone => (form.time_zone(name, label)),
                ValueKind::QuestionRecipient => (recipient_field(form, name, label, now, able)),
                ValueKind::Text => (form.lines(name, label, settings::MAX_TEXT_UNITS)),
            }
        }
    }
}

/// The values of a choice with their captions.
fn captions(options: &[(&'static str, &'static str)], language: Language) -> Vec<(&'static str, String)> {
    options.iter().map(|(value, caption)| (*value, language.text(caption))).collect()
}

fn currency_field(form: &FilledForm<'_>, name: &str, label: FieldLabel<'_>) -> Markup {
    let options = Currency::ALL.map(|one| (one.code(), currency_name(one)));
    form.choice(name, label, &options)
}

/// A currency by its code and, if it has one, its symbol: `RUB, ₽`.
fn currency_name(currency: Currency) -> String {
    let (code, symbol) = (currency.code(), currency.symbol());
    if code == symbol { code.to_owned() } else { format!("{code}, {symbol}") }
}

/// Managers, owners, and everybody who may answer. A person who may not answer any more stays listed while selected, so
/// that saving another setting does not change it.
fn recipient_field(form: &FilledForm<'_>, name: &str, label: FieldLabel<'_>, now: &str, able: &[Person]) -> Markup {
    let people = able.iter().map(|person| QuestionRecipient::Person(person.telegram_id));
    let mut values: Vec<String> = [QuestionRecipient::Managers, QuestionRecipient::Owners]
        .into_iter()
        .chain(people)
        .map(|one| one.to_string())
        .collect();
    if !values.iter().any(|value| value == now) {
        values.push(now.to_owned());
    }
    let named = |value: &String| recipient_name(value, able, form.language);
    let options: Vec<(&str, String)> = values.iter().map(|value| (value.as_str(), named(value))).collect();
    form.choice(name, label, &options)
}

fn recipient_name(value: &str, able: &[Person], language: Language) -> String {
    match value.parse() {
        Ok(QuestionRecipient::Managers) => text!(language, "cabinet-setting-managers"),
        Ok(QuestionRecipient::Owners) => text!(language, "cabinet-setting-owners"),
        Ok(QuestionRecipient::Person(telegram_id)) => {
            match able.iter().find(|person| person.telegram_id == telegram_id) {
                Some(person) => person.full_name.clone(),
                None => text!(language, "cabinet-setting-left", id = telegram_id.to_string()),
            }
        }
        Err(_) => value.to_owned(),
    }
}

/// A value as people read it.
fn shown(declared: &dyn AnySetting, value: &str, able: &[Person], language: Language) -> String {
    match (declared.kind(), value) {
        (ValueKind::Flag, "true") => text!(language, "cabinet-yes"),
        (ValueKind::Flag, _) => text!(language, "cabinet-no"),
        (ValueKind::Roubles, value) => {
            value.parse().map_or_else(|()| value.to_owned(), |amount: Kopecks| Money::from(amount).shown(language))
        }
        (ValueKind::Currency, value) => value.parse().map_or_else(|_| value.to_owned(), currency_name),
        (ValueKind::Choice(options), value) => {
            let option = options.iter().find(|(known, _)| *known == value);
            option.map_or_else(|| value.to_owned(), |(_, caption)| language.text(caption))
        }
        (ValueKind::QuestionRecipient, value) => recipient_name(value, able, language),
        (ValueKind::Text, value) => shortened(value),
        (ValueKind::Number | ValueKind::TimeZone, value) => value.to_owned(),
    }
}

/// The beginning of a long text; the history keeps all of it.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("“{}…”", &line[..end]),
        None => format!("“{line}”"),
    }
}

fn history(changes: &[Change], names: &HashMap<i64, String>, able: &[Person], language: Language) -> Markup {
    let all = || GROUPS.iter().flat_map(|(_, offered)| *offered);
    html! {
        @if changes.is_empty() { p.quiet { (text!(language, "cabinet-settings-untouched")) } }
        ul.rows data-testid="settings-history" {
            @for change in changes {
                @if let Some((declared, title, _)) = all().find(|(declared, ..)| declared.name() == change.name) {
                    @let usual = declared.default_text();
                    @let old = change.old.as_deref().unwrap_or(&usual);
                    li {
                        div {
                            (language.text(title)) ": " (shown(*declared, old, able, language)) " → "
                            strong { (shown(*declared, &change.new, able, language)) }
                            p.quiet { (change.by.and_then(|id| names.get(&id)).map_or("–", String::as_str)) }
                        }
                        span.quiet { (moment(change.at, language)) }
                    }
                }
            }
        }
    }
}

/// The requested changes of a form.
fn read(typed: &Fields, groups: &[(&str, &[Offered])]) -> Result<Vec<settings::RequestedChange>, FieldErrors> {
    let (mut requested, mut bad) = (Vec::new(), FieldErrors::default());
    for (declared, ..) in groups.iter().flat_map(|(_, offered)| *offered) {
        let name = declared.name();
        let (Some(seen), Some(text)) = (typed.get(&format!("{SEEN}{name}")), typed.get(name)) else { continue };
        // A browser changes the line breaks of a text, also of one that was only seen.
        let seen = declared.normalize(seen).unwrap_or_else(|| seen.clone());
        // People may type a city.
        let zone = time_zones::parse(text).filter(|_| declared.kind() == ValueKind::TimeZone);
        match declared.normalize(zone.map_or(text, |zone| zone.name())) {
            None => bad.add(name, help(declared.kind())),
            Some(wanted) if wanted != seen => requested.push(settings::RequestedChange { name, seen, wanted }),
            Some(_) => {}
        }
    }
    bad.or(requested)
}

/// The text that says what to type.
fn help(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Number => key!("web-form-bad-number"),
        ValueKind::Roubles => key!("web-form-bad-money"),
        ValueKind::TimeZone => key!("web-form-bad-zone"),
        ValueKind::Text => key!("cabinet-setting-text-bad"),
        ValueKind::Flag | ValueKind::Currency | ValueKind::Choice(_) | ValueKind::QuestionRecipient => {
            key!("web-form-bad-choice")
        }
    }
}
