//! What the dialogues of this room share: the speaker, texts of tasks and amounts, questions for a position.

use std::time::Duration;

use opora::clock::Millis;
use opora::prelude::*;

use super::records::ShiftTask;
use super::rules::too_far;
use super::{Shift, ShiftEvent, TaskEffect};
use crate::application::App;
use crate::domain::RefusalReason;
use crate::front;
pub use crate::front::navigation::{
    BACK, back_to_menu, menu_of_question, navigation_row, say_cancelled, say_cancelled_with_keyboard, show_final,
    show_final_with, timed_out,
};
pub use crate::front::reply::{drop_buttons, show};
pub use crate::front::text_limits::{caption, fit, fit_between};
use crate::money::Money;
use crate::notices;
use crate::person::{Person, WORKERS};
use crate::sites::{Position, Site, SiteRefusal, Sites, local, price_text, skipping_text};
use crate::texts::Language;
use crate::{key, text};

/// How long a dialogue waits for an answer.
pub const EXPIRY: Duration = Duration::from_secs(15 * 60);
/// The age up to which a position counts as of its sending time. An older one counts as of now, and an older live
/// position is refused. It is shorter than [`EXPIRY`], so the question was open when the position was sent, and it
/// bounds the effect of a wrong clock.
const MAX_POSITION_AGE: Duration = Duration::from_secs(10 * 60);

/// The speaker, if a worker writes in a private chat. Others get a refusal.
pub async fn worker(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, WORKERS).await
}

/// The refusal of this turn's writes, if there is one.
pub fn refused(turn: &Turn) -> Option<SiteRefusal> {
    turn.refusal().map(|refusal| SiteRefusal::parse(&refusal.0).unwrap_or(SiteRefusal::Stale))
}

/// Says the refusal and ends the dialogue.
pub fn give_up<S>(turn: &mut Turn, why: SiteRefusal, language: Language) -> Step<S> {
    show_final(turn, why.text(language), language);
    Ok(Next::End)
}

/// Removes the keyboard of a question for a position, says the refusal and ends the dialogue.
pub fn give_up_position<S>(turn: &mut Turn, why: SiteRefusal, language: Language) -> Step<S> {
    turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
    give_up(turn, why, language)
}

pub async fn back<S: States>(_: &mut Turn, _: S, _: Press) -> Step<S> {
    Ok(Next::Back)
}

/// Asks for the person's position with a Telegram keyboard. The keyboard stays until the position is taken or the
/// dialogue is left.
pub fn ask_position(turn: &mut Turn, text: String, language: Language) {
    drop_buttons(turn);
    let share = Button::location(text!(language, "shifts-position-button"));
    let back = Button::text(text!(language, "back-button"));
    let menu = Button::text(text!(language, "main-menu-button"));
    turn.say(Say::text(text).keyboard(Keyboard::new([vec![share], vec![back, menu]])));
}

/// Refuses what was sent in place of a good position, and shows the keyboard again: Telegram may have hidden it.
pub fn refuse_position<S>(turn: &mut Turn, text: String, language: Language) -> Step<S> {
    ask_position(turn, text, language);
    Ok(Next::Stay)
}

/// The keyboard key that a person pressed where a position was asked for.
pub enum TypedKey {
    Back,
    Menu,
    SomethingElse,
}

/// Reads a keyboard key. Back and Menu remove the keyboard; Menu also shows the menu.
pub async fn typed_key(turn: &mut Turn, text: &str, language: Language) -> Result<TypedKey, BoxError> {
    if front::is_key(text, key!("back-button")) {
        turn.say(Say::text(text!(language, "shifts-back-said")).remove_keyboard());
        return Ok(TypedKey::Back);
    }
    if front::is_key(text, key!("main-menu-button")) {
        turn.say(Say::text(text!(language, "shifts-left")).remove_keyboard());
        front::show_menu(turn).await?;
        return Ok(TypedKey::Menu);
    }
    Ok(TypedKey::SomethingElse)
}

