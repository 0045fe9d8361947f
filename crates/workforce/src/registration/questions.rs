//! The questions of a registration, and the handlers of their answers.

use opora::prelude::*;

use super::answers::{self, BadName};
use super::saving::MAX_FILE_BYTES;
use super::states::{
    self, BACK, CANCEL, GO_ON, KIND, LANGUAGE, Registration, SKIP, START_OVER, language_of, next_state,
};
use super::{DocumentKind, Draft, Picture};
use crate::application::App;
use crate::front::reply;
use crate::rooms::Room;
use crate::texts::Language;
use crate::{key, text};

type AskResult = Result<(), BoxError>;

/// Captions of buttons that may be typed in place of a name.
const CAPTIONS: [&str; 5] = [
    key!("main-menu-button"),
    key!("cancel-button"),
    key!("registration-back-button"),
    key!("registration-share-button"),
    key!("registration-skip-button"),
];

pub async fn ask_language(turn: &mut Turn, draft: Draft) -> AskResult {
    let buttons = Language::ALL.map(|language| [Button::new(language.name(), format!("{LANGUAGE}{language}"))]);
    turn.say(Say::text(text!(language_of(turn, &draft), "registration-language")).buttons(buttons));
    Ok(())
}

pub async fn language(turn: &mut Turn, draft: Draft, press: Press) -> Step<Registration> {
    let Ok(language) = press.rest.parse::<Language>() else { return Ok(Next::AskAgain) };
    show_choice(turn, &text!(language_of(turn, &draft), "registration-language"), language.name());
    turn.set_language(language.code());
    advance(turn, "language", Draft { language: Some(language), ..draft })
}

pub async fn ask_resume(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    let text = resume_question(&draft, language);
    let go_on = Button::new(text!(language, "registration-continue-button"), GO_ON);
    let over = Button::new(text!(language, "registration-over-button"), START_OVER);
    let discard = Button::new(text!(language, "registration-discard-button"), CANCEL);
    turn.say(Say::text(text).buttons([[go_on], [over], [discard]]));
    Ok(())
}

fn resume_question(draft: &Draft, language: Language) -> String {
    text!(language, "registration-resume", done = draft.steps_done(), all = super::draft::DraftStep::ALL.len())
}

pub async fn go_on(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    let language = language_of(turn, &draft);
    let choice = text!(language, "registration-continue-button");
    show_choice(turn, &resume_question(&draft, language), &choice);
    Ok(Next::Go(next_state(draft)))
}

pub async fn start_over(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    tracing::info!(user = turn.key().user, "registration: started over");
    let language = language_of(turn, &draft);
    let choice = text!(language, "registration-over-button");
    show_choice(turn, &resume_question(&draft, language), &choice);
    Ok(Next::Go(Registration::Language { draft: Draft { username: draft.username, ..Draft::default() } }))
}

pub async fn ask_name(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    turn.say(Say::text(text!(language, "registration-name")).buttons([[back_button(language)]]));
    Ok(())
}

pub async fn name(turn: &mut Turn, draft: Draft, text: String) -> Step<Registration> {
    let language = language_of(turn, &draft);
    if is_caption(&turn.context::<App>(), &text) {
        return turn.refuse(text!(language, "registration-name-is-a-button"));
    }
    match answers::name(&text) {
        Ok(name) => advance(turn, "name", Draft { name: Some(name), ..draft }),
        Err(BadName::TooShort) => turn.refuse(text!(language, "registration-name-too-short")),
        Err(BadName::TooLong) => turn.refuse(text!(language, "registration-name-too-long")),
    }
}

pub async fn ask_phone(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    let share = Button::contact(text!(language, "registration-share-button"));
    let back = Button::text(text!(language, "registration-back-button"));
    let keyboard = Keyboard::new([[share], [back]]);
    turn.say(Say::text(text!(language, "registration-phone")).keyboard(keyboard));
    Ok(())
}

pub async fn contact(turn: &mut Turn, draft: Draft, contact: Contact) -> Step<Registration> {
    let language = language_of(turn, &draft);
    if !contact.own {
        return turn.refuse(text!(language, "registration-phone-of-another"));
    }
    match answers::own_phone(&contact.phone) {
        Some(phone) => take_phone(turn, draft, phone),
        None => turn.refuse(text!(language, "registration-phone-not-understood")),
    }
}

pub async fn phone(turn: &mut Turn, draft: Draft, text: String) -> Step<Registration> {
    let language = language_of(turn, &draft);
    if text.trim() == text!(language, "registration-back-button") {
        turn.say(Say::text(text!(language, "registration-back-said")).remove_keyboard());
        return Ok(states::go_back(Registration::Phone { draft }));
    }
    match answers::phone(&text) {
        Some(phone) => take_phone(turn, draft, phone),
        None => turn.refuse(text!(language, "registration-phone-not-understood")),
    }
}

fn take_phone(turn: &mut Turn, draft: Draft, phone: String) -> Step<Registration> {
    // Only a message removes the keyboard, and the next question has its own buttons.
    let text = text!(language_of(turn, &draft), "registration-phone-taken", phone = phone.as_str());
    turn.say(Say::text(text).remove_keyboard());
    advance(turn, "phone", Draft { phone: Some(phone), ..draft })
}

pub async fn ask_email(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    let skip = Button::new(text!(language, "registration-skip-button"), SKIP);
    turn.say(Say::text(text!(language, "registration-email")).buttons([[skip], [back_button(language)]]));
    Ok(())
}

pub async fn email(turn: &mut Turn, draft: Draft, text: String) -> Step<Registration> {
    match answers::email(&text) {
        Some(email) => advance(turn, "email", Draft { email: Some(email), is_email_answered: true, ..draft }),
        None => {
            let text = text!(language_of(turn, &draft), "registration-email-not-understood");
            turn.refuse(text)
        }
    }
}

