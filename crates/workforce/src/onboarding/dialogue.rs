//! The questionnaire as a dialogue: consent, then one question after another, with skip, back and pause.
//!
//! The state only says which question is open; answers are committed to the database with their turns. Sessions are
//! read when a person begins or returns, never for an input that a state waits for.

use std::time::Duration;

use opora::prelude::*;

use super::questionnaire::{GivenAnswer, Questionnaire};
use super::records::{self, Status};
use super::{BEGIN, begin_button, messages, tell_pages};
use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front::{self, menu_button};
use crate::people::WriteAs;
use crate::person::{Person, QUESTIONED};
use crate::text;
use crate::texts::MENU;

/// Expiry of a question.
pub const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) const AGREE: &str = "consent:yes";
pub(super) const DECLINE: &str = "consent:no";
pub(super) const ANSWER: &str = "a:";
pub(super) const SKIP: &str = "skip";
pub(super) const BACK: &str = "back";
pub(super) const KEEP: &str = "keep";
pub(super) const PAUSE: &str = "pause";

/// The names are those of the bots that it replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "OnboardingStates")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OnboardingStates {
    Consent,
    /// The state was lost or imported: the next input leads to the open question.
    Returning,
    Question(QuestionPosition),
}

/// The question that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionPosition {
    pub questionnaire: i64,
    pub question: String,
    /// The question from which the person went back, and to which the next answer returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl QuestionPosition {
    fn at(questionnaire: i64, question: &str) -> Self {
        Self { questionnaire, question: question.to_owned(), until: None }
    }

    /// The question after an answer; none after the last.
    fn after(&self, all: &Questionnaire) -> Option<Self> {
        let next = self.until.as_deref().or_else(|| all.after(&self.question).map(|next| next.id.as_str()))?;
        Some(Self::at(self.questionnaire, next))
    }

    /// The previous question.
    fn before(&self, all: &Questionnaire) -> Option<Self> {
        let until = Some(self.until.clone().unwrap_or_else(|| self.question.clone()));
        let before = all.before(&self.question)?;
        Some(Self { until, ..Self::at(self.questionnaire, &before.id) })
    }
}

pub fn dialogue() -> Dialogue<OnboardingStates> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .ask(OnboardingStates::CONSENT, ask_consent)
        .on(OnboardingStates::CONSENT, button(AGREE), agree)
        .on(OnboardingStates::CONSENT, button(DECLINE), decline)
        .on(OnboardingStates::CONSENT, button(BEGIN), already_asked)
        .on(OnboardingStates::CONSENT, command("cancel"), leave_undecided)
        .on(OnboardingStates::RETURNING, any(), return_to_question)
        .ask(OnboardingStates::QUESTION, messages::ask)
        .on(OnboardingStates::QUESTION, text(), text_answer)
        .on(OnboardingStates::QUESTION, button(ANSWER), button_answer)
        .on(OnboardingStates::QUESTION, button(SKIP), skip)
        .on(OnboardingStates::QUESTION, button(BACK), back)
        .on(OnboardingStates::QUESTION, button(KEEP), keep)
        .on(OnboardingStates::QUESTION, button(PAUSE), pause)
        .on(OnboardingStates::QUESTION, button(BEGIN), already_begun)
        .on(OnboardingStates::QUESTION, button(MENU), pause_and_show_menu)
        .on(OnboardingStates::QUESTION, command("cancel"), cancel)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .restore(restore_session)
}

/// The person, if they answer the questionnaire and the chat is private.
async fn allowed_person(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, QUESTIONED).await
}

async fn begin(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let last = records::last_session(app.domain.read(), person.id).await?;
    match last.map(|session| session.status.parse()).transpose()? {
        Some(Status::Active | Status::Paused) => resume(turn, &person).await,
        Some(Status::Completed) => {
            turn.say(messages::done(person.language));
            Ok(Next::Stay)
        }
        Some(Status::Declined) | None => Ok(Next::Go(OnboardingStates::Consent)),
    }
}

/// A second tap on an offer, which belongs to no state.
async fn already_asked(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.refuse(text!(language, "onboarding-waiting-toast"))
}

async fn already_begun(turn: &mut Turn, _: QuestionPosition, press: Press) -> Step<OnboardingStates> {
    already_asked(turn, press).await
}

async fn ask_consent(turn: &mut Turn) -> Result<(), BoxError> {
    let app = turn.context::<App>();
    let language = app.speaker(turn).await?.language;
    let (_, all) = app.onboarding.current().await?;
    turn.say(messages::consent(&all, language));
    Ok(())
}

