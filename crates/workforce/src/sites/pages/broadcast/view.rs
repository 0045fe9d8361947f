//! Markup of the page of broadcasts.

use maud::{Markup, html};

use super::{BroadcastPage, CONFIRMED, path, person_field};
use crate::sites::{BroadcastDraft, DeliveryState, MAX_BROADCAST_LENGTH, SiteBroadcast};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec};
use crate::web::ui::{Button, Card, Empty, Icon, headline};
use crate::web::{Visitor, moment};

pub fn page(visitor: &Visitor, page: &BroadcastPage, attempt: &FormAttempt) -> Markup {
    let (language, site) = (visitor.language(), &page.site);
    let title = text!(language, "cabinet-broadcast");
    let may_write = site.deleted_at.is_none() && !page.workers.is_empty();
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href={ "/sites/" (site.id) } { (site.about.name) } }
            (headline(&title, &html! {}))
            (attempt.notice(language))
            @if let Some(draft) = &page.preview { (preview(visitor, page, draft, attempt)) }
            @if may_write { (new(visitor, page, attempt)) }
            @else {
                div data-testid="no-recipients" {
                    (Empty { icon: Icon::People, title: &text!(language, "cabinet-broadcast-no-recipients"), text: "" }.render(
                        &Button::plain(&text!(language, "cabinet-offer-contract")).link(&format!("/contracts/new?site={}", site.id))
                    ))
                }
            }
            (history(visitor, page))
        },
    )
}

/// What will be sent and to whom, with the button that sends it.
fn preview(visitor: &Visitor, page: &BroadcastPage, draft: &BroadcastDraft, attempt: &FormAttempt) -> Markup {
    let (language, count) = (visitor.language(), draft.recipients.len());
    let chosen = page.workers.iter().filter(|person| draft.recipients.contains(&person.id));
    let names: Vec<&str> = chosen.map(|person| person.full_name.as_str()).collect();
    html! {
        (Card::new(&text!(language, "cabinet-broadcast-preview", count = count)).testid("preview").render(&html! {
            p.quiet { (names.join(", ")) }
            blockquote.message { (text!(language, "sites-broadcast-message", site = page.site.about.name.as_str(), text = draft.text.as_str())) }
            (visitor.visit.form(&path(page.site.id), &html! {
                input type="hidden" name="once" value=(visitor.visit.request_id());
                input type="hidden" name=(CONFIRMED) value="on";
                @for (name, value) in attempt.typed.iter().filter(|(name, _)| is_own(name)) {
                    input type="hidden" name=(name) value=(value);
                }
                (Button::primary(&text!(language, "cabinet-broadcast-send", count = count)).testid("send-broadcast").submit())
            }))
            p.quiet { (text!(language, "cabinet-broadcast-edit-about")) }
        }))
    }
}

/// Whether a field belongs to the message. Tokens are new in each form.
fn is_own(name: &str) -> bool {
    name == "text" || name.starts_with("person")
}

fn new(visitor: &Visitor, page: &BroadcastPage, attempt: &FormAttempt) -> Markup {
    let (language, own) = (visitor.language(), path(page.site.id));
    let everyone: Fields = page.workers.iter().map(|person| (person_field(person.id), "on".to_owned())).collect();
    let caption = text!(language, "cabinet-broadcast-check");
    let spec = FormSpec {
        path: &own,
        now: &everyone,
        version: None,
        back: &own,
        caption: &caption,
        testid: "check-broadcast",
    };
    html! {
        (Card::untitled().render(&html! {
            p.quiet { (text!(language, "cabinet-broadcast-about")) }
            (visitor.record_form(attempt, spec, |form| inputs(form, page)))
        }))
    }
}

fn inputs(form: &FilledForm<'_>, page: &BroadcastPage) -> Markup {
    let language = form.language;
    html! {
        div.row.fields { (form.lines("text", &text!(language, "cabinet-broadcast-text"), MAX_BROADCAST_LENGTH)) }
        fieldset {
            legend { (text!(language, "cabinet-broadcast-recipients")) }
            (form.error("recipients"))
            div.row.choice {
                @for person in &page.workers { (form.tick(&person_field(person.id), &person.full_name)) }
            }
        }
    }
}

fn history(visitor: &Visitor, page: &BroadcastPage) -> Markup {
    let language = visitor.language();
    html! {
        (Card::new(&text!(language, "cabinet-broadcast-history")).id("broadcasts").live("broadcasts").render(&html! {
            @if page.broadcasts.is_empty() { p.quiet { (text!(language, "cabinet-broadcast-none")) } }
            ul.rows data-testid="broadcasts" {
                @for one in &page.broadcasts { (row(visitor, page, one)) }
            }
        }))
    }
}

fn row(visitor: &Visitor, page: &BroadcastPage, one: &SiteBroadcast) -> Markup {
    let language = visitor.language();
    let author = page.authors.get(&one.author_id).map_or("–", String::as_str);
    let done = one.total() - one.left();
    html! {
        li data-testid={ "broadcast-" (one.id) } {
            div {
                p.message { (one.text) }
                p.quiet { (author) " · " (moment(one.created_at, language)) }
                @if one.left() > 0 {
                    progress max=(one.total()) value=(done) aria-label=(text!(language, "cabinet-broadcast-progress")) {}
                    " "
                }
                span data-testid="progress" { (progress(one, language)) }
            }
            @if one.count(DeliveryState::Waiting) > 0 {
                (visitor.visit.form(&format!("{}/{}/cancel", path(page.site.id), one.id), &html! {
                    (Button::plain(&text!(language, "cabinet-broadcast-cancel")).small().testid("cancel-broadcast").submit())
                }))
            }
        }
    }
}

/// How far a broadcast has come: `sent 12 of 20 · blocked the bot: 1`.
fn progress(one: &SiteBroadcast, language: Language) -> String {
    let mut parts =
        vec![text!(language, "cabinet-broadcast-sent", sent = one.count(DeliveryState::Sent), total = one.total())];
    let others = [
        (DeliveryState::Failed, crate::key!("cabinet-broadcast-failed")),
        (DeliveryState::Blocked, crate::key!("cabinet-broadcast-blocked")),
        (DeliveryState::Unknown, crate::key!("cabinet-broadcast-unknown")),
        (DeliveryState::Skipped, crate::key!("cabinet-broadcast-skipped")),
        (DeliveryState::Cancelled, crate::key!("cabinet-broadcast-cancelled")),
    ];
    for (state, key) in others {
        let count = one.count(state);
        if count > 0 {
            parts.push(text!(language, key, count = count));
        }
    }
    parts.join(" · ")
}
