//! The contracts of a person, on their page: where somebody works, and at which rate.
//!
//! Owners see all of them. Managers who look after employees see those of their sites, change what is theirs alone, and may
//! offer one to somebody who works elsewhere, by number; rates are for those who may change them.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use super::access::Access;
use crate::application::App;
use crate::person::{OWNERS, Permission, Person, WORKERS, Who};
use crate::sites::{AboutContract, Contract, Site, Sites};
use crate::text;
use crate::web::form::{Attempt, Fields, carry_out, once, seen, version_of};
use crate::web::{Oops, Owner, Section, SignedIn, Visitor};

mod view;

/// Where a contract is offered to somebody by number.
const NEW: &str = "/contracts/new";

/// What whoever looks may do with contracts.
struct Desk {
    access: Access,
    /// Where they look after employees.
    sites: Vec<Site>,
}

impl Desk {
    /// Refused for those who look after nobody.
    async fn of(app: &App, visitor: &Visitor) -> Result<Self, Oops> {
        let access = Access::of(app, &visitor.person).await?;
        if !access.may_somewhere(Permission::Employees) {
            return Err(Oops::Forbidden);
        }
        let mut sites = Sites::of_app(app).list().await?;
        sites.retain(|site| access.may(Permission::Employees, site.id));
        Ok(Self { access, sites })
    }

    /// The contracts of a person that may be seen; refused where a manager has nothing to do with the person.
    async fn contracts(&self, app: &App, user_id: i64) -> Result<Vec<Contract>, Oops> {
        let mut contracts = Sites::of_app(app).contracts_of(user_id).await?;
        if self.access.is_owner() {
            return Ok(contracts);
        }
        contracts.retain(|one| one.deleted_at.is_none() && self.access.sees(one));
        if contracts.is_empty() { Err(Oops::Forbidden) } else { Ok(contracts) }
    }

    /// Whether a new contract may have a rate of its own, wherever it will count.
    fn may_rate(&self) -> bool {
        self.access.is_owner() || self.sites.iter().all(|site| self.access.may(Permission::Rates, site.id))
    }

    /// What a form says. A manager's contract counts somewhere: else nobody but owners would see it.
    fn read(&self, typed: &Fields) -> Result<AboutContract, Vec<&'static str>> {
        let about = view::read(typed, &self.sites)?;
        if about.sites.is_empty() && !self.access.is_owner() { Err(vec![view::SITES]) } else { Ok(about) }
    }
}

/// What a person's page shows of contracts, to owners.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, Oops> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let doors = Sites::of_app(app);
    let (contracts, sites) = tokio::try_join!(doors.contracts_of(person.id), doors.list())?;
    let language = viewer.language;
    let body = html! {
        @for contract in contracts.iter().filter(|one| one.deleted_at.is_none()) { (view::drawn(contract, &sites, true, language)) }
        @if sites.is_empty() { p.quiet { (text!(language, "cabinet-no-sites")) } }
        p { a.button.plain href={ "/people/" (person.id) "/contracts" } { (text!(language, "cabinet-contracts-edit")) } }
    };
    Ok(vec![Section { title: text!(language, "cabinet-contracts"), body }])
}

/// `GET /people/<id>/contracts`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn, Path(id): Path<i64>) -> Result<Response, Oops> {
    let desk = Desk::of(&app, &visitor).await?;
    page(&app, &visitor, &desk, id, Attempt::default()).await
}

/// `POST /people/<id>/contracts`.
pub async fn create(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let desk = Desk::of(&app, &visitor).await?;
    desk.contracts(&app, id).await?;
    let doors = Sites::of_app(&app).once(once(&visitor, &typed));
    let act = async |about| doors.create_contract(&visitor.person, id, about).await.map(drop);
    let went = carry_out(&visitor, typed, |typed| desk.read(typed), act).await?;
    answer(&app, &visitor, &desk, id, went).await
}

