//! Buttons that nobody was offered: whatever number their data names, nothing is told of what is for others, and nothing
//! changes.
//!
//! The table has a row for each button that the script hears. A button without a row fails the test, so a new handler
//! cannot be forgotten.

use std::collections::BTreeSet;

use workforce::application;
use workforce::rooms::Rooms;

use self::world::{Actor, SECRETS, World};

mod lost_rights;
mod world;

/// What follows the beginning of a button's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// Nothing: what a forger appends is not read.
    Nothing,
    /// A number of this kind.
    Id(&'static str),
    /// Where a page of a list begins.
    Offset,
    /// One of a few words, or a month.
    Word,
    /// A day: any is taken, and only own places are shown.
    Day,
}

/// A button: dialogue, state, data; what it takes; and how somebody gets to where it is heard.
struct Row {
    dialogue: &'static str,
    /// Empty for entries, and for what is heard in all states.
    state: &'static str,
    data: &'static str,
    takes: Takes,
    ways: &'static [(Actor, &'static [&'static str])],
}

const fn row(
    dialogue: &'static str,
    state: &'static str,
    data: &'static str,
    takes: Takes,
    ways: &'static [(Actor, &'static [&'static str])],
) -> Row {
    Row { dialogue, state, data, takes, ways }
}

const EMMA: Actor = Actor::Employee;
const EVA: Actor = Actor::AtWork;
const MAX: Actor = Actor::Manager;
const NOWHERE: Takes = Takes::Nothing;

/// Numbers that nothing has, and what is no number at all.
const NOT_THERE: &str = "999999";
const ODD: [&str; 6] = ["", "x", "-1", "9223372036854775807", "99999999999999999999", "+262142-12-31"];

const PLAN_SITE: &[&str] = &["plan:begin"];
const PLAN_FREE: &[&str] = &["plan:begin", "plan:free"];
const PLAN_DAY: &[&str] = &["plan:begin", "plan:site:{home}"];
const PLAN_SLOT: &[&str] = &["plan:begin", "plan:site:{home}", "plan:day:{day}"];
const PLAN_YES: &[&str] = &["plan:begin", "plan:free", "plan:slot:{slot}"];
const CANCEL_DOCUMENT: &[&str] = &["plan:cancel:{plan}", "cancel:why:illness"];
const CANCEL_PHOTO: &[&str] = &["plan:cancel:{plan}", "cancel:why:illness", "cancel:skip"];
const QUESTION: &[&str] = &["onboarding:begin", "consent:yes"];
const NAME: &[&str] = &["/start", "registration:language:en"];
const EMAIL: &[&str] = &["/start", "registration:language:en", "\"Sara Jones", "\"+79991112233"];
const KIND: &[&str] = &["/start", "registration:language:en", "\"Sara Jones", "\"+79991112233", "registration:skip"];

const TABLE: &[Row] = &[
    // Planning.
    row("plan_shift", "", "plan:begin", NOWHERE, &[(EMMA, &[]), (MAX, &[])]),
    row("plan_shift", "", "shifts:mine", Takes::Offset, &[(EMMA, &[]), (MAX, &[])]),
    row("plan_shift", "", "shifts:back", NOWHERE, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "site", "plan:site:", Takes::Id("site"), &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "plan:sites:", Takes::Offset, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "plan:free", NOWHERE, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "shifts:back", NOWHERE, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "free", "plan:places:", Takes::Offset, &[(EMMA, PLAN_FREE)]),
    row("plan_shift", "free", "plan:slot:", Takes::Id("slot"), &[(EMMA, PLAN_FREE)]),
    row("plan_shift", "day", "plan:days:", Takes::Offset, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "day", "plan:day:", Takes::Day, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "slot", "plan:slots:", Takes::Offset, &[(EMMA, PLAN_SLOT)]),
    row("plan_shift", "slot", "plan:slot:", Takes::Id("slot"), &[(EMMA, PLAN_SLOT)]),
    row("plan_shift", "confirm", "plan:yes", NOWHERE, &[(EMMA, PLAN_YES)]),
    // Opening a shift.
    row("open_shift", "", "open:begin", NOWHERE, &[(EMMA, &[]), (EVA, &[])]),
    row("open_shift", "choose", "open:plan:", Takes::Id("plan"), &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "open:site:", Takes::Id("site"), &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "open:more:", Takes::Offset, &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "shifts:back", NOWHERE, &[(EMMA, &["open:begin"])]),
    // Tasks.
    row("my_tasks", "", "tasks:mine", NOWHERE, &[(EVA, &[]), (EMMA, &[])]),
    row("my_tasks", "", "shifts:back", NOWHERE, &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:done:", Takes::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:undo:", Takes::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:photo:", Takes::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "tasks:ready", NOWHERE, &[(EVA, &["tasks:mine"])]),
    // Closing a shift.
    row("close_shift", "", "close:begin", NOWHERE, &[(EVA, &[]), (EMMA, &[])]),
    row("close_shift", "review", "close:tasks", NOWHERE, &[(EVA, &["close:begin"])]),
    row("close_shift", "review", "close:go", NOWHERE, &[(EVA, &["close:begin"])]),
    row("close_shift", "review", "shifts:back", NOWHERE, &[(EVA, &["close:begin"])]),
    // Opening and closing a site.
    row("site_doors", "", "site:open", NOWHERE, &[(EMMA, &[])]),
    row("site_doors", "", "site:close", NOWHERE, &[(EMMA, &[])]),
    row("site_doors", "open_which", "site:is:", Takes::Id("site"), &[(EMMA, &["site:open"])]),
    row("site_doors", "open_which", "site:more:", Takes::Offset, &[(EMMA, &["site:open"])]),
    row("site_doors", "open_which", "shifts:back", NOWHERE, &[(EMMA, &["site:open"])]),
    row("site_doors", "close_which", "site:is:", Takes::Id("site"), &[(EMMA, &["site:close"])]),
    row("site_doors", "close_which", "site:more:", Takes::Offset, &[(EMMA, &["site:close"])]),
    row("site_doors", "close_which", "shifts:back", NOWHERE, &[(EMMA, &["site:close"])]),
    // Cancelling a plan.
    row("cancel_plan", "", "plan:cancel:", Takes::Id("plan"), &[(EMMA, &[]), (MAX, &[])]),
    row("cancel_plan", "", "shifts:back", NOWHERE, &[(EMMA, CANCEL_DOCUMENT)]),
    row("cancel_plan", "reason", "cancel:why:", Takes::Word, &[(EMMA, &["plan:cancel:{plan}"])]),
    row("cancel_plan", "reason", "shifts:back", NOWHERE, &[(EMMA, &["plan:cancel:{plan}"])]),
    row("cancel_plan", "document", "cancel:skip", NOWHERE, &[(EMMA, CANCEL_DOCUMENT)]),
    row("cancel_plan", "photo", "cancel:skip", NOWHERE, &[(EMMA, CANCEL_PHOTO)]),
    // Staff in the bot.
    row("owner_sites", "", "owner:today", NOWHERE, &[(MAX, &[])]),
    row("owner_sites", "", "owner:sites", Takes::Offset, &[(MAX, &[])]),
    row("owner_sites", "", "owner:site:", Takes::Id("site"), &[(MAX, &[])]),
    row("owner_sites", "", "owner:slot:", Takes::Id("site"), &[(MAX, &[])]),
    row("owner_sites", "", "judge:yes:", Takes::Id("cancellation"), &[(MAX, &[])]),
    row("owner_sites", "", "judge:no:", Takes::Id("cancellation"), &[(MAX, &[])]),
    row("owner_sites", "new_slot", "shifts:back", NOWHERE, &[(MAX, &["owner:slot:{home}"])]),
    // Pay.
    row("payroll_report", "", "pay:mine:", Takes::Word, &[(EMMA, &[]), (MAX, &[])]),
    row("payroll_report", "", "pay:report", NOWHERE, &[(MAX, &[])]),
    row("payroll_report", "days", "pay:month:", Takes::Word, &[]),
    row("payroll_report", "days", "shifts:back", NOWHERE, &[]),
    // Registrations: only owners decide, and they know everybody.
    row("registration_decision", "", "reg:waiting", NOWHERE, &[(MAX, &[])]),
    row("registration_decision", "", "reg:approve:", Takes::Id("applicant"), &[(MAX, &[])]),
    row("registration_decision", "", "reg:reject:", Takes::Id("applicant"), &[(MAX, &[])]),
    row("registration_decision", "", "reg:papers:", Takes::Id("applicant"), &[(MAX, &[])]),
    row("registration", "", "registration:back", NOWHERE, &[(Actor::Stranger, NAME)]),
    row("registration", "language", "registration:language:", Takes::Word, &[(Actor::Stranger, &["/start"])]),
    row("registration", "resume", "registration:continue", NOWHERE, &[]),
    row("registration", "resume", "registration:over", NOWHERE, &[]),
    row("registration", "email", "registration:skip", NOWHERE, &[(Actor::Stranger, EMAIL)]),
    row("registration", "document_kind", "registration:kind:", Takes::Word, &[(Actor::Stranger, KIND)]),
    row("registration", "not_saved", "registration:again", NOWHERE, &[]),
    row("registration", "not_saved", "registration:cancel", NOWHERE, &[]),
    // The questionnaire, and questions to staff.
    row("OnboardingStates", "", "onboarding:begin", NOWHERE, &[(EMMA, &[])]),
    row("OnboardingStates", "consent", "consent:yes", NOWHERE, &[(EVA, &["onboarding:begin"])]),
    row("OnboardingStates", "consent", "consent:no", NOWHERE, &[(Actor::Master, &["onboarding:begin"])]),
    row("OnboardingStates", "consent", "onboarding:begin", NOWHERE, &[(Actor::Master, &["onboarding:begin"])]),
    row("OnboardingStates", "question", "a:", Takes::Word, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "skip", NOWHERE, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "back", NOWHERE, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "keep", NOWHERE, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "pause", NOWHERE, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "onboarding:begin", NOWHERE, &[(EMMA, QUESTION)]),
    row("ChatStates", "", "chat:open", NOWHERE, &[(EMMA, &[])]),
    row("ChatStates", "", "chat:close", NOWHERE, &[(EMMA, &[])]),
    row("ChatStates", "", "chat:reply:", Takes::Id("asker"), &[(MAX, &[])]),
    row("ChatStates", "", "chat:end:", Takes::Id("asker"), &[(MAX, &[])]),
    row("ChatStates", "active", "chat:open", NOWHERE, &[(EMMA, &["chat:open"])]),
    row("ChatStates", "active", "chat:close", NOWHERE, &[(EMMA, &["chat:open"])]),
    row("ChatStates", "replying", "chat:reply:", Takes::Id("asker"), &[]),
    row("ChatStates", "replying", "chat:end:", Takes::Id("asker"), &[]),
    // Everybody's.
    row("front", "", "menu", NOWHERE, &[(EMMA, &[]), (MAX, &[])]),
    row("front", "", "cabinet", NOWHERE, &[(EMMA, &[]), (MAX, &[])]),
    row("front", "", "language:", Takes::Word, &[(EMMA, &[])]),
];

#[test]
fn every_button_of_the_script_has_a_row() {
    let script = application::script(&Rooms::all());
    let heard = script
        .buttons()
        .into_iter()
        .map(|(dialogue, state, data)| format!("{dialogue} {} {data}", state.unwrap_or_default()));
    let heard: BTreeSet<String> = heard.collect();
    let rows: BTreeSet<String> =
        TABLE.iter().map(|row| format!("{} {} {}", row.dialogue, row.state, row.data)).collect();
    let missing: Vec<_> = heard.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&heard).collect();
    assert!(missing.is_empty(), "buttons without a row in the table of forged buttons: {missing:#?}");
    assert!(gone.is_empty(), "rows of buttons that nobody hears: {gone:#?}");
}

#[tokio::test]
async fn a_number_from_a_button_tells_and_changes_nothing() {
    let mut trial = Trial::open().await;
    for row in TABLE {
        let Takes::Id(kind) = row.takes else { continue };
        for (actor, way) in row.ways {
            trial.foreign_numbers(row, *actor, way, kind).await;
        }
        // Without the state in which the button is heard, and without the role.
        let number = trial.world.foreign[kind][0].clone();
        for actor in Actor::ALL.into_iter().filter(|actor| *actor != Actor::Owner) {
            trial.presses(row, actor, &[], &number).await;
        }
        trial.presses(row, Actor::Owner, &[], NOT_THERE).await;
    }
    trial.ends();
}

#[tokio::test]
async fn odd_words_from_a_button_tell_and_change_nothing() {
    let mut trial = Trial::open().await;
    for row in TABLE.iter().filter(|row| row.takes != Takes::Nothing) {
        for (actor, way) in row.ways {
            for odd in ODD {
                trial.presses(row, *actor, way, odd).await;
            }
        }
    }
    // What is not offered is no reason, though the tables know it.
    trial.world.does(EMMA, "/cancel").await;
    trial.world.does(EMMA, "plan:cancel:{plan}").await;
    trial.world.does(EMMA, "cancel:why:by_staff").await;
    assert_eq!(trial.world.state(EMMA).await.as_deref(), Some("cancel_plan:reason"));
    trial.ends();
}

#[tokio::test]
async fn what_is_appended_to_other_buttons_is_not_read() {
    let mut trial = Trial::open().await;
    let number = trial.world.foreign["site"][0].clone();
    for row in TABLE.iter().filter(|row| row.takes == Takes::Nothing) {
        for (actor, way) in row.ways {
            trial.appends(row, *actor, way, &number).await;
        }
    }
    trial.ends();
}

/// A world, and everything that was told or changed in it by a forged button.
struct Trial {
    world: World,
    found: Vec<String>,
}

impl Trial {
    async fn open() -> Self {
        Self { world: World::open().await, found: Vec::new() }
    }

    /// Fails with all that was found.
    #[track_caller]
    fn ends(self) {
        assert!(self.found.is_empty(), "{}", self.found.join("\n"));
    }

    /// Foreign numbers are answered as if nothing had them.
    async fn foreign_numbers(&mut self, row: &Row, actor: Actor, way: &[&str], kind: &str) {
        let of_none = self.presses(row, actor, way, NOT_THERE).await;
        for number in self.world.foreign[kind].clone() {
            let of_others = self.presses(row, actor, way, &number).await;
            let what = format!("{}{number} by {actor:?} is answered otherwise than {NOT_THERE}", row.data);
            self.expect(of_others == of_none, || format!("{what}: {of_others}"));
        }
    }

    /// Presses the button with this number behind it: it leads nowhere. Answers what was told.
    async fn presses(&mut self, row: &Row, actor: Actor, way: &[&str], number: &str) -> String {
        self.goes(actor, way).await;
        let what = format!("{}{number} by {actor:?} at {}", row.data, row.state);
        let before = self.world.state(actor).await;
        if !way.is_empty() && !row.state.is_empty() {
            assert_eq!(before, Some(format!("{}:{}", row.dialogue, row.state)), "the way to {what}");
        }
        let (rows, heard) = (self.world.rows().await, self.world.heard_by_others());
        let told = self.world.told(actor, &format!("{}{number}", row.data)).await;
        if actor != Actor::Owner {
            self.expect_no_secret(&told, &what);
        }
        let is_same = self.world.rows().await == rows && self.world.heard_by_others() == heard;
        self.expect(is_same, || format!("{what} changes something"));
        let after = self.world.state(actor).await;
        let leads_on = after.is_some() && after != before && row.takes != Takes::Day;
        self.expect(!leads_on, || format!("{what} leads from {before:?} to {after:?}"));
        told
    }

    /// Presses a button that is the actor's own, with a number that it does not take.
    async fn appends(&mut self, row: &Row, actor: Actor, way: &[&str], number: &str) {
        let (rows, heard) = (self.world.foreign_rows().await, self.world.heard_by_others());
        self.goes(actor, way).await;
        let what = format!("{}{number} by {actor:?} at {}", row.data, row.state);
        let told = self.world.told(actor, &format!("{}{number}", row.data)).await;
        self.expect_no_secret(&told, &what);
        let is_same = self.world.foreign_rows().await == rows && self.world.heard_by_others() == heard;
        self.expect(is_same, || format!("{what} changes something of others"));
    }

    /// Leaves whatever is open, and takes these steps.
    async fn goes(&self, actor: Actor, way: &[&str]) {
        self.world.does(actor, "/cancel").await;
        for step in way {
            self.world.does(actor, step).await;
        }
    }

    fn expect_no_secret(&mut self, told: &str, what: &str) {
        for secret in SECRETS {
            self.expect(!told.contains(secret), || format!("{what} tells {secret:?}: {told}"));
        }
    }

    fn expect(&mut self, is_well: bool, otherwise: impl FnOnce() -> String) {
        if !is_well {
            self.found.push(otherwise());
        }
    }
}
