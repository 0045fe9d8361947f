//! The last step of a registration: download the files, store them, commit.
//!
//! The files are durable before anything is written. Then one commit writes the person, the documents and the role, and
//! ends the dialogue. On any failure the files are removed and the draft stays.

use opora::effects::Downloaded;
use opora::prelude::*;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, Set};

use opora::clock::Millis;
use opora::store::WriteError;

use super::announcing::{self, Announced};
use super::draft::GivenConsent;
use super::file_effects::{DISCARD, Discard, STORE, StoreOutcome, StoredDocument, discard_now};
use super::questions::back_button;
use super::states::{AGAIN, CANCEL, DocumentFile, Registration, language_of, next_state};
use super::tables::document;
use super::{DocumentKind, Draft, consent};
use crate::application::App;
use crate::domain::{Transaction, WriteInTurn};
use crate::files::{generated_name, pending_files};
use crate::front::reply;
use crate::people::{self, Enrolment};
use crate::texts::Language;
use crate::{front, text};

/// Maximum size of a picture.
pub const MAX_FILE_BYTES: u64 = 10_000_000;

/// Number of files: a document and a selfie.
const FILES: usize = 2;

/// Starts both downloads; every entry into this state starts over.
pub async fn begin(turn: &mut Turn, draft: Draft, _: Vec<DocumentFile>) -> Result<(), BoxError> {
    turn.say(text!(language_of(turn, &draft), "registration-saving"));
    for picture in [draft.document, draft.selfie].into_iter().flatten() {
        turn.download(picture.file_id, MAX_FILE_BYTES);
    }
    tracing::info!(user = turn.key().user, "registration: draft complete; downloading its files");
    Ok(())
}

/// A download has ended.
pub async fn downloaded(
    turn: &mut Turn,
    draft: Draft,
    files: Vec<DocumentFile>,
    outcome: Outcome,
) -> Step<Registration> {
    let user = turn.key().user;
    let Ok(file) = outcome.result::<Downloaded>() else {
        tracing::warn!(user, "registration: a download failed");
        return Ok(not_saved(turn, draft, &files));
    };
    let Some(kind) = missing_kind(&draft, &files, &file.file_id) else {
        // Requested twice, and arrived before.
        turn.effect_without_outcome(DISCARD, &Discard { ids: Vec::new(), paths: vec![file.path] });
        return Ok(Next::Stay);
    };
    tracing::info!(user, kind = kind.name(), bytes = file.bytes, "registration: file downloaded");
    let mut files = files;
    files.push(DocumentFile { id: generated_name()?, kind, path: file.path });
    if files.len() == FILES {
        turn.effect(STORE, &files);
    }
    Ok(Next::StayWith(Registration::Saving { draft, files }))
}

/// The kind of document that a file is for: the first matching one that is still missing.
fn missing_kind(draft: &Draft, files: &[DocumentFile], file_id: &str) -> Option<DocumentKind> {
    let wanted = [(&draft.document, draft.kind), (&draft.selfie, Some(DocumentKind::Selfie))];
    let fitting = wanted.into_iter().filter(|(picture, _)| picture.as_ref().is_some_and(|one| one.file_id == file_id));
    fitting.filter_map(|(_, kind)| kind).find(|kind| files.iter().all(|file| file.kind != *kind))
}

/// The effect that stores both files has ended.
pub async fn stored(turn: &mut Turn, draft: Draft, files: Vec<DocumentFile>, outcome: Outcome) -> Step<Registration> {
    let user = turn.key().user;
    if let Some(refusal) = turn.refusal() {
        let is_gone = refusal.0 == pending_files::GONE;
        tracing::warn!(user, is_gone, "registration: the commit was refused");
        return Ok(if is_gone { not_saved(turn, draft, &files) } else { known_already(turn, &draft, &files) });
    }
    match outcome.result::<StoreOutcome>() {
        Ok(StoreOutcome::Stored { documents }) => commit(turn, draft, documents).await,
        Ok(StoreOutcome::NotAnImage { kind }) => Ok(not_an_image(turn, draft, kind, &files)),
        Err(_) => Ok(not_saved(turn, draft, &files)),
    }
}

