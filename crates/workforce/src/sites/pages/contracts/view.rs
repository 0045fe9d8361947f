//! Markup of contracts, and reading and writing of their form.

use std::collections::HashMap;

use axum::http::StatusCode;
use chrono::NaiveDate;
use maud::{Markup, html};

use super::{ContractAccess, NEW, path};
use crate::audit::Line;
use crate::key;
use crate::money::Money;
use crate::person::{Permission, Person};
use crate::sites::{AboutContract, Contract, ContractStatus, FIELD_HELP, Site, SiteRefusal};
use crate::text;
use crate::texts::Language;
use crate::web::form::{FieldErrors, Fields, FilledForm, FormAttempt, FormSpec, Reader, fields, money_field};
use crate::web::ui::{Button, Card, Dialog, Icon, headline};
use crate::web::{self, Visitor};

mod history;

/// Form fields: the person, the rate, and a stand-in for the checkboxes of all sites.
pub const WHO: &str = "who";
pub const RATE: &str = "rate";
const VALID_FROM: &str = "valid_from";
const VALID_UNTIL: &str = "valid_until";
pub const SITES: &str = "sites";

/// The default values of a new contract.
const USUAL: AboutContract = AboutContract::active(Vec::new());
/// The id of the list of people to choose from.
const PEOPLE: &str = "contract-people";

/// The data of the page with a person's contracts.
pub struct ContractsPage {
    pub person: Person,
    pub contracts: Vec<Contract>,
    /// The changes of these contracts, newest first; for owners.
    pub history: Vec<(i64, Line)>,
    pub names: HashMap<i64, String>,
    /// The site and the day of each shift that the person is signed up for; for owners.
    pub planned: Vec<(i64, NaiveDate)>,
}

/// The data of the page that offers a contract.
pub struct Offer {
    /// The people to choose from.
    pub people: Vec<Person>,
    /// The contracts of the chosen person, after a refusal.
    pub existing: Vec<Contract>,
    /// The sites that are ticked at first.
    pub sites: Vec<i64>,
}

/// The page with a person's contracts and their forms.
pub fn page(visitor: &Visitor, access: &ContractAccess, shown: &ContractsPage, attempt: &FormAttempt) -> Markup {
    let ContractsPage { person, contracts, .. } = shown;
    let (deleted_ones, current): (Vec<&Contract>, Vec<&Contract>) =
        contracts.iter().partition(|one| one.deleted_at.is_some());
    let (language, own) = (visitor.language(), path(person.id));
    let (usual, caption) = (write(&USUAL), text!(language, "cabinet-create"));
    let contracts_title = text!(language, "cabinet-contracts");
    let title = match access.site_access.is_owner() {
        true => contracts_title,
        false => format!("{contracts_title}: {}", person.full_name),
    };
    let new =
        FormSpec { path: &own, now: &usual, version: None, back: &own, caption: &caption, testid: "save-contract" };
    let body = html! {
        @if access.site_access.is_owner() { p.crumbs { a href={ "/people/" (person.id) } { (person.full_name) } } }
        @else { p.crumbs { a href="/people" { (text!(language, "web-people")) } } }
        (headline(&title, &html! {}))
        (attempt.notice(language))
        (conflicts(attempt, contracts, &access.sites, language))
        @for contract in current { (one(visitor, access, shown, contract, attempt)) }
        @if access.site_access.decides_on(person.id) {
            (Card::new(&text!(language, "cabinet-new-contract")).testid("new-contract").render(&html! {
                (visitor.record_form(attempt, new, |form| inputs(form, &access.sites, access.may_see_rates())))
            }))
        }
        @if !deleted_ones.is_empty() { (deleted(visitor, &deleted_ones, &access.sites)) }
    };
    visitor.page(&person.full_name, &body)
}

/// The longest choice: a name and an id.
const MAX_CHOICE_LENGTH: usize = 140;

/// A person in the list of people to choose from. The id tells apart people with the same name.
pub fn choice_of(person: &Person) -> String {
    format!("{} (№ {})", person.full_name, person.id)
}

/// The id in a choice from the list.
pub fn chosen_id(typed: &str) -> Option<i64> {
    typed.trim().strip_suffix(')')?.rsplit_once("(№ ")?.1.parse().ok()
}

/// Names the contracts that a refused form conflicts with.
fn conflicts(attempt: &FormAttempt, contracts: &[Contract], sites: &[Site], language: Language) -> Markup {
    let typed = read(&attempt.typed, sites).ok().filter(|_| attempt.status() == StatusCode::CONFLICT);
    let is_other = |one: &&Contract| one.deleted_at.is_none() && !attempt.is_at(&format!("/contracts/{}", one.id));
    let others = contracts.iter().filter(is_other);
    let conflicting: Vec<&Contract> =
        others.filter(|one| typed.as_ref().is_some_and(|about| about.conflicts_with(&one.about))).collect();
    html! {
        @if !conflicting.is_empty() {
            ul.rows data-testid="conflicts" {
                @for contract in conflicting {
                    li {
                        a href={ (path(contract.user_id)) "#contract-" (contract.id) } {
                            (text!(language, "cabinet-contract-number", number = contract.id.to_string()))
                        }
                        span { (site_names(contract, sites).join(", ")) @if let Some(dates) = dates(&contract.about, language) { ", " (dates) } }
                    }
                }
            }
            p.quiet { (text!(language, "cabinet-contract-conflict-advice")) }
        }
    }
}

