//! Import of clients: upload, preview, import. The preview writes nothing and sends the table back with the form.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::clients::CLIENTS;
use super::require_dispatcher;
use crate::application::App;
use crate::orders::import::{ClientLine, read_clients};
use crate::orders::{ActionError, Actor, Orders};
use crate::sites::import::{MAX_ROWS, MAX_TABLE_BYTES, Table};
use crate::sites::pages::import::{Refused, Uploaded, refusal_markup};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Button, Card, Column, Icon, Tone, badge, page_title, table};
use crate::web::{PageError, SignedIn, Visitor};

const PATH: &str = "/orders/clients/import";

/// `GET /orders/clients/import`.
pub async fn show(SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    Ok(page(&visitor, &upload(&visitor)).into_response())
}

/// `GET /orders/clients/import/example`: a file to fill in.
pub async fn example(SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"clients.csv\""),
    ];
    // Excel needs the mark to see that the file is UTF-8.
    let text = text!(visitor.language(), "orders-import-example");
    Ok((headers, format!("\u{feff}{text}\r\n")).into_response())
}

/// `POST /orders/clients/import`: the preview.
pub async fn preview(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Uploaded(typed): Uploaded,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let lines = match read(&typed) {
        Ok(lines) => lines,
        Err(why) => return Ok(refused(&visitor, &why)),
    };
    let are_new = Orders::of_app(&app).preview_clients(&lines).await?;
    let lines: Vec<(ClientLine, bool)> = lines.into_iter().zip(are_new).collect();
    Ok(page(&visitor, &previewed(&visitor, &typed, &lines)).into_response())
}

/// `POST /orders/clients/import/now`.
pub async fn import(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Uploaded(typed): Uploaded,
) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let lines = match read(&typed) {
        Ok(lines) => lines,
        Err(why) => return Ok(refused(&visitor, &why)),
    };
    let by = Actor::Member(visitor.person.clone());
    let imported = Orders::of_app(&app).import_clients(&by, lines).await.map_err(|error| match error {
        ActionError::Failed(error) => error.into(),
        ActionError::NotAllowed => PageError::Forbidden,
        ActionError::Refused(_) | ActionError::Repeated => PageError::NotPossible,
    })?;
    let (added, unchanged) = (imported.added, imported.unchanged);
    let done = text!(visitor.language(), "orders-import-done", added = added, unchanged = unchanged);
    Ok(visitor.redirect(CLIENTS).with_toast(done).into_response())
}

fn read(typed: &str) -> Result<Vec<ClientLine>, Refused> {
    let table = Table::read(typed).map_err(Refused::NoTable)?;
    read_clients(&table).map_err(Refused::Mistakes)
}

fn refused(visitor: &Visitor, why: &Refused) -> Response {
    let body = html! { (refusal_markup(why, visitor.language())) (upload(visitor)) };
    (StatusCode::UNPROCESSABLE_ENTITY, page(visitor, &body)).into_response()
}

fn page(visitor: &Visitor, body: &Markup) -> Markup {
    let language = visitor.language();
    let title = text!(language, "orders-import");
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href=(CLIENTS) { (text!(language, "orders-clients")) } }
            (page_title(&title, None))
            (body)
        },
    )
}

fn upload(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    html! {
        p.quiet { (text!(language, "import-about", rows = MAX_ROWS, kilobytes = MAX_TABLE_BYTES / 1024)) }
        (Card::untitled().testid("import-clients").render(&html! {
            p { (text!(language, "orders-import-about")) }
            (visitor.visit.upload_form(PATH, &html! {
                label.wide { (text!(language, "import-file"))
                    input type="file" name="file" accept=".csv,.txt,text/csv" data-testid="file-clients";
                }
                label.wide { (text!(language, "import-paste")) textarea name="text" rows="3" data-testid="text-clients" {} }
                div.row {
                    (Button::primary(&text!(language, "import-check")).icon(Icon::Upload).testid("check-clients").submit())
                    (Button::plain(&text!(language, "import-example")).icon(Icon::Download).link(&format!("{PATH}/example")))
                }
            }))
        }))
    }
}

/// What an import would do, with the button that does it.
fn previewed(visitor: &Visitor, typed: &str, lines: &[(ClientLine, bool)]) -> Markup {
    let language = visitor.language();
    let news = lines.iter().filter(|(_, is_new)| *is_new).count();
    let other = Button::plain(&text!(language, "import-other")).link(PATH);
    html! {
        p data-testid="preview" { (text!(language, "import-preview", count = news)) }
        @if news > 0 {
            (visitor.visit.upload_form(&format!("{PATH}/now"), &html! {
                textarea.hidden-field name="text" hidden { (typed) }
                div.row {
                    (Button::primary(&text!(language, "import-now", count = news)).icon(Icon::Check).testid("import-now").submit())
                    (other)
                }
            }))
        } @else { (other) }
        (clients_table(lines, language))
    }
}

fn clients_table(lines: &[(ClientLine, bool)], language: Language) -> Markup {
    let columns = [
        Column::text(text!(language, "import-line")),
        Column::text(text!(language, "orders-client-name")),
        Column::text(text!(language, "orders-client-phone")),
        Column::text(text!(language, "orders-notes")),
        Column::text(text!(language, "import-effect")),
    ];
    let row = |(line, is_new): &(ClientLine, bool)| {
        let effect = if *is_new {
            badge(Tone::Good, &text!(language, "orders-new-client"))
        } else {
            badge(Tone::Neutral, &text!(language, "import-exists"))
        };
        vec![
            html! { (line.line) },
            html! { (line.name) },
            html! { (line.phone) },
            html! { (line.notes.as_deref().unwrap_or("–")) },
            effect,
        ]
    };
    table("clients", &columns, &lines.iter().map(row).collect::<Vec<_>>())
}