/// Writes everything, and tells the deciders.
async fn commit(turn: &mut Turn, draft: Draft, documents: Vec<StoredDocument>) -> Step<Registration> {
    let (app, at, user) = (turn.context::<App>(), turn.now(), turn.key().user);
    let language = language_of(turn, &draft);
    let complete = complete(draft, documents, (user, language), at);
    let complete = complete.ok_or("the registration to be written is incomplete")?;
    let Enrolment { full_name, main_document_id, .. } = &complete.enrolment;
    let card = Announced { telegram_id: user, name: full_name, main_document_id };
    let notified = announcing::announce(turn, &app, &card).await?;
    tracing::info!(user, documents = complete.documents.len(), notified, "registration: person and documents written");
    turn.write(move |db| Box::pin(write(db, complete, at)));
    for event in super::pages::events() {
        event.publish_after(turn);
    }
    turn.say(text!(language, "registration-done"));
    Ok(Next::End)
}

/// A registration with everything that is needed to write it.
pub(super) struct CompleteRegistration {
    enrolment: Enrolment,
    documents: Vec<document::ActiveModel>,
    consent: GivenConsent,
}

/// The registration of a draft whose files are stored; None if something is missing.
pub(super) fn complete(
    draft: Draft,
    stored: Vec<StoredDocument>,
    (telegram_id, language): (i64, Language),
    at: Millis,
) -> Option<CompleteRegistration> {
    let id_of = |is_main: bool| {
        let found = stored.iter().find(|document| document.kind.is_main() == is_main);
        found.map(|document| document.id.clone())
    };
    let enrolment = Enrolment {
        telegram_id,
        full_name: draft.name?,
        phone: draft.phone?,
        username: draft.username,
        email: draft.email,
        language,
        main_document_id: id_of(true)?,
        selfie_id: id_of(false)?,
    };
    let pictures = [draft.document, draft.selfie];
    let documents = stored.into_iter().map(|document| row(document, &pictures, at)).collect();
    Some(CompleteRegistration { enrolment, documents, consent: draft.consent? })
}

fn row(document: StoredDocument, pictures: &[Option<super::Picture>; 2], at: Millis) -> document::ActiveModel {
    let picture = pictures[usize::from(!document.kind.is_main())].as_ref();
    document::ActiveModel {
        id: Set(document.id),
        user_id: Set(None),
        kind: Set(document.kind.name().to_owned()),
        media_type: Set(document.media_type),
        size_bytes: Set(document.size_bytes),
        sha256: Set(document.sha256),
        status: Set("pending".to_owned()),
        reason: Set(None),
        telegram_file: Set(picture.map(|picture| picture.file_id.clone())),
        is_photo: Set(picture.is_none_or(|picture| picture.is_photo)),
        valid_until: Set(None),
        expiry_told_days: Set(None),
        created_at: Set(at.0),
    }
}

