//! The contracts of a person: where the person works, and at which rate.
//!
//! Owners see all contracts. Managers with the permission for employees see those of their sites, edit those that count
//! only there, and may offer a contract to a person from another site by number or name. Rates need their own
//! permission.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::access::Access;
use crate::application::App;
use crate::audit;
use crate::domain::user_text;
use crate::key;
use crate::person::{OWNERS, Permission, Person, PersonIdentifier, WORKERS};
use crate::rooms;
use crate::sites::{AboutContract, Contract, Site, Sites};
use crate::text;
use crate::web::form::{
    FieldError, FieldErrors, Fields, FormAttempt, Submitted, form_key, submit, version_of, version_only,
};
use crate::web::{Owner, PageError, Section, SignedIn, Visitor};

mod view;

/// The page where a contract is offered to a person by number or name.
const NEW: &str = "/contracts/new";

/// How many people the list has to choose from. Others are named by number, phone or username.
const MAX_CHOICES: usize = 1000;
/// How many lines of history a page shows.
const HISTORY_LINES: u64 = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct OfferQuery {
    site: String,
}

/// What the visitor may do with contracts.
struct ContractAccess {
    site_access: Access,
    /// The sites where the visitor manages employees.
    sites: Vec<Site>,
}

impl ContractAccess {
    /// Refused for visitors who manage no employees.
    async fn for_visitor(app: &App, visitor: &Visitor) -> Result<Self, PageError> {
        let site_access = Access::for_person(app, &visitor.person).await?;
        if !site_access.may_somewhere(Permission::Employees) {
            return Err(PageError::Forbidden);
        }
        let mut sites = Sites::of_app(app).list().await?;
        sites.retain(|site| site_access.may(Permission::Employees, site.id));
        Ok(Self { site_access, sites })
    }

    /// The person's contracts that the visitor may see; refused if a manager shares no site with the person.
    async fn contracts(&self, app: &App, user_id: i64) -> Result<Vec<Contract>, PageError> {
        let mut contracts = Sites::of_app(app).contracts_of(user_id).await?;
        if self.site_access.is_owner() {
            return Ok(contracts);
        }
        contracts.retain(|one| one.deleted_at.is_none() && self.site_access.sees(one));
        if contracts.is_empty() { Err(PageError::Forbidden) } else { Ok(contracts) }
    }

    /// The people to choose from: employees and technicians, for a manager those of the own sites.
    async fn people(&self, app: &App, visitor: &Visitor) -> Result<Vec<Person>, PageError> {
        let mut people = app.people.with_any(WORKERS).await?;
        if !self.site_access.is_owner() {
            let managed = Sites::of_app(app).managed_people(&visitor.person).await?.unwrap_or_default();
            people.retain(|person| managed.contains(&person.id));
        }
        people.sort_by_key(|person| person.full_name.to_lowercase());
        people.truncate(MAX_CHOICES);
        Ok(people)
    }

    /// Whether a new contract may have its own rate: needs the permission at every site of the list.
    fn may_see_rates(&self) -> bool {
        self.site_access.is_owner() || self.sites.iter().all(|site| self.site_access.may(Permission::Rates, site.id))
    }

    /// Reads the form. A manager must choose a site, because only owners see contracts without sites.
    fn read(&self, typed: &Fields) -> Result<AboutContract, FieldErrors> {
        let about = view::read(typed, &self.sites)?;
        if about.sites.is_empty() && !self.site_access.is_owner() {
            return Err(FieldError { field: view::SITES, key: key!("cabinet-bad-contract-sites") }.into());
        }
        Ok(about)
    }
}

/// The section about contracts on a person's page, for owners.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let api = Sites::of_app(app);
    let (contracts, sites) = tokio::try_join!(api.contracts_of(person.id), api.list())?;
    let language = viewer.language;
    let body = html! {
        @for contract in contracts.iter().filter(|one| one.deleted_at.is_none()) { (view::summary(contract, &sites, true, language)) }
        @if sites.is_empty() { p.quiet { (text!(language, "cabinet-no-sites")) } }
        p { a.button.plain href={ "/people/" (person.id) "/contracts" } { (text!(language, "cabinet-contracts-edit")) } }
    };
    Ok(vec![Section { title: text!(language, "cabinet-contracts"), body }])
}

/// `GET /people/<id>/contracts`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let access = ContractAccess::for_visitor(&app, &visitor).await?;
    page(&app, &visitor, &access, id, FormAttempt::default()).await
}

/// `POST /people/<id>/contracts`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let access = ContractAccess::for_visitor(&app, &visitor).await?;
    access.contracts(&app, id).await?;
    let api = Sites::of_app(&app).once(form_key(&visitor, &typed));
    let act = async |about| api.give_contract(&visitor.person, id, about).await.map(drop);
    let result = submit(&visitor, typed, |typed| access.read(typed), act).await?;
    answer(&app, &visitor, &access, id, result).await
}

/// `GET /contracts/new`: for a person without a contract here. The form begins with the site of the query, if the
/// visitor manages its employees.
pub async fn ask_whom(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<OfferQuery>,
) -> Result<Response, PageError> {
    let access = ContractAccess::for_visitor(&app, &visitor).await?;
    let people = access.people(&app, &visitor).await?;
    let wanted: Option<i64> = query.site.parse().ok();
    let sites = access.sites.iter().map(|site| site.id).filter(|id| wanted == Some(*id)).collect();
    let offer = view::Offer { people, existing: Vec::new(), sites };
    Ok(view::offer_page(&visitor, &access, &offer, &FormAttempt::default()).into_response())
}

