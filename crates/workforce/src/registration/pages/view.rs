//! The views of the pages of registrations.

use maud::{Markup, html};

use super::super::answers::MAX_REASON_UNITS;
use super::super::questions::kind_name;
use super::super::{Document, DocumentStatus, PendingRegistration};
use crate::files::MediaType;
use crate::text;
use crate::texts::Language;
use crate::web::{Visitor, moment};

/// The queue, oldest first, with what is needed to decide.
pub fn queue(visitor: &Visitor, waiting: &[PendingRegistration], count: u64, notice: Option<&str>) -> Markup {
    let language = visitor.language();
    let title = text!(language, "registration-nav");
    let shown = waiting.len() as u64;
    visitor.page(
        &title,
        &html! {
            h1 { (title) }
            @if let Some(notice) = notice { p.notice-line role="status" data-testid="notice" { (notice) } }
            div #registrations data-live="registrations" {
                @if waiting.is_empty() { div.card.empty { (text!(language, "registration-nobody-waits")) } }
                @if shown < count {
                    p.quiet { (text!(language, "registration-shown-of", shown = shown, count = count)) }
                }
                @for one in waiting { (card(visitor, one)) }
            }
        },
    )
}

fn card(visitor: &Visitor, one: &PendingRegistration) -> Markup {
    let (language, person) = (visitor.language(), &one.person);
    html! {
        section.card id={ "registration-" (person.id) } data-testid={ "registration-" (person.telegram_id) } {
            div.headline {
                h2 { a href={ "/people/" (person.id) } { (person.full_name) } }
                span.quiet { (text!(language, "registration-since")) " " (moment(one.since)) }
            }
            p {
                (person.phone.as_deref().unwrap_or("–"))
                @if let Some(username) = &person.username { " · @" (username) }
                @if let Some(email) = &person.email { " · " (email) }
            }
            (to_compare(&one.documents, language))
            (decision(visitor, one))
        }
    }
}

/// Both forms name the document above them, so that a later document is not decided unseen.
fn decision(visitor: &Visitor, one: &PendingRegistration) -> Markup {
    let (language, visit, person_id) = (visitor.language(), &visitor.visit, one.person.id);
    let main = one.documents.iter().find(|document| document.kind.is_main());
    let mark = html! { input type="hidden" name="mark" value=(main.map_or("", |document| &document.id)); };
    let approve = html! {
        (mark)
        button type="submit" data-testid="approve" { (text!(language, "registration-approve")) }
    };
    html! {
        div.decision {
            (visit.form(&format!("/registrations/{person_id}/approve"), &approve))
            div {
                (visit.form(&format!("/registrations/{person_id}/reject"), &html! { (mark) (reason(language)) }))
                p.quiet { (text!(language, "registration-reason-hint")) }
            }
        }
    }
}

fn reason(language: Language) -> Markup {
    html! {
        div.row {
            input type="text" name="reason" required maxlength=(MAX_REASON_UNITS) data-testid="reason"
                aria-label=(text!(language, "registration-reason-label"))
                placeholder=(text!(language, "registration-reason-label"));
            button.danger type="submit" data-testid="reject" { (text!(language, "registration-reject")) }
        }
    }
}

/// Documents as thumbnails with links, or that there are none.
pub fn documents(documents: &[Document], language: Language) -> Markup {
    html! {
        @if documents.is_empty() { p.quiet { (text!(language, "registration-no-documents")) } }
        div.papers data-testid="documents" {
            @for document in documents {
                (document_figure(document, language, &html! {
                    " " (status_label(document.status, language))
                    @if let Some(reason) = &document.reason { p.quiet { (reason) } }
                    p.quiet { (moment(document.created_at)) }
                }))
            }
        }
    }
}

/// Documents large and side by side, to compare faces.
fn to_compare(documents: &[Document], language: Language) -> Markup {
    html! {
        @if documents.is_empty() { p.quiet { (text!(language, "registration-no-documents")) } }
        div.papers.large data-testid="documents" {
            @for document in documents { (document_figure(document, language, &html! {})) }
        }
    }
}

fn document_figure(document: &Document, language: Language, about: &Markup) -> Markup {
    html! {
        figure.paper {
            a href={ "/documents/" (document.id) } { (picture(document, language)) }
            figcaption { strong { (kind_name(document.kind, language)) } (about) }
        }
    }
}

/// The picture itself, if browsers can show it.
pub fn picture(document: &Document, language: Language) -> Markup {
    html! {
        @if document.media_type == MediaType::Heic.name() {
            span.no-picture { (text!(language, "registration-cannot-show", type = "HEIC")) }
        } @else {
            img src={ "/documents/" (document.id) "/file" } alt=(kind_name(document.kind, language)) loading="lazy";
        }
    }
}

pub fn status_label(status: DocumentStatus, language: Language) -> Markup {
    let (class, text) = match status {
        DocumentStatus::Pending => ("badge pending", text!(language, "registration-document-pending")),
        DocumentStatus::Approved => ("badge verified", text!(language, "registration-document-approved")),
        DocumentStatus::Rejected => ("badge rejected", text!(language, "registration-document-rejected")),
    };
    html! { span class=(class) { (text) } }
}