/// `/cancel` before the person has decided: the questionnaire stays in the menu.
async fn leave_undecided(turn: &mut Turn, _: Command) -> Step<OnboardingStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let text = text!(language, "onboarding-undecided");
    turn.say(Say::text(text).buttons([[begin_button(language)], [menu_button(language)]]));
    Ok(Next::End)
}

async fn agree(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::Stay) };
    if turn.refusal().is_some() {
        return resume(turn, &person).await;
    }
    let (id, all) = turn.context::<App>().onboarding.current().await?;
    let Some(first) = all.questions.first() else { return Ok(Next::End) };
    let at = turn.now();
    let user_id = person.id;
    turn.write_as(&person, move |db| Box::pin(records::begin(db, user_id, id, at)));
    Ok(Next::Go(OnboardingStates::Question(QuestionPosition::at(id, &first.id))))
}

async fn decline(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::Stay) };
    let (id, _) = turn.context::<App>().onboarding.current().await?;
    let (user_id, at) = (person.id, turn.now());
    turn.write_as(&person, move |db| Box::pin(records::decline(db, user_id, id, at)));
    tell_pages(turn, person.id);
    let text = text!(person.language, "onboarding-declined");
    turn.say(Say::text(text).buttons([[begin_button(person.language)], [menu_button(person.language)]]));
    Ok(Next::End)
}

/// Resumes a session at the first question without an answer.
async fn resume(turn: &mut Turn, person: &Person) -> Step<OnboardingStates> {
    let app = turn.context::<App>();
    let user_id = person.id;
    let session = records::last_session(app.domain.read(), user_id).await?;
    let session = session.filter(|session| session.ended_at.is_none());
    let Some(session) = session else { return say_session_is_gone(turn, person) };
    let all = app.onboarding.questionnaire(session.questionnaire_id).await?;
    let answers = records::answers(app.domain.read(), [session.id].into_iter()).await?;
    let is_answered = |id: &str| answers.iter().any(|answer| answer.question == id);
    let Some(open) = all.first_open(is_answered) else {
        let at = turn.now();
        turn.write_as(person, move |db| Box::pin(records::complete(db, user_id, at)));
        messages::say_summary(turn, &messages::answers_in_words(&all, &answers, person.language), person.language);
        return Ok(Next::End);
    };
    turn.write_as(person, move |db| Box::pin(records::set_status(db, user_id, Status::Active)));
    turn.say(text!(person.language, "onboarding-go-on"));
    Ok(Next::Go(OnboardingStates::Question(QuestionPosition::at(session.questionnaire_id, &open.id))))
}

/// Says that there is no session any more.
fn say_session_is_gone(turn: &mut Turn, person: &Person) -> Step<OnboardingStates> {
    let text = text!(person.language, "onboarding-over");
    turn.say(Say::text(text).buttons([[begin_button(person.language)], [menu_button(person.language)]]));
    Ok(Next::End)
}

async fn text_answer(turn: &mut Turn, position: QuestionPosition, text: String) -> Step<OnboardingStates> {
    handle_answer(turn, position, GivenAnswer::Typed(&text)).await
}

async fn button_answer(turn: &mut Turn, position: QuestionPosition, press: Press) -> Step<OnboardingStates> {
    handle_answer(turn, position, GivenAnswer::Pressed(&press.rest)).await
}

/// Takes an answer. The message whose button was pressed then shows the choice instead of its buttons.
async fn handle_answer(turn: &mut Turn, position: QuestionPosition, given: GivenAnswer<'_>) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::Stay) };
    let all = turn.context::<App>().onboarding.questionnaire(position.questionnaire).await?;
    let question = all.question(&position.question).ok_or("the question is not in its questionnaire")?;
    let Some(answer) = question.read(given) else {
        turn.say(messages::hint(question, person.language));
        return Ok(Next::AskAgain);
    };
    if turn.refusal().is_none() {
        messages::show_choice(turn, &all, question, Some(&answer), person.language);
    }
    store_answer(turn, &person, &all, position, Some(answer)).await
}

async fn skip(turn: &mut Turn, position: QuestionPosition, _: Press) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::Stay) };
    let all = turn.context::<App>().onboarding.questionnaire(position.questionnaire).await?;
    let Some(question) = all.question(&position.question).filter(|question| question.is_skippable) else {
        return Ok(Next::AskAgain);
    };
    if turn.refusal().is_none() {
        messages::show_choice(turn, &all, question, None, person.language);
    }
    store_answer(turn, &person, &all, position, None).await
}

