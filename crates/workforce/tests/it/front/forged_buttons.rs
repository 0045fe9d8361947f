//! Forged button data: no id in it reveals or changes what belongs to others.
//!
//! The table has a row for each button of the script. A button without a row fails the test, so a new handler cannot be
//! forgotten.

use std::collections::BTreeSet;

use workforce::application;
use workforce::rooms::Rooms;

use self::fixture::{Actor, ForgeryFixture, SECRETS};

mod fixture;
mod lost_rights;

/// The argument after the prefix of a button's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// None: what a forger appends is ignored.
    Nothing,
    /// An id of this kind.
    Id(&'static str),
    /// The offset of a page of a list.
    Offset,
    /// One of a few words, or a month.
    Word,
    /// A day. Any day is accepted, and only the person's own places are shown.
    Day,
}

/// A button: dialogue, state, data; its argument; and the steps by which an actor reaches it.
struct Row {
    dialogue: &'static str,
    /// Empty for entries, and for buttons that all states handle.
    state: &'static str,
    data: &'static str,
    argument: Argument,
    paths: &'static [(Actor, &'static [&'static str])],
}

const fn row(
    dialogue: &'static str,
    state: &'static str,
    data: &'static str,
    argument: Argument,
    paths: &'static [(Actor, &'static [&'static str])],
) -> Row {
    Row { dialogue, state, data, argument, paths }
}

const EMMA: Actor = Actor::Employee;
const EVA: Actor = Actor::AtWork;
const MAX: Actor = Actor::Manager;
const DORA: Actor = Actor::Dispatcher;
const MAYA: Actor = Actor::Master;
const NO_ARGUMENT: Argument = Argument::Nothing;

/// An id that nothing has, and arguments that are no ids.
const UNKNOWN_ID: &str = "999999";
const MALFORMED: [&str; 6] = ["", "x", "-1", "9223372036854775807", "99999999999999999999", "+262142-12-31"];

const PLAN_SITE: &[&str] = &["plan:begin"];
const PLAN_FREE: &[&str] = &["plan:begin", "plan:free"];
const PLAN_DAY: &[&str] = &["plan:begin", "plan:site:{home}"];
const PLAN_SLOT: &[&str] = &["plan:begin", "plan:site:{home}", "plan:day:{day}"];
const PLAN_YES: &[&str] = &["plan:begin", "plan:free", "plan:slot:{slot}"];
const CANCEL_DOCUMENT: &[&str] = &["plan:cancel:{plan}", "cancel:why:illness"];
const CANCEL_PHOTO: &[&str] = &["plan:cancel:{plan}", "cancel:why:illness", "cancel:skip"];
const QUESTION: &[&str] = &["onboarding:begin", "consent:yes"];
const CONSENT: &[&str] = &["/start", "registration:language:en"];
const NAME: &[&str] = &["/start", "registration:language:en", AGREE];
const EMAIL: &[&str] = &["/start", "registration:language:en", AGREE, "\"Sara Jones", "\"+79991112233"];
const KIND: &[&str] =
    &["/start", "registration:language:en", AGREE, "\"Sara Jones", "\"+79991112233", "registration:skip"];
const ORDER_KNOWN: &[&str] =
    &["orders:new", "\"Oven", "\"It does not get warm", "\"Anna Petrova", "\"Lenin street 5, flat 12", "\"89991234567"];
const ORDER_NOTES: &[&str] =
    &["orders:new", "\"Oven", "\"It does not get warm", "\"Anna Petrova", "\"Lenin street 5, flat 12", "\"89990001122"];
const ORDER_TIME: &[&str] = &[
    "orders:new",
    "\"Oven",
    "\"It does not get warm",
    "\"Anna Petrova",
    "\"Lenin street 5, flat 12",
    "\"89990001122",
    "draft:skip",
];
const ORDER_CONFIRM: &[&str] = &[
    "orders:new",
    "\"Oven",
    "\"It does not get warm",
    "\"Anna Petrova",
    "\"Lenin street 5, flat 12",
    "\"89990001122",
    "draft:skip",
    "draft:skip",
];
const ORDER_PAUSED: &[&str] = &["orders:new", "menu"];
const AGREE: &str = "registration:agree:{consent}";

const TABLE: &[Row] = &[
    // Planning.
    row("plan_shift", "", "plan:begin", NO_ARGUMENT, &[(EMMA, &[]), (MAX, &[])]),
    row("plan_shift", "", "shifts:mine", Argument::Offset, &[(EMMA, &[]), (MAX, &[])]),
    row("plan_shift", "", "shifts:back", NO_ARGUMENT, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "site", "plan:site:", Argument::Id("site"), &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "plan:sites:", Argument::Offset, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "plan:free", NO_ARGUMENT, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "site", "shifts:back", NO_ARGUMENT, &[(EMMA, PLAN_SITE)]),
    row("plan_shift", "free", "plan:places:", Argument::Offset, &[(EMMA, PLAN_FREE)]),
    row("plan_shift", "free", "plan:slot:", Argument::Id("slot"), &[(EMMA, PLAN_FREE)]),
    row("plan_shift", "day", "plan:days:", Argument::Offset, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "day", "plan:day:", Argument::Day, &[(EMMA, PLAN_DAY)]),
    row("plan_shift", "slot", "plan:slots:", Argument::Offset, &[(EMMA, PLAN_SLOT)]),
    row("plan_shift", "slot", "plan:slot:", Argument::Id("slot"), &[(EMMA, PLAN_SLOT)]),
    row("plan_shift", "confirm", "plan:yes", NO_ARGUMENT, &[(EMMA, PLAN_YES)]),
    // Opening a shift.
    row("open_shift", "", "open:begin", NO_ARGUMENT, &[(EMMA, &[]), (EVA, &[])]),
    row("open_shift", "choose", "open:plan:", Argument::Id("plan"), &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "open:site:", Argument::Id("site"), &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "open:more:", Argument::Offset, &[(EMMA, &["open:begin"])]),
    row("open_shift", "choose", "shifts:back", NO_ARGUMENT, &[(EMMA, &["open:begin"])]),
    // Tasks.
    row("my_tasks", "", "tasks:mine", NO_ARGUMENT, &[(EVA, &[]), (EMMA, &[])]),
    row("my_tasks", "", "shifts:back", NO_ARGUMENT, &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:done:", Argument::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:undo:", Argument::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "task:photo:", Argument::Id("task"), &[(EVA, &["tasks:mine"])]),
    row("my_tasks", "list", "tasks:ready", NO_ARGUMENT, &[(EVA, &["tasks:mine"])]),
    // Closing a shift.
    row("close_shift", "", "close:begin", NO_ARGUMENT, &[(EVA, &[]), (EMMA, &[])]),
    row("close_shift", "review", "close:tasks", NO_ARGUMENT, &[(EVA, &["close:begin"])]),
    row("close_shift", "review", "close:go", NO_ARGUMENT, &[(EVA, &["close:begin"])]),
    row("close_shift", "review", "shifts:back", NO_ARGUMENT, &[(EVA, &["close:begin"])]),
    // Opening and closing a site.
    row("site_doors", "", "site:open", NO_ARGUMENT, &[(EMMA, &[])]),
    row("site_doors", "", "site:close", NO_ARGUMENT, &[(EMMA, &[])]),
    row("site_doors", "open_which", "site:is:", Argument::Id("site"), &[(EMMA, &["site:open"])]),
    row("site_doors", "open_which", "site:more:", Argument::Offset, &[(EMMA, &["site:open"])]),
    row("site_doors", "open_which", "shifts:back", NO_ARGUMENT, &[(EMMA, &["site:open"])]),
    row("site_doors", "close_which", "site:is:", Argument::Id("site"), &[(EMMA, &["site:close"])]),
    row("site_doors", "close_which", "site:more:", Argument::Offset, &[(EMMA, &["site:close"])]),
    row("site_doors", "close_which", "shifts:back", NO_ARGUMENT, &[(EMMA, &["site:close"])]),
    // Cancelling a plan.
    row("cancel_plan", "", "plan:cancel:", Argument::Id("plan"), &[(EMMA, &[]), (MAX, &[])]),
    row("cancel_plan", "", "shifts:back", NO_ARGUMENT, &[(EMMA, CANCEL_DOCUMENT)]),
    row("cancel_plan", "reason", "cancel:why:", Argument::Word, &[(EMMA, &["plan:cancel:{plan}"])]),
    row("cancel_plan", "reason", "shifts:back", NO_ARGUMENT, &[(EMMA, &["plan:cancel:{plan}"])]),
    row("cancel_plan", "document", "cancel:skip", NO_ARGUMENT, &[(EMMA, CANCEL_DOCUMENT)]),
    row("cancel_plan", "photo", "cancel:skip", NO_ARGUMENT, &[(EMMA, CANCEL_PHOTO)]),
    // Staff in the bot.
    row("owner_sites", "", "owner:today", NO_ARGUMENT, &[(MAX, &[])]),
    row("owner_sites", "", "owner:sites", Argument::Offset, &[(MAX, &[])]),
    row("owner_sites", "", "owner:site:", Argument::Id("site"), &[(MAX, &[])]),
    row("owner_sites", "", "owner:slot:", Argument::Id("site"), &[(MAX, &[])]),
    row("owner_sites", "", "owner:position:", Argument::Id("site"), &[(MAX, &[])]),
    row("owner_sites", "position", "shifts:back", NO_ARGUMENT, &[(MAX, &["owner:position:{home}"])]),
    row("owner_sites", "", "judge:yes:", Argument::Id("cancellation"), &[(MAX, &[])]),
    row("owner_sites", "", "judge:no:", Argument::Id("cancellation"), &[(MAX, &[])]),
    row("owner_sites", "", "judge:back:", Argument::Id("cancellation"), &[(MAX, &[])]),
    row("owner_sites", "new_slot", "shifts:back", NO_ARGUMENT, &[(MAX, &["owner:slot:{home}"])]),
    // A new order. Dispatchers see all orders, but take over only what belongs to the client of the phone.
    row("CreateOrderStates", "", "orders:new", NO_ARGUMENT, &[(DORA, &[]), (EMMA, &[])]),
    row("CreateOrderStates", "", "draft:skip", NO_ARGUMENT, &[(DORA, ORDER_NOTES)]),
    row("CreateOrderStates", "", "draft:keep", NO_ARGUMENT, &[(DORA, ORDER_NOTES)]),
    row("CreateOrderStates", "", "draft:discard", NO_ARGUMENT, &[(DORA, ORDER_PAUSED)]),
    row("CreateOrderStates", "", "shifts:back", NO_ARGUMENT, &[(DORA, ORDER_NOTES)]),
    row("CreateOrderStates", "", "menu", NO_ARGUMENT, &[(DORA, ORDER_NOTES)]),
    row("CreateOrderStates", "equipment_type", "draft:type:", Argument::Word, &[(DORA, &["orders:new"])]),
    row("CreateOrderStates", "known_client", "draft:name", NO_ARGUMENT, &[(DORA, ORDER_KNOWN)]),
    row("CreateOrderStates", "known_client", "draft:address:", Argument::Id("order"), &[(DORA, ORDER_KNOWN)]),
    row("CreateOrderStates", "known_client", "draft:go", NO_ARGUMENT, &[(DORA, ORDER_KNOWN)]),
    row("CreateOrderStates", "scheduled_time", "draft:when:", Argument::Word, &[(DORA, ORDER_TIME)]),
    row("CreateOrderStates", "confirm", "draft:edit:", Argument::Word, &[(DORA, ORDER_CONFIRM)]),
    row("CreateOrderStates", "confirm", "draft:yes", NO_ARGUMENT, &[(DORA, ORDER_CONFIRM)]),
    row("CreateOrderStates", "paused", "draft:continue", NO_ARGUMENT, &[(DORA, ORDER_PAUSED)]),
    row("CreateOrderStates", "paused", "menu", NO_ARGUMENT, &[(DORA, ORDER_PAUSED)]),
    // Orders: a master sees only the own ones.
    row("order_work", "", "orders:active", Argument::Offset, &[(DORA, &[]), (MAYA, &[])]),
    row("order_work", "", "orders:mine", Argument::Offset, &[(MAYA, &[]), (DORA, &[])]),
    row("order_work", "", "orders:search", NO_ARGUMENT, &[(DORA, &[]), (EMMA, &[])]),
    row("order_work", "", "orders:open:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:do:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:ask:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:masters:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:offers:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:give:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:offer:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:fields:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:field:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_work", "", "orders:report", Argument::Word, &[(DORA, &[]), (MAYA, &[])]),
    row("order_work", "search", "shifts:back", NO_ARGUMENT, &[(DORA, &["orders:search"])]),
    row("order_work", "reason", "shifts:back", NO_ARGUMENT, &[(DORA, &["orders:ask:{order}:-:refuse"])]),
    row("order_work", "new_time", "orders:no-time", NO_ARGUMENT, &[(DORA, &["orders:ask:{order}:-:reschedule"])]),
    row("order_work", "new_time", "shifts:back", NO_ARGUMENT, &[(DORA, &["orders:ask:{order}:-:reschedule"])]),
    row("order_work", "field", "shifts:back", NO_ARGUMENT, &[(DORA, &["orders:field:{order}:-:notes"])]),
    row("order_visit", "", "orders:visit:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_visit", "", "orders:checks:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_visit", "", "orders:check:", Argument::Id("order"), &[(MAYA, &[])]),
    row("order_visit", "", "shifts:back", NO_ARGUMENT, &[]),
    row("order_visit", "arrival", "visit:way:", Argument::Word, &[]),
    row("order_visit", "prepayment", "visit:no-prepayment", NO_ARGUMENT, &[]),
    row("order_visit", "photos", "visit:ready", NO_ARGUMENT, &[]),
    row("complete_order", "", "orders:close:", Argument::Id("order"), &[(MAYA, &[])]),
    row("complete_order", "", "shifts:back", NO_ARGUMENT, &[]),
    row("complete_order", "total", "close:item:", Argument::Word, &[]),
    row("complete_order", "total", "close:clear", NO_ARGUMENT, &[]),
    row("complete_order", "total", "close:items-done", NO_ARGUMENT, &[]),
    row("complete_order", "materials", "close:no-materials", NO_ARGUMENT, &[]),
    row("complete_order", "review", "close:review:", Argument::Word, &[]),
    row("complete_order", "out_of_town", "close:town:", Argument::Word, &[]),
    row("complete_order", "summary", "close:order", NO_ARGUMENT, &[]),
    row("complete_order", "summary", "close:cash", NO_ARGUMENT, &[]),
    row("complete_order", "summary", "close:ask-client", NO_ARGUMENT, &[]),
    // Pay.
    row("payroll_report", "", "pay:mine:", Argument::Word, &[(EMMA, &[]), (MAX, &[])]),
    row("payroll_report", "", "pay:report", NO_ARGUMENT, &[(MAX, &[])]),
    row("payroll_report", "days", "pay:month:", Argument::Word, &[]),
    row("payroll_report", "days", "shifts:back", NO_ARGUMENT, &[]),
    // Registrations: only owners decide, and they may see all people.
    row("registration_decision", "", "reg:waiting", NO_ARGUMENT, &[(MAX, &[])]),
    row("registration_decision", "", "reg:approve:", Argument::Id("applicant"), &[(MAX, &[])]),
    row("registration_decision", "", "reg:reject:", Argument::Id("applicant"), &[(MAX, &[])]),
    row("registration_decision", "", "reg:papers:", Argument::Id("applicant"), &[(MAX, &[])]),
    row("registration_decision", "", "reg:contract:", Argument::Word, &[(MAX, &[])]),
    row("registration_decision", "", "reg:sites:", Argument::Word, &[(MAX, &[])]),
    row("registration_decision", "reason", "shifts:back", NO_ARGUMENT, &[]),
    row("registration", "", "registration:back", NO_ARGUMENT, &[(Actor::Stranger, NAME)]),
    row("registration", "language", "registration:language:", Argument::Word, &[(Actor::Stranger, &["/start"])]),
    row("registration", "consent", "registration:agree:", Argument::Word, &[(Actor::Stranger, CONSENT)]),
    row("registration", "consent", "registration:disagree", NO_ARGUMENT, &[(Actor::Stranger, CONSENT)]),
    row("registration", "resume", "registration:cancel", NO_ARGUMENT, &[]),
    row("registration", "resume", "registration:continue", NO_ARGUMENT, &[]),
    row("registration", "resume", "registration:over", NO_ARGUMENT, &[]),
    row("registration", "email", "registration:skip", NO_ARGUMENT, &[(Actor::Stranger, EMAIL)]),
    row("registration", "document_kind", "registration:kind:", Argument::Word, &[(Actor::Stranger, KIND)]),
    row("registration", "not_saved", "registration:again", NO_ARGUMENT, &[]),
    row("registration", "not_saved", "registration:cancel", NO_ARGUMENT, &[]),
    // The questionnaire, and questions to staff.
    row("OnboardingStates", "", "onboarding:begin", NO_ARGUMENT, &[(EMMA, &[])]),
    row("OnboardingStates", "consent", "consent:yes", NO_ARGUMENT, &[(EVA, &["onboarding:begin"])]),
    row("OnboardingStates", "consent", "consent:no", NO_ARGUMENT, &[(Actor::Master, &["onboarding:begin"])]),
    row("OnboardingStates", "consent", "onboarding:begin", NO_ARGUMENT, &[(Actor::Master, &["onboarding:begin"])]),
    row("OnboardingStates", "question", "a:", Argument::Word, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "skip", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "back", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "keep", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "pause", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "menu", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("OnboardingStates", "question", "onboarding:begin", NO_ARGUMENT, &[(EMMA, QUESTION)]),
    row("ChatStates", "", "chat:open", NO_ARGUMENT, &[(EMMA, &[])]),
    row("ChatStates", "", "chat:close", NO_ARGUMENT, &[(EMMA, &[])]),
    row("ChatStates", "", "chat:reply:", Argument::Id("asker"), &[(MAX, &[])]),
    row("ChatStates", "", "chat:end:", Argument::Id("asker"), &[(MAX, &[])]),
    row("ChatStates", "active", "chat:open", NO_ARGUMENT, &[(EMMA, &["chat:open"])]),
    row("ChatStates", "active", "chat:close", NO_ARGUMENT, &[(EMMA, &["chat:open"])]),
    row("ChatStates", "replying", "chat:reply:", Argument::Id("asker"), &[]),
    row("ChatStates", "replying", "chat:end:", Argument::Id("asker"), &[]),
    row("ChatStates", "replying", "shifts:back", NO_ARGUMENT, &[]),
    // For all people.
    row("front", "", "menu", NO_ARGUMENT, &[(EMMA, &[]), (MAX, &[])]),
    row("front", "", "cabinet", NO_ARGUMENT, &[(EMMA, &[]), (MAX, &[])]),
    row("front", "", "language:", Argument::Word, &[(EMMA, &[])]),
    row("summary", "", "summary:", Argument::Word, &[]),
    row("summary", "", "daily:ask", NO_ARGUMENT, &[(MAX, &[])]),
    row("quiet", "", "quiet:", Argument::Word, &[(EMMA, &[])]),
];

#[test]
fn every_button_of_the_script_has_a_row() {
    let script = application::script(&Rooms::all());
    let buttons = script
        .buttons()
        .into_iter()
        .map(|(dialogue, state, data)| format!("{dialogue} {} {data}", state.unwrap_or_default()));
    let buttons: BTreeSet<String> = buttons.collect();
    let rows: BTreeSet<String> =
        TABLE.iter().map(|row| format!("{} {} {}", row.dialogue, row.state, row.data)).collect();
    let missing: Vec<_> = buttons.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&buttons).collect();
    assert!(missing.is_empty(), "buttons without a row in the table of forged buttons: {missing:#?}");
    assert!(gone.is_empty(), "rows without a button in the script: {gone:#?}");
}

#[tokio::test]
async fn forged_ids_reveal_and_change_nothing() {
    let mut test = ForgeryTest::open().await;
    for row in TABLE {
        let Argument::Id(kind) = row.argument else { continue };
        for (actor, way) in row.paths {
            test.try_foreign_ids(row, *actor, way, kind).await;
        }
        // Without the state that handles the button, and without the role.
        let number = test.fixture.foreign[kind][0].clone();
        for actor in Actor::ALL.into_iter().filter(|actor| *actor != Actor::Owner) {
            test.press(row, actor, &[], &number).await;
        }
        test.press(row, Actor::Owner, &[], UNKNOWN_ID).await;
    }
    test.finish();
}

#[tokio::test]
async fn malformed_arguments_reveal_and_change_nothing() {
    try_malformed(3).await;
}

mod all_arguments {
    #[tokio::test]
    async fn malformed_arguments_reveal_and_change_nothing() {
        super::try_malformed(1).await;
    }
}

/// Tries every so many of the malformed arguments of each button.
async fn try_malformed(every: usize) {
    let mut test = ForgeryTest::open().await;
    for (number, row) in TABLE.iter().filter(|row| row.argument != Argument::Nothing).enumerate() {
        for (actor, way) in row.paths {
            for odd in MALFORMED.iter().skip(number % every).step_by(every) {
                test.press(row, *actor, way, odd).await;
            }
        }
    }
    // This reason exists in the tables, but is not offered to people.
    test.fixture.perform(EMMA, "/cancel").await;
    test.fixture.perform(EMMA, "plan:cancel:{plan}").await;
    test.fixture.perform(EMMA, "cancel:why:by_staff").await;
    assert_eq!(test.fixture.state(EMMA).await.as_deref(), Some("cancel_plan:reason"));
    test.finish();
}

#[tokio::test]
async fn text_after_button_data_is_ignored() {
    let mut test = ForgeryTest::open().await;
    let number = test.fixture.foreign["site"][0].clone();
    for row in TABLE.iter().filter(|row| row.argument == Argument::Nothing) {
        for (actor, way) in row.paths {
            test.press_with_suffix(row, *actor, way, &number).await;
        }
    }
    test.finish();
}

/// The fixture, and every leak or change that a forged button caused.
struct ForgeryTest {
    fixture: ForgeryFixture,
    findings: Vec<String>,
}

impl ForgeryTest {
    async fn open() -> Self {
        Self { fixture: ForgeryFixture::open().await, findings: Vec::new() }
    }

    /// Fails with all findings.
    #[track_caller]
    fn finish(self) {
        assert!(self.findings.is_empty(), "{}", self.findings.join("\n"));
    }

    /// Ids of others are answered like ids that do not exist.
    async fn try_foreign_ids(&mut self, row: &Row, actor: Actor, way: &[&str], kind: &str) {
        let of_none = self.press(row, actor, way, UNKNOWN_ID).await;
        for number in self.fixture.foreign[kind].clone() {
            let of_others = self.press(row, actor, way, &number).await;
            let what = format!("{}{number} by {actor:?} is answered otherwise than {UNKNOWN_ID}", row.data);
            self.expect(of_others == of_none, || format!("{what}: {of_others}"));
        }
    }

    /// Presses the button with this id: it must lead nowhere. Returns the answer.
    async fn press(&mut self, row: &Row, actor: Actor, way: &[&str], number: &str) -> String {
        self.take_steps(actor, way).await;
        let what = format!("{}{number} by {actor:?} at {}", row.data, row.state);
        let before = self.fixture.state(actor).await;
        if !way.is_empty() && !row.state.is_empty() {
            assert_eq!(before, Some(format!("{}:{}", row.dialogue, row.state)), "the way to {what}");
        }
        let (rows, heard) = (self.fixture.rows().await, self.fixture.transcripts_of_others());
        let answer = self.fixture.answer_to(actor, &format!("{}{number}", row.data)).await;
        if actor != Actor::Owner {
            self.expect_no_secret(&answer, &what);
        }
        let is_same = self.fixture.rows().await == rows && self.fixture.transcripts_of_others() == heard;
        self.expect(is_same, || format!("{what} changes something"));
        let after = self.fixture.state(actor).await;
        let leads_on = after.is_some() && after != before && row.argument != Argument::Day;
        self.expect(!leads_on, || format!("{what} leads from {before:?} to {after:?}"));
        answer
    }

    /// Presses a button of the actor's own, with an id that it does not take.
    async fn press_with_suffix(&mut self, row: &Row, actor: Actor, way: &[&str], number: &str) {
        let (rows, heard) = (self.fixture.foreign_rows().await, self.fixture.transcripts_of_others());
        self.take_steps(actor, way).await;
        let what = format!("{}{number} by {actor:?} at {}", row.data, row.state);
        let answer = self.fixture.answer_to(actor, &format!("{}{number}", row.data)).await;
        self.expect_no_secret(&answer, &what);
        let is_same = self.fixture.foreign_rows().await == rows && self.fixture.transcripts_of_others() == heard;
        self.expect(is_same, || format!("{what} changes something of others"));
    }

    /// Leaves the open dialogue and takes these steps.
    async fn take_steps(&self, actor: Actor, way: &[&str]) {
        // The first pauses a registration, the second ends it.
        for _ in 0..2 {
            self.fixture.perform(actor, "/cancel").await;
        }
        for step in way {
            self.fixture.perform(actor, step).await;
        }
    }

    fn expect_no_secret(&mut self, told: &str, what: &str) {
        for secret in SECRETS {
            self.expect(!told.contains(secret), || format!("{what} tells {secret:?}: {told}"));
        }
    }

    fn expect(&mut self, is_well: bool, otherwise: impl FnOnce() -> String) {
        if !is_well {
            self.findings.push(otherwise());
        }
    }
}
