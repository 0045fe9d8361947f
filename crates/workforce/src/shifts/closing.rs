//! The dialogue that closes a shift: review of tasks, then the position if the site has one. One commit writes the
//! shift, its plan and the adjustments.

use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{self, EXPIRY, TypedKey, refused, worker};
use super::marking::MyTasks;
use super::working::{self, ShiftEnd};
use super::{ClosedBy, Shift, ShiftEvent, ShiftEventKind, Shifts, tasks_of, undone_tasks};
use crate::application::App;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{Position, Site, SiteRefusal, Sites};
use crate::{key, text};

pub const BEGIN: &str = "close:begin";
const TASKS: &str = "close:tasks";
const GO_ON: &str = "close:go";

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "close_shift")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CloseShift {
    /// Shows the tasks and asks whether to continue.
    Review {
        shift_id: i64,
        /// Whether the person wants to close the site.
        closes_site: bool,
    },
    Position {
        shift_id: i64,
    },
}

/// The result for a calling dialogue; none if the person gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CloseResult {
    Closed,
    /// The person pressed Back at the first question.
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
        .on_returned(CloseShift::REVIEW, tasks_are_marked)
        .ask(CloseShift::POSITION, ask_position)
        .on(CloseShift::POSITION, location(), position)
        .on(CloseShift::POSITION, text(), typed)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let Some((shift, _)) = chat::open_shift(turn, &person).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(CloseShift::Review { shift_id: shift.id, closes_site: false }))
}

async fn ask_review(turn: &mut Turn, shift_id: i64, _: bool) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), person.language);
    if own_shift(&app, &person, shift_id).await?.is_none() {
        chat::show_final(turn, SiteRefusal::Gone.text(language), language);
        return Ok(());
    }
    let tasks = tasks_of(app.domain.read(), shift_id).await?;
    let penalty = Shifts::of_app(&app).mandatory_task_penalty().await?;
    let undone = undone_tasks::lines(&tasks, penalty, language);
    let (question, go_on) = if undone.is_empty() {
        (text!(language, "shifts-close-review"), text!(language, "shifts-go-on-button"))
    } else {
        let title = text!(language, "shifts-close-undone");
        let question = text!(language, "shifts-close-anyway");
        (format!("{title}\n{}\n\n{question}", undone.join("\n")), text!(language, "shifts-close-anyway-button"))
    };
    let mut rows = vec![vec![Button::new(go_on, GO_ON)]];
    let text = if tasks.is_empty() {
        question
    } else {
        rows.insert(0, vec![Button::new(text!(language, "shifts-change-tasks-button"), TASKS)]);
        let title = text!(language, "shifts-tasks");
        chat::fit_between(
            &format!("{title}\n"),
            &chat::task_lines(&tasks, penalty, language),
            &format!("\n\n{question}"),
        )
    };
    rows.push(chat::navigation_row(language));
    chat::show(turn, text, rows);
    Ok(())
}

/// Returns to the choice of a site, or to the menu.
async fn back(turn: &mut Turn, _: i64, closes_site: bool, press: Press) -> Step<CloseShift> {
    if !closes_site {
        return chat::back_to_menu(turn, press).await;
    }
    turn.set_return_value(&CloseResult::ByBack);
    Ok(Next::End)
}

async fn tasks(_: &mut Turn, shift_id: i64, _: bool, _: Press) -> Step<CloseShift> {
    Ok(Next::call(MyTasks::list(shift_id, true)))
}

async fn tasks_are_marked(turn: &mut Turn, shift_id: i64, _: bool, returned: Returned) -> Step<CloseShift> {
    // Back in the list of tasks returns to the review.
    match returned.value::<bool>()? {
        Some(true) => reviewed(turn, shift_id).await,
        _ => Ok(Next::AskAgain),
    }
}

async fn go_on(turn: &mut Turn, shift_id: i64, _: bool, _: Press) -> Step<CloseShift> {
    reviewed(turn, shift_id).await
}

/// Asks for the position. If the site has none, closes the shift right away.
async fn reviewed(turn: &mut Turn, shift_id: i64) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let app = turn.context::<App>();
    let Some((shift, site)) = own_shift(&app, &person, shift_id).await? else {
        return chat::give_up(turn, SiteRefusal::Gone, person.language);
    };
    if site.about.position.is_some() {
        return Ok(Next::Go(CloseShift::Position { shift_id }));
    }
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, person.language);
    }
    close(turn, &app, &person, shift, None).await?;
    turn.set_return_value(&CloseResult::Closed);
    Ok(Next::End)
}

