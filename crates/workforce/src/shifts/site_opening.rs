//! The dialogue that opens and closes a site. Closing a site closes the person's own shift there first.

use opora::prelude::*;

use super::chat::{self, EXPIRY, TypedKey, refused, worker};
use super::closing::{CloseResult, CloseShift};
use super::paging::{self, Page, Question, offset};
use super::{ShiftEvent, ShiftEventKind, Shifts, opening, site_access};
use crate::application::App;
use crate::front::navigation::final_message;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{Site, SiteRefusal, Sites};
use crate::{key, text};

pub const OPEN: &str = "site:open";
pub const CLOSE: &str = "site:close";
const SITE: &str = "site:is:";
const MORE: &str = "site:more:";

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "site_doors")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OpenCloseSite {
    OpenWhich,
    Position {
        site_id: i64,
    },
    CloseWhich,
    /// Waits until the person's own shift is closed.
    Closing {
        site_id: i64,
    },
}

pub fn dialogue() -> Dialogue<OpenCloseSite> {
    Dialogue::new()
        .start(button(OPEN), open)
        .start(button(CLOSE), close)
        .calls::<CloseShift>()
        .ask(OpenCloseSite::OPEN_WHICH, ask_open)
        .on(OpenCloseSite::OPEN_WHICH, button(SITE), open_this)
        .on(OpenCloseSite::OPEN_WHICH, button(MORE), more_to_open)
        .on(OpenCloseSite::OPEN_WHICH, button(chat::BACK), chat::back_to_menu)
        .ask(OpenCloseSite::POSITION, ask_position)
        .on(OpenCloseSite::POSITION, location(), position)
        .on(OpenCloseSite::POSITION, text(), typed)
        .ask(OpenCloseSite::CLOSE_WHICH, ask_close)
        .on(OpenCloseSite::CLOSE_WHICH, button(SITE), close_this)
        .on(OpenCloseSite::CLOSE_WHICH, button(MORE), more_to_close)
        .on(OpenCloseSite::CLOSE_WHICH, button(chat::BACK), chat::back_to_menu)
        .on_returned(OpenCloseSite::CLOSING, shift_is_closed)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

async fn open(turn: &mut Turn, _: Press) -> Step<OpenCloseSite> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    if site_access::openable(&turn.context::<App>(), &person, turn.now()).await?.is_empty() {
        return nothing_to_do(turn, &person, key!("shifts-no-site-to-open")).await;
    }
    Ok(Next::Go(OpenCloseSite::OpenWhich))
}

async fn close(turn: &mut Turn, _: Press) -> Step<OpenCloseSite> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    if site_access::closable(&turn.context::<App>(), &person).await?.is_empty() {
        return nothing_to_do(turn, &person, key!("shifts-no-site-to-close")).await;
    }
    Ok(Next::Go(OpenCloseSite::CloseWhich))
}

