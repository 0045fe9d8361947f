//! The dialogue "My tasks": mark and unmark tasks, send photos. Each change commits with its turn.
//!
//! Closing a shift calls this dialogue as a child.

use opora::prelude::*;

use super::chat::{self, EXPIRY, refused, worker};
use super::working::{self, Proof};
use super::{MediumKind, ShiftEvent, ShiftEventKind, ShiftTask, Shifts, closing, tasks_of};
use crate::application::App;
use crate::attachments;
use crate::money::Money;
use crate::people::WriteAs;
use crate::sites::{MAX_TASKS, SiteRefusal};
use crate::texts::Language;
use crate::{key, text};

pub const BEGIN: &str = "tasks:mine";
const DONE: &str = "task:done:";
const UNDO: &str = "task:undo:";
const PHOTO: &str = "task:photo:";
const READY: &str = "tasks:ready";
/// Telegram's name for a round video.
const NOTE: &str = "video_note";
/// Telegram allows a hundred buttons under a message; three are needed for navigation.
const MAX_BUTTONS: usize = 97;
const _: () = assert!(MAX_TASKS < MAX_BUTTONS as u64);

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "my_tasks")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum MyTasks {
    List(TaskList),
    /// Waits for a photo, a video or a file.
    Media(MediaWanted),
}

/// The tasks of a shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    shift_id: i64,
    /// Whether the dialogue was called by closing a shift.
    is_closing: bool,
    /// The media of this turn, which the list cannot read before the commit.
    attached: Option<Attached>,
}

/// The task that the person sends media for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaWanted {
    shift_id: i64,
    task_id: i64,
    is_closing: bool,
}

/// Media that were just sent for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    task_id: i64,
    /// The number of media including them.
    media_count: i64,
}

/// A sent file, with its size as Telegram reports it.
struct Sent {
    proof: Proof,
    size: Option<u64>,
}

impl MyTasks {
    pub const fn list(shift_id: i64, is_closing: bool) -> Self {
        Self::List(TaskList { shift_id, is_closing, attached: None })
    }
}

pub fn dialogue() -> Dialogue<MyTasks> {
    attachments::handle_all_downloads(Dialogue::new())
        .start(button(BEGIN), begin)
        .ask(MyTasks::LIST, ask_list)
        .on(MyTasks::LIST, button(DONE), done)
        .on(MyTasks::LIST, button(UNDO), undo)
        .on(MyTasks::LIST, button(PHOTO), photo_wanted)
        .on(MyTasks::LIST, button(READY), ready)
        .ask(MyTasks::MEDIA, ask_media)
        .on(MyTasks::MEDIA, photo(), photo_sent)
        .on(MyTasks::MEDIA, document(), document_sent)
        .on(MyTasks::MEDIA, media(), video_sent)
        .on(MyTasks::MEDIA, album(), album_sent)
        .on_any_state(button(chat::BACK), back)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<MyTasks> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let Some((shift, _)) = chat::open_shift(turn, &person).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    if tasks_of(app.domain.read(), shift.id).await?.is_empty() {
        chat::show_final(turn, text!(person.language, "shifts-no-tasks"), person.language);
        return Ok(Next::Stay);
    }
    Ok(Next::Go(MyTasks::list(shift.id, false)))
}

async fn ask_list(turn: &mut Turn, state: TaskList) -> Result<(), BoxError> {
    let TaskList { shift_id, is_closing, attached } = state;
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let mut tasks = tasks_of(app.domain.read(), shift_id).await?;
    for task in tasks.iter_mut().filter(|task| attached.is_some_and(|attached| attached.task_id == task.id)) {
        task.media_count = attached.map_or(0, |attached| attached.media_count).max(task.media_count);
        task.done_at = task.done_at.or(Some(now));
    }
    let penalty = Shifts::of_app(&app).mandatory_task_penalty().await?;
    let (text, rows) = list(&tasks, penalty, is_closing, language);
    chat::show(turn, text, rows);
    Ok(())
}

async fn done(turn: &mut Turn, state: TaskList, press: Press) -> Step<MyTasks> {
    set(turn, state, press, true).await
}

async fn undo(turn: &mut Turn, state: TaskList, press: Press) -> Step<MyTasks> {
    set(turn, state, press, false).await
}

