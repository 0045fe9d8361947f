//! The contracts of a person, on their page: where somebody works, and at which rate.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use crate::application::App;
use crate::payroll::Money;
use crate::people::Person;
use crate::sites::{AboutContract, Contract, ContractStatus, Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Attempt, Fields, Filled, Reader, Sheet, carry_out, fields, money_field, seen, version_of};
use crate::web::{OWNERS, Oops, Owner, Section, Visitor};

/// What a person's page shows of contracts, to owners.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, Oops> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let doors = Sites::of_app(app);
    let (contracts, sites) = tokio::try_join!(doors.contracts_of(person.id), doors.list())?;
    let language = viewer.language;
    let body = html! {
        @for contract in contracts.iter().filter(|one| one.deleted_at.is_none()) { (drawn(contract, &sites, language)) }
        @if sites.is_empty() { p.quiet { (text!(language, "cabinet-no-sites")) } }
        p { a.button.plain href={ "/people/" (person.id) "/contracts" } { (text!(language, "cabinet-contracts-edit")) } }
    };
    Ok(vec![Section { title: text!(language, "cabinet-contracts"), body }])
}

/// `GET /people/<id>/contracts`.
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    page(&app, &visitor, id, Attempt::default()).await
}

/// `POST /people/<id>/contracts`.
pub async fn create(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let sites = doors.list().await?;
    let act = async |about| doors.create_contract(&visitor.person, id, about).await.map(drop);
    let went = carry_out(&visitor, typed, |typed| read(typed, &sites), act).await?;
    answer(&app, &visitor, id, went).await
}

/// `POST /contracts/<id>`.
pub async fn edit(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (doors, version) = (Sites::of_app(&app), version_of(&typed));
    let (contract, sites) = tokio::try_join!(doors.contract(id), doors.list())?;
    let contract = contract.ok_or(Oops::NotFound)?;
    // Sites that are deleted have no box, and come back with the contract.
    let unseen = contract.about.sites.iter().copied().filter(|id| sites.iter().all(|site| site.id != *id));
    let act = async |mut about: AboutContract| {
        about.sites.extend(unseen);
        doors.edit_contract(&visitor.person, id, version, about).await
    };
    let went = carry_out(&visitor, typed, |typed| read(typed, &sites), act).await?;
    answer(&app, &visitor, contract.user_id, went).await
}

/// `POST /contracts/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    let act = async |version| doors.delete_contract(&visitor.person, id, version).await;
    let went = carry_out(&visitor, typed, seen, act).await?;
    answer(&app, &visitor, contract.user_id, went).await
}

/// `POST /contracts/<id>/restore`.
pub async fn restore(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    let doors = Sites::of_app(&app);
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    let act = async |_| doors.restore_contract(&visitor.person, id).await;
    let went = carry_out(&visitor, Fields::new(), seen, act).await?;
    answer(&app, &visitor, contract.user_id, went).await
}

