//! The position of a site, set in the bot: staff send a location, coordinates or a link to a map.

use opora::prelude::*;

use super::{OwnerSites, SITE_POSITION, permitted};
use crate::application::App;
use crate::domain::{RefusalReason, WriteInTurn};
use crate::front::{self, menu_button, navigation};
use crate::person::{Permission, Person, SITE_STAFF};
use crate::sites::{self, ChangedBy, Position, Rights, SiteRefusal, read_position};
use crate::text;
use crate::texts::Language;

/// The button on the card of a site.
pub fn start_button(site_id: i64, language: Language) -> Button {
    Button::new(text!(language, "sites-position-button"), format!("{SITE_POSITION}{site_id}"))
}

pub async fn start(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::Stay) };
    match permitted(&turn.context::<App>(), &person, Permission::Edit, &press.rest).await? {
        Some(site) => Ok(Next::Go(OwnerSites::Position { site_id: site.id })),
        None => turn.refuse(SiteRefusal::NotAllowed.text(person.language)),
    }
}

pub async fn ask(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.say(Say::text(text!(language, "sites-position-ask")).buttons([navigation::navigation_row(language)]));
    Ok(())
}

pub async fn sent(turn: &mut Turn, site_id: i64, sent: Location) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::End) };
    set(turn, person, site_id, Position { latitude: sent.latitude, longitude: sent.longitude }).await
}

pub async fn typed(turn: &mut Turn, site_id: i64, typed: String) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::End) };
    match read_position(&typed) {
        Ok(position) => set(turn, person, site_id, position).await,
        Err(why) => turn.refuse(person.language.text(why.key())),
    }
}

/// Stores the position, if the person may still change the site.
async fn set(turn: &mut Turn, person: Person, site_id: i64, position: Position) -> Step<OwnerSites> {
    let (app, language) = (turn.context::<App>(), person.language);
    let Some(site) = permitted(&app, &person, Permission::Edit, &site_id.to_string()).await? else {
        return turn.refuse(SiteRefusal::NotAllowed.text(language));
    };
    if let Some(why) = turn.refusal().and_then(|refusal| SiteRefusal::parse(&refusal.0)) {
        return turn.refuse(why.text(language));
    }
    let (by, rights) =
        (ChangedBy { person: Some(person.id), at: turn.now() }, Rights::at(Permission::Edit, &[site_id]));
    turn.write(move |db| {
        Box::pin(async move {
            rights.check(db, &person).await?;
            sites::set_position(db, site_id, position, by).await
        })
    });
    sites::site_changed(site_id).iter().for_each(|event| event.publish_after(turn));
    let text = text!(language, "sites-position-set", site = site.about.name.as_str());
    turn.say(Say::text(text).buttons([[menu_button(language)]]));
    Ok(Next::End)
}
