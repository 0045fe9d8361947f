//! After an approval in the bot: the owner chooses a site, and the person gets a contract there.

use opora::prelude::*;
use opora::telegram::Target;

use super::deciding::{self, Deciding};
use super::registrations::{self, Approval};
use crate::application::App;
use crate::domain::RefusalReason;
use crate::front;
use crate::front::navigation::final_message;
use crate::people::WriteAs;
use crate::person::{OWNERS, Person, Status};
use crate::sites::{ChangedBy, Site, SiteRefusal, Sites, contract_changed};
use crate::text;
use crate::texts::Language;

/// With the ids of person and site.
pub const GIVE: &str = "reg:contract:";
/// Sites offered; a larger business gives contracts on the page.
const MAX_SITES: usize = 20;

/// Says that a person was approved, and offers the sites for a contract.
pub async fn offer(turn: &mut Turn, approved: String, person: &Person, language: Language) -> Result<(), BoxError> {
    let sites = Sites::of_app(&turn.context::<App>()).list().await?;
    if sites.is_empty() {
        turn.say(final_message(approved, language));
        return Ok(());
    }
    let data = |site: &Site| format!("{GIVE}{}:{}", person.id, site.id);
    let mut rows: Vec<_> = sites
        .iter()
        .take(MAX_SITES)
        .map(|site| vec![Button::raw(front::text_limits::caption(&site.about.name), data(site))])
        .collect();
    rows.push(vec![front::menu_button(language)]);
    let text = format!("{approved}\n\n{}", text!(language, "registration-which-site"));
    turn.say(Say::text(front::text_limits::fit(text)).buttons(rows));
    Ok(())
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
    let (person, site) = tokio::try_join!(app.people.by_id(person), sites.site(site))?;
    let person = person.filter(|person| person.status == Status::Verified);
    Ok(person.zip(site.filter(|site| site.deleted_at.is_none())))
}