/// Says why there is no site to open or to close: there is no contract, or all sites are open or closed already.
async fn nothing_to_do(turn: &mut Turn, person: &Person, why: &'static str) -> Step<OpenCloseSite> {
    let has_sites = !Sites::of_app(&turn.context::<App>()).sites_of_worker(person.id).await?.is_empty();
    let why = if has_sites { why } else { key!("shifts-no-sites") };
    chat::show_final(turn, person.language.text(why), person.language);
    Ok(Next::Stay)
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

async fn more_to_open(turn: &mut Turn, press: Press) -> Step<OpenCloseSite> {
    let question = which(turn, false, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn more_to_close(turn: &mut Turn, press: Press) -> Step<OpenCloseSite> {
    let question = which(turn, true, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn which(turn: &mut Turn, is_open: bool, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let app = turn.context::<App>();
    let sites = if is_open {
        site_access::closable(&app, &person).await?
    } else {
        site_access::openable(&app, &person, turn.now()).await?
    };
    let page = Page::new(&sites, offset);
    let row = |site: &Site| vec![Button::new(chat::caption(&site.about.name), format!("{SITE}{}", site.id))];
    let mut rows: Vec<_> = page.items.iter().map(row).collect();
    rows.extend(page.page_buttons(MORE, person.language));
    rows.push(chat::navigation_row(person.language));
    let question = if is_open { key!("shifts-close-which") } else { key!("shifts-open-which") };
    Ok(Some((person.language.text(question), rows)))
}

/// Asks for the position. If the site has none, opens it right away.
async fn open_this(turn: &mut Turn, press: Press) -> Step<OpenCloseSite> {
    let Ok(site_id) = press.rest.parse() else { return Ok(Next::AskAgain) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    match site_to_open(turn, &person, site_id).await? {
        Some(site) if site.about.position.is_none() => open_site(turn, &person, &site),
        Some(_) => Ok(Next::Go(OpenCloseSite::Position { site_id })),
        None => chat::give_up(turn, SiteRefusal::NoContract, person.language),
    }
}

async fn ask_position(turn: &mut Turn, site_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some(site) = site_to_open(turn, &person, site_id).await? else {
        chat::show_final(turn, SiteRefusal::NoContract.text(person.language), person.language);
        return Ok(());
    };
    let text = text!(person.language, "shifts-open-site-position", site = site.about.name);
    chat::ask_position(turn, text, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, site_id: i64, sent: Location) -> Step<OpenCloseSite> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let language = person.language;
    let Some(site) = site_to_open(turn, &person, site_id).await? else {
        return chat::give_up_position(turn, SiteRefusal::NoContract, language);
    };
    if refused(turn).is_none() && chat::accepted_position(turn, &site, sent, language).is_none() {
        return Ok(Next::Stay);
    }
    turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
    open_site(turn, &person, &site)
}

/// Opens the site and says so.
fn open_site(turn: &mut Turn, person: &Person, site: &Site) -> Step<OpenCloseSite> {
    let (language, at, user_id) = (person.language, turn.now(), person.id);
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    let opened = site.clone();
    turn.write_as(person, move |db| Box::pin(async move { site_access::open(db, &opened, user_id, at).await }));
    chat::publish(turn, ShiftEvent::new(ShiftEventKind::SiteOpened, user_id).at(site.id));
    let begin = Button::raw(text!(language, "shifts-open-button"), opening::BEGIN);
    let text = text!(language, "shifts-site-opened", site = site.about.name.as_str());
    chat::show_final_with(turn, text, [begin], language);
    Ok(Next::End)
}

async fn typed(turn: &mut Turn, _: i64, text: String) -> Step<OpenCloseSite> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed_key(turn, &text, language).await? {
        TypedKey::Back => Ok(Next::Go(OpenCloseSite::OpenWhich)),
        TypedKey::Menu => Ok(Next::End),
        TypedKey::SomethingElse => chat::refuse_position(turn, text!(language, "shifts-position-wanted"), language),
    }
}

async fn close_this(turn: &mut Turn, press: Press) -> Step<OpenCloseSite> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at, user_id) = (turn.context::<App>(), person.language, turn.now(), person.id);
    let Ok(site_id) = press.rest.parse::<i64>() else { return Ok(Next::AskAgain) };
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    let closable = site_access::closable(&app, &person).await?;
    let Some(site) = closable.into_iter().find(|site| site.id == site_id) else {
        return close_nothing(turn, &person, site_id).await;
    };
    let shift = Shifts::of_app(&app).active_of(user_id).await?;
    if let Some(shift) = shift.filter(|shift| shift.site_id == site_id) {
        let closing = OpenCloseSite::Closing { site_id };
        return Ok(Next::go_and_call(closing, CloseShift::Review { shift_id: shift.id, closes_site: true }));
    }
    let closed = site.clone();
    turn.write_as(&person, move |db| Box::pin(async move { site_access::close(db, &closed, user_id, at).await }));
    chat::publish(turn, ShiftEvent::new(ShiftEventKind::SiteClosed, user_id).at(site_id));
    chat::show_final(turn, text!(language, "shifts-site-closed", site = site.about.name), language);
    Ok(Next::End)
}

/// Says why a site cannot be closed: it is closed already, or it is none of the person's.
async fn close_nothing(turn: &mut Turn, person: &Person, site_id: i64) -> Step<OpenCloseSite> {
    let own = Sites::of_app(&turn.context::<App>()).site_of_worker_today(person.id, site_id).await?;
    let why = if own.is_some() { SiteRefusal::SiteClosed } else { SiteRefusal::NoContract };
    chat::give_up(turn, why, person.language)
}

/// Closing the shift closes the site too, unless other people still work there.
async fn shift_is_closed(turn: &mut Turn, site_id: i64, returned: Returned) -> Step<OpenCloseSite> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let result = returned.value::<CloseResult>()?;
    if result == Some(CloseResult::ByBack) {
        return Ok(Next::Go(OpenCloseSite::CloseWhich));
    }
    let own = Shifts::of_app(&app).active_of(person.id).await?.map_or(0, |shift| shift.id);
    if result == Some(CloseResult::Closed) && Shifts::of_app(&app).has_other_active_shift(site_id, own).await? {
        turn.say(final_message(SiteRefusal::OthersWork.text(language), language));
    }
    Ok(Next::End)
}

/// Whether the dialogue waits for a position, with a keyboard on the screen.
pub fn shows_keyboard(turn: &Turn) -> bool {
    matches!(turn.draft::<OpenCloseSite>(), Some(OpenCloseSite::Position { .. }))
}

async fn cancelled(turn: &mut Turn, state: OpenCloseSite) -> Result<(), BoxError> {
    match state {
        OpenCloseSite::OpenWhich => chat::say_cancelled(turn, key!("shifts-open-site-stopped")).await,
        OpenCloseSite::Position { .. } => {
            chat::say_cancelled_with_keyboard(turn, key!("shifts-open-site-stopped")).await
        }
        OpenCloseSite::CloseWhich | OpenCloseSite::Closing { .. } => {
            chat::say_cancelled(turn, key!("shifts-close-site-stopped")).await
        }
    }
}

async fn timed_out(turn: &mut Turn, state: OpenCloseSite) -> Step<OpenCloseSite> {
    match state {
        OpenCloseSite::OpenWhich | OpenCloseSite::Position { .. } => {
            chat::timed_out(turn, key!("shifts-open-site-button"), OPEN).await
        }
        OpenCloseSite::CloseWhich | OpenCloseSite::Closing { .. } => {
            chat::timed_out(turn, key!("shifts-close-site-button"), CLOSE).await
        }
    }
}

/// The site of a button, if the person may open it now. If it is open already, the commit says so.
async fn site_to_open(turn: &mut Turn, person: &Person, site_id: i64) -> Result<Option<Site>, BoxError> {
    let sites = site_access::permitted_to_open(&turn.context::<App>(), person, turn.now()).await?;
    Ok(sites.into_iter().find(|site| site.id == site_id))
}
