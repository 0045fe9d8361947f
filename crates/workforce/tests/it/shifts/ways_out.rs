//! Every question of every dialogue about shifts and sites: what does not answer it is asked for again, Back leads to the
//! question before, and the main menu is one press away.

use std::time::Duration;

use opora::testing::chat::Someone;
use workforce::person::Role;
use workforce::sites::AboutTask;

use self::Answer::{Button, Key, Sent, Text};
use self::Deed::{Press, Type};
use super::{Yard, button_with, chooses, opens, plans, task};
use crate::kit::firm::Kind;

const BACK: &str = "← Back";
const MENU: &str = "🏠 Main menu";
const MENU_ASKS: &str = "what would you like to do?";
/// In what it is answered where a question has no words of its own for it.
const UNFIT: &str = "Sorry, this does not fit here.";
/// Before the guard against those who ask too often looks at them.
const MINUTE: Duration = Duration::from_secs(60);

/// What somebody does on the way to a question.
enum Deed {
    /// Presses the last button with these words.
    Press(&'static str),
    Type(&'static str),
}

/// By what a question is answered, and so how its Back looks and what becomes of a text.
enum Answer {
    /// By a button under it: a text is said not to fit, and it is asked again.
    Button,
    /// By something to be sent, which is said in these words where it is something else.
    Sent(&'static str),
    /// The same with a keyboard instead of buttons.
    Key(&'static str),
    /// By any text.
    Text,
}

/// A question: the way to it from the main menu, what it says, and what Back leads to; where that is no question, only
/// what is shown.
struct Question {
    way: (&'static str, &'static [Deed]),
    at: (&'static str, &'static str),
    answer: Answer,
    back: (Option<&'static str>, &'static str),
}

const PIN: &str = "Please press the key with the pin";

/// Of somebody who is not at work, and has a plan.
const BEFORE_WORK: &[Question] = &[
    Question {
        way: ("🗓 Plan a shift", &[]),
        at: ("plan_shift:site", "At which site?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🗓 Plan a shift", &[Press("⚡ Next free places")]),
        at: ("plan_shift:free", "Which place would you like?"),
        answer: Button,
        back: (Some("plan_shift:site"), "At which site?"),
    },
    Question {
        way: ("🗓 Plan a shift", &[Press("⚡ Next free places"), Press(" · Shop")]),
        at: ("plan_shift:confirm", "an hour"),
        answer: Button,
        back: (Some("plan_shift:free"), "Which place would you like?"),
    },
    Question {
        way: ("🗓 Plan a shift", &[Press("Shop")]),
        at: ("plan_shift:day", "On which day?"),
        answer: Button,
        back: (Some("plan_shift:site"), "At which site?"),
    },
    Question {
        way: ("🗓 Plan a shift", &[Press("Shop"), Press("03.01")]),
        at: ("plan_shift:slot", "At which time?"),
        answer: Button,
        back: (Some("plan_shift:day"), "On which day?"),
    },
    Question {
        way: ("🗓 Plan a shift", &[Press("Shop"), Press("03.01"), Press("03.01 15:00")]),
        at: ("plan_shift:confirm", "an hour"),
        answer: Button,
        back: (Some("plan_shift:slot"), "At which time?"),
    },
    Question {
        way: ("▶️ Open a shift", &[]),
        at: ("open_shift:choose", "Which shift do you open?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("▶️ Open a shift", &[Press("without a plan")]),
        at: ("open_shift:position", "so that I can see that you are at Shop"),
        answer: Key(PIN),
        back: (Some("open_shift:choose"), "Which shift do you open?"),
    },
    Question {
        way: ("🔓 Open a site", &[]),
        at: ("site_doors:open_which", "Which site do you open?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🔓 Open a site", &[Press("Shop")]),
        at: ("site_doors:position", "to open Shop"),
        answer: Key(PIN),
        back: (Some("site_doors:open_which"), "Which site do you open?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel")]),
        at: ("cancel_plan:reason", "Why can you not come?"),
        answer: Button,
        back: (None, "Your shifts:"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Something else")]),
        at: ("cancel_plan:words", "Please write why"),
        answer: Text,
        back: (Some("cancel_plan:reason"), "Why can you not come?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Illness")]),
        at: ("cancel_plan:document", "Is there a paper"),
        answer: Text,
        back: (Some("cancel_plan:reason"), "Why can you not come?"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Something else"), Type("A wedding")]),
        at: ("cancel_plan:document", "Is there a paper"),
        answer: Text,
        back: (Some("cancel_plan:words"), "Please write why"),
    },
    Question {
        way: ("📅 My shifts", &[Press("✖ Cancel"), Press("Illness"), Press("Skip")]),
        at: ("cancel_plan:photo", "You can send a photo of it."),
        answer: Button,
        back: (Some("cancel_plan:document"), "Is there a paper"),
    },
];

/// Of somebody who is.
const AT_WORK: &[Question] = &[
    Question {
        way: ("✅ My tasks", &[]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("✅ My tasks", &[Press("📷 Sweep")]),
        at: ("my_tasks:media", "Send a photo, a video or a file for: Sweep"),
        answer: Button,
        back: (Some("my_tasks:list"), "Your tasks:"),
    },
    Question {
        way: ("⏹ Close my shift", &[]),
        at: ("close_shift:review", "Shall I close your shift?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("⏹ Close my shift", &[Press("Mark tasks")]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (Some("close_shift:review"), "Shall I close your shift?"),
    },
    Question {
        way: ("⏹ Close my shift", &[Press("Mark tasks"), Press("📷 Sweep")]),
        at: ("my_tasks:media", "Send a photo, a video or a file for: Sweep"),
        answer: Button,
        back: (Some("my_tasks:list"), "Your tasks:"),
    },
    Question {
        // Back from what was only looked at leads on to the question before, and not there again.
        way: ("⏹ Close my shift", &[Press("Mark tasks"), Press("📷 Sweep"), Press(BACK)]),
        at: ("my_tasks:list", "Your tasks:"),
        answer: Button,
        back: (Some("close_shift:review"), "Shall I close your shift?"),
    },
    Question {
        way: ("⏹ Close my shift", &[Press("Go on to closing")]),
        at: ("close_shift:position", "to close your shift at Depot"),
        answer: Key(PIN),
        back: (Some("close_shift:review"), "Shall I close your shift?"),
    },
    Question {
        way: ("🔒 Close a site", &[]),
        at: ("site_doors:close_which", "Which site do you close?"),
        answer: Button,
        back: (None, MENU_ASKS),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot")]),
        at: ("close_shift:review", "Shall I close your shift?"),
        answer: Button,
        back: (Some("site_doors:close_which"), "Which site do you close?"),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot"), Press("Go on to closing")]),
        at: ("close_shift:position", "to close your shift at Depot"),
        answer: Key(PIN),
        back: (Some("close_shift:review"), "Shall I close your shift?"),
    },
    Question {
        way: ("🔒 Close a site", &[Press("Depot"), Press("Go on to closing"), Type(BACK)]),
        at: ("close_shift:review", "Shall I close your shift?"),
        answer: Button,
        back: (Some("site_doors:close_which"), "Which site do you close?"),
    },
];

const OWNERS: &[Question] = &[
    Question {
        way: ("🏢 Sites", &[Press("Shop"), Press("➕ New slot")]),
        at: ("owner_sites:new_slot", "Write the day, the hours and the number of places"),
        answer: Sent("I did not understand this."),
        back: (None, "The next seven days:"),
    },
    Question {
        way: ("📊 Report", &[]),
        at: ("payroll_report:days", "For which days?"),
        answer: Sent("Please write the days like"),
        back: (None, MENU_ASKS),
    },
];

impl Question {
    /// The way to it.
    async fn is_asked(&self, someone: &Someone) {
        chooses(someone, self.way.0).await;
        for deed in self.way.1 {
            match *deed {
                Press(words) => someone.presses(&button_with(someone, words)).await,
                Type(words) => someone.sends(words).await,
            }
        }
        someone.sees(self.at.1);
        self.is_open(someone).await;
    }

    async fn is_open(&self, someone: &Someone) {
        assert_eq!(someone.state().await.as_deref(), Some(self.at.0), "{}", someone.transcript());
    }

    /// Somebody writes something that is no answer.
    async fn hears_nonsense(&self, someone: &Someone) {
        let again = match self.answer {
            Button => [UNFIT, self.at.1],
            Sent(words) | Key(words) => [words; 2],
            Text => return,
        };
        someone.sends("Well, well").await;
        again.iter().for_each(|words| someone.sees(words));
        self.is_open(someone).await;
    }

    /// Goes one of the ways that every question offers.
    async fn is_left_by(&self, someone: &Someone, way: &str) {
        match self.answer {
            Key(_) => someone.sends(way).await,
            Button | Sent(_) | Text => someone.presses(way).await,
        }
    }

    /// What was offered before is still there to be pressed, and leads at most to the menu.
    async fn is_over(&self, someone: &Someone) {
        assert_eq!(someone.state().await, None, "{}", someone.transcript());
        if matches!(self.answer, Key(_)) {
            someone.sends(BACK).await;
            someone.sees(MENU_ASKS);
        } else {
            someone.presses(BACK).await;
            someone.sees_toast("This button is no longer in use.");
        }
        assert_eq!(someone.state().await, None, "{}", someone.transcript());
    }
}

/// Every question is asked, answered by nonsense, and left in every way.
async fn are_left(yard: &Yard, someone: &Someone, questions: &[Question]) {
    for question in questions {
        question.is_asked(someone).await;
        question.hears_nonsense(someone).await;
        question.is_left_by(someone, BACK).await;
        someone.sees(question.back.1);
        assert_eq!(someone.state().await.as_deref(), question.back.0, "{}", someone.transcript());

        question.is_asked(someone).await;
        question.is_left_by(someone, MENU).await;
        someone.sees(MENU_ASKS);
        question.is_over(someone).await;

        question.is_asked(someone).await;
        someone.sends("/cancel").await;
        someone.sees("Cancelled.");
        someone.sees_button(MENU);
        question.is_over(someone).await;
        yard.firm.stage.passes(MINUTE).await;
    }
}

/// A keyboard stays when its question is left by an older button: what it says is no reason for anything.
#[tokio::test]
async fn the_keys_of_a_question_that_was_left_lead_out_of_others_too() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    let asked = |state: &'static str| BEFORE_WORK.iter().find(|one| one.at.0 == state).unwrap();
    for state in ["cancel_plan:words", "cancel_plan:document"] {
        asked(state).is_asked(&anna).await;
        anna.sends(BACK).await;
        anna.sees("Why can you not come?");
        asked(state).is_asked(&anna).await;
        anna.sends(MENU).await;
        anna.sees(MENU_ASKS);
        assert_eq!(anna.state().await, None, "{}", anna.transcript());
        yard.firm.stage.passes(MINUTE).await;
    }

    // The keys are as they were shown, whichever language was chosen since.
    asked("open_shift:position").is_asked(&anna).await;
    anna.sends("/language").await;
    anna.presses("Русский").await;
    anna.sends(BACK).await;
    anna.sees("Какую смену открываете?");
}

/// Everything that these dialogues could have written.
async fn written(yard: &Yard) -> Vec<Vec<Vec<String>>> {
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
        all.push(yard.rows(sql).await);
    }
    all
}

#[tokio::test]
async fn whoever_is_not_at_work_is_asked_again_and_gets_back_and_out_of_every_question() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 24 * 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    yard.slot(site, 48 * 60, 120, |_| {}).await;
    let before = written(&yard).await;
    are_left(&yard, &anna, BEFORE_WORK).await;
    assert_eq!(written(&yard).await, before);
}

#[tokio::test]
async fn whoever_is_at_work_is_asked_again_and_gets_back_and_out_of_every_question() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Depot", 10_000).await;
    let about = AboutTask { needs_media: true, ..task("Sweep", 5_000) };
    yard.sites.create_task(&yard.owner, site, None, about).await.unwrap();
    let boris = yard.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Depot").await;
    let before = written(&yard).await;
    are_left(&yard, &boris, AT_WORK).await;
    assert_eq!(written(&yard).await, before);
}

#[tokio::test]
async fn an_owner_is_asked_again_and_gets_back_and_out_of_every_question() {
    let yard = Yard::open(Kind::Sqlite).await;
    yard.site("Shop", 10_000).await;
    let max = yard.firm.member("Max", &[Role::Owner]).await;
    let before = written(&yard).await;
    are_left(&yard, &max, OWNERS).await;
    assert_eq!(written(&yard).await, before);
}

/// What was sent is kept, and Back leads to the question before all the same.
#[tokio::test]
async fn who_has_sent_a_photo_while_closing_gets_back_to_the_question_whether_to_close() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Depot", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    let boris = yard.worker("Boris", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&boris, "Depot").await;
    chooses(&boris, "⏹ Close my shift").await;
    boris.presses("Mark tasks").await;
    boris.presses("📷 ＋").await;
    boris.sends_photo().await;
    boris.sees("✅ Sweep");
    boris.presses(BACK).await;
    boris.sees("✅ Sweep");
    boris.sees("Shall I close your shift?");
    assert_eq!(boris.state().await.as_deref(), Some("close_shift:review"));
}