/// The page that offers a contract to a person from a list, by number or by name.
pub fn offer_page(visitor: &Visitor, access: &ContractAccess, offer: &Offer, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let now = write(&AboutContract::active(offer.sites.clone()));
    let (title, caption) = (text!(language, "cabinet-offer-contract"), text!(language, "cabinet-create"));
    let sheet = FormSpec { path: NEW, now: &now, version: None, back: "/people", caption: &caption, testid: "offer" };
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href="/people" { (text!(language, "web-people")) } }
            (headline(&title, &html! {}))
            (attempt.notice(language))
            (conflicts(attempt, &offer.existing, &access.sites, language))
            (Card::untitled().render(&html! {
                p.quiet { (text!(language, "cabinet-offer-about")) }
                datalist #(PEOPLE) { @for person in &offer.people { option value=(choice_of(person)) {} } }
                (visitor.record_form(attempt, sheet, |form| html! {
                    div.row.fields {
                        (form.suggested(WHO, &text!(language, "cabinet-offer-whom"), MAX_CHOICE_LENGTH, PEOPLE))
                    }
                    (inputs(form, &access.sites, access.may_see_rates()))
                }))
            }))
        },
    )
}

/// One contract: as a form if the visitor may edit it, otherwise as text.
fn one(
    visitor: &Visitor,
    access: &ContractAccess,
    shown: &ContractsPage,
    contract: &Contract,
    attempt: &FormAttempt,
) -> Markup {
    let (language, site_access) = (visitor.language(), &access.site_access);
    let (is_theirs, may_see_rates) =
        (site_access.may_with(Permission::Employees, contract), site_access.may_with(Permission::Rates, contract));
    let may_edit = is_theirs && site_access.decides_on(contract.user_id);
    let (own, form, now) = (path(contract.user_id), format!("/contracts/{}", contract.id), write(&contract.about));
    let (version, caption) = (Some(contract.version), text!(language, "cabinet-save"));
    let sheet = FormSpec { path: &form, now: &now, version, back: &own, caption: &caption, testid: "save-contract" };
    html! {
        (Card::new(&text!(language, "cabinet-contract-number", number = contract.id.to_string())).id(&format!("contract-{}", contract.id)).testid(&format!("contract-{}", contract.id)).render(&html! {
            @if may_edit { (visitor.record_form(attempt, sheet, |form| inputs(form, &access.sites, may_see_rates))) }
            @else {
                (summary(contract, &access.sites, may_see_rates, language))
                @if is_theirs { p.quiet data-testid="own-case" { (SiteRefusal::OwnCase.text(language)) } }
                @else { p.quiet { (text!(language, "cabinet-contract-elsewhere")) } }
            }
            @if site_access.is_owner() {
                (deletion(visitor, shown, contract))
                (history::fold(shown, contract.id, &access.sites, language))
            }
        }))
    }
}

/// The question before a contract is deleted, which names the shifts that depend on it.
fn deletion(visitor: &Visitor, shown: &ContractsPage, contract: &Contract) -> Markup {
    let (language, id) = (visitor.language(), format!("delete-contract-{}", contract.id));
    let count = shown.planned.iter().filter(|(site, day)| contract.about.covers(*site, *day)).count();
    let title = text!(language, "cabinet-delete-contract-sure", number = contract.id.to_string());
    let (caption, cancel) = (text!(language, "cabinet-delete-contract"), text!(language, "cabinet-keep-site"));
    let body = html! {
        p { (text!(language, "cabinet-delete-contract-about", count = count)) }
        (visitor.visit.form(&format!("/contracts/{}/delete", contract.id), &html! {
            input type="hidden" name="version" value=(contract.version);
            (Button::danger(&caption).testid("delete-contract").submit())
        }))
    };
    html! {
        (Button::danger(&text!(language, "cabinet-delete-contract-ask")).icon(Icon::Trash).testid("ask-delete-contract").opens(&id))
        (Dialog { id: &id, title: &title, cancel: &cancel, is_open: false }.render(&body))
    }
}

fn deleted(visitor: &Visitor, contracts: &[&Contract], sites: &[Site]) -> Markup {
    let language = visitor.language();
    html! {
        details.card {
            summary data-testid="deleted-contracts" { (text!(language, "cabinet-deleted-contracts")) }
            @for contract in contracts {
                div.removed { (summary(contract, sites, true, language)) }
                (visitor.visit.form(&format!("/contracts/{}/restore", contract.id), &html! {
                    (Button::plain(&text!(language, "cabinet-restore")).small().testid("restore-contract").submit())
                }))
            }
        }
    }
}

