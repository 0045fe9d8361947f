//! The one step that makes a person of a draft: fetch, keep, commit.
//!
//! Files come first and are durable before anything is written; then one commit writes the person, the documents and the
//! role, and ends the dialogue. On any failure the files go and the draft stays.

use opora::effects::Downloaded;
use opora::prelude::*;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, Set};

use opora::clock::Millis;
use opora::store::WriteError;

use super::keeping::{DISCARD, Discard, KEEP, Kept, KeptPaper, discard_now};
use super::questions::back_button;
use super::states::{AGAIN, CANCEL, Paper, Registration, onward, speaks};
use super::tables::document;
use super::{DocumentKind, Draft, deciding};
use crate::application::App;
use crate::domain::{InTurn, Writing};
use crate::files::{generated_name, under_way};
use crate::people::{self, Enrolment};
use crate::person::OWNERS;
use crate::{front, text};

/// The largest picture.
pub const LARGEST_BYTES: u64 = 10_000_000;
/// How many people are told of a registration, at most.
const TOLD_MOST: usize = 50;

/// A document and a selfie.
const PAPERS: usize = 2;

/// Asks for both files; whichever way it comes here, it begins anew.
pub async fn begin(turn: &mut Turn, draft: Draft, _: Vec<Paper>) -> Result<(), BoxError> {
    turn.say(text!(speaks(turn, &draft), "registration-saving"));
    for picture in [draft.document, draft.selfie].into_iter().flatten() {
        turn.download(picture.file_id, LARGEST_BYTES);
    }
    tracing::info!(user = turn.key().user, "registration: all is there; its files are being fetched");
    Ok(())
}

/// A file has come, or will not.
pub async fn fetched(turn: &mut Turn, draft: Draft, papers: Vec<Paper>, outcome: Outcome) -> Step<Registration> {
    let user = turn.key().user;
    let Ok(file) = outcome.read::<Downloaded>() else {
        tracing::warn!(user, "registration: a file could not be fetched");
        return Ok(not_saved(turn, draft, &papers));
    };
    let Some(kind) = slot(&draft, &papers, &file.file_id) else {
        // It was asked for twice, and has come before.
        turn.effect_without_outcome(DISCARD, &Discard { ids: Vec::new(), paths: vec![file.path] });
        return Ok(Next::Stay);
    };
    tracing::info!(user, kind = kind.name(), bytes = file.bytes, "registration: a file is fetched");
    let mut papers = papers;
    papers.push(Paper { id: generated_name()?, kind, path: file.path });
    if papers.len() == PAPERS {
        turn.effect(KEEP, &papers);
    }
    Ok(Next::Keep(Registration::Saving { draft, papers }))
}

/// What a file is for: the first of its places that is still empty.
fn slot(draft: &Draft, papers: &[Paper], file_id: &str) -> Option<DocumentKind> {
    let slots = [(&draft.document, draft.kind), (&draft.selfie, Some(DocumentKind::Selfie))];
    let fitting = slots.into_iter().filter(|(picture, _)| picture.as_ref().is_some_and(|one| one.file_id == file_id));
    fitting.filter_map(|(_, kind)| kind).find(|kind| papers.iter().all(|paper| paper.kind != *kind))
}

/// Both files are in their place, or could not be put there.
pub async fn kept(turn: &mut Turn, draft: Draft, papers: Vec<Paper>, outcome: Outcome) -> Step<Registration> {
    let user = turn.key().user;
    if let Some(refusal) = turn.refused() {
        let is_gone = refusal.0 == under_way::GONE;
        tracing::warn!(user, is_gone, "registration: the commit was refused");
        return Ok(if is_gone { not_saved(turn, draft, &papers) } else { known_already(turn, &draft, &papers) });
    }
    match outcome.read::<Kept>() {
        Ok(Kept::Stored { documents }) => commit(turn, draft, documents).await,
        Ok(Kept::NotAnImage { kind }) => Ok(not_an_image(turn, draft, kind, &papers)),
        Err(_) => Ok(not_saved(turn, draft, &papers)),
    }
}

