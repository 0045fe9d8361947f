//! Opening and closing a site. Who closes one closes the own shift there first.

use opora::prelude::*;

use super::chat::{self, LIFE, Typed, last_words, last_words_and, refused, worker};
use super::closing::{CloseShift, Left};
use super::paging::{self, Page, Question, offset};
use super::{Happened, Shifts, Update, opening, working};
use crate::application::App;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{self, Site, Sites, Why};
use crate::{key, text};

pub const OPEN: &str = "site:open";
pub const CLOSE: &str = "site:close";
const SITE: &str = "site:is:";
const MORE: &str = "site:more:";

/// Where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "site_doors")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum SiteDoors {
    OpenWhich,
    Position {
        site_id: i64,
    },
    CloseWhich,
    /// Waits for the own shift to be closed.
    Closing {
        site_id: i64,
    },
}

pub fn dialogue() -> Dialogue<SiteDoors> {
    Dialogue::new()
        .start(button(OPEN), open)
        .start(button(CLOSE), close)
        .calls::<CloseShift>()
        .ask(SiteDoors::OPEN_WHICH, ask_open)
        .on(SiteDoors::OPEN_WHICH, button(SITE), open_this)
        .on(SiteDoors::OPEN_WHICH, button(MORE), more_to_open)
        .on(SiteDoors::OPEN_WHICH, button(chat::BACK), chat::back_to_menu)
        .ask(SiteDoors::POSITION, ask_position)
        .on(SiteDoors::POSITION, location(), position)
        .on(SiteDoors::POSITION, text(), typed)
        .ask(SiteDoors::CLOSE_WHICH, ask_close)
        .on(SiteDoors::CLOSE_WHICH, button(SITE), close_this)
        .on(SiteDoors::CLOSE_WHICH, button(MORE), more_to_close)
        .on(SiteDoors::CLOSE_WHICH, button(chat::BACK), chat::back_to_menu)
        .returned(SiteDoors::CLOSING, shift_is_closed)
        .life(LIFE)
        .timeout(timed_out)
}

async fn open(turn: &mut Turn, _: Press) -> Step<SiteDoors> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    if sites_that_are(&turn.context::<App>(), &person, false).await?.is_empty() {
        turn.say(last_words(text!(person.language, "shifts-no-site-to-open"), person.language));
        return Ok(Next::Stay);
    }
    Ok(Next::Go(SiteDoors::OpenWhich))
}

async fn close(turn: &mut Turn, _: Press) -> Step<SiteDoors> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    if sites_that_are(&turn.context::<App>(), &person, true).await?.is_empty() {
        turn.say(last_words(text!(person.language, "shifts-no-site-to-close"), person.language));
        return Ok(Next::Stay);
    }
    Ok(Next::Go(SiteDoors::CloseWhich))
}

