//! What the dialogues of this room share: who speaks, how tasks and amounts are written, how a position is asked for.

use std::time::Duration;

use opora::clock::Millis;
use opora::prelude::*;
use opora::telegram::Target;

use super::records::ShiftTask;
use super::rules::too_far;
use super::{Shift, Update};
use crate::application::App;
use crate::domain::Rule;
use crate::front;
pub use crate::front::fitting::{caption, fit, fit_between};
pub use crate::front::ways::{BACK, back_to_menu, last_words, last_words_and, timed_out, way_out};
use crate::money::Money;
use crate::notices;
use crate::person::{Person, WORKERS};
use crate::sites::{Position, Site, Sites, Why, local};
use crate::texts::Language;
use crate::{key, text};

/// How long a step waits.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
/// A position that waited longer for the bot counts as of when it is heard, and a live one tells where somebody was then.
/// Less than a step lives, so that the question was there when it was sent; and a clock that is off by more is not believed.
const WAITED_MOST: Duration = Duration::from_secs(10 * 60);

/// Who speaks, in a chat of their own; others are told.
pub async fn worker(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed(turn, WORKERS).await
}

/// Which rule has refused the writes of this turn.
pub fn refused(turn: &Turn) -> Option<Why> {
    turn.refused().map(|refusal| Why::of(&refusal.0).unwrap_or(Why::Stale))
}

/// Says that a rule has refused it, and ends.
pub fn give_up<S>(turn: &mut Turn, why: Why, language: Language) -> Step<S> {
    turn.say(last_words(why.words(language), language));
    Ok(Next::End)
}

pub async fn back<S: States>(_: &mut Turn, _: S, _: Press) -> Step<S> {
    Ok(Next::Back)
}

/// Asks for the person's position by a key of Telegram's.
pub fn ask_position(turn: &mut Turn, words: String, language: Language) {
    let share = Button::location(text!(language, "shifts-position-button"));
    let back = Button::text(text!(language, "back-button"));
    let menu = Button::text(text!(language, "main-menu-button"));
    let keyboard = Keyboard::new([vec![share], vec![back, menu]]).one_time();
    turn.say(Say::text(words).keyboard(keyboard));
}

/// What somebody has typed where a position was asked for.
pub enum Typed {
    Back,
    Menu,
    SomethingElse,
}

/// Takes the keyboard away where the person goes elsewhere, and shows the menu to who goes there.
pub async fn typed(turn: &mut Turn, text: &str, language: Language) -> Result<Typed, BoxError> {
    if front::is_key(text, key!("back-button")) {
        turn.say(Say::text(text!(language, "shifts-back-said")).remove_keyboard());
        return Ok(Typed::Back);
    }
    if front::is_key(text, key!("main-menu-button")) {
        turn.say(Say::text(text!(language, "shifts-left")).remove_keyboard());
        front::show_menu(turn).await?;
        return Ok(Typed::Menu);
    }
    Ok(Typed::SomethingElse)
}

/// The position, if it is the person's own of now and near enough to the site; otherwise it is said what is wrong with it.
pub fn near(turn: &mut Turn, site: &Site, sent: Location, language: Language) -> Option<Position> {
    let is_old = sent.live_s.is_some() && turn.now().since(sent.sent_at) > WAITED_MOST;
    if !sent.own || is_old {
        let words = if is_old { key!("shifts-position-old") } else { key!("shifts-position-not-own") };
        let _: Step<()> = turn.refuse(language.text(words));
        return None;
    }
    let position = Position { latitude: sent.latitude, longitude: sent.longitude };
    match too_far(&site.about, position) {
        None => Some(position),
        Some(distance) => {
            let (name, most) = (site.about.name.as_str(), site.about.max_distance_m);
            let distance = distance_words(distance, language);
            let most = distance_words(most, language);
            let words = text!(language, "shifts-too-far", site = name, distance = distance, most = most);
            let _: Step<()> = turn.refuse(words);
            None
        }
    }
}

/// What waited while the bot was away is nobody's lateness. Telegram tells whole seconds.
pub fn sent_at(turn: &Turn, sent: &Location) -> Millis {
    let now = turn.now();
    let is_of_now = sent.sent_at <= now && now.since(sent.sent_at) <= WAITED_MOST;
    if is_of_now { sent.sent_at } else { now }
}

/// Metres, or kilometres where that says more.
pub fn distance_words(metres: i64, language: Language) -> String {
    if metres < 10_000 {
        return text!(language, "shifts-metres", count = metres);
    }
    text!(language, "shifts-kilometres", count = metres / 1000)
}

/// A task as people read it: whether it is done, what it brings or costs, what it needs.
pub fn task_line(task: &ShiftTask, language: Language) -> String {
    let mut line = format!("{} {}", check(task), task.text);
    if task.amount_kopecks != 0 {
        line += &format!(" · {}", Money::from_kopecks(task.amount_kopecks).signed(language));
    }
    if task.is_mandatory {
        line += &format!(" · {}", text!(language, "shifts-mandatory"));
    }
    if task.needs_media || task.media_count > 0 {
        line += &format!(" · 📷 {}", task.media_count);
    }
    line
}

pub fn task_lines(tasks: &[ShiftTask], language: Language) -> String {
    tasks.iter().map(|task| task_line(task, language)).collect::<Vec<_>>().join("\n")
}

/// A mark shows what is really so.
pub fn check(task: &ShiftTask) -> &'static str {
    if task.done_at.is_some() { "✅" } else { "⬜" }
}

/// The hour of an instant, by the clock of its place.
pub fn hour(at: Millis, site: &Site) -> String {
    local(at, site.about.time_zone).format("%H:%M").to_string()
}

/// Open pages look anew after this turn, and those who are concerned are told.
pub fn tell(turn: &mut Turn, update: Update) {
    update.after(turn);
    notices::after(turn);
}

/// The person's open shift with its site; says so where there is none.
pub async fn open_shift(turn: &mut Turn, person: &Person) -> Result<Option<(Shift, Site)>, BoxError> {
    let app = turn.context::<App>();
    let found = match super::Shifts::of_app(&app).active_of(person.id).await? {
        Some(shift) => Sites::of_app(&app).of(shift.site_id).await?.map(|site| (shift, site)),
        None => None,
    };
    if found.is_none() {
        let open = Button::raw(text!(person.language, "shifts-open-button"), super::opening::BEGIN);
        let words = text!(person.language, "shifts-none-open");
        turn.say(last_words_and(words, [open], person.language));
    }
    Ok(found)
}

/// Changes the message under a press, or says it anew where there is none.
pub fn show_again(turn: &mut Turn, press: &Press, words: String, rows: Vec<Vec<Button>>) {
    let words = fit(words);
    match press.message_id {
        Some(id) => turn.edit(Edit::text(Target::from(id), words).buttons(rows)),
        None => turn.say(Say::text(words).buttons(rows)),
    }
}
