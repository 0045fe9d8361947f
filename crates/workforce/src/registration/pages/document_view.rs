//! The view of a document's page.

use maud::{Markup, html};

use super::super::questions::kind_name;
use super::super::{Document, DocumentStatus};
use super::{QUEUE, view};
use crate::person::Person;
use crate::text;
use crate::web::{Visitor, moment};

/// The data of the page.
pub struct DocumentPage {
    pub document: Document,
    pub person: Person,
    /// Other documents of the person.
    pub others: Vec<Document>,
}

pub fn page(visitor: &Visitor, shown: &DocumentPage) -> Markup {
    let (language, DocumentPage { document, person, others }) = (visitor.language(), shown);
    let kind = kind_name(document.kind, language);
    visitor.page(
        &format!("{kind}: {}", person.full_name),
        &html! {
            p.crumbs { a href={ "/people/" (person.id) } { (person.full_name) } }
            div.headline {
                h1 data-testid="document" { (kind) }
                (view::status_label(document.status, language))
            }
            div.viewer {
                div.card.sheet { (view::picture(document, language)) }
                div {
                    section.card {
                        (facts(visitor, shown))
                        @if let Some(reason) = &document.reason { p.warning { (reason) } }
                        p.row.deeds { (actions(visitor, shown)) }
                        p.quiet { (text!(language, "registration-document-private")) }
                    }
                    @if !others.is_empty() {
                        section.card {
                            h2 { (text!(language, "registration-other-documents")) }
                            (view::documents(others, language))
                        }
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
            dd { (moment(document.created_at)) }
            dt { (text!(language, "registration-document-size")) }
            dd { (text!(language, "registration-kilobytes", size = kilobytes)) }
        }
    }
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