async fn ask_open(turn: &mut Turn) -> Result<(), BoxError> {
    let question = which(turn, false, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn ask_close(turn: &mut Turn) -> Result<(), BoxError> {
    let question = which(turn, true, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more_to_open(turn: &mut Turn, press: Press) -> Step<SiteDoors> {
    let question = which(turn, false, offset(&press)).await?;
    paging::turn_page(turn, &press, question)
}

async fn more_to_close(turn: &mut Turn, press: Press) -> Step<SiteDoors> {
    let question = which(turn, true, offset(&press)).await?;
    paging::turn_page(turn, &press, question)
}

async fn which(turn: &mut Turn, is_open: bool, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let sites = sites_that_are(&turn.context::<App>(), &person, is_open).await?;
    let page = Page::of(&sites, offset);
    let row = |site: &Site| vec![Button::new(chat::caption(&site.about.name), format!("{SITE}{}", site.id))];
    let mut rows: Vec<_> = page.items.iter().map(row).collect();
    rows.extend(page.turns(MORE, person.language));
    rows.push(chat::way_out(person.language));
    let question = if is_open { key!("shifts-close-which") } else { key!("shifts-open-which") };
    Ok(Some((person.language.text(question), rows)))
}

/// On to the position, or to the open site where nobody knows its position: every one would do there.
async fn open_this(turn: &mut Turn, press: Press) -> Step<SiteDoors> {
    let Ok(site_id) = press.rest.parse() else { return Ok(Next::Again) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    match Sites::of_app(&turn.context::<App>()).site_of_worker(person.id, site_id).await? {
        Some(site) if site.about.position.is_none() => open_site(turn, &person, &site),
        Some(_) => Ok(Next::Go(SiteDoors::Position { site_id })),
        None => chat::give_up(turn, Why::NoContract, person.language),
    }
}

async fn ask_position(turn: &mut Turn, site_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some(site) = Sites::of_app(&turn.context::<App>()).site_of_worker(person.id, site_id).await? else {
        turn.say(last_words(Why::NoContract.words(person.language), person.language));
        return Ok(());
    };
    let words = text!(person.language, "shifts-open-site-position", site = site.about.name);
    chat::ask_position(turn, words, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, site_id: i64, sent: Location) -> Step<SiteDoors> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let Some(site) = Sites::of_app(&app).site_of_worker(person.id, site_id).await? else {
        return chat::give_up(turn, Why::NoContract, language);
    };
    if refused(turn).is_none() && chat::near(turn, &site, sent, language).is_none() {
        return Ok(Next::Stay);
    }
    turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
    open_site(turn, &person, &site)
}

/// Writes it, and says so.
fn open_site(turn: &mut Turn, person: &Person, site: &Site) -> Step<SiteDoors> {
    let (language, at, user_id, site_id) = (person.language, turn.now(), person.id, site.id);
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    turn.write_as(person, move |db| {
        Box::pin(async move {
            sites::works_at(db, user_id, site_id).await?;
            working::open_site(db, site_id, user_id, at).await
        })
    });
    chat::tell(turn, Update::new(Happened::SiteOpened, user_id).at(site_id));
    let begin = Button::raw(text!(language, "shifts-open-button"), opening::BEGIN);
    turn.say(last_words_and(text!(language, "shifts-site-opened", site = site.about.name.as_str()), [begin], language));
    Ok(Next::End)
}

async fn typed(turn: &mut Turn, _: i64, text: String) -> Step<SiteDoors> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed(turn, &text, language).await? {
        Typed::Back => Ok(Next::Go(SiteDoors::OpenWhich)),
        Typed::Menu => Ok(Next::End),
        Typed::SomethingElse => turn.refuse(text!(language, "shifts-position-wanted")),
    }
}

async fn close_this(turn: &mut Turn, press: Press) -> Step<SiteDoors> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at, user_id) = (turn.context::<App>(), person.language, turn.now(), person.id);
    let Ok(site_id) = press.rest.parse::<i64>() else { return Ok(Next::Again) };
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    let Some(site) = Sites::of_app(&app).site_of_worker(user_id, site_id).await? else {
        return chat::give_up(turn, Why::NoContract, language);
    };
    let shift = Shifts::of_app(&app).active_of(user_id).await?;
    if let Some(shift) = shift.filter(|shift| shift.site_id == site_id) {
        let closing = SiteDoors::Closing { site_id };
        return Ok(Next::go_and_call(closing, CloseShift::Review { shift_id: shift.id, closes_site: true }));
    }
    turn.write_as(&person, move |db| {
        Box::pin(async move {
            sites::works_at(db, user_id, site_id).await?;
            working::close_site(db, site_id, user_id, at).await
        })
    });
    chat::tell(turn, Update::new(Happened::SiteClosed, user_id).at(site_id));
    turn.say(last_words(text!(language, "shifts-site-closed", site = site.about.name), language));
    Ok(Next::End)
}

/// The shift closes the site with it, unless others still work there.
async fn shift_is_closed(turn: &mut Turn, site_id: i64, returned: Returned) -> Step<SiteDoors> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let left = returned.value::<Left>()?;
    if left == Some(Left::ByBack) {
        return Ok(Next::Go(SiteDoors::CloseWhich));
    }
    let own = Shifts::of_app(&app).active_of(person.id).await?.map_or(0, |shift| shift.id);
    if left == Some(Left::Closed) && Shifts::of_app(&app).works_somebody_else(site_id, own).await? {
        turn.say(last_words(Why::OthersWork.words(language), language));
    }
    Ok(Next::End)
}

async fn timed_out(turn: &mut Turn, state: SiteDoors) -> Step<SiteDoors> {
    match state {
        SiteDoors::OpenWhich | SiteDoors::Position { .. } => {
            chat::timed_out(turn, key!("shifts-open-site-button"), OPEN).await
        }
        SiteDoors::CloseWhich | SiteDoors::Closing { .. } => {
            chat::timed_out(turn, key!("shifts-close-site-button"), CLOSE).await
        }
    }
}

async fn sites_that_are(app: &App, person: &Person, is_open: bool) -> Result<Vec<Site>, BoxError> {
    let mut sites = Sites::of_app(app).of_worker(person.id).await?;
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let open = Shifts::of_app(app).openings(&ids).await?;
    sites.retain(|site| open.iter().any(|opening| opening.site_id == site.id) == is_open);
    Ok(sites)
}