async fn answer(app: &App, visitor: &Visitor, user_id: i64, went: Result<(), Attempt>) -> Result<Response, Oops> {
    match went {
        Ok(()) => Ok(Redirect::to(&format!("/people/{user_id}/contracts")).into_response()),
        Err(attempt) => page(app, visitor, user_id, attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, id: i64, attempt: Attempt) -> Result<Response, Oops> {
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    let doors = Sites::of_app(app);
    let (contracts, sites) = tokio::try_join!(doors.contracts_of(id), doors.list())?;
    let (gone, alive): (Vec<&Contract>, Vec<&Contract>) = contracts.iter().partition(|one| one.deleted_at.is_some());
    let (language, own) = (visitor.language(), format!("/people/{id}/contracts"));
    let usual = AboutContract {
        status: ContractStatus::Active,
        rate_kopecks: None,
        allows_spontaneous: false,
        sites: Vec::new(),
    };
    let sheet = |path: &str, about: &AboutContract, version: Option<i64>, caption: String| {
        let now = write(about);
        let sheet = Sheet { path, now: &now, version, back: &own, caption: &caption, testid: "save-contract" };
        visitor.sheet(&attempt, sheet, |form| inputs(form, &sites))
    };
    let body = html! {
        p.crumbs { a href={ "/people/" (id) } { (person.full_name) } }
        h1 { (text!(language, "cabinet-contracts")) }
        (attempt.notice(language))
        @for contract in alive {
            section.card data-testid={ "contract-" (contract.id) } {
                (sheet(&format!("/contracts/{}", contract.id), &contract.about, Some(contract.version), text!(language, "cabinet-save")))
                (visitor.visit.form(&format!("/contracts/{}/delete", contract.id), &html! {
                    input type="hidden" name="version" value=(contract.version);
                    button.danger.small type="submit" data-testid="delete-contract" { (text!(language, "cabinet-delete")) }
                }))
            }
        }
        section.card data-testid="new-contract" {
            h2 { (text!(language, "cabinet-new-contract")) }
            (sheet(&own, &usual, None, text!(language, "cabinet-create")))
        }
        @if !gone.is_empty() { (deleted(visitor, &gone, &sites)) }
    };
    Ok((attempt.status(), visitor.page(&person.full_name, &body)).into_response())
}

fn deleted(visitor: &Visitor, contracts: &[&Contract], sites: &[Site]) -> Markup {
    let language = visitor.language();
    html! {
        details.card {
            summary data-testid="deleted-contracts" { (text!(language, "cabinet-deleted-contracts")) }
            @for contract in contracts {
                div.removed { (drawn(contract, sites, language)) }
                (visitor.visit.form(&format!("/contracts/{}/restore", contract.id), &html! {
                    button.plain.small type="submit" data-testid="restore-contract" { (text!(language, "cabinet-restore")) }
                }))
            }
        }
    }
}

/// A contract as its form shows it. Sites are ticked by their numbers.
fn write(about: &AboutContract) -> Fields {
    let mut typed = fields([("status", about.status.name().to_owned()), ("rate", money_field(about.rate_kopecks))]);
    let spontaneous = about.allows_spontaneous.then(|| "allows_spontaneous".to_owned());
    let ticked = about.sites.iter().map(|id| site_field(*id)).chain(spontaneous);
    typed.extend(ticked.map(|name| (name, "on".to_owned())));
    typed
}

/// The same the other way.
fn read(typed: &Fields, sites: &[Site]) -> Result<AboutContract, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let status = reader.read("status", |text| text.parse().ok().map(Some)).unwrap_or(ContractStatus::Draft);
    let about = AboutContract {
        status,
        rate_kopecks: reader.money_if_any("rate"),
        allows_spontaneous: reader.tick("allows_spontaneous"),
        sites: sites.iter().map(|site| site.id).filter(|id| reader.tick(&site_field(*id))).collect(),
    };
    let mut bad = reader.bad;
    bad.extend(about.mistakes());
    if bad.is_empty() { Ok(about) } else { Err(bad) }
}

fn site_field(id: i64) -> String {
    format!("site{id}")
}

fn drawn(contract: &Contract, sites: &[Site], language: Language) -> Markup {
    let names: Vec<&str> = sites
        .iter()
        .filter(|site| contract.about.sites.contains(&site.id))
        .map(|site| site.about.name.as_str())
        .collect();
    let rate = contract.about.rate_kopecks.map(|rate| Money::from_kopecks(rate).shown(language));
    html! {
        dl.facts {
            dt { (text!(language, "cabinet-state")) } dd { (status_name(contract.about.status, language)) }
            dt { (text!(language, "cabinet-nav-sites")) } dd { (names.join(", ")) }
            dt { (text!(language, "cabinet-rate-per-hour")) }
            dd { (rate.unwrap_or_else(|| text!(language, "cabinet-rate-of-site"))) }
        }
    }
}

fn inputs(form: &Filled<'_>, sites: &[Site]) -> Markup {
    let language = form.language;
    let statuses = ContractStatus::ALL.map(|one| (one.name(), status_name(one, language)));
    html! {
        div.row.fields {
            (form.choice("status", &text!(language, "cabinet-state"), &statuses))
            (form.short("rate", &text!(language, "cabinet-own-rate"), "text"))
        }
        (form.tick("allows_spontaneous", &text!(language, "cabinet-allows-spontaneous")))
        fieldset {
            legend { (text!(language, "cabinet-nav-sites")) }
            div.row.choice { @for site in sites { (form.tick(&site_field(site.id), &site.about.name)) } }
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
