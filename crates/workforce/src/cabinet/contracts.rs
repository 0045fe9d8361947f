//! The contracts of a person, on their page: where somebody works, and at which rate.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::access::why;
use super::form::{Fields, Reader, money_field};
use super::sites::version_of;
use crate::application::App;
use crate::payroll::Money;
use crate::people::Person;
use crate::sites::{AboutContract, Contract, ContractStatus, NotDone, Site, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::{OWNERS, Oops, Owner, Section};

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
pub async fn show(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Markup, Oops> {
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    let doors = Sites::of_app(&app);
    let (contracts, sites) = tokio::try_join!(doors.contracts_of(id), doors.list())?;
    let language = visitor.language();
    let form = |path: String, contract: Option<&Contract>, caption: String| {
        visitor.visit.form(
            &path,
            &html! {
                (inputs(contract, &sites, language))
                button type="submit" data-testid="save-contract" { (caption) }
            },
        )
    };
    let body = html! {
        p.crumbs { a href={ "/people/" (id) } { (person.full_name) } }
        h1 { (text!(language, "cabinet-contracts")) }
        @for contract in contracts.iter().filter(|one| one.deleted_at.is_none()) {
            section.card { (form(format!("/contracts/{}", contract.id), Some(contract), text!(language, "cabinet-save"))) }
        }
        section.card data-testid="new-contract" {
            h2 { (text!(language, "cabinet-new-contract")) }
            (form(format!("/people/{id}/contracts"), None, text!(language, "cabinet-create")))
        }
    };
    Ok(visitor.page(&person.full_name, &body))
}

/// `POST /people/<id>/contracts`.
pub async fn create(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = read(&app, &typed).await?;
    done(id, Sites::of_app(&app).create_contract(&visitor.person, id, about).await.map(drop))
}

/// `POST /contracts/<id>`.
pub async fn edit(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let about = read(&app, &typed).await?;
    let doors = Sites::of_app(&app);
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    done(contract.user_id, doors.edit_contract(&visitor.person, id, version_of(&typed), about).await)
}

fn done(user_id: i64, done: Result<(), NotDone>) -> Result<Response, Oops> {
    match done {
        Ok(()) => Ok(Redirect::to(&format!("/people/{user_id}/contracts")).into_response()),
        Err(error) => {
            tracing::debug!(why = %why(error)?, "a contract was not changed");
            Err(Oops::NotPossible)
        }
    }
}

/// What was typed. Sites are ticked by their numbers.
async fn read(app: &App, typed: &Fields) -> Result<AboutContract, Oops> {
    let mut reader = Reader::new(typed);
    let sites = Sites::of_app(app).list().await?;
    let about = AboutContract {
        status: reader.words("status").parse().map_err(|_| Oops::BadRequest)?,
        rate_kopecks: reader.money_if_any("rate"),
        allows_spontaneous: reader.tick("allows_spontaneous"),
        sites: sites.iter().map(|site| site.id).filter(|id| reader.tick(&format!("site{id}"))).collect(),
    };
    if reader.bad.is_empty() && about.mistakes().is_empty() { Ok(about) } else { Err(Oops::BadRequest) }
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

fn inputs(contract: Option<&Contract>, sites: &[Site], language: Language) -> Markup {
    let about = contract.map(|contract| &contract.about);
    let status = about.map_or(ContractStatus::Active, |about| about.status);
    html! {
        @if let Some(contract) = contract { input type="hidden" name="version" value=(contract.version); }
        div.row.fields {
            label { (text!(language, "cabinet-state"))
                select name="status" {
                    @for one in ContractStatus::ALL {
                        option value=(one.name()) selected[one == status] { (status_name(one, language)) }
                    }
                }
            }
            label { (text!(language, "cabinet-own-rate"))
                input type="text" inputmode="decimal" name="rate" maxlength="20"
                    value=(money_field(about.and_then(|about| about.rate_kopecks)));
            }
        }
        label.tick {
            input type="checkbox" name="allows_spontaneous" checked[about.is_some_and(|about| about.allows_spontaneous)];
            (text!(language, "cabinet-allows-spontaneous"))
        }
        fieldset {
            legend { (text!(language, "cabinet-nav-sites")) }
            div.row.choice {
                @for site in sites {
                    label.tick {
                        input type="checkbox" name={ "site" (site.id) }
                            checked[about.is_some_and(|about| about.sites.contains(&site.id))];
                        (site.about.name)
                    }
                }
            }
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