/// `GET /contracts/new`: for somebody who has none here yet.
pub async fn ask_whom(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, Oops> {
    let desk = Desk::of(&app, &visitor).await?;
    Ok(view::offering(&visitor, &desk, &Attempt::default()).into_response())
}

/// `POST /contracts/new`.
pub async fn offer(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let desk = Desk::of(&app, &visitor).await?;
    let whom = match typed.get(view::WHO).and_then(|who| Who::parse(who)) {
        Some(who) => app.people.verified(&who).await?.filter(|person| person.may(WORKERS)).map(|person| person.id),
        None => None,
    };
    let doors = Sites::of_app(&app).once(once(&visitor, &typed));
    let read = |typed: &Fields| match (whom, desk.read(typed)) {
        (Some(_), read) => read,
        (None, Ok(_)) => Err(vec![view::WHO]),
        (None, Err(bad)) => Err([vec![view::WHO], bad].concat()),
    };
    let act = async |about| doors.create_contract(&visitor.person, whom.unwrap_or_default(), about).await.map(drop);
    match (carry_out(&visitor, typed, read, act).await?, whom) {
        (Ok(()), Some(id)) => Ok(Redirect::to(&path(id)).into_response()),
        (Ok(()), None) => Ok(Redirect::to("/people").into_response()),
        (Err(attempt), _) => Ok((attempt.status(), view::offering(&visitor, &desk, &attempt)).into_response()),
    }
}

/// `POST /contracts/<id>`.
pub async fn edit(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let desk = Desk::of(&app, &visitor).await?;
    let (doors, version) = (Sites::of_app(&app), version_of(&typed));
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    // Sites that have no box, deleted ones among them, stay; so does a rate that somebody may not see.
    let had = contract.about.sites.iter().copied();
    let unseen: Vec<i64> = had.filter(|id| desk.sites.iter().all(|site| site.id != *id)).collect();
    let kept_rate = (!typed.contains_key(view::RATE)).then_some(contract.about.rate_kopecks);
    let act = async |mut about: AboutContract| {
        about.sites.extend(unseen);
        about.rate_kopecks = kept_rate.unwrap_or(about.rate_kopecks);
        doors.edit_contract(&visitor.person, id, version, about).await
    };
    let went = carry_out(&visitor, typed, |typed| desk.read(typed), act).await?;
    answer(&app, &visitor, &desk, contract.user_id, went).await
}

/// `POST /contracts/<id>/delete`.
pub async fn delete(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(id): Path<i64>,
    Form(typed): Form<Fields>,
) -> Result<Response, Oops> {
    let (doors, desk) = (Sites::of_app(&app), Desk::of(&app, &visitor).await?);
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    let act = async |version| doors.delete_contract(&visitor.person, id, version).await;
    let went = carry_out(&visitor, typed, seen, act).await?;
    answer(&app, &visitor, &desk, contract.user_id, went).await
}

/// `POST /contracts/<id>/restore`.
pub async fn restore(State(app): State<App>, Owner(visitor): Owner, Path(id): Path<i64>) -> Result<Response, Oops> {
    let (doors, desk) = (Sites::of_app(&app), Desk::of(&app, &visitor).await?);
    let contract = doors.contract(id).await?.ok_or(Oops::NotFound)?;
    let act = async |_| doors.restore_contract(&visitor.person, id).await;
    let went = carry_out(&visitor, Fields::new(), seen, act).await?;
    answer(&app, &visitor, &desk, contract.user_id, went).await
}

fn path(user_id: i64) -> String {
    format!("/people/{user_id}/contracts")
}

async fn answer(
    app: &App,
    visitor: &Visitor,
    desk: &Desk,
    user_id: i64,
    went: Result<(), Attempt>,
) -> Result<Response, Oops> {
    match went {
        Ok(()) => Ok(Redirect::to(&path(user_id)).into_response()),
        Err(attempt) => page(app, visitor, desk, user_id, attempt).await,
    }
}

async fn page(app: &App, visitor: &Visitor, desk: &Desk, id: i64, attempt: Attempt) -> Result<Response, Oops> {
    let contracts = desk.contracts(app, id).await?;
    let person = app.people.by_id(id).await?.ok_or(Oops::NotFound)?;
    Ok((attempt.status(), view::page(visitor, desk, &person, &contracts, &attempt)).into_response())
}
