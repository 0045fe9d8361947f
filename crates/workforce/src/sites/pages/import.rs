//! Import of staff and sites: upload, preview, import. For owners.
//!
//! The preview writes nothing. It sends the table back with the form, so nothing has to be stored in between, and the
//! import checks it again.

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::application::App;
use crate::settings::TIME_ZONE;
use crate::sites::import::{
    ImportKind, MAX_TABLE_BYTES, Mistake, SiteLine, StaffEffect, StaffLine, Table, TableError, decode, read_sites,
    read_staff,
};
use crate::sites::{ActionError, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::{Owner, PageError, Visitor};

mod view;

pub use self::view::refusal_markup;

/// The table that was uploaded or pasted.
#[derive(Debug)]
pub struct Uploaded(pub String);

/// A table without mistakes.
enum Checked {
    Staff(Vec<(StaffLine, StaffEffect)>),
    Sites(Vec<(SiteLine, bool)>),
}

/// What became of a table that was sent.
enum TableCheck {
    Passed(Checked),
    Refused(Refused),
}

/// Why a table cannot be imported.
#[derive(Debug)]
pub enum Refused {
    NoTable(TableError),
    Mistakes(Vec<Mistake>),
}

impl<S: Send + Sync> FromRequest<S> for Uploaded {
    type Rejection = PageError;

    /// A file, or a pasted text: the first one that is not empty.
    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("multipart/form-data")) {
            let body = Bytes::from_request(request, state).await.map_err(|_| PageError::BadRequest)?;
            let text = form_urlencoded::parse(&body).find(|(name, _)| name == "text");
            return Ok(Self(text.map(|(_, text)| text.into_owned()).unwrap_or_default()));
        }
        let mut form = Multipart::from_request(request, state).await.map_err(|_| PageError::BadRequest)?;
        while let Some(field) = form.next_field().await.map_err(|_| PageError::BadRequest)? {
            if !matches!(field.name(), Some("file" | "text")) {
                continue;
            }
            let bytes = field.bytes().await.map_err(|_| PageError::BadRequest)?;
            if !bytes.is_empty() {
                return Ok(Self(decode(&bytes)));
            }
        }
        Ok(Self(String::new()))
    }
}

/// `GET /import`.
pub async fn show(Owner(visitor): Owner) -> Response {
    view::start(&visitor).into_response()
}

/// `GET /import/<kind>/example`: a file to fill in.
pub async fn example(Owner(visitor): Owner, Path(kind): Path<String>) -> Result<Response, PageError> {
    let kind = kind_of(&kind)?;
    let language = visitor.language();
    let text = match kind {
        ImportKind::Staff => text!(language, "import-staff-example"),
        ImportKind::Sites => text!(language, "import-sites-example"),
    };
    let name = format!("attachment; filename=\"{}.csv\"", kind_name(kind));
    let headers = [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, name.as_str())];
    // Excel needs the mark to see that the file is UTF-8.
    Ok((headers, format!("\u{feff}{text}\r\n")).into_response())
}

/// `POST /import/<kind>`: the preview.
pub async fn preview(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(kind): Path<String>,
    Uploaded(table): Uploaded,
) -> Result<Response, PageError> {
    let kind = kind_of(&kind)?;
    match check(&app, kind, &table).await? {
        TableCheck::Passed(checked) => Ok(view::preview(&visitor, kind, &table, &checked).into_response()),
        TableCheck::Refused(refused) => {
            let page = view::refused(&visitor, kind, &refused);
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

/// `POST /import/<kind>/now`.
pub async fn import(
    State(app): State<App>,
    Owner(visitor): Owner,
    Path(kind): Path<String>,
    Uploaded(table): Uploaded,
) -> Result<Response, PageError> {
    let kind = kind_of(&kind)?;
    let checked = match check(&app, kind, &table).await? {
        TableCheck::Passed(checked) => checked,
        TableCheck::Refused(refused) => {
            let page = view::refused(&visitor, kind, &refused);
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    let (api, by) = (Sites::of_app(&app), &visitor.person);
    let counts = match checked {
        Checked::Staff(lines) => api.import_staff(by, lines.into_iter().map(|(line, _)| line).collect()).await,
        Checked::Sites(lines) => api.import_sites(by, lines.into_iter().map(|(line, _)| line).collect()).await,
    };
    let counts = counts.map_err(|error| match error {
        ActionError::Failed(error) => error.into(),
        ActionError::NotAllowed => PageError::Forbidden,
        // Another person changed a site or a contract meanwhile.
        ActionError::Refused(_) | ActionError::Repeated => PageError::NotPossible,
    })?;
    let done = text!(
        visitor.language(),
        "import-done",
        people = counts.people,
        contracts = counts.contracts,
        sites = counts.sites,
        unchanged = counts.unchanged
    );
    let back = if kind == ImportKind::Staff { "/people" } else { "/sites" };
    Ok(visitor.redirect(back).with_toast(done).into_response())
}

async fn check(app: &App, kind: ImportKind, text: &str) -> Result<TableCheck, PageError> {
    let api = Sites::of_app(app);
    let table = match Table::read(text) {
        Ok(table) => table,
        Err(error) => return Ok(TableCheck::Refused(Refused::NoTable(error))),
    };
    let sites = api.list().await?;
    let checked = match kind {
        ImportKind::Staff => match read_staff(&table, &sites) {
            Ok(lines) => {
                let effects = api.preview_staff(&lines).await?;
                Checked::Staff(lines.into_iter().zip(effects).collect())
            }
            Err(mistakes) => return Ok(TableCheck::Refused(Refused::Mistakes(mistakes))),
        },
        ImportKind::Sites => match read_sites(&table, app.settings.get(&TIME_ZONE).await?) {
            Ok(lines) => {
                let is_new = |line: &SiteLine| {
                    let name = line.about.name.to_lowercase();
                    sites.iter().all(|site| site.about.name.to_lowercase() != name)
                };
                Checked::Sites(lines.into_iter().map(|line| (line.clone(), is_new(&line))).collect())
            }
            Err(mistakes) => return Ok(TableCheck::Refused(Refused::Mistakes(mistakes))),
        },
    };
    Ok(TableCheck::Passed(checked))
}

fn kind_of(name: &str) -> Result<ImportKind, PageError> {
    [ImportKind::Staff, ImportKind::Sites].into_iter().find(|kind| kind_name(*kind) == name).ok_or(PageError::NotFound)
}

fn kind_name(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Staff => "staff",
        ImportKind::Sites => "sites",
    }
}

/// Why a text is no table, with what to do.
fn table_error_text(error: TableError, language: Language) -> String {
    match error {
        TableError::Empty => text!(language, "import-empty"),
        TableError::TooLong => text!(language, "import-too-long", kilobytes = MAX_TABLE_BYTES / 1024),
        TableError::TooManyRows => text!(language, "import-too-many-rows", rows = crate::sites::import::MAX_ROWS),
        TableError::TooManyColumns => {
            text!(language, "import-too-many-columns", columns = crate::sites::import::MAX_COLUMNS)
        }
        TableError::Unreadable { line } => text!(language, "import-unreadable", line = line),
    }
}

fn title(visitor: &Visitor) -> String {
    text!(visitor.language(), "import-title")
}
