//! What belongs to an order: checklist, offers, messages, photos and the history.

use maud::{Markup, html};

use super::OrderPage;
use crate::orders::pages::deed::Deed;
use crate::orders::pages::{path_of, time};
use crate::orders::{FileStage, HistoryLine, Offer, OrderFile, OrderMessage, reason_text};
use crate::shifts::pages::media::{ShownMedia, medium};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{Fields, FormAttempt, FormSpec};
use crate::web::ui::{Button, Icon, Tone, badge};

impl OrderPage {
    /// The items, each with a button that ticks it or takes the tick away.
    pub(super) fn checklist(&self, visitor: &Visitor) -> Markup {
        let (language, may_mark) = (visitor.language(), self.may(Deed::Item));
        let captions = [text!(language, "orders-item-done"), text!(language, "orders-item-undone")];
        html! {
            ul.rows data-testid="checklist" {
                @for item in &self.details.checklist {
                    li {
                        div {
                            span.task-mark.done[item.done_at.is_some()] { @if item.done_at.is_some() { (Icon::Check.svg()) } }
                            (item.text)
                            @if item.is_required { " " span.chip { (text!(language, "cabinet-mandatory")) } }
                        }
                        @if may_mark {
                            (visitor.visit.form(&self.path(Deed::Item), &html! {
                                input type="hidden" name="version" value=(self.seen().order.version);
                                input type="hidden" name="item" value=(item.id);
                                @if item.done_at.is_none() { input type="hidden" name="done" value="on"; }
                                (Button::plain(&captions[usize::from(item.done_at.is_some())]).small().testid(&format!("item-{}", item.id)).submit())
                            }))
                        }
                    }
                }
            }
        }
    }

    pub(super) fn offers(&self, language: Language) -> Markup {
        html! {
            ul.rows data-testid="offers" {
                @for offer in &self.details.offers {
                    li { span { (self.name_of(Some(offer.master_id))) } (self.offer(offer, language)) }
                }
            }
        }
    }

    fn offer(&self, offer: &Offer, language: Language) -> Markup {
        let (tone, text) = match (offer.answer.as_deref(), offer.until) {
            (Some("accepted"), _) => (Tone::Good, text!(language, "orders-offer-accepted")),
            (Some("declined"), _) => (Tone::Bad, text!(language, "orders-offer-declined")),
            (Some("expired"), _) => (Tone::Neutral, text!(language, "orders-offer-expired")),
            (Some(_), _) => (Tone::Neutral, text!(language, "orders-offer-withdrawn")),
            (None, Some(until)) => {
                let until = time::moment(until, self.zone, language);
                (Tone::Wait, text!(language, "orders-offer-until", until = until))
            }
            (None, None) => (Tone::Neutral, text!(language, "orders-offer-later")),
        };
        badge(tone, &text)
    }

    /// What was written, and the form of a message to the client.
    pub(super) fn messages(&self, visitor: &Visitor, attempt: &FormAttempt) -> Markup {
        let language = visitor.language();
        let (path, caption, none) = (self.path(Deed::Message), text!(language, "orders-do-message"), Fields::new());
        let back = path_of(self.seen().order.id);
        let version = Some(self.seen().order.version);
        let spec = FormSpec { path: &path, now: &none, version, back: &back, caption: &caption, testid: "message" };
        html! {
            @if self.details.messages.is_empty() { p.quiet { (text!(language, "orders-no-messages")) } }
            ul.rows data-testid="messages" { @for message in &self.details.messages { (self.message(message, language)) } }
            @if self.may(Deed::Message) {
                (visitor.record_form(attempt, spec, |form| {
                    form.line("message", &text!(language, "orders-message"), crate::orders::fields::MAX_MESSAGE)
                }))
            }
        }
    }

    fn message(&self, message: &OrderMessage, language: Language) -> Markup {
        let client = &self.seen().order.about.client_name;
        let from = if message.is_from_client { client.as_str() } else { self.name_of(message.member_id) };
        html! {
            li {
                div { strong { (from) } p.lines { (message.text) } }
                span.quiet { (time::moment(message.at, self.zone, language)) }
            }
        }
    }

    /// The photos by stage.
    pub(super) fn photos(&self, visitor: &Visitor) -> Markup {
        let language = visitor.language();
        let stages = [
            (FileStage::Request, text!(language, "orders-files-request")),
            (FileStage::Before, text!(language, "orders-files-before")),
            (FileStage::After, text!(language, "orders-files-after")),
        ];
        html! {
            @for (stage, title) in &stages {
                @let files: Vec<&OrderFile> = self.details.files.iter().filter(|file| file.stage == *stage).collect();
                @if !files.is_empty() {
                    h3 { (title) }
                    div.papers { @for file in files { (self.photo(visitor, file)) } }
                }
            }
        }
    }

    fn photo(&self, visitor: &Visitor, file: &OrderFile) -> Markup {
        let path = format!("{}/files/{}", path_of(self.seen().order.id), file.id);
        let sent = time::moment(file.at, self.zone, visitor.language());
        html! {
            @if let Some(kept) = self.files.get(&file.telegram_file) {
                (medium(visitor, &ShownMedia { path, file: kept, sent }))
            }
        }
    }

    /// Who did what and when, the newest first.
    pub(super) fn history(&self, language: Language) -> Markup {
        html! {
            ul.rows data-testid="history" {
                @for line in self.details.history.iter().rev() {
                    li {
                        div {
                            strong { (line.fact.text(language)) }
                            @if let Some((from, to)) = line.moved {
                                " " span.quiet { (from.text(language)) " → " (to.text(language)) }
                            }
                            @if let Some(reason) = &line.reason { p.lines { (reason_text(reason, language)) } }
                        }
                        span.quiet { (self.actor(line, language)) " · " (time::moment(line.at, self.zone, language)) }
                    }
                }
            }
        }
    }

    fn actor(&self, line: &HistoryLine, language: Language) -> String {
        match line.member_id {
            Some(id) => self.name_of(Some(id)).to_owned(),
            None if line.is_by_client => text!(language, "orders-client"),
            None => text!(language, "orders-automatic"),
        }
    }
}