/// Sets the state that the button names instead of toggling it, so a second tap does nothing.
async fn set(turn: &mut Turn, state: TaskList, press: Press, is_done: bool) -> Step<MyTasks> {
    let TaskList { shift_id, is_closing, .. } = state;
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at, user_id) = (turn.context::<App>(), person.language, turn.now(), person.id);
    if let Some(stopped) = refused_step(turn, language) {
        return stopped;
    }
    let Ok(task_id) = press.rest.parse::<i64>() else { return Ok(Next::AskAgain) };
    let mut tasks = tasks_of(app.domain.read(), shift_id).await?;
    let Some(task) = tasks.iter_mut().find(|task| task.id == task_id) else { return Ok(Next::AskAgain) };
    task.done_at = is_done.then_some(at);
    if is_done {
        turn.write_as(&person, move |db| Box::pin(working::mark(db, user_id, task_id, at)));
    } else {
        turn.write_as(&person, move |db| Box::pin(working::unmark(db, user_id, task_id)));
    }
    chat::publish(turn, ShiftEvent::of_shift(ShiftEventKind::ShiftChanged, shift_id, user_id));
    let penalty = Shifts::of_app(&app).mandatory_task_penalty().await?;
    let (text, rows) = list(&tasks, penalty, is_closing, language);
    chat::show(turn, text, rows);
    Ok(Next::StayWith(MyTasks::list(shift_id, is_closing)))
}

async fn photo_wanted(turn: &mut Turn, state: TaskList, press: Press) -> Step<MyTasks> {
    let TaskList { shift_id, is_closing, .. } = state;
    let Ok(task_id) = press.rest.parse::<i64>() else { return Ok(Next::AskAgain) };
    let tasks = tasks_of(turn.context::<App>().domain.read(), shift_id).await?;
    if tasks.iter().all(|task| task.id != task_id) {
        return Ok(Next::AskAgain);
    }
    Ok(Next::Go(MyTasks::Media(MediaWanted { shift_id, task_id, is_closing })))
}

async fn ask_media(turn: &mut Turn, state: MediaWanted) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), person.language);
    let tasks = tasks_of(app.domain.read(), state.shift_id).await?;
    let task = tasks.iter().find(|task| task.id == state.task_id).map(|task| task.text.clone()).unwrap_or_default();
    let text = text!(language, "shifts-send-media", task = chat::caption(&task));
    chat::show(turn, text, vec![chat::navigation_row(language)]);
    Ok(())
}

async fn photo_sent(turn: &mut Turn, state: MediaWanted, photo: Photo) -> Step<MyTasks> {
    attach(turn, state, vec![proof_by_photo(photo)]).await
}

async fn document_sent(turn: &mut Turn, state: MediaWanted, file: Document) -> Step<MyTasks> {
    attach(turn, state, vec![proof_by_file(file)]).await
}

async fn video_sent(turn: &mut Turn, state: MediaWanted, video: Media) -> Step<MyTasks> {
    if !["video", NOTE].contains(&video.kind) {
        let language = turn.context::<App>().speaker(turn).await?.language;
        return turn.refuse(text!(language, "shifts-media-wanted"));
    }
    attach(turn, state, vec![proof_by_video(video)]).await
}

async fn album_sent(turn: &mut Turn, state: MediaWanted, album: Album) -> Step<MyTasks> {
    let item = |item: Item| match item {
        Item::Photo(photo) => proof_by_photo(photo),
        Item::Document(file) => proof_by_file(file),
        Item::Media(video) => proof_by_video(video),
    };
    attach(turn, state, album.items.into_iter().map(item).collect()).await
}

async fn attach(turn: &mut Turn, state: MediaWanted, sent: Vec<Sent>) -> Step<MyTasks> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at, user_id) = (turn.context::<App>(), person.language, turn.now(), person.id);
    if let Some(stopped) = refused_step(turn, language) {
        return stopped;
    }
    let MediaWanted { shift_id, task_id, is_closing } = state;
    let tasks = tasks_of(app.domain.read(), shift_id).await?;
    let before = tasks.iter().find(|task| task.id == task_id).map_or(0, |task| task.media_count);
    let attached = Attached { task_id, media_count: before + i64::try_from(sent.len()).unwrap_or_default() };
    for Sent { proof, size } in sent {
        let is_too_large = attachments::download(turn, &proof.telegram_file, size);
        turn.write_as(&person, move |db| Box::pin(working::attach(db, user_id, task_id, (proof, is_too_large), at)));
    }
    chat::publish(turn, ShiftEvent::of_shift(ShiftEventKind::ShiftChanged, shift_id, user_id));
    turn.say(text!(language, "shifts-media-taken"));
    Ok(Next::Go(MyTasks::List(TaskList { shift_id, is_closing, attached: Some(attached) })))
}

async fn ready(turn: &mut Turn, state: TaskList, _: Press) -> Step<MyTasks> {
    if state.is_closing {
        turn.set_return_value(&true);
        return Ok(Next::End);
    }
    let language = turn.context::<App>().speaker(turn).await?.language;
    let close = Button::raw(text!(language, "shifts-close-button"), closing::BEGIN);
    chat::show_final_with(turn, text!(language, "shifts-tasks-kept"), [close], language);
    Ok(Next::End)
}

