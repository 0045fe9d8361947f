//! The views of the pages of registrations.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::super::answers::MAX_REASON_UNITS;
use super::super::consent::Consent;
use super::super::questions::kind_name;
use super::super::{Document, DocumentStatus, ExpiringDocument, PendingRegistration, Validity};
use super::{JustDecided, MARK, Queue, RATE, VALID_UNTIL};
use crate::files::MediaType;
use crate::person::Status;
use crate::sites::Site;
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FilledForm};
use crate::web::ui::{Button, Card, Empty, Icon, headline};
use crate::web::{self, Visitor, moment};

/// The queue, oldest first, with what is needed to decide.
pub fn queue(visitor: &Visitor, queue: &Queue) -> Markup {
    let (language, waiting) = (visitor.language(), &queue.waiting);
    let title = text!(language, "registration-nav");
    let shown = waiting.len() as u64;
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            @if let Some(notice) = &queue.notice { p.notice-line role="status" data-testid="notice" { (notice) } }
            @if let Some(decided) = &queue.just_decided { (just_decided(decided, waiting.first(), language)) }
            div #registrations data-live="registrations" {
                @if waiting.is_empty() { (Empty { icon: Icon::Check, title: &text!(language, "registration-none-waiting"), text: "" }.render(&html! {})) }
                @if shown < queue.count {
                    p.quiet { (text!(language, "registration-shown-of", shown = shown, count = queue.count)) }
                }
                @for one in waiting { (card(visitor, queue, one)) }
            }
            (expiring(&queue.expiring, language))
        },
    )
}

/// Documents of members that need a new date soon; nothing without one.
fn expiring(documents: &[ExpiringDocument], language: Language) -> Markup {
    html! {
        @if !documents.is_empty() {
            (Card::new(&text!(language, "registration-expiring")).id("expiring").testid("expiring").render(&html! {
                ul.plain {
                    @for one in documents {
                        li.row {
                            a href={ "/documents/" (one.document.id) } {
                                (one.person.full_name) ", " (kind_name(one.document.kind, language))
                            }
                            (validity_badge(one.valid_until, one.validity, language))
                        }
                    }
                }
            }))
        }
    }
}

/// What the owner has just done, and where to go next.
fn just_decided(decided: &JustDecided, next: Option<&PendingRegistration>, language: Language) -> Markup {
    let (person, sites) = (&decided.person, decided.sites.join(", "));
    let name = person.full_name.as_str();
    let needs_contract = person.status == Status::Verified && sites.is_empty();
    let text = match (person.status, sites.is_empty()) {
        (Status::Verified, false) => text!(language, "registration-page-approved-at", name = name, sites = sites),
        (Status::Verified, true) => text!(language, "registration-page-approved", name = name),
        _ => text!(language, "registration-page-rejected", name = name),
    };
    html! {
        div.done-line role="status" data-testid="decided" {
            p { (text) }
            p.row {
                @if needs_contract {
                    a.button.small href={ "/people/" (person.id) "/contracts" } { (text!(language, "cabinet-offer-contract")) }
                }
                a.button.plain.small href={ "/people/" (person.id) } data-testid="decided-person" {
                    (text!(language, "registration-open-person"))
                }
                @if let Some(next) = next {
                    a.button.plain.small href={ "#registration-" (next.person.id) } data-testid="next-registration" {
                        (text!(language, "registration-next"))
                    }
                }
            }
        }
    }
}

fn card(visitor: &Visitor, queue: &Queue, one: &PendingRegistration) -> Markup {
    let (language, person) = (visitor.language(), &one.person);
    html! {
        (Card::untitled().id(&format!("registration-{}", person.id)).testid(&format!("registration-{}", person.telegram_id)).render(&html! {
            div.headline {
                h2 { a href={ "/people/" (person.id) } { (person.full_name) } }
                span.quiet { (text!(language, "registration-since")) " " (moment(one.since, language)) }
            }
            p {
                (person.phone.as_deref().unwrap_or("–"))
                @if let Some(username) = &person.username { " · @" (username) }
                @if let Some(email) = &person.email { " · " (email) }
            }
            (to_compare(&one.documents, language))
            (decision(visitor, queue, one))
        }))
    }
}

