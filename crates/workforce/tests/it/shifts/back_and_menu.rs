//! Every question of the dialogues about shifts and sites: a wrong answer repeats it, Back leads to the previous
//! question, and the main menu is one press away.

use std::collections::BTreeSet;
use std::time::Duration;

use opora::testing::chat::ChatUser;
use workforce::application;
use workforce::person::Role;
use workforce::rooms::Rooms;
use workforce::sites::AboutTask;

use self::Action::{Press, Type};
use self::Answer::{Button, Key, Sent, Text};
use super::{Workplace, button_with, chooses_from_menu, opens, plans, task};
use crate::kit::firm::StorageKind;

const BACK: &str = "← Back";
/// Back below a question of the first turn.
const OLD_BACK: &str = "~1~shifts:back";
const MENU: &str = "🏠 Main menu";
const MENU_ASKS: &str = "what would you like to do?";
/// The answer to unfit input where a question has no text of its own.
const UNFIT_ANSWER: &str = "Sorry, that doesn't work here.";
/// Keeps the person below the rate limit.
const MINUTE: Duration = Duration::from_secs(60);

/// A step on the way to a question.
enum Action {
    /// Presses the last button with these words.
    Press(&'static str),
    Type(&'static str),
}

/// How a question is answered. It decides how Back looks and what a text does.
enum Answer {
    /// By a button: a text is answered as unfit, and the question is repeated.
    Button,
    /// By sending something. Other input is answered with this text.
    Sent(&'static str),
    /// Like `Sent`, with a keyboard instead of buttons.
    Key(&'static str),
    /// By any text.
    Text,
}

/// A question: the way to it from the main menu, its state and text, and where Back leads: a state, or none, and a
/// text.
struct Question {
    way: (&'static str, &'static [Action]),
    at: (&'static str, &'static str),
    answer: Answer,
    back: (Option<&'static str>, &'static str),
}

const PIN: &str = "Please press the 📍 button";

/// For a person with a plan and without an open shift.
const BEFORE_WORK: &[Question] = &[
    Question {
        way: ("🗓 Pick up a shift", &[]),
        at: ("plan_shift:site", "Which site?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🗓 Pick up a shift", &[Press("⚡ Next open shifts")]),
        at: ("plan_shift:free", "Which shift would you like?"),
        answer: Button,
        back: (Some("plan_shift:site"), "Which site?"),
    },
    Question {
        way: ("🗓 Pick up a shift", &[Press("⚡ Next open shifts"), Press(" · Shop")]),
        at: ("plan_shift:confirm", "an hour"),
        answer: Button,
        back: (Some("plan_shift:free"), "Which shift would you like?"),
    },
    Question {
        way: ("🗓 Pick up a shift", &[Press("Shop")]),
        at: ("plan_shift:day", "Which day?"),
        answer: Button,
        back: (Some("plan_shift:site"), "Which site?"),
    },
    Question {
        way: ("🗓 Pick up a shift", &[Press("Shop"), Press("Jan 3")]),
        at: ("plan_shift:slot", "What time?"),
        answer: Button,
        back: (Some("plan_shift:day"), "Which day?"),
    },
    Question {
        way: ("🗓 Pick up a shift", &[Press("Shop"), Press("Jan 3"), Press("15:00")]),
        at: ("plan_shift:confirm", "an hour"),
        answer: Button,
        back: (Some("plan_shift:slot"), "What time?"),
    },
    Question {
        way: ("▶️ Clock in", &[]),
        at: ("open_shift:choose", "Which shift are you starting?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("▶️ Clock in", &[Press("unscheduled")]),
        at: ("open_shift:position", "to show that you're at Shop"),
        answer: Key(PIN),
        back: (Some("open_shift:choose"), "Which shift are you starting?"),
    },
    Question {
        way: ("🔓 Open a site", &[]),
        at: ("site_doors:open_which", "Which site are you opening?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🔓 Open a site", &[Press("Shop")]),
        at: ("site_doors:position", "to open Shop"),
        answer: Key(PIN),
        back: (Some("site_doors:open_which"), "Which site are you opening?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel")]),
        at: ("cancel_plan:reason", "Why can't you make it?"),
        answer: Button,
        back: (None, "Your shifts:"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Something else")]),
        at: ("cancel_plan:words", "Please tell us why"),
        answer: Text,
        back: (Some("cancel_plan:reason"), "Why can't you make it?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Illness")]),
        at: ("cancel_plan:document", "Do you have a document"),
        answer: Text,
        back: (Some("cancel_plan:reason"), "Why can't you make it?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Something else"), Type("A wedding")]),
        at: ("cancel_plan:document", "Do you have a document"),
        answer: Text,
        back: (Some("cancel_plan:words"), "Please tell us why"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Illness"), Press("Skip")]),
        at: ("cancel_plan:photo", "Send a photo of it if you can."),
        answer: Button,
        back: (Some("cancel_plan:document"), "Do you have a document"),
    },
];

/// For a person with an open shift.
const AT_WORK: &[Question] = &[
    Question {
        way: ("✅ My tasks", &[]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("✅ My tasks", &[Press("📷 Sweep")]),
        at: ("my_tasks:media", "Send a photo, video or file for: Sweep"),
        answer: Button,
        back: (Some("my_tasks:list"), "Your tasks:"),
    },
    Question {
        way: ("⏹ Clock out", &[]),
        at: ("close_shift:review", "Clock out?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("⏹ Clock out", &[Press("Mark tasks")]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (Some("close_shift:review"), "Clock out?"),
    },
    Question {
        way: ("⏹ Clock out", &[Press("Mark tasks"), Press("📷 Sweep")]),
        at: ("my_tasks:media", "Send a photo, video or file for: Sweep"),
        answer: Button,
        back: (Some("my_tasks:list"), "Your tasks:"),
    },
    Question {
        // Back from a question that was only looked at leads to the question before it.
        way: ("⏹ Clock out", &[Press("Mark tasks"), Press("📷 Sweep"), Press(BACK)]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (Some("close_shift:review"), "Clock out?"),
    },
    Question {
        way: ("⏹ Clock out", &[Press("Continue to clock out")]),
        at: ("close_shift:position", "to clock out at Depot"),
        answer: Key(PIN),
        back: (Some("close_shift:review"), "Clock out?"),
    },
    Question {
        way: ("🔒 Close a site", &[]),
        at: ("site_doors:close_which", "Which site are you closing?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot")]),
        at: ("close_shift:review", "Clock out?"),
        answer: Button,
        back: (Some("site_doors:close_which"), "Which site are you closing?"),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot"), Press("Continue to clock out")]),
        at: ("close_shift:position", "to clock out at Depot"),
        answer: Key(PIN),
        back: (Some("close_shift:review"), "Clock out?"),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot"), Press("Continue to clock out"), Type(BACK)]),
        at: ("close_shift:review", "Clock out?"),
        answer: Button,
        back: (Some("site_doors:close_which"), "Which site are you closing?"),
    },
];

const OWNERS: &[Question] = &[
    Question {
        way: ("🏢 Sites", &[Press("Shop"), Press("📍 Set the location")]),
        at: ("owner_sites:position", "Send the site's location"),
        answer: Sent("Enter coordinates, for example 55.7558, 37.6173"),
        back: (None, "The next seven days:"),
    },
    Question {
        way: ("🏢 Sites", &[Press("Shop"), Press("➕ New shift")]),
        at: ("owner_sites:new_slot", "Write the day, hours and number of people"),
        answer: Sent("I didn't get that."),
        back: (None, "The next seven days:"),
    },
    Question {
        way: ("📊 Report", &[]),
        at: ("payroll_report:days", "Which days?"),
        answer: Sent("Please write the dates like"),
        back: (None, MENU_ASKS),
    },
];

impl Question {
    /// Goes to the question.
    async fn ask(&self, someone: &ChatUser) {
        chooses_from_menu(someone, self.way.0).await;
        for action in self.way.1 {
            match *action {
                Press(words) => someone.presses(&button_with(someone, words)).await,
                Type(words) => someone.sends(words).await,
            }
        }
        someone.sees(self.at.1);
        self.assert_open(someone).await;
    }

    async fn assert_open(&self, someone: &ChatUser) {
        assert_eq!(someone.state().await.as_deref(), Some(self.at.0), "{}", someone.transcript());
    }

    /// What `/cancel` says.
    fn what_stays(&self) -> &'static str {
        let is_closing = self.way.0 != "✅ My tasks";
        match self.at.0 {
            "my_tasks:list" | "my_tasks:media" if !is_closing => "Okay. Everything you marked and sent is saved.",
            "site_doors:open_which" | "site_doors:position" => "Okay, no site was opened.",
            "owner_sites:position" => "Okay, the location of the site stays as it was.",
            "site_doors:close_which" => "Okay, the site stays open.",
            state => match state.split(':').next() {
                Some("plan_shift") => "Okay, you're not signed up for anything new.",
                Some("open_shift") => "Okay, no new shift was started.",
                Some("close_shift" | "my_tasks") => "You're still clocked in",
                Some("cancel_plan") => "Okay. Your shift on Jan 2 is still yours.",
                Some("owner_sites") => "Okay, no shift was added.",
                _ => "Okay, stopped. Anything already saved is kept.",
            },
        }
    }

    /// Sends a text that is no answer.
    async fn answer_with_nonsense(&self, someone: &ChatUser) {
        let again = match self.answer {
            Button => [UNFIT_ANSWER, self.at.1],
            Sent(words) | Key(words) => [words; 2],
            Text => return,
        };
        someone.sends("Well, well").await;
        again.iter().for_each(|words| someone.sees(words));
        self.assert_open(someone).await;
    }

    /// Leaves the question by Back or by the menu.
    async fn leave_by(&self, someone: &ChatUser, way: &str) {
        match self.answer {
            Key(_) => someone.sends(way).await,
            Button | Sent(_) | Text => someone.presses(way).await,
        }
    }

    /// Asserts that the dialogue is over. Its old buttons lead to the menu at most.
    async fn assert_over(&self, someone: &ChatUser) {
        assert_eq!(someone.state().await, None, "{}", someone.transcript());
        if matches!(self.answer, Key(_)) {
            someone.sends(BACK).await;
            someone.sees(MENU_ASKS);
        } else {
            // The question itself may have been replaced.
            someone.presses_data(OLD_BACK).await;
            someone.sees_toast("This button no longer works.");
        }
        assert_eq!(someone.state().await, None, "{}", someone.transcript());
    }
}

/// Asks every question, answers it with nonsense, and leaves it in every way.
async fn leave_all(workplace: &Workplace, someone: &ChatUser, questions: &[Question]) {
    for question in questions {
        question.ask(someone).await;
        question.answer_with_nonsense(someone).await;
        question.leave_by(someone, BACK).await;
        someone.sees(question.back.1);
        assert_eq!(someone.state().await.as_deref(), question.back.0, "{}", someone.transcript());

        question.ask(someone).await;
        question.leave_by(someone, MENU).await;
        someone.sees(MENU_ASKS);
        question.assert_over(someone).await;

        question.ask(someone).await;
        someone.sends("/cancel").await;
        someone.sees(question.what_stays());
        match question.answer {
            Key(_) => someone.sees(MENU_ASKS),
            Button | Sent(_) | Text => someone.sees_button(MENU),
        }
        question.assert_over(someone).await;
        workplace.firm.stage.advance(MINUTE).await;
    }
}

/// States without a row in these tables. Those of `front` and `site_doors` wait for a child and ask nothing. The others
/// are tested with their rooms.
const EXCEPTIONS: &[&str] = &[
    "front:newcomer",
    "site_doors:closing",
    "registration:language",
    "registration:resume",
    "registration:consent",
    "registration:name",
    "registration:phone",
    "registration:email",
    "registration:document_kind",
    "registration:document",
    "registration:selfie",
    "registration:saving",
    "registration:not_saved",
    "registration_decision:reason",
    "OnboardingStates:consent",
    "OnboardingStates:question",
    "OnboardingStates:returning",
    "ChatStates:active",
    "ChatStates:replying",
    "CreateOrderStates:equipment_type",
    "CreateOrderStates:description",
    "CreateOrderStates:client_name",
    "CreateOrderStates:known_client",
    "CreateOrderStates:client_address",
    "CreateOrderStates:client_phone",
    "CreateOrderStates:notes",
    "CreateOrderStates:scheduled_time",
    "CreateOrderStates:confirm",
    "CreateOrderStates:paused",
    "order_work:search",
    "order_work:reason",
    "order_work:new_time",
    "order_work:field",
    "order_visit:arrival",
    "order_visit:message",
    "order_visit:photos",
    "order_visit:repair_until",
    "order_visit:prepayment",
    "complete_order:total",
    "complete_order:materials",
    "complete_order:review",
    "complete_order:out_of_town",
    "complete_order:summary",
];

#[test]
fn every_question_of_the_script_has_a_row() {
    let script = application::script(&Rooms::all());
    let states = script
        .dialogue_states()
        .flat_map(|(dialogue, states)| states.iter().map(move |state| format!("{dialogue}:{state}")));
    let states: BTreeSet<String> = states.collect();
    let asked = [BEFORE_WORK, AT_WORK, OWNERS].into_iter().flatten().map(|question| question.at.0);
    let rows: BTreeSet<String> = asked.chain(EXCEPTIONS.iter().copied()).map(ToOwned::to_owned).collect();
    let missing: Vec<_> = states.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&states).collect();
    assert!(missing.is_empty(), "states without a row, where Back, the menu and /cancel are not tested: {missing:#?}");
    assert!(gone.is_empty(), "rows without a state in the script: {gone:#?}");
}