/// Documents first, then the person who refers to them, then their owner: the tables require this order.
pub(super) async fn write(
    db: &Transaction<'_, '_>,
    complete: CompleteRegistration,
    at: Millis,
) -> Result<(), WriteError> {
    let CompleteRegistration { enrolment, documents, consent } = complete;
    let ids = [enrolment.main_document_id.clone(), enrolment.selfie_id.clone()];
    pending_files::claim(db, &ids).await?;
    for row in documents {
        row.insert(db).await?;
    }
    let user_id = people::enrol(db, enrolment, at).await?;
    document::Entity::update_many()
        .set(document::ActiveModel { user_id: Set(Some(user_id)), ..Default::default() })
        .filter(document::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    consent::record(db, user_id, consent).await
}

/// The person was added in another way meanwhile.
fn known_already(turn: &mut Turn, draft: &Draft, files: &[DocumentFile]) -> Next<Registration> {
    turn.effect_without_outcome(DISCARD, &Discard::new(files));
    let language = language_of(turn, draft);
    turn.say(Say::text(text!(language, "registration-known-already")).buttons([[front::menu_button(language)]]));
    Next::End
}

/// One picture has to be sent again; the other one stays.
fn not_an_image(turn: &mut Turn, draft: Draft, kind: DocumentKind, files: &[DocumentFile]) -> Next<Registration> {
    let language = language_of(turn, &draft);
    tracing::info!(user = turn.key().user, kind = kind.name(), "registration: a file is not an image");
    turn.effect_without_outcome(DISCARD, &Discard::new(files));
    turn.say(match kind {
        DocumentKind::Passport => text!(language, "registration-passport-not-an-image"),
        DocumentKind::DrivingLicence => text!(language, "registration-licence-not-an-image"),
        DocumentKind::Selfie => text!(language, "registration-selfie-not-an-image"),
    });
    let mut draft = draft;
    let picture = if kind.is_main() { &mut draft.document } else { &mut draft.selfie };
    *picture = None;
    Next::Go(next_state(draft))
}

/// Only the draft remains.
fn not_saved(turn: &mut Turn, draft: Draft, files: &[DocumentFile]) -> Next<Registration> {
    if !files.is_empty() {
        turn.effect_without_outcome(DISCARD, &Discard::new(files));
    }
    tracing::warn!(user = turn.key().user, "registration: not saved; the draft is kept");
    Next::Go(Registration::NotSaved { draft })
}

pub async fn ask_again(turn: &mut Turn, draft: Draft) -> Result<(), BoxError> {
    let language = language_of(turn, &draft);
    let try_again = Button::new(text!(language, "try-again-button"), AGAIN);
    let cancel = Button::new(text!(language, "cancel-button"), CANCEL);
    let text = text!(language, "registration-not-saved");
    turn.say(Say::text(text).buttons([vec![try_again, cancel], vec![back_button(language)]]));
    Ok(())
}

pub async fn again(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    reply::drop_buttons(turn);
    Ok(Next::Go(next_state(draft)))
}

pub async fn cancel(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    reply::drop_buttons(turn);
    // The keyboard of the phone question may still be there.
    turn.say(Say::text(text!(language_of(turn, &draft), "registration-cancelled")).remove_keyboard());
    Ok(Next::End)
}

pub async fn cancel_by_command(turn: &mut Turn, draft: Draft, _: Command) -> Step<Registration> {
    // The keyboard of the phone question may still be there.
    turn.say(Say::text(text!(language_of(turn, &draft), "registration-cancelled")).remove_keyboard());
    Ok(Next::End)
}

/// After a turn that failed for good the person can go on, and the answers are kept.
pub async fn failed(turn: &mut Turn, state: Registration, _: Failure) -> Step<Registration> {
    if let Registration::Saving { draft, files } = state {
        return Ok(not_saved(turn, draft, &files));
    }
    turn.say(text!(language_of(turn, &state.into_draft()), "failed-and-kept"));
    Ok(Next::AskAgain)
}

/// Discards files that arrive for a draft that is gone.
pub async fn late(turn: &mut Turn, outcome: Outcome) -> Step<Registration> {
    let app = turn.context::<App>();
    let mut leftover = Discard::default();
    if *outcome.kind == *STORE {
        if let Ok(StoreOutcome::Stored { documents }) = outcome.result() {
            leftover.ids = documents.into_iter().map(|document| document.id).collect();
        }
    } else if let Ok(file) = outcome.result::<Downloaded>() {
        leftover.paths = vec![file.path];
    }
    discard_now(&app, leftover).await?;
    Ok(Next::Stay)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::Picture;
    use super::*;

    #[test]
    fn one_picture_may_serve_as_both_documents() {
        let picture = |id: &str| Some(Picture { file_id: id.into(), unique_id: id.into(), is_photo: true });
        let kind = Some(DocumentKind::Passport);
        let file = |kind| DocumentFile { id: "1".into(), kind, path: PathBuf::new() };
        let both = Draft { kind, document: picture("a"), selfie: picture("a"), ..Draft::default() };
        let (first, second) = (file(DocumentKind::Passport), file(DocumentKind::Selfie));
        assert_eq!(missing_kind(&both, &[], "a"), kind);
        assert_eq!(missing_kind(&both, std::slice::from_ref(&first), "a"), Some(DocumentKind::Selfie));
        assert_eq!(missing_kind(&both, &[first.clone(), second], "a"), None);
        let two = Draft { selfie: picture("b"), ..both };
        assert_eq!(missing_kind(&two, std::slice::from_ref(&first), "a"), None, "it came twice");
        assert_eq!(
            (missing_kind(&two, &[first], "b"), missing_kind(&two, &[], "c")),
            (Some(DocumentKind::Selfie), None)
        );
    }
}