async fn ask_position(turn: &mut Turn, shift_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some((_, site)) = own_shift(&turn.context::<App>(), &person, shift_id).await? else { return Ok(()) };
    let text = text!(person.language, "shifts-close-position", site = site.about.name);
    chat::ask_position(turn, text, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, shift_id: i64, sent: Location) -> Step<CloseShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let Some((shift, site)) = own_shift(&app, &person, shift_id).await? else {
        return chat::give_up_position(turn, SiteRefusal::Gone, language);
    };
    if let Some(why) = refused(turn) {
        return chat::give_up_position(turn, why, language);
    }
    let Some(position) = chat::accepted_position(turn, &site, sent, language) else { return Ok(Next::Stay) };
    let last_position = (position, chat::sent_at(turn, &sent));
    close(turn, &app, &person, shift, Some(last_position)).await?;
    turn.set_return_value(&CloseResult::Closed);
    Ok(Next::End)
}

/// Closes the shift. The turn says that it is over, so the person knows it even if notices are delayed. The summary is
/// a notice of the same commit. `last_position` is the position with its time, at sites that need one.
async fn close(
    turn: &mut Turn,
    app: &App,
    person: &Person,
    shift: Shift,
    last_position: Option<(Position, Millis)>,
) -> Result<(), BoxError> {
    let at = turn.now();
    let (position, position_at) = last_position.unzip();
    let text = text!(person.language, "shifts-closing");
    if position.is_some() {
        let thanks = text!(person.language, "shifts-position-taken");
        turn.say(Say::text(format!("{thanks} {text}")).remove_keyboard());
    } else {
        chat::show_final(turn, text, person.language);
    }
    let ended_at = position_at.unwrap_or(at).max(shift.started_at);
    let mandatory_task_penalty = Shifts::of_app(app).mandatory_task_penalty().await?;
    let (shift_id, closed_by) = (shift.id, ClosedBy::Person);
    let end = ShiftEnd { shift_id, version: None, position, closed_by, ended_at, mandatory_task_penalty, at };
    turn.write_as(person, move |db| Box::pin(working::close_own(db, end)));
    chat::publish(turn, ShiftEvent::of_shift(ShiftEventKind::ShiftClosed, shift.id, person.id).at(shift.site_id));
    Ok(())
}

async fn typed(turn: &mut Turn, _: i64, text: String) -> Step<CloseShift> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed_key(turn, &text, language).await? {
        TypedKey::Back => Ok(Next::Back),
        TypedKey::Menu => Ok(Next::End),
        TypedKey::SomethingElse => chat::refuse_position(turn, text!(language, "shifts-position-wanted"), language),
    }
}

/// Whether the dialogue waits for a position, with a keyboard on the screen.
pub fn shows_keyboard(turn: &Turn) -> bool {
    matches!(turn.draft::<CloseShift>(), Some(CloseShift::Position { .. }))
}

async fn cancelled(turn: &mut Turn, state: CloseShift) -> Result<(), BoxError> {
    match state {
        CloseShift::Review { closes_site: false, .. } => chat::say_cancelled(turn, key!("shifts-close-stopped")).await,
        CloseShift::Review { closes_site: true, .. } => {
            chat::say_cancelled(turn, key!("shifts-close-both-stopped")).await
        }
        CloseShift::Position { .. } => chat::say_cancelled_with_keyboard(turn, key!("shifts-close-stopped")).await,
    }
}

async fn timed_out(turn: &mut Turn, _: CloseShift) -> Step<CloseShift> {
    chat::timed_out(turn, key!("shifts-close-button"), BEGIN).await
}

/// The person's own shift with its site; None for another person's shift.
async fn own_shift(app: &App, person: &Person, shift_id: i64) -> Result<Option<(Shift, Site)>, BoxError> {
    let shift = Shifts::of_app(app).shift(shift_id).await?.filter(|shift| shift.user_id == person.id);
    let Some(shift) = shift else { return Ok(None) };
    let site = Sites::of_app(app).site(shift.site_id).await?;
    Ok(site.map(|site| (shift, site)))
}