/// `POST /contracts/new`.
pub async fn offer(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let access = ContractAccess::for_visitor(&app, &visitor).await?;
    let people = access.people(&app, &visitor).await?;
    let person_id = named_person(&app, &people, typed.get(view::WHO).map_or("", String::as_str)).await?;
    let api = Sites::of_app(&app).once(form_key(&visitor, &typed));
    let read = |typed: &Fields| match (person_id, access.read(typed)) {
        (Some(_), read) => read,
        (None, read) => {
            let mut bad = read.err().unwrap_or_default();
            bad.add(view::WHO, key!("cabinet-bad-whom"));
            Err(bad)
        }
    };
    let act = async |about| api.give_contract(&visitor.person, person_id.unwrap_or_default(), about).await.map(drop);
    match (submit(&visitor, typed, read, act).await?, person_id) {
        (Submitted::Done(()), Some(id)) => Ok(saved(&visitor, id)),
        (Submitted::Done(()), None) => Ok(Redirect::to("/people").into_response()),
        (Submitted::Refused(attempt), person_id) => {
            // What the visitor may not see is not named, and the refusal itself says that there is a contract.
            let existing = match person_id {
                Some(id) => access.contracts(&app, id).await.unwrap_or_default(),
                None => Vec::new(),
            };
            let offer = view::Offer { people, existing, sites: Vec::new() };
            let page = view::offer_page(&visitor, &access, &offer, &attempt);
            Ok((attempt.status(), page).into_response())
        }
    }
}

/// The person that the form names: chosen from the list, else by number, phone or username, else by the full name if
/// only one person of the list has it.
async fn named_person(app: &App, people: &[Person], typed: &str) -> Result<Option<i64>, PageError> {
    let listed = |id: i64| people.iter().any(|person| person.id == id).then_some(id);
    if let Some(id) = view::chosen_id(typed) {
        return Ok(listed(id));
    }
    let name = user_text::line(typed).to_lowercase();
    let mut namesakes = people.iter().filter(|person| person.full_name.to_lowercase() == name);
    if let (Some(person), None) = (namesakes.next(), namesakes.next()) {
        return Ok(Some(person.id));
    }
    let Some(who) = PersonIdentifier::parse(typed) else { return Ok(None) };
    Ok(app.people.verified(&who).await?.filter(|person| person.may(WORKERS)).map(|person| person.id))
}

/// `POST /contracts/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let access = ContractAccess::for_visitor(&app, &visitor).await?;
    let (api, version) = (Sites::of_app(&app), version_of(&typed));
    let contract = api.contract(id).await?.ok_or(PageError::NotFound)?;
    // Sites without a checkbox, such as deleted ones, stay in the contract. So does a rate that the visitor may not
    // see.
    let sites_before = contract.about.sites.iter().copied();
    let unseen: Vec<i64> = sites_before.filter(|id| access.sites.iter().all(|site| site.id != *id)).collect();
    let kept_rate = (!typed.contains_key(view::RATE)).then_some(contract.about.rate_kopecks);
    let act = async |mut about: AboutContract| {
        about.sites.extend(unseen);
        about.rate_kopecks = kept_rate.unwrap_or(about.rate_kopecks);
        api.edit_contract(&visitor.person, id, version, about).await
    };
    let result = submit(&visitor, typed, |typed| access.read(typed), act).await?;
    answer(&app, &visitor, &access, contract.user_id, result).await
}

/// `POST /contracts/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, PageError> {
    let (api, access) = (Sites::of_app(&app), ContractAccess::for_visitor(&app, &visitor).await?);
    let contract = api.contract(id).await?.ok_or(PageError::NotFound)?;
    let act = async |version| api.delete_contract(&visitor.person, id, version).await;
    let result = submit(&visitor, typed, version_only, act).await?;
    answer(&app, &visitor, &access, contract.user_id, result).await
}

/// `POST /contracts/<id>/restore`.
pub async fn restore(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
) -> Result<Response, PageError> {
    let (api, access) = (Sites::of_app(&app), ContractAccess::for_visitor(&app, &visitor).await?);
    let contract = api.contract(id).await?.ok_or(PageError::NotFound)?;
    let act = async |_| api.restore_contract(&visitor.person, id).await;
    let result = submit(&visitor, Fields::new(), version_only, act).await?;
    answer(&app, &visitor, &access, contract.user_id, result).await
}

fn path(user_id: i64) -> String {
    format!("/people/{user_id}/contracts")
}

/// Back to the contracts, with a toast.
fn saved(visitor: &Visitor, user_id: i64) -> Response {
    visitor.redirect(path(user_id)).with_toast(text!(visitor.language(), "cabinet-contract-saved")).into_response()
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    access: &ContractAccess,
    user_id: i64,
    result: Submitted<()>,
) -> Result<Response, PageError> {
    match result {
        Submitted::Done(()) => Ok(saved(visitor, user_id)),
        Submitted::Refused(attempt) => page(app, visitor, access, user_id, attempt).await,
    }
}

async fn page(
    app: &App,
    visitor: &Visitor,
    access: &ContractAccess,
    id: i64,
    attempt: FormAttempt,
) -> Result<Response, PageError> {
    let contracts = access.contracts(app, id).await?;
    let person = app.people.by_id(id).await?.ok_or(PageError::NotFound)?;
    let ids: Vec<i64> = contracts.iter().map(|one| one.id).filter(|_| access.site_access.is_owner()).collect();
    let history = audit::latest_of(&app.domain, "contract", &ids, HISTORY_LINES).await?;
    let names = app.people.names(history.iter().filter_map(|(_, line)| line.actor)).await?;
    let is_owner = access.site_access.is_owner();
    let planned = if is_owner { rooms::attendance().planned_days(app, id).await? } else { Vec::new() };
    let shown = view::ContractsPage { person, contracts, history, names, planned };
    Ok((attempt.status(), view::page(visitor, access, &shown, &attempt)).into_response())
}
