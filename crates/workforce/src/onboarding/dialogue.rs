//! The questionnaire as a dialogue: consent, then one question after another, with skip, back and pause.
//!
//! The state only says where the person is: answers go to the database with the turn that took them. The database is
//! asked for a session where somebody begins or comes back, never by a message that a state waits for.

use std::time::Duration;

use opora::prelude::*;

use super::questionnaire::{Given, Questionnaire};
use super::records::{self, Status};
use super::{BEGIN, asking, begin_button, tell_pages};
use crate::application::App;
use crate::domain::InTurn;
use crate::front::{self, menu_button};
use crate::people::WriteAs;
use crate::person::{Person, QUESTIONED};
use crate::text;

/// For how long a question waits.
pub const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) const AGREE: &str = "consent:yes";
pub(super) const DECLINE: &str = "consent:no";
pub(super) const ANSWER: &str = "a:";
pub(super) const SKIP: &str = "skip";
pub(super) const BACK: &str = "back";
pub(super) const KEEP: &str = "keep";
pub(super) const PAUSE: &str = "pause";

/// Its names are those of the bots that it takes over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "OnboardingStates")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OnboardingStates {
    Consent,
    /// The state was gone or came from elsewhere: whatever the person does next leads to the question that is open.
    Returning,
    Question(Place),
}

/// Which question is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub questionnaire: i64,
    pub question: String,
    /// The question from which the person went back; there it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Place {
    fn at(questionnaire: i64, question: &str) -> Self {
        Self { questionnaire, question: question.to_owned(), until: None }
    }

    /// Where it goes on after an answer; none if it was the last.
    fn after(&self, all: &Questionnaire) -> Option<Self> {
        let next = self.until.as_deref().or_else(|| all.after(&self.question).map(|next| next.id.as_str()))?;
        Some(Self::at(self.questionnaire, next))
    }

    /// The question before.
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
        .on(OnboardingStates::RETURNING, any(), come_back)
        .ask(OnboardingStates::QUESTION, asking::ask)
        .on(OnboardingStates::QUESTION, text(), typed)
        .on(OnboardingStates::QUESTION, button(ANSWER), pressed)
        .on(OnboardingStates::QUESTION, button(SKIP), skip)
        .on(OnboardingStates::QUESTION, button(BACK), back)
        .on(OnboardingStates::QUESTION, button(KEEP), keep)
        .on(OnboardingStates::QUESTION, button(PAUSE), pause)
        .on(OnboardingStates::QUESTION, button(BEGIN), already_begun)
        .on(OnboardingStates::QUESTION, command("cancel"), cancel)
        .life(LIFE)
        .timeout(timed_out)
        .restore(look_up)
}

/// Who answers here, in a chat of their own.
async fn answering(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed(turn, QUESTIONED).await
}

async fn begin(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let last = records::last_session(app.domain.read(), person.id).await?;
    match last.map(|session| session.status.parse()).transpose()? {
        Some(Status::Active | Status::Paused) => go_on(turn, &person).await,
        Some(Status::Completed) => {
            turn.say(asking::done(person.language));
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

async fn already_begun(turn: &mut Turn, _: Place, press: Press) -> Step<OnboardingStates> {
    already_asked(turn, press).await
}

async fn ask_consent(turn: &mut Turn) -> Result<(), BoxError> {
    let app = turn.context::<App>();
    let language = app.speaker(turn).await?.language;
    let (_, all) = app.onboarding.in_force().await?;
    turn.say(asking::consent(&all, language));
    Ok(())
}

async fn agree(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::Stay) };
    if turn.refused().is_some() {
        return go_on(turn, &person).await;
    }
    let (id, all) = turn.context::<App>().onboarding.in_force().await?;
    let Some(first) = all.questions.first() else { return Ok(Next::End) };
    let at = turn.now();
    let user_id = person.id;
    turn.write_as(&person, move |db| Box::pin(records::begin(db, user_id, id, at)));
    Ok(Next::Go(OnboardingStates::Question(Place::at(id, &first.id))))
}

async fn decline(turn: &mut Turn, _: Press) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::Stay) };
    let (id, _) = turn.context::<App>().onboarding.in_force().await?;
    let (user_id, at) = (person.id, turn.now());
    turn.write_as(&person, move |db| Box::pin(records::decline(db, user_id, id, at)));
    tell_pages(turn, person.id);
    let words = text!(person.language, "onboarding-declined");
    turn.say(Say::text(words).buttons([[begin_button(person.language)], [menu_button(person.language)]]));
    Ok(Next::End)
}

/// Takes a session up at the first question without an answer.
async fn go_on(turn: &mut Turn, person: &Person) -> Step<OnboardingStates> {
    let app = turn.context::<App>();
    let user_id = person.id;
    let session = records::last_session(app.domain.read(), user_id).await?;
    let session = session.filter(|session| session.ended_at.is_none());
    let Some(session) = session else { return over(turn, person) };
    let all = app.onboarding.questionnaire(session.questionnaire_id).await?;
    let answers = records::answers(app.domain.read(), [session.id].into_iter()).await?;
    let is_answered = |id: &str| answers.iter().any(|answer| answer.question == id);
    let Some(open) = all.first_open(is_answered) else {
        let at = turn.now();
        turn.write_as(person, move |db| Box::pin(records::complete(db, user_id, at)));
        asking::sum_up(turn, &asking::told(&all, &answers, person.language), person.language);
        return Ok(Next::End);
    };
    turn.write_as(person, move |db| Box::pin(records::set_status(db, user_id, Status::Active)));
    turn.say(text!(person.language, "onboarding-go-on"));
    Ok(Next::Go(OnboardingStates::Question(Place::at(session.questionnaire_id, &open.id))))
}

