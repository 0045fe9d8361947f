//! Messages of the questionnaire: questions, hints, the summary.

use opora::prelude::*;

use super::dialogue::{AGREE, ANSWER, BACK, DECLINE, KEEP, PAUSE, QuestionPosition, SKIP};
use super::questionnaire::{ANSWER_MAX, Kind, Question, Questionnaire, SCALE};
use super::tables::answer;
use super::{Answer, chat};
use crate::application::App;
use crate::front::{menu_button, reply};
use crate::text;
use crate::texts::Language;

/// Maximum length of a summary message in UTF-16 units; Telegram's limit is 4,096.
const SUMMARY_UNITS: usize = 3500;
/// Maximum length of an answer in the summary, in characters.
const SUMMARY_ANSWER_CHARS: usize = 200;
const SCALE_ROW: usize = 5;

/// Asks for consent.
pub fn consent(all: &Questionnaire, language: Language) -> Say {
    let count = i64::try_from(all.questions.len()).unwrap_or_default();
    let agree = Button::new(text!(language, "onboarding-agree-button"), AGREE);
    let decline = Button::new(text!(language, "onboarding-decline-button"), DECLINE);
    let text = text!(language, "onboarding-consent", count = count);
    Say::text(text).buttons([[agree], [decline], [menu_button(language)]])
}

/// Asks a question.
pub async fn ask(turn: &mut Turn, position: QuestionPosition) -> Result<(), BoxError> {
    let app = turn.context::<App>();
    let language = app.speaker(turn).await?.language;
    let all = app.onboarding.questionnaire(position.questionnaire).await?;
    let question = all.question(&position.question).ok_or("the question is not in its questionnaire")?;
    let number = all.index(&position.question).map_or(0, |index| index + 1);
    let mut text = heading(all.as_ref(), question, language);
    if let Kind::Number { .. } = question.kind {
        text = format!("{text}\n{}", hint(question, language));
    }
    turn.say(Say::text(text).buttons(buttons(question, &position, number > 1, language)));
    Ok(())
}

/// The number of a question, and its text.
fn heading(all: &Questionnaire, question: &Question, language: Language) -> String {
    let number = all.index(&question.id).map_or(0, |index| index + 1);
    format!("{number}/{}\n{}", all.questions.len(), question.text.in_language(language))
}

/// Shows the answer below its question, in place of the buttons; none means skipped.
pub fn show_choice(
    turn: &mut Turn,
    all: &Questionnaire,
    question: &Question,
    answer: Option<&str>,
    language: Language,
) {
    let answer = answer.map_or_else(
        || text!(language, "onboarding-skipped"),
        |answer| format!("✓ {}", question.shown(answer, language)),
    );
    reply::show_answer(turn, &heading(all, question, language), &answer);
}

fn buttons(question: &Question, position: &QuestionPosition, has_before: bool, language: Language) -> Vec<Vec<Button>> {
    let mut rows: Vec<Vec<Button>> = match &question.kind {
        Kind::Choice { options } => {
            let one = |id: &str, text: &str| vec![Button::new(text, format!("{ANSWER}{id}"))];
            options.iter().map(|option| one(&option.id, option.text.in_language(language))).collect()
        }
        Kind::Scale => {
            let marks: Vec<_> = SCALE.map(|mark| Button::new(mark.to_string(), format!("{ANSWER}{mark}"))).collect();
            marks.chunks(SCALE_ROW).map(<[Button]>::to_vec).collect()
        }
        Kind::Text | Kind::Number { .. } => Vec::new(),
    };
    let mut ways = Vec::new();
    if has_before {
        ways.push(Button::new(text!(language, "onboarding-back-button"), BACK));
    }
    if position.until.is_some() {
        ways.push(Button::new(text!(language, "onboarding-keep-button"), KEEP));
    }
    if question.is_skippable {
        ways.push(Button::new(text!(language, "onboarding-skip-button"), SKIP));
    }
    rows.push(ways);
    rows.push(vec![Button::new(text!(language, "onboarding-pause-button"), PAUSE), menu_button(language)]);
    rows.retain(|row| !row.is_empty());
    rows
}

/// What kind of answer a question expects.
pub fn hint(question: &Question, language: Language) -> String {
    match question.kind {
        Kind::Text => text!(language, "onboarding-text-hint", count = i64::try_from(ANSWER_MAX).unwrap_or_default()),
        Kind::Number { min, max } => {
            text!(language, "onboarding-number-hint", min = min.to_string(), max = max.to_string())
        }
        Kind::Choice { .. } | Kind::Scale => text!(language, "onboarding-button-hint"),
    }
}

/// Answers with their questions, in the order of the questions.
pub fn answers_in_words(all: &Questionnaire, answers: &[answer::Model], language: Language) -> Vec<Answer> {
    let pairs = all.questions.iter().filter_map(|question| {
        let given = answers.iter().find(|answer| answer.question == question.id)?;
        Some(Answer {
            question: question.text.in_language(language).to_owned(),
            answer: given.answer.as_deref().map(|answer| question.shown(answer, language)),
            answered_at: opora::clock::Millis(given.answered_at),
        })
    });
    pairs.collect()
}

/// Says the summary, in as many messages as needed, and then the next steps.
pub fn say_summary(turn: &mut Turn, answers: &[Answer], language: Language) {
    let mut page = text!(language, "onboarding-summary");
    for Answer { question, answer, .. } in answers {
        let skipped = || text!(language, "onboarding-skipped");
        let answer = answer.as_deref().map_or_else(skipped, |answer| shortened(answer, SUMMARY_ANSWER_CHARS));
        let lines = format!("\n\n{question}\n– {answer}");
        if (page.encode_utf16().count() + lines.encode_utf16().count()) > SUMMARY_UNITS {
            turn.say(std::mem::take(&mut page));
        }
        page.push_str(if page.is_empty() { lines.trim_start() } else { &lines });
    }
    turn.say(page);
    turn.say(done(language));
}

/// The message after the last question.
pub fn done(language: Language) -> Say {
    let ask = Button::raw(text!(language, "chat-open-button"), chat::OPEN);
    Say::text(text!(language, "onboarding-done")).buttons([[ask], [menu_button(language)]])
}

/// The beginning of a text.
fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