/// A keyboard stays when its question is left by an older button. Its keys must not be taken as an answer.
#[tokio::test]
async fn keys_of_a_left_question_work_in_others() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    let asked = |state: &'static str| BEFORE_WORK.iter().find(|one| one.at.0 == state).unwrap();
    for state in ["cancel_plan:words", "cancel_plan:document"] {
        asked(state).ask(&anna).await;
        anna.sends(BACK).await;
        anna.sees("Why can't you make it?");
        asked(state).ask(&anna).await;
        anna.sends(MENU).await;
        anna.sees(MENU_ASKS);
        assert_eq!(anna.state().await, None, "{}", anna.transcript());
        workplace.firm.stage.advance(MINUTE).await;
    }

    // The keys keep the language in which they were shown.
    asked("open_shift:position").ask(&anna).await;
    anna.sends("/language").await;
    anna.presses("Русский").await;
    anna.sends(BACK).await;
    anna.sees("Какую смену открываете?");
}

/// All rows that these dialogues could write.
async fn all_rows(workplace: &Workplace) -> Vec<Vec<Vec<String>>> {
    let mut all = Vec::new();
    for sql in [
        "SELECT status, version FROM shift_plans",
        "SELECT taken, version FROM time_slots",
        "SELECT status, version FROM shifts",
        "SELECT done_at, media_count FROM shift_tasks",
        "SELECT site_id, closed_at FROM site_openings",
        "SELECT id FROM plan_cancellations",
        "SELECT id FROM adjustments",
    ] {
        all.push(workplace.rows(sql).await);
    }
    all
}

