//! Applications that are complete from the start, without a conversation. The demo has some, so that approval can be
//! tried at once.

use anyhow::Context;
use opora::clock::Millis;

use super::file_effects::{StoreOutcome, store_now};
use super::states::DocumentFile;
use super::{DocumentKind, Draft, GivenConsent, consent, saving};
use crate::application::App;
use crate::files::generated_name;
use crate::texts::Language;

/// An application with its pictures.
#[derive(Clone, Debug)]
pub struct Applicant {
    pub telegram_id: i64,
    /// Everything but the consent, which is to the present text.
    pub draft: Draft,
    pub language: Language,
    pub document: &'static [u8],
    pub selfie: &'static [u8],
}

/// Writes an application as if the person had sent it. Nobody is told.
pub async fn add(app: &App, applicant: Applicant, at: Millis) -> anyhow::Result<()> {
    let Applicant { telegram_id, draft, language, document, selfie } = applicant;
    let kind = draft.kind.context("an application without a document")?;
    let files = [save(app, kind, document).await?, save(app, DocumentKind::Selfie, selfie).await?];
    let stored = store_now(app, telegram_id, &files).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let StoreOutcome::Stored { documents } = stored else { anyhow::bail!("a document is not an image") };
    let text = consent::current_text(app, language).await?;
    let given = GivenConsent { version: consent::version(&text), at };
    let draft = Draft { language: Some(language), consent: Some(given.clone()), ..draft };
    let complete = saving::complete(draft, documents, (telegram_id, language), at)
        .ok_or_else(|| anyhow::anyhow!("an application is incomplete"))?;
    let write = app.domain.write(move |db| {
        Box::pin(async move {
            consent::store_text(db, given.version, text, at).await?;
            saving::write(db, complete, at).await
        })
    });
    Ok(write.await?)
}

/// Saves a picture like a download.
async fn save(app: &App, kind: DocumentKind, picture: &'static [u8]) -> anyhow::Result<DocumentFile> {
    let id = generated_name()?;
    let folder = app.data_dir.join("downloads");
    tokio::fs::create_dir_all(&folder).await?;
    let path = folder.join(&id);
    tokio::fs::write(&path, picture).await?;
    Ok(DocumentFile { id, kind, path })
}