pub async fn skip_email(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    let language = language_of(turn, &draft);
    reply::show_answer(turn, &text!(language, "registration-email"), &text!(language, "registration-skipped"));
    advance(turn, "email", Draft { email: None, is_email_answered: true, ..draft })
}

pub async fn ask_kind(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    let main = DocumentKind::ALL.into_iter().filter(|kind| kind.is_main());
    let kinds = main.map(|kind| [Button::new(kind_name(kind, language), format!("{KIND}{}", kind.name()))]);
    let buttons = kinds.chain([[back_button(language)]]);
    turn.say(Say::text(text!(language, "registration-kind")).buttons(buttons));
    Ok(())
}

pub async fn kind(turn: &mut Turn, draft: Draft, press: Press) -> Step<Registration> {
    let Some(kind) = press.rest.parse().ok().filter(|kind: &DocumentKind| kind.is_main()) else {
        return Ok(Next::AskAgain);
    };
    let language = language_of(turn, &draft);
    show_choice(turn, &text!(language, "registration-kind"), &kind_name(kind, language));
    // The picture of another kind of document does not count.
    let document = draft.document.clone().filter(|_| draft.kind == Some(kind));
    advance(turn, "document kind", Draft { kind: Some(kind), document, ..draft })
}

pub async fn ask_document(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    let text = match draft.kind {
        Some(DocumentKind::DrivingLicence) => text!(language, "registration-send-licence"),
        _ => text!(language, "registration-send-passport"),
    };
    turn.say(Say::text(text).buttons([[back_button(language)]]));
    Ok(())
}

pub async fn document(turn: &mut Turn, draft: Draft, image: Image) -> Step<Registration> {
    if let Some(text) = too_large(turn, &draft, &image) {
        return turn.refuse(text);
    }
    let document = picture(image);
    // There is a selfie already if the person went back.
    if draft.selfie.as_ref().is_some_and(|selfie| selfie.unique_id == document.unique_id) {
        let text = text!(language_of(turn, &draft), "registration-same-as-selfie");
        return turn.refuse(text);
    }
    advance(turn, "document", Draft { document: Some(document), ..draft })
}

pub async fn ask_selfie(turn: &mut Turn, draft: Draft) -> AskResult {
    let language = language_of(turn, &draft);
    turn.say(Say::text(text!(language, "registration-send-selfie")).buttons([[back_button(language)]]));
    Ok(())
}

pub async fn selfie(turn: &mut Turn, draft: Draft, image: Image) -> Step<Registration> {
    if let Some(text) = too_large(turn, &draft, &image) {
        return turn.refuse(text);
    }
    let selfie = picture(image);
    if draft.document.as_ref().is_some_and(|document| document.unique_id == selfie.unique_id) {
        let text = text!(language_of(turn, &draft), "registration-same-picture");
        return turn.refuse(text);
    }
    advance(turn, "selfie", Draft { selfie: Some(selfie), ..draft })
}

/// Any other input: says what is expected, and asks again.
pub async fn otherwise(turn: &mut Turn, state: Registration, _: Input) -> Step<Registration> {
    let language = match &state {
        Registration::Saving { draft, .. } => {
            let text = text!(language_of(turn, draft), "registration-still-saving");
            return turn.refuse(text);
        }
        other => language_of(turn, &other.clone().into_draft()),
    };
    let text = match state {
        Registration::Document { .. } | Registration::Selfie { .. } => text!(language, "registration-not-a-picture"),
        Registration::Name { .. } | Registration::Phone { .. } | Registration::Email { .. } => {
            text!(language, "registration-text-wanted")
        }
        _ => text!(language, "registration-button-wanted"),
    };
    turn.say(text);
    Ok(Next::AskAgain)
}

/// The name of a kind of document, for people.
pub fn kind_name(kind: DocumentKind, language: Language) -> String {
    language.text(match kind {
        DocumentKind::Passport => key!("registration-passport-button"),
        DocumentKind::DrivingLicence => key!("registration-licence-button"),
        DocumentKind::Selfie => key!("registration-selfie-button"),
    })
}

pub fn back_button(language: Language) -> Button {
    Button::new(text!(language, "registration-back-button"), BACK)
}

/// Shows the chosen button below its question.
fn show_choice(turn: &mut Turn, question: &str, choice: &str) {
    reply::show_answer(turn, question, &format!("✓ {choice}"));
}

pub fn advance(turn: &mut Turn, step: &str, draft: Draft) -> Step<Registration> {
    tracing::info!(user = turn.key().user, step, "registration: step done");
    Ok(Next::Go(next_state(draft)))
}

fn is_caption(app: &App, text: &str) -> bool {
    let menu = app.rooms.iter().flat_map(Room::menu).map(|item| item.caption);
    let mut captions = menu.chain(CAPTIONS).flat_map(|key| Language::ALL.map(|language| language.text(key)));
    captions.any(|caption| caption == text.trim())
}

fn too_large(turn: &Turn, draft: &Draft, image: &Image) -> Option<String> {
    let is_too_large = image.size().is_some_and(|size| size > MAX_FILE_BYTES);
    is_too_large.then(|| text!(language_of(turn, draft), "registration-too-large", most = MAX_FILE_BYTES / 1_000_000))
}

fn picture(image: Image) -> Picture {
    match image {
        Image::Photo(photo) => Picture { file_id: photo.file_id, unique_id: photo.unique_id, is_photo: true },
        Image::Document(file) => Picture { file_id: file.file_id, unique_id: file.unique_id, is_photo: false },
    }
}