/// Commits an answer and goes on.
async fn store_answer(
    turn: &mut Turn,
    person: &Person,
    all: &Questionnaire,
    position: QuestionPosition,
    answer: Option<String>,
) -> Step<OnboardingStates> {
    if turn.refusal().is_some() {
        return say_session_is_gone(turn, person);
    }
    let (user_id, at, next) = (person.id, turn.now(), position.after(all));
    if next.is_none() {
        let answers = with_last(turn, person, all, &position.question, answer.as_deref()).await?;
        messages::say_summary(turn, &answers, person.language);
        tell_pages(turn, user_id);
    }
    let is_last = next.is_none();
    let question = position.question;
    turn.write_as(person, move |db| Box::pin(records::answer(db, user_id, question, answer, is_last, at)));
    Ok(next.map_or(Next::End, |next| Next::Go(OnboardingStates::Question(next))))
}

/// All answers, with the one that is about to be written.
async fn with_last(
    turn: &mut Turn,
    person: &Person,
    all: &Questionnaire,
    question: &str,
    answer: Option<&str>,
) -> Result<Vec<super::Answer>, BoxError> {
    let (app, at) = (turn.context::<App>(), turn.now());
    let session = records::last_session(app.domain.read(), person.id).await?.map(|session| session.id);
    let mut answers = records::answers(app.domain.read(), session.into_iter()).await?;
    answers.retain(|other| other.question != question);
    answers.push(super::tables::answer::Model {
        session_id: session.unwrap_or_default(),
        question: question.to_owned(),
        answer: answer.map(ToOwned::to_owned),
        answered_at: at.0,
    });
    Ok(messages::answers_in_words(all, &answers, person.language))
}

async fn back(turn: &mut Turn, position: QuestionPosition, _: Press) -> Step<OnboardingStates> {
    let all = turn.context::<App>().onboarding.questionnaire(position.questionnaire).await?;
    Ok(position.before(&all).map_or(Next::AskAgain, |before| Next::Go(OnboardingStates::Question(before))))
}

/// Returns to the later question, and keeps the answer.
async fn keep(_: &mut Turn, position: QuestionPosition, _: Press) -> Step<OnboardingStates> {
    let Some(until) = &position.until else { return Ok(Next::AskAgain) };
    Ok(Next::Go(OnboardingStates::Question(QuestionPosition::at(position.questionnaire, until))))
}

async fn pause(turn: &mut Turn, _: QuestionPosition, _: Press) -> Step<OnboardingStates> {
    pause_session(turn).await
}

/// The main menu, with the answers kept as on a pause.
async fn pause_and_show_menu(turn: &mut Turn, _: QuestionPosition, _: Press) -> Step<OnboardingStates> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    if let Some(person) = speaker.person {
        turn.write(move |db| Box::pin(records::set_status(db, person.id, Status::Paused)));
    }
    turn.say(text!(speaker.language, "onboarding-paused"));
    front::show_menu(turn).await?;
    Ok(Next::End)
}

async fn cancel(turn: &mut Turn, _: QuestionPosition, _: Command) -> Step<OnboardingStates> {
    pause_session(turn).await
}

async fn pause_session(turn: &mut Turn) -> Step<OnboardingStates> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    if let Some(person) = speaker.person {
        turn.write(move |db| Box::pin(records::set_status(db, person.id, Status::Paused)));
    }
    let text = text!(speaker.language, "onboarding-paused");
    turn.say(Say::text(text).buttons([[begin_button(speaker.language)], [menu_button(speaker.language)]]));
    Ok(Next::End)
}

/// The session stays active: the next input brings the question back.
async fn timed_out(turn: &mut Turn, state: OnboardingStates) -> Step<OnboardingStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let text = match state {
        OnboardingStates::Consent => text!(language, "onboarding-undecided"),
        OnboardingStates::Returning | OnboardingStates::Question(_) => text!(language, "onboarding-timed-out"),
    };
    turn.say(Say::text(text).buttons([[begin_button(language)]]));
    Ok(Next::End)
}

/// Restores a lost state: the input is unhandled, and the person may be in the middle of the questionnaire.
async fn restore_session(turn: &mut Turn, _: Input) -> Step<OnboardingStates> {
    if turn.key().chat != turn.key().user {
        return Ok(Next::Stay);
    }
    let app = turn.context::<App>();
    let Some(person) = app.speaker(turn).await?.person.filter(|person| person.may(QUESTIONED)) else {
        return Ok(Next::Stay);
    };
    let last = records::last_session(app.domain.read(), person.id).await?;
    if last.is_none_or(|session| session.status != Status::Active.name()) {
        return Ok(Next::Stay);
    }
    tracing::info!(user = person.id, "the state was lost; the session is restored from the database");
    Ok(Next::Go(OnboardingStates::Returning))
}

/// The input is not taken as an answer: the person may not have had the question in mind.
async fn return_to_question(turn: &mut Turn, _: Input) -> Step<OnboardingStates> {
    let Some(person) = allowed_person(turn).await? else { return Ok(Next::End) };
    resume(turn, &person).await
}
