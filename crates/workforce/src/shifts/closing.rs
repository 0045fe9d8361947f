//! Closing a shift: what was done, the position unless nobody knows that of the site, and then shift, plan and amounts in one
//! commit.

use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{self, LIFE, Typed, last_words, refused, worker};
use super::marking::MyTasks;
use super::working::{self, End};
use super::{ClosedBy, Happened, Shift, Shifts, Update, tasks_of};
use crate::application::App;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{Position, Site, Sites, Why};
use crate::{key, text};

pub const BEGIN: &str = "close:begin";
const TASKS: &str = "close:tasks";
const GO_ON: &str = "close:go";

/// Where closing stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "close_shift")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CloseShift {
    /// What was done: go on, or change it first?
    Review {
        shift_id: i64,
        /// It was asked for in order to close the site.
        closes_site: bool,
    },
    Position {
        shift_id: i64,
    },
}

/// What whoever called this hears of its end; nothing where somebody has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    Closed,
    /// By Back from the first question.
    ByBack,
}

pub fn dialogue() -> Dialogue<CloseShift> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .calls::<MyTasks>()
        .ask(CloseShift::REVIEW, ask_review)
        .on(CloseShift::REVIEW, button(TASKS), tasks)
        .on(CloseShift::REVIEW, button(GO_ON), go_on)
        .on(CloseShift::REVIEW, button(chat::BACK), back)
        .returned(CloseShift::REVIEW, tasks_are_marked)
        .ask(CloseShift::POSITION, ask_position)
        .on(CloseShift::POSITION, location(), position)
        .on(CloseShift::POSITION, text(), typed)
        .life(LIFE)
        .timeout(timed_out)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let Some((shift, _)) = chat::open_shift(turn, &person).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(CloseShift::Review { shift_id: shift.id, closes_site: false }))
}

async fn ask_review(turn: &mut Turn, shift_id: i64, _: bool) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), person.language);
    if found(&app, &person, shift_id).await?.is_none() {
        turn.say(last_words(Why::Gone.words(language), language));
        return Ok(());
    }
    let tasks = tasks_of(app.domain.read(), shift_id).await?;
    let mut rows = vec![vec![Button::new(text!(language, "shifts-go-on-button"), GO_ON)]];
    let words = if tasks.is_empty() {
        text!(language, "shifts-close-review")
    } else {
        rows.insert(0, vec![Button::new(text!(language, "shifts-change-tasks-button"), TASKS)]);
        let (title, question) = (text!(language, "shifts-tasks"), text!(language, "shifts-close-review"));
        chat::fit_between(&format!("{title}\n"), &chat::task_lines(&tasks, language), &format!("\n\n{question}"))
    };
    rows.push(chat::way_out(language));
    turn.say(Say::text(words).buttons(rows));
    Ok(())
}

/// To the question which site is closed, or to the menu.
async fn back(turn: &mut Turn, _: i64, closes_site: bool, press: Press) -> Step<CloseShift> {
    if !closes_site {
        return chat::back_to_menu(turn, press).await;
    }
    turn.give_back(&Left::ByBack);
    Ok(Next::End)
}

async fn tasks(_: &mut Turn, shift_id: i64, _: bool, _: Press) -> Step<CloseShift> {
    Ok(Next::call(MyTasks::list(shift_id, true)))
}

async fn tasks_are_marked(turn: &mut Turn, shift_id: i64, _: bool, returned: Returned) -> Step<CloseShift> {
    // Who left the list by Back wants to look again.
    match returned.value::<bool>()? {
        Some(true) => reviewed(turn, shift_id).await,
        _ => Ok(Next::Again),
    }
}

async fn go_on(turn: &mut Turn, shift_id: i64, _: bool, _: Press) -> Step<CloseShift> {
    reviewed(turn, shift_id).await
}

/// On to the position, or to the end where nobody knows the site's: every position would do there.
async fn reviewed(turn: &mut Turn, shift_id: i64) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let app = turn.context::<App>();
    let Some((shift, site)) = found(&app, &person, shift_id).await? else {
        return chat::give_up(turn, Why::Gone, person.language);
    };
    if site.about.position.is_some() {
        return Ok(Next::Go(CloseShift::Position { shift_id }));
    }
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, person.language);
    }
    close(turn, &app, &person, shift, None).await?;
    turn.give_back(&Left::Closed);
    Ok(Next::End)
}

async fn ask_position(turn: &mut Turn, shift_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some((_, site)) = found(&turn.context::<App>(), &person, shift_id).await? else { return Ok(()) };
    let words = text!(person.language, "shifts-close-position", site = site.about.name);
    chat::ask_position(turn, words, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, shift_id: i64, sent: Location) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let Some((shift, site)) = found(&app, &person, shift_id).await? else {
        return chat::give_up(turn, Why::Gone, language);
    };
    if let Some(why) = refused(turn) {
        turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
        return chat::give_up(turn, why, language);
    }
    let Some(position) = chat::near(turn, &site, sent, language) else { return Ok(Next::Stay) };
    let was = (position, chat::sent_at(turn, &sent));
    close(turn, &app, &person, shift, Some(was)).await?;
    turn.give_back(&Left::Closed);
    Ok(Next::End)
}

/// Closes the shift. The turn says that it is over, which also holds while notices have to wait. What it came to is a notice
/// of the same commit, made of the amounts that were written. `was` is the last position and its time, at sites that want one.
async fn close(
    turn: &mut Turn,
    app: &App,
    person: &Person,
    shift: Shift,
    was: Option<(Position, Millis)>,
) -> Result<(), BoxError> {
    let at = turn.now();
    let (position, was_at) = was.unzip();
    let words = text!(person.language, "shifts-closing");
    turn.say(match position {
        Some(_) => {
            let thanks = text!(person.language, "shifts-position-taken");
            Say::text(format!("{thanks} {words}")).remove_keyboard()
        }
        None => last_words(words, person.language),
    });
    let ended_at = was_at.unwrap_or(at).max(shift.started_at);
    let mandatory_task_penalty = Shifts::of_app(app).mandatory_task_penalty().await?;
    let (shift_id, closed_by) = (shift.id, ClosedBy::Person);
    let end = End { shift_id, version: None, position, closed_by, ended_at, mandatory_task_penalty, at };
    turn.write_as(person, move |db| Box::pin(working::close_own(db, end)));
    chat::tell(turn, Update::of_shift(Happened::ShiftClosed, shift.id, person.id).at(shift.site_id));
    Ok(())
}

async fn typed(turn: &mut Turn, _: i64, text: String) -> Step<CloseShift> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed(turn, &text, language).await? {
        Typed::Back => Ok(Next::Back),
        Typed::Menu => Ok(Next::End),
        Typed::SomethingElse => turn.refuse(text!(language, "shifts-position-wanted")),
    }
}

async fn timed_out(turn: &mut Turn, _: CloseShift) -> Step<CloseShift> {
    chat::timed_out(turn, key!("shifts-close-button"), BEGIN).await
}

/// The person's own shift with its site; none where it is another person's.
async fn found(app: &App, person: &Person, shift_id: i64) -> Result<Option<(Shift, Site)>, BoxError> {
    let shift = Shifts::of_app(app).of(shift_id).await?.filter(|shift| shift.user_id == person.id);
    let Some(shift) = shift else { return Ok(None) };
    let site = Sites::of_app(app).of(shift.site_id).await?;
    Ok(site.map(|site| (shift, site)))
}
