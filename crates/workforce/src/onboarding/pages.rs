//! A person's questionnaires on the owner's page: the answers, with the questions as they were asked.

use maud::{Markup, html};

use super::{Answer, Session, Status};
use crate::application::App;
use crate::person::{OWNERS, Person, QUESTIONED};
use crate::text;
use crate::texts::Language;
use crate::web::{PageError, Section, moment};

/// The section of a person's page; none for people who are not asked.
pub async fn section(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let sessions = app.onboarding.answers_of(person.id, viewer.language).await?;
    if sessions.is_empty() && !person.roles.has_any(QUESTIONED) {
        return Ok(Vec::new());
    }
    let title = text!(viewer.language, "onboarding-section");
    Ok(vec![Section { title, body: view(&sessions, viewer.language) }])
}

/// The newest session is open; earlier ones are folded.
fn view(sessions: &[Session], language: Language) -> Markup {
    let Some((newest, earlier)) = sessions.split_first() else {
        return html! { p.quiet { (text!(language, "onboarding-not-begun")) } };
    };
    html! {
        div data-testid="answers" { (session(newest, language)) }
        @for one in earlier {
            details {
                summary { (text!(language, "onboarding-earlier")) " · " (moment(one.began_at, language)) }
                (session(one, language))
            }
        }
    }
}

fn session(session: &Session, language: Language) -> Markup {
    // A skipped question has no answer.
    let answered = session.answers.iter().filter(|answer| answer.answer.is_some()).count();
    let (skipped, all) = (session.answers.len() - answered, session.questions);
    html! {
        p {
            (status_label(session.status, language)) " "
            span.quiet {
                (moment(session.ended_at.unwrap_or(session.began_at), language))
                @if session.status != Status::Declined {
                    " · " (text!(language, "onboarding-answered", answered = answered, all = all))
                    @if skipped > 0 { ", " (text!(language, "onboarding-skipped-count", count = skipped)) }
                }
            }
        }
        @if !session.answers.is_empty() {
            dl.answers { @for answer in &session.answers { (pair(answer, language)) } }
        }
    }
}

fn pair(Answer { question, answer, .. }: &Answer, language: Language) -> Markup {
    html! {
        dt { (question) }
        @match answer {
            Some(answer) => dd { (answer) },
            None => dd.quiet { (text!(language, "onboarding-skipped")) },
        }
    }
}

fn status_label(status: Status, language: Language) -> Markup {
    let (class, text) = match status {
        Status::Active => ("badge pending", text!(language, "onboarding-status-active")),
        Status::Paused => ("badge pending", text!(language, "onboarding-status-paused")),
        Status::Completed => ("badge verified", text!(language, "onboarding-status-completed")),
        Status::Declined => ("badge", text!(language, "onboarding-status-declined")),
    };
    html! { span class=(class) { (text) } }
}
