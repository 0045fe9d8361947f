//! The view of a document's page.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::super::questions::kind_name;
use super::super::{Document, DocumentStatus};
use super::{QUEUE, SEEN, VALID_UNTIL, view};
use crate::person::Person;
use crate::text;
use crate::web::form::{FormAttempt, FormSpec, fields};
use crate::web::ui::{Card, page_title};
use crate::web::{Visitor, moment};

/// The data of the page.
pub struct DocumentPage {
    pub document: Document,
    pub person: Person,
    /// Other documents of the person.
    pub others: Vec<Document>,
    /// The day of the business.
    pub today: NaiveDate,
    pub attempt: FormAttempt,
}

pub fn page(visitor: &Visitor, shown: &DocumentPage) -> Markup {
    let (language, DocumentPage { document, person, others, today, attempt }) = (visitor.language(), shown);
    let kind = kind_name(document.kind, language);
    visitor.page(
        &format!("{kind}: {}", person.full_name),
        &html! {
            p.crumbs { a href={ "/people/" (person.id) } { (person.full_name) } }
            div.headline {
                (page_title(&kind, Some("document")))
                (view::status_label(document.status, language)) " "
                (view::validity_label(document, *today, language))
            }
            (attempt.notice(language))
            div.viewer {
                (Card::untitled().class("sheet").render(&view::picture(document, language)))
                div {
                    (Card::untitled().render(&html! {
                        (facts(visitor, shown))
                        @if let Some(reason) = &document.reason { p.warning { (reason) } }
                        p.row.deeds { (actions(visitor, shown)) }
                        p.quiet { (text!(language, "registration-document-private")) }
                    }))
                    @if document.kind.is_main() { (Card::untitled().render(&validity_form(visitor, shown))) }
                    @if !others.is_empty() {
                        (Card::new(&text!(language, "registration-other-documents")).render(&html! {
                            (view::documents(others, *today, language))
                        }))
                    }
                }
            }
        },
    )
}

fn facts(visitor: &Visitor, DocumentPage { document, person, .. }: &DocumentPage) -> Markup {
    let language = visitor.language();
    let kilobytes = document.size_bytes.max(0).unsigned_abs().div_ceil(1024);
    html! {
        dl.facts {
            dt { (text!(language, "registration-document-of")) }
            dd { a href={ "/people/" (person.id) } { (person.full_name) } }
            dt { (text!(language, "registration-document-sent")) }
            dd { (moment(document.created_at, language)) }
            dt { (text!(language, "registration-document-size")) }
            dd { (text!(language, "registration-kilobytes", size = kilobytes)) }
        }
    }
}

/// The date until which the document is valid. An empty field removes it.
fn validity_form(visitor: &Visitor, DocumentPage { document, attempt, .. }: &DocumentPage) -> Markup {
    let language = visitor.language();
    let (path, back) = (format!("/documents/{}/validity", document.id), format!("/documents/{}", document.id));
    let day = document.valid_until.map(|day| day.to_string()).unwrap_or_default();
    let now = fields([(VALID_UNTIL, day.clone())]);
    let (caption, testid) = (text!(language, "cabinet-save"), "save-validity");
    let spec = FormSpec { path: &path, now: &now, version: None, back: &back, caption: &caption, testid };
    visitor.record_form(attempt, spec, |form| {
        html! {
            input type="hidden" name=(SEEN) value=(day);
            (form.short(VALID_UNTIL, &text!(language, "registration-valid-until-label"), "date"))
            p.quiet { (text!(language, "registration-valid-until-about")) }
        }
    })
}

fn actions(visitor: &Visitor, DocumentPage { document, person, .. }: &DocumentPage) -> Markup {
    let language = visitor.language();
    let (kind, ending) = (document.kind.name(), document.media_type.trim_start_matches("image/"));
    let file_name = format!("{kind}-{}.{ending}", person.telegram_id);
    html! {
        @if document.status == DocumentStatus::Pending {
            a.button href={ (QUEUE) "#registration-" (person.id) } data-testid="decide" {
                (text!(language, "registration-decide"))
            }
        }
        a.button.plain href={ "/documents/" (document.id) "/file" } download=(file_name) data-testid="download" {
            (text!(language, "registration-download"))
        }
    }
}
