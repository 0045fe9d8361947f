//! After an approval in the bot: the owner chooses a site, and the person gets a contract there.

use opora::prelude::*;
use opora::telegram::Target;
use sea_orm::DbErr;

use super::deciding::{self, Deciding};
use super::registrations::{self, Approval};
use crate::application::App;
use crate::domain::RefusalReason;
use crate::front::navigation::final_message;
use crate::front::{self, text_limits};
use crate::people::WriteAs;
use crate::person::{OWNERS, Person, Status};
use crate::shifts::paging::{self, Page};
use crate::sites::{ChangedBy, Site, SiteRefusal, Sites, contract_changed};
use crate::text;
use crate::texts::Language;

/// With the ids of person and site.
pub const GIVE: &str = "reg:contract:";
/// With the id of the person and the offset of a page of sites.
pub const PAGE: &str = "reg:sites:";

/// Says that a person was approved, and offers the sites for a contract.
pub async fn offer(turn: &mut Turn, approved: String, person: &Person, language: Language) -> Result<(), BoxError> {
    let sites = Sites::of_app(&turn.context::<App>()).list().await?;
    if sites.is_empty() {
        turn.say(final_message(approved, language));
        return Ok(());
    }
    let (text, rows) = question(&approved, person.id, &Page::new(&sites, 0), language);
    turn.say(Say::text(text_limits::fit(text)).buttons(rows));
    Ok(())
}

/// Shows another page of sites in place of the one before.
pub async fn turn_page(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), decider.language);
    let ids = press.rest.split_once(':').and_then(|(person, at)| Some((person.parse().ok()?, at.parse().ok()?)));
    let person = match ids {
        Some((person, at)) => member(&app, person).await?.map(|person| (person, at)),
        None => None,
    };
    let Some((person, offset)) = person else {
        return turn.refuse(text!(language, "registration-out-of-date-toast"));
    };
    let sites = Sites::of_app(&app).list().await?;
    let approved = text!(language, "registration-approved-by-you", name = person.full_name.as_str());
    paging::turn_page(turn, Some(question(&approved, person.id, &Page::new(&sites, offset), language)))
}

/// Asks at which site the person will work.
fn question(approved: &str, person_id: i64, page: &Page<'_, Site>, language: Language) -> (String, Vec<Vec<Button>>) {
    let data = |site: &Site| format!("{GIVE}{person_id}:{}", site.id);
    let choice = |site: &Site| vec![Button::raw(text_limits::caption(&site.about.name), data(site))];
    let mut rows: Vec<_> = page.items.iter().map(choice).collect();
    rows.extend(page.page_buttons(&format!("{PAGE}{person_id}:"), language));
    rows.push(vec![front::menu_button(language)]);
    (format!("{approved}\n\n{}", text!(language, "registration-which-site")), rows)
}

/// Gives the contract. Refused in the commit if the person has one there, or the site is gone.
pub async fn give(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), decider.language);
    if let Some(why) = turn.refusal().and_then(|refusal| SiteRefusal::parse(&refusal.0)) {
        return turn.refuse(why.text(language));
    }
    let Some((person, site)) = chosen(&app, &press.rest).await? else {
        return turn.refuse(text!(language, "registration-out-of-date-toast"));
    };
    let name = site.about.name.clone();
    let said = text!(language, "registration-contract-given", name = person.full_name.as_str(), site = name.as_str());
    match press.message_id {
        Some(id) => turn.edit(Edit::text(Target::from(id), said).buttons([[front::menu_button(language)]])),
        None => turn.say(final_message(said, language)),
    }
    let next = deciding::next_step(&[name], person.language);
    let buttons = [[deciding::plan_button(person.language)], [front::menu_button(person.language)]];
    turn.say_to(person.telegram_id, Say::text(next).buttons(buttons));
    for event in contract_changed(person.id, &[site.id]) {
        event.publish_after(turn);
    }
    let approval = Approval { sites: vec![site.id], ..Approval::default() };
    let (user_id, by) = (person.id, ChangedBy { person: Some(decider.id), at: turn.now() });
    turn.write_as(&decider, move |db| Box::pin(registrations::give_contract(db, user_id, approval, by)));
    Ok(Next::Stay)
}

/// The member and the site of a button; none if either is gone.
async fn chosen(app: &App, data: &str) -> Result<Option<(Person, Site)>, BoxError> {
    let Some((person, site)) = data.split_once(':') else { return Ok(None) };
    let (Ok(person), Ok(site)) = (person.parse::<i64>(), site.parse::<i64>()) else { return Ok(None) };
    let sites = Sites::of_app(app);
    let (person, site) = tokio::try_join!(member(app, person), sites.site(site))?;
    Ok(person.zip(site.filter(|site| site.deleted_at.is_none())))
}

/// The person with this id, if the person has access.
async fn member(app: &App, id: i64) -> Result<Option<Person>, DbErr> {
    Ok(app.people.by_id(id).await?.filter(|person| person.status == Status::Verified))
}