/// Writes everything, and tells everybody who is to know.
async fn commit(turn: &mut Turn, draft: Draft, documents: Vec<KeptPaper>) -> Step<Registration> {
    let (app, at, user) = (turn.context::<App>(), turn.now(), turn.key().user);
    let language = speaks(turn, &draft);
    let id_of = |wanted: fn(DocumentKind) -> bool| {
        documents.iter().find(|document| wanted(document.kind)).map(|document| document.id.clone())
    };
    let ids = (id_of(DocumentKind::is_main), id_of(|kind| !kind.is_main()));
    let (Some(name), Some(phone), (Some(main_document_id), Some(selfie_id))) = (draft.name, draft.phone, ids) else {
        return Err("a registration was to be written that is not complete".into());
    };
    let deciders = app.people.with_any(OWNERS).await?;
    for decider in deciders.iter().take(TOLD_MOST) {
        let card = deciding::Card { telegram_id: user, name: &name, since: at, main_document_id: &main_document_id };
        turn.say_to(decider.telegram_id, card.announced(decider.language));
    }
    let enrolment = Enrolment {
        telegram_id: user,
        full_name: name,
        phone,
        username: draft.username,
        email: draft.email,
        language,
        main_document_id,
        selfie_id,
    };
    let pictures = [draft.document, draft.selfie];
    let rows: Vec<_> = documents.into_iter().map(|paper| row(paper, &pictures, at)).collect();
    tracing::info!(
        user,
        documents = rows.len(),
        told = deciders.len(),
        "registration: person and documents are written"
    );
    turn.write(move |db| Box::pin(write(db, enrolment, rows, at)));
    for event in super::pages::events() {
        event.after(turn);
    }
    turn.say(text!(language, "registration-done"));
    Ok(Next::End)
}

fn row(paper: KeptPaper, pictures: &[Option<super::Picture>; 2], at: Millis) -> document::ActiveModel {
    let picture = pictures[usize::from(!paper.kind.is_main())].as_ref();
    document::ActiveModel {
        id: Set(paper.id),
        user_id: Set(None),
        kind: Set(paper.kind.name().to_owned()),
        media_type: Set(paper.media_type),
        size_bytes: Set(paper.size_bytes),
        sha256: Set(paper.sha256),
        status: Set("pending".to_owned()),
        reason: Set(None),
        telegram_file: Set(picture.map(|picture| picture.file_id.clone())),
        is_photo: Set(picture.is_none_or(|picture| picture.is_photo)),
        created_at: Set(at.0),
    }
}

