//! How the pages of registrations look.

use maud::{Markup, html};

use super::super::answers::REASON_UNITS_MOST;
use super::super::questions::kind_name;
use super::super::{Document, DocumentStatus, Waiting};
use crate::text;
use crate::texts::Language;
use crate::web::{Visitor, moment};

/// Everybody who waits, with what is needed to decide.
pub fn queue(visitor: &Visitor, waiting: &[Waiting], notice: Option<&str>) -> Markup {
    let language = visitor.language();
    let title = text!(language, "registration-nav");
    visitor.page(
        &title,
        &html! {
            h1 { (title) }
            @if let Some(notice) = notice { p.notice-line role="status" data-testid="notice" { (notice) } }
            div #registrations data-live="registrations" {
                @if waiting.is_empty() { div.card.empty { (text!(language, "registration-nobody-waits")) } }
                @for one in waiting { (card(visitor, one)) }
            }
        },
    )
}

fn card(visitor: &Visitor, one: &Waiting) -> Markup {
    let (language, person) = (visitor.language(), &one.person);
    html! {
        section.card data-testid={ "registration-" (person.telegram_id) } {
            h2 { a href={ "/people/" (person.id) } { (person.full_name) } }
            p.quiet {
                (person.phone.as_deref().unwrap_or("–"))
                @if let Some(username) = &person.username { " · @" (username) }
                @if let Some(email) = &person.email { " · " (email) }
                " · " (moment(one.since))
            }
            (documents(&one.documents, language))
            (visitor.visit.form(&format!("/registrations/{}/approve", person.id), &html! {
                button type="submit" data-testid="approve" { (text!(language, "registration-approve-button")) }
            }))
            (visitor.visit.form(&format!("/registrations/{}/reject", person.id), &reason(language)))
        }
    }
}

fn reason(language: Language) -> Markup {
    html! {
        div.row {
            input type="text" name="reason" required maxlength=(REASON_UNITS_MOST) data-testid="reason"
                aria-label=(text!(language, "registration-reason-label"))
                placeholder=(text!(language, "registration-reason-label"));
            button.danger type="submit" data-testid="reject" { (text!(language, "registration-reject-button")) }
        }
    }
}

/// Documents with links to their pictures, or that there are none.
pub fn documents(documents: &[Document], language: Language) -> Markup {
    html! {
        @if documents.is_empty() { p.quiet { (text!(language, "registration-no-documents")) } }
        ul.rows data-testid="documents" {
            @for document in documents {
                li {
                    div {
                        a href={ "/documents/" (document.id) } target="_blank" rel="noopener" {
                            (kind_name(document.kind, language))
                        }
                        @if let Some(reason) = &document.reason { p.quiet { (reason) } }
                    }
                    span { (status_label(document.status, language)) " " span.quiet { (moment(document.created_at)) } }
                }
            }
        }
    }
}

fn status_label(status: DocumentStatus, language: Language) -> Markup {
    let (class, words) = match status {
        DocumentStatus::Pending => ("badge pending", text!(language, "registration-document-pending")),
        DocumentStatus::Approved => ("badge verified", text!(language, "registration-document-approved")),
        DocumentStatus::Rejected => ("badge rejected", text!(language, "registration-document-rejected")),
    };
    html! { span class=(class) { (words) } }
}