#[tokio::test]
async fn questions_before_work_can_be_left() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    workplace.slot(site, 48 * 60, 120, |_| {}).await;
    let before = all_rows(&workplace).await;
    leave_all(&workplace, &anna, BEFORE_WORK).await;
    assert_eq!(all_rows(&workplace).await, before);
}

#[tokio::test]
async fn questions_at_work_can_be_left() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Depot", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    workplace.sites.create_task(&workplace.owner, site, None, about).await.unwrap();
    let boris = workplace.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Depot").await;
    let before = all_rows(&workplace).await;
    leave_all(&workplace, &boris, AT_WORK).await;
    assert_eq!(all_rows(&workplace).await, before);
}

#[tokio::test]
async fn questions_to_owners_can_be_left() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    workplace.site("Shop", 10_000).await;
    let max = workplace.firm.member("Max", &[Role::Owner]).await;
    let before = all_rows(&workplace).await;
    leave_all(&workplace, &max, OWNERS).await;
    assert_eq!(all_rows(&workplace).await, before);
}

/// The photo is stored, and Back still leads to the previous question.
#[tokio::test]
async fn back_after_a_photo_returns_to_closing() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Depot", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    let boris = workplace.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Depot").await;
    chooses_from_menu(&boris, "⏹ Clock out").await;
    boris.presses("Mark tasks").await;
    boris.presses("📷 ＋").await;
    boris.sends_photo().await;
    boris.sees("✅ Sweep");
    boris.presses(BACK).await;
    boris.sees("✅ Sweep");
    boris.sees("Clock out?");
    assert_eq!(boris.state().await.as_deref(), Some("close_shift:review"));
}