/// Both forms name the document above them, so that a later document is not decided unseen.
fn decision(visitor: &Visitor, queue: &Queue, one: &PendingRegistration) -> Markup {
    let (language, visit, person_id) = (visitor.language(), &visitor.visit, one.person.id);
    let main = one.documents.iter().find(|document| document.kind.is_main());
    let mark = html! { input type="hidden" name=(MARK) value=(main.map_or("", |document| &document.id)); };
    let (approve, reject) =
        (format!("/registrations/{person_id}/approve"), format!("/registrations/{person_id}/reject"));
    let empty = Fields::new();
    let form = queue.attempt.filled(&approve, &empty, language);
    let approval = html! {
        (mark)
        (contract_fields(&form, &queue.sites))
        (Button::primary(&text!(language, "registration-approve")).testid("approve").submit())
    };
    let typed = queue.attempt.filled(&reject, &empty, language);
    html! {
        div.decision {
            (visit.form(&approve, &approval))
            div {
                (visit.form(&reject, &html! { (mark) (reason(typed.value("reason"), language)) }))
                p.quiet { (text!(language, "registration-reason-hint")) }
            }
        }
    }
}

/// Fields of an approval: until when the document is valid, and a contract. All may stay empty.
fn contract_fields(form: &FilledForm<'_>, sites: &[Site]) -> Markup {
    let language = form.language;
    html! {
        @if !sites.is_empty() {
            fieldset data-testid="contract" {
                legend { (text!(language, "registration-contract")) }
                div.row.choice { @for site in sites { (form.tick(&format!("site{}", site.id), &site.about.name)) } }
                p.quiet { (text!(language, "registration-contract-about")) }
            }
        }
        div.row.fields {
            @if !sites.is_empty() { (form.short(RATE, &text!(language, "cabinet-own-rate"), "text")) }
            (form.short(VALID_UNTIL, &text!(language, "registration-valid-until-optional"), "date"))
        }
    }
}

fn reason(typed: &str, language: Language) -> Markup {
    html! {
        div.row {
            input type="text" name="reason" value=(typed) required maxlength=(MAX_REASON_UNITS) data-testid="reason"
                aria-label=(text!(language, "registration-reason-label"))
                placeholder=(text!(language, "registration-reason-label"));
            (Button::danger(&text!(language, "registration-reject")).testid("reject").submit())
        }
    }
}

/// Documents as thumbnails with links, or that there are none.
pub fn documents(documents: &[Document], today: NaiveDate, language: Language) -> Markup {
    html! {
        @if documents.is_empty() { p.quiet { (text!(language, "registration-no-documents")) } }
        div.papers data-testid="documents" {
            @for document in documents {
                (document_figure(document, language, &html! {
                    " " (status_label(document.status, language))
                    " " (validity_label(document, today, language))
                    @if let Some(reason) = &document.reason { p.quiet { (reason) } }
                    p.quiet { (moment(document.created_at, language)) }
                }))
            }
        }
    }
}

/// What the person has agreed to, and when.
pub fn consents(consents: &[Consent], language: Language) -> Markup {
    html! {
        @for consent in consents {
            details data-testid="consent" {
                summary {
                    (text!(language, "registration-consent-given")) " " (moment(consent.at, language)) " · "
                    (text!(language, "registration-consent-version", version = consent.version.as_str()))
                }
                p.lines { (consent.text) }
            }
        }
    }
}

/// Until when a document is valid, as a badge if it needs attention. Nothing without a date.
pub fn validity_label(document: &Document, today: NaiveDate, language: Language) -> Markup {
    let Some(valid_until) = document.valid_until else { return html! {} };
    validity_badge(valid_until, Validity::on(today, valid_until), language)
}

fn validity_badge(valid_until: NaiveDate, validity: Validity, language: Language) -> Markup {
    let day = web::day(valid_until, language);
    let (class, text) = match validity {
        Validity::Valid => ("quiet", text!(language, "registration-valid-until", day = day)),
        Validity::ExpiresSoon => ("badge pending", text!(language, "registration-expires", day = day)),
        Validity::Expired => ("badge rejected", text!(language, "registration-expired", day = day)),
    };
    html! { span class=(class) data-testid="validity" { (text) } }
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