/// The form fields of a contract. Each site has a checkbox named by its id.
fn write(about: &AboutContract) -> Fields {
    let day = |day: Option<NaiveDate>| day.map(|day| day.to_string()).unwrap_or_default();
    let mut typed = fields([
        ("status", about.status.name().to_owned()),
        (RATE, money_field(about.rate_kopecks)),
        (VALID_FROM, day(about.valid_from)),
        (VALID_UNTIL, day(about.valid_until)),
    ]);
    let spontaneous = about.allows_spontaneous.then(|| "allows_spontaneous".to_owned());
    let ticked = about.sites.iter().map(|id| site_field(*id)).chain(spontaneous);
    typed.extend(ticked.map(|name| (name, "on".to_owned())));
    typed
}

/// Reads the form fields; returns the names of the invalid ones.
pub fn read(typed: &Fields, sites: &[Site]) -> Result<AboutContract, FieldErrors> {
    let mut reader = Reader::new(typed);
    let status = reader
        .read("status", key!("web-form-bad-choice"), |text| text.parse().ok().map(Some))
        .unwrap_or(ContractStatus::Draft);
    let about = AboutContract {
        status,
        rate_kopecks: reader.optional_money(RATE),
        allows_spontaneous: reader.tick("allows_spontaneous"),
        valid_from: reader.optional_day(VALID_FROM),
        valid_until: reader.optional_day(VALID_UNTIL),
        sites: sites.iter().map(|site| site.id).filter(|id| reader.tick(&site_field(*id))).collect(),
    };
    let invalid = about.invalid_fields();
    reader.finish(about, &invalid, &FIELD_HELP)
}

fn site_field(id: i64) -> String {
    format!("site{id}")
}

/// A contract as text, limited to these sites. The rate is shown only with the permission for it.
pub fn summary(contract: &Contract, sites: &[Site], may_see_rates: bool, language: Language) -> Markup {
    let names = site_names(contract, sites);
    let rate = contract.about.rate_kopecks.map(|rate| Money::from_kopecks(rate).shown(language));
    html! {
        dl.facts {
            dt { (text!(language, "cabinet-state")) } dd { (status_name(contract.about.status, language)) }
            dt { (text!(language, "cabinet-nav-sites")) } dd { (names.join(", ")) }
            @if let Some(dates) = dates(&contract.about, language) {
                dt { (text!(language, "cabinet-contract-dates")) } dd { (dates) }
            }
            @if may_see_rates {
                dt { (text!(language, "cabinet-rate-per-hour")) }
                dd { (rate.unwrap_or_else(|| text!(language, "cabinet-rate-of-site"))) }
            }
        }
    }
}

fn inputs(form: &FilledForm<'_>, sites: &[Site], may_see_rates: bool) -> Markup {
    let language = form.language;
    let statuses = ContractStatus::ALL.map(|one| (one.name(), status_name(one, language)));
    html! {
        div.row.fields {
            (form.choice("status", &text!(language, "cabinet-state"), &statuses))
            @if may_see_rates { (form.short(RATE, &text!(language, "cabinet-own-rate"), "text")) }
            (form.short(VALID_FROM, &text!(language, "cabinet-contract-from"), "date"))
            (form.short(VALID_UNTIL, &text!(language, "cabinet-contract-until"), "date"))
        }
        (form.tick("allows_spontaneous", &text!(language, "cabinet-allows-spontaneous")))
        fieldset {
            legend { (text!(language, "cabinet-nav-sites")) }
            (form.error(SITES))
            div.row.choice { @for site in sites { (form.tick(&site_field(site.id), &site.about.name)) } }
        }
    }
}

fn site_names<'a>(contract: &Contract, sites: &'a [Site]) -> Vec<&'a str> {
    let of_contract = sites.iter().filter(|site| contract.about.sites.contains(&site.id));
    of_contract.map(|site| site.about.name.as_str()).collect()
}

/// The dates of a contract as text; none without a bound.
pub fn dates(about: &AboutContract, language: Language) -> Option<String> {
    let shown = |day: NaiveDate| web::day(day, language);
    match (about.valid_from, about.valid_until) {
        (None, None) => None,
        (Some(from), None) => Some(text!(language, "cabinet-dates-from", from = shown(from))),
        (None, Some(until)) => Some(text!(language, "cabinet-dates-until", until = shown(until))),
        (Some(from), Some(until)) => {
            Some(text!(language, "cabinet-dates-between", from = shown(from), until = shown(until)))
        }
    }
}

fn status_name(status: ContractStatus, language: Language) -> String {
    match status {
        ContractStatus::Draft => text!(language, "cabinet-contract-draft"),
        ContractStatus::Active => text!(language, "cabinet-contract-active"),
        ContractStatus::Suspended => text!(language, "cabinet-contract-suspended"),
        ContractStatus::Terminated => text!(language, "cabinet-contract-terminated"),
    }
}