/// Documents first, then the person who names them, then their owner: see the tables.
async fn write(
    db: &Writing<'_, '_>,
    enrolment: Enrolment,
    rows: Vec<document::ActiveModel>,
    at: Millis,
) -> Result<(), WriteError> {
    let ids = [enrolment.main_document_id.clone(), enrolment.selfie_id.clone()];
    under_way::take(db, &ids).await?;
    for row in rows {
        row.insert(db).await?;
    }
    let user_id = people::enrol(db, enrolment, at).await?;
    document::Entity::update_many()
        .set(document::ActiveModel { user_id: Set(Some(user_id)), ..Default::default() })
        .filter(document::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    Ok(())
}

/// Somebody has made the person known meanwhile.
fn known_already(turn: &mut Turn, draft: &Draft, papers: &[Paper]) -> Next<Registration> {
    turn.effect_without_outcome(DISCARD, &Discard::of(papers));
    let language = speaks(turn, draft);
    turn.say(Say::text(text!(language, "registration-known-already")).buttons([[front::menu_button(language)]]));
    Next::End
}

/// The picture of one document has to be sent anew; the other one is good.
fn not_an_image(turn: &mut Turn, draft: Draft, kind: DocumentKind, papers: &[Paper]) -> Next<Registration> {
    let language = speaks(turn, &draft);
    tracing::info!(user = turn.key().user, kind = kind.name(), "registration: a file is not an image");
    turn.effect_without_outcome(DISCARD, &Discard::of(papers));
    turn.say(match kind {
        DocumentKind::Passport => text!(language, "registration-passport-not-an-image"),
        DocumentKind::DrivingLicence => text!(language, "registration-licence-not-an-image"),
        DocumentKind::Selfie => text!(language, "registration-selfie-not-an-image"),
    });
    let mut draft = draft;
    let picture = if kind.is_main() { &mut draft.document } else { &mut draft.selfie };
    *picture = None;
    Next::Go(onward(draft))
}

/// Nothing remains but the draft.
fn not_saved(turn: &mut Turn, draft: Draft, papers: &[Paper]) -> Next<Registration> {
    if !papers.is_empty() {
        turn.effect_without_outcome(DISCARD, &Discard::of(papers));
    }
    tracing::warn!(user = turn.key().user, "registration: it was not saved; the draft is kept");
    Next::Go(Registration::NotSaved { draft })
}

pub async fn ask_again(turn: &mut Turn, draft: Draft) -> Result<(), BoxError> {
    let language = speaks(turn, &draft);
    let again = Button::new(text!(language, "try-again-button"), AGAIN);
    let cancel = Button::new(text!(language, "cancel-button"), CANCEL);
    let words = text!(language, "registration-not-saved");
    turn.say(Say::text(words).buttons([vec![again, cancel], vec![back_button(language)]]));
    Ok(())
}

pub async fn again(_: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    Ok(Next::Go(onward(draft)))
}

pub async fn cancel(turn: &mut Turn, draft: Draft, _: Press) -> Step<Registration> {
    turn.say(text!(speaks(turn, &draft), "registration-cancelled"));
    Ok(Next::End)
}

/// A turn has failed for good: nobody is stuck, and what was given is kept.
pub async fn failed(turn: &mut Turn, state: Registration, _: Failure) -> Step<Registration> {
    if let Registration::Saving { draft, papers } = state {
        return Ok(not_saved(turn, draft, &papers));
    }
    turn.say(text!(speaks(turn, &state.into_draft()), "failed-and-kept"));
    Ok(Next::Again)
}

/// What was fetched or kept for a draft that is gone.
pub async fn late(turn: &mut Turn, outcome: Outcome) -> Step<Registration> {
    let app = turn.context::<App>();
    let mut left = Discard::default();
    if *outcome.kind == *KEEP {
        if let Ok(Kept::Stored { documents }) = outcome.read() {
            left.ids = documents.into_iter().map(|document| document.id).collect();
        }
    } else if let Ok(file) = outcome.read::<Downloaded>() {
        left.paths = vec![file.path];
    }
    discard_now(&app, left).await?;
    Ok(Next::Stay)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::Picture;
    use super::*;

    #[test]
    fn one_file_that_stands_for_both_fills_both_places() {
        let picture = |id: &str| Some(Picture { file_id: id.into(), unique_id: id.into(), is_photo: true });
        let kind = Some(DocumentKind::Passport);
        let paper = |kind| Paper { id: "1".into(), kind, path: PathBuf::new() };
        let both = Draft { kind, document: picture("a"), selfie: picture("a"), ..Draft::default() };
        let (first, second) = (paper(DocumentKind::Passport), paper(DocumentKind::Selfie));
        assert_eq!(slot(&both, &[], "a"), kind);
        assert_eq!(slot(&both, std::slice::from_ref(&first), "a"), Some(DocumentKind::Selfie));
        assert_eq!(slot(&both, &[first.clone(), second], "a"), None);
        let two = Draft { selfie: picture("b"), ..both };
        assert_eq!(slot(&two, std::slice::from_ref(&first), "a"), None, "it came twice");
        assert_eq!((slot(&two, &[first], "b"), slot(&two, &[], "c")), (Some(DocumentKind::Selfie), None));
    }
}