/// There is no session any more.
fn over(turn: &mut Turn, person: &Person) -> Step<OnboardingStates> {
    let words = text!(person.language, "onboarding-over");
    turn.say(Say::text(words).buttons([[begin_button(person.language)], [menu_button(person.language)]]));
    Ok(Next::End)
}

async fn typed(turn: &mut Turn, place: Place, text: String) -> Step<OnboardingStates> {
    answered(turn, place, Given::Typed(&text)).await
}

async fn pressed(turn: &mut Turn, place: Place, press: Press) -> Step<OnboardingStates> {
    answered(turn, place, Given::Pressed(&press.rest)).await
}

async fn answered(turn: &mut Turn, place: Place, given: Given<'_>) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::Stay) };
    let all = turn.context::<App>().onboarding.questionnaire(place.questionnaire).await?;
    let question = all.question(&place.question).ok_or("the question is not in its questionnaire")?;
    let Some(answer) = question.read(given) else {
        turn.say(asking::hint(question, person.language));
        return Ok(Next::Again);
    };
    take(turn, &person, &all, place, Some(answer)).await
}

async fn skip(turn: &mut Turn, place: Place, _: Press) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::Stay) };
    let all = turn.context::<App>().onboarding.questionnaire(place.questionnaire).await?;
    if !all.question(&place.question).is_some_and(|question| question.is_skippable) {
        return Ok(Next::Again);
    }
    take(turn, &person, &all, place, None).await
}

/// Commits an answer and goes on.
async fn take(
    turn: &mut Turn,
    person: &Person,
    all: &Questionnaire,
    place: Place,
    answer: Option<String>,
) -> Step<OnboardingStates> {
    if turn.refused().is_some() {
        return over(turn, person);
    }
    let (user_id, at, next) = (person.id, turn.now(), place.after(all));
    if next.is_none() {
        let told = with_last(turn, person, all, &place.question, answer.as_deref()).await?;
        asking::sum_up(turn, &told, person.language);
        tell_pages(turn, user_id);
    }
    let is_last = next.is_none();
    let question = place.question;
    turn.write_as(person, move |db| Box::pin(records::answer(db, user_id, question, answer, is_last, at)));
    Ok(next.map_or(Next::End, |next| Next::Go(OnboardingStates::Question(next))))
}

/// All answers, with one that is about to be written.
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
    Ok(asking::told(all, &answers, person.language))
}

async fn back(turn: &mut Turn, place: Place, _: Press) -> Step<OnboardingStates> {
    let all = turn.context::<App>().onboarding.questionnaire(place.questionnaire).await?;
    Ok(place.before(&all).map_or(Next::Again, |before| Next::Go(OnboardingStates::Question(before))))
}

/// Back to where the person was, and the answer stays as it is.
async fn keep(_: &mut Turn, place: Place, _: Press) -> Step<OnboardingStates> {
    let Some(until) = &place.until else { return Ok(Next::Again) };
    Ok(Next::Go(OnboardingStates::Question(Place::at(place.questionnaire, until))))
}

async fn pause(turn: &mut Turn, _: Place, _: Press) -> Step<OnboardingStates> {
    put_aside(turn).await
}

async fn cancel(turn: &mut Turn, _: Place, _: Command) -> Step<OnboardingStates> {
    put_aside(turn).await
}

async fn put_aside(turn: &mut Turn) -> Step<OnboardingStates> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    if let Some(person) = speaker.person {
        turn.write(move |db| Box::pin(records::set_status(db, person.id, Status::Paused)));
    }
    let words = text!(speaker.language, "onboarding-paused");
    turn.say(Say::text(words).buttons([[begin_button(speaker.language)], [menu_button(speaker.language)]]));
    Ok(Next::End)
}

/// The session stays active: whatever the person says next brings the question back.
async fn timed_out(turn: &mut Turn, state: OnboardingStates) -> Step<OnboardingStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let words = match state {
        OnboardingStates::Consent => text!(language, "onboarding-undecided"),
        OnboardingStates::Returning | OnboardingStates::Question(_) => text!(language, "onboarding-timed-out"),
    };
    turn.say(Say::text(words).buttons([[begin_button(language)]]));
    Ok(Next::End)
}

/// Nothing is open, and nobody understood: perhaps the person was in the middle of the questions.
async fn look_up(turn: &mut Turn, _: Input) -> Step<OnboardingStates> {
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
    tracing::info!(user = person.id, "the state was gone; the session is restored from the database");
    Ok(Next::Go(OnboardingStates::Returning))
}

/// What was said is not taken for an answer: the person may not have had the question in mind.
async fn come_back(turn: &mut Turn, _: Input) -> Step<OnboardingStates> {
    let Some(person) = answering(turn).await? else { return Ok(Next::End) };
    go_on(turn, &person).await
}