async fn back(turn: &mut Turn, state: MyTasks, press: Press) -> Step<MyTasks> {
    match state {
        MyTasks::Media(MediaWanted { shift_id, is_closing, .. }) => Ok(Next::Go(MyTasks::list(shift_id, is_closing))),
        // Returns to the review. The state before may have waited for a photo.
        MyTasks::List(TaskList { is_closing: true, .. }) => Ok(Next::End),
        MyTasks::List(TaskList { is_closing: false, .. }) => chat::back_to_menu(turn, press).await,
    }
}

/// Marks and files are saved already; a shift that was about to be closed stays open.
async fn cancelled(turn: &mut Turn, state: MyTasks) -> Result<(), BoxError> {
    let (MyTasks::List(TaskList { is_closing, .. }) | MyTasks::Media(MediaWanted { is_closing, .. })) = state;
    let key = if is_closing { key!("shifts-close-stopped") } else { key!("shifts-tasks-stopped") };
    chat::say_cancelled(turn, key).await
}

async fn timed_out(turn: &mut Turn, state: MyTasks) -> Step<MyTasks> {
    let (MyTasks::List(TaskList { is_closing, .. }) | MyTasks::Media(MediaWanted { is_closing, .. })) = state;
    if is_closing {
        return chat::timed_out(turn, key!("shifts-close-button"), closing::BEGIN).await;
    }
    chat::timed_out(turn, key!("shifts-tasks-button"), BEGIN).await
}

/// The step after refused writes: if the shift is over the dialogue ends, otherwise the person reads the refusal.
fn refused_step(turn: &mut Turn, language: Language) -> Option<Step<MyTasks>> {
    Some(match refused(turn)? {
        SiteRefusal::NotWorking | SiteRefusal::Gone => chat::give_up(turn, SiteRefusal::NotWorking, language),
        why => turn.refuse(why.text(language)),
    })
}

fn proof_by_photo(photo: Photo) -> Sent {
    let proof = Proof { kind: MediumKind::Photo, telegram_file: photo.file_id, unique_id: photo.unique_id };
    Sent { proof, size: photo.size }
}

fn proof_by_file(file: Document) -> Sent {
    let proof = Proof { kind: MediumKind::Document, telegram_file: file.file_id, unique_id: file.unique_id };
    Sent { proof, size: file.size }
}

fn proof_by_video(video: Media) -> Sent {
    let kind = if video.kind == NOTE { MediumKind::VideoNote } else { MediumKind::Video };
    let proof = Proof { kind, telegram_file: video.file_id, unique_id: video.unique_id };
    Sent { proof, size: video.size }
}

/// The list of tasks with a button each.
fn list(tasks: &[ShiftTask], penalty: Money, is_closing: bool, language: Language) -> (String, Vec<Vec<Button>>) {
    let has_room = tasks.len() * 2 <= MAX_BUTTONS;
    let row = |task: &ShiftTask| {
        let more = more_button(task, language).filter(|_| has_room);
        [button_of(task, language)].into_iter().chain(more).collect()
    };
    let mut rows: Vec<Vec<Button>> = tasks.iter().take(MAX_BUTTONS).map(row).collect();
    let ready = if is_closing { key!("shifts-go-on-button") } else { key!("shifts-ready-button") };
    rows.push(vec![Button::new(language.text(ready), READY)]);
    rows.push(chat::navigation_row(language));
    let title = text!(language, "shifts-tasks");
    (format!("{title}\n{}", chat::task_lines(tasks, penalty, language)), rows)
}

fn button_of(task: &ShiftTask, language: Language) -> Button {
    let (text, action) = if task.done_at.is_some() {
        (text!(language, "shifts-undo-choice", task = chat::caption(&task.text)), UNDO)
    } else if task.needs_media && task.media_count == 0 {
        (text!(language, "shifts-photo-choice", task = chat::caption(&task.text)), PHOTO)
    } else {
        (text!(language, "shifts-done-choice", task = chat::caption(&task.text)), DONE)
    };
    Button::new(chat::caption(&text), format!("{action}{}", task.id)).repeatable()
}

/// A button to add a photo. A task that still needs its first photo has none, because its own button asks for it.
fn more_button(task: &ShiftTask, language: Language) -> Option<Button> {
    let is_asked_for = task.done_at.is_none() && task.needs_media && task.media_count == 0;
    let data = format!("{PHOTO}{}", task.id);
    (!is_asked_for).then(|| Button::new(text!(language, "shifts-more-media-button"), data).repeatable())
}