/// The position, if it is recent, the person's own and near the site. Otherwise says what is wrong and returns None.
pub fn accepted_position(turn: &mut Turn, site: &Site, sent: Location, language: Language) -> Option<Position> {
    let is_old = sent.live_s.is_some() && turn.now().since(sent.sent_at) > MAX_POSITION_AGE;
    if !sent.own || is_old {
        let key = if is_old { key!("shifts-position-old") } else { key!("shifts-position-not-own") };
        let _: Step<()> = refuse_position(turn, language.text(key), language);
        return None;
    }
    let position = Position { latitude: sent.latitude, longitude: sent.longitude };
    match too_far(&site.about, position) {
        None => Some(position),
        Some(distance) => {
            let (name, max_distance_m) = (site.about.name.as_str(), site.about.max_distance_m);
            let distance = distance_text(distance, language);
            let max_distance = distance_text(max_distance_m, language);
            let text = text!(language, "shifts-too-far", site = name, distance = distance, most = max_distance);
            let _: Step<()> = refuse_position(turn, text, language);
            None
        }
    }
}

/// The time at which a position was sent, in whole seconds. A delay of the bot does not count as lateness.
pub fn sent_at(turn: &Turn, sent: &Location) -> Millis {
    let now = turn.now();
    let is_of_now = sent.sent_at <= now && now.since(sent.sent_at) <= MAX_POSITION_AGE;
    if is_of_now { sent.sent_at } else { now }
}

/// A distance in metres, or in kilometres if it is long.
pub fn distance_text(metres: i64, language: Language) -> String {
    if metres < 10_000 {
        return text!(language, "shifts-metres", count = metres);
    }
    text!(language, "shifts-kilometres", count = metres / 1000)
}

/// A task as a line of text: whether it is done, its amount, and its requirements. A mandatory task without an amount
/// of its own says what skipping it costs.
fn task_line(task: &ShiftTask, mandatory_task_penalty: Money, language: Language) -> String {
    let mut line = format!("{} {}", check(task), task.text);
    if task.amount_kopecks != 0 {
        line += &format!(" · {}", price_text(Money::from_kopecks(task.amount_kopecks), language));
    } else if let TaskEffect::PenaltyIfSkipped(fine) = TaskEffect::new(task, true, mandatory_task_penalty) {
        line += &format!(" · {}", skipping_text(fine, language));
    }
    if task.is_mandatory {
        line += &format!(" · {}", text!(language, "shifts-mandatory"));
    }
    if task.needs_media || task.media_count > 0 {
        line += &format!(" · 📷 {}", task.media_count);
    }
    line
}

pub fn task_lines(tasks: &[ShiftTask], mandatory_task_penalty: Money, language: Language) -> String {
    tasks.iter().map(|task| task_line(task, mandatory_task_penalty, language)).collect::<Vec<_>>().join("\n")
}

pub fn check(task: &ShiftTask) -> &'static str {
    if task.done_at.is_some() { "✅" } else { "⬜" }
}

/// The local time of an instant at a site.
pub fn hour(at: Millis, site: &Site) -> String {
    local(at, site.about.time_zone).format("%H:%M").to_string()
}

/// After this turn, publishes the event to open pages and sends notices.
pub fn publish(turn: &mut Turn, event: ShiftEvent) {
    event.after(turn);
    notices::send_after(turn);
}

/// The person's active shift with its site. Without one it says so.
pub async fn open_shift(turn: &mut Turn, person: &Person) -> Result<Option<(Shift, Site)>, BoxError> {
    let app = turn.context::<App>();
    let found = match super::Shifts::of_app(&app).active_of(person.id).await? {
        Some(shift) => Sites::of_app(&app).site(shift.site_id).await?.map(|site| (shift, site)),
        None => None,
    };
    if found.is_none() {
        let open = Button::raw(text!(person.language, "shifts-open-button"), super::opening::BEGIN);
        let text = text!(person.language, "shifts-none-open");
        show_final_with(turn, text, [open], person.language);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(amount_kopecks: i64, is_mandatory: bool, done_at: Option<Millis>) -> String {
        let task = ShiftTask {
            id: 1,
            shift_id: 1,
            is_of_slot: false,
            text: "Sweep".into(),
            amount_kopecks,
            is_mandatory,
            needs_media: false,
            media_count: 0,
            done_at,
        };
        task_line(&task, Money::from_roubles(50), Language::En)
    }

    #[test]
    fn a_mandatory_task_without_an_amount_says_its_price() {
        assert_eq!(line(0, true, None), "⬜ Sweep · skipping it costs 50\u{a0}₽ · required");
        assert_eq!(line(0, true, Some(Millis(1))), "✅ Sweep · required");
        assert_eq!(line(0, false, None), "⬜ Sweep");
        assert_eq!(line(-3_300, true, None), "⬜ Sweep · penalty 33\u{a0}₽ · required");
    }
}
