//! Markup of the cancellations.

use maud::{Markup, html};

use super::super::media::{self, ShownMedia};
use super::{CancellationPage, DECIDED, Listed, WAITING};
use crate::attachments::{self, Attachment};
use crate::shifts::{Cancellation, CancellationStatus, DecidedCancellation, Plan, TOPIC, hours};
use crate::sites::{Site, SiteRefusal, local};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Button, Card, Dialog, Empty, Icon, Tab, Tone, badge, headline, tabs};
use crate::web::{self, day_and_time, moment};

impl CancellationPage<'_> {
    pub fn draw(&self) -> Markup {
        let language = self.language();
        let title = text!(language, "cabinet-nav-cancellations");
        let is_decided = matches!(self.listed, Listed::Decided(_));
        let shown = [
            Tab::new(text!(language, "cabinet-waiting"), WAITING.to_owned(), !is_decided).count(self.waiting as u64),
            Tab::new(text!(language, "cabinet-decided"), DECIDED.to_owned(), is_decided),
        ];
        let body = html! {
            (headline(&title, &html! {}))
            @if let Some(why) = self.refused { p.notice-line role="status" data-testid="notice" { (why.text(language)) } }
            (tabs(&title, &shown))
            div #cancellations data-live={ (TOPIC) " " (attachments::TOPIC) } {
                @match &self.listed {
                    Listed::Waiting(waiting) => {
                        @if waiting.is_empty() { (empty(&text!(language, "cabinet-no-cancellations"))) }
                        @for (one, plan) in waiting { (self.waiting_case(one, plan)) }
                        @let hidden = self.waiting - waiting.len();
                        @if hidden > 0 { p.quiet { (text!(language, "cabinet-cancellations-hidden", count = hidden as u64)) } }
                    }
                    Listed::Decided(page) => {
                        @if page.cases.is_empty() { (empty(&text!(language, "cabinet-no-decided"))) }
                        @for case in &page.cases { (self.decided_case(case)) }
                        @if let Some((at, id)) = page.older {
                            nav.pager aria-label=(text!(language, "web-pages")) {
                                a.button.plain rel="next" href={ (DECIDED) "&from=" (at.0) "-" (id) } { (text!(language, "web-next")) }
                            }
                        }
                    }
                }
            }
        };
        self.visitor.page(&title, &body)
    }

    fn language(&self) -> Language {
        self.visitor.language()
    }

    fn name(&self, id: Option<i64>) -> &str {
        id.and_then(|id| self.names.get(&id)).map_or("–", String::as_str)
    }

    /// A cancellation with its two decisions and what each costs.
    fn waiting_case(&self, one: &Cancellation, plan: &Plan) -> Markup {
        let language = self.language();
        let cost = self.fines.cost(one.is_short_notice);
        // A single fine is named by the button alone.
        let short_notice = cost.short_notice.filter(|short| short.is_positive() && cost.invalid_reason.is_positive());
        html! {
            (Card::untitled().testid(&format!("cancellation-{}", one.id)).render(&html! {
                (self.about(one, plan, &html! {}))
                @if let Some(at) = one.reversed_at {
                    p.quiet { (text!(language, "cabinet-was-reversed", name = self.name(one.reversed_by))) ", " (moment(at, language)) }
                }
                @if self.access.decides_on(one.user_id) {
                    @if let Some(short) = short_notice {
                        p.quiet {
                            (text!(language, "cabinet-fine-parts", reason = cost.invalid_reason.shown(language), short = short.shown(language)))
                        }
                    }
                    div.row { (self.accept(one)) (self.reject(one)) }
                } @else { p.quiet data-testid="own-case" { (SiteRefusal::OwnCase.text(language)) } }
            }))
        }
    }

    fn accept(&self, one: &Cancellation) -> Markup {
        self.visitor.visit.form(
            &format!("{WAITING}/{}/judge", one.id),
            &html! {
                input type="hidden" name="accepted" value="true";
                (Button::primary(&text!(self.language(), "cabinet-accept")).testid("accepted-true").submit())
            },
        )
    }

    /// Rejecting names the amount, if there is one, and asks.
    fn reject(&self, one: &Cancellation) -> Markup {
        let language = self.language();
        let fine = self.fines.cost(one.is_short_notice).total();
        let (caption, about) = if fine.is_positive() {
            let amount = fine.shown(language);
            let about = text!(language, "cabinet-reject-about", fine = amount.as_str());
            (text!(language, "cabinet-reject", fine = amount), about)
        } else {
            (text!(language, "cabinet-reject-free"), text!(language, "cabinet-reject-about-free"))
        };
        let (id, title) = (format!("reject-{}", one.id), text!(language, "cabinet-reject-sure"));
        let keep = text!(language, "cabinet-reject-not");
        let form = self.visitor.visit.form(
            &format!("{WAITING}/{}/judge", one.id),
            &html! {
                p { (about) }
                input type="hidden" name="accepted" value="false";
                input type="hidden" name="fine" value=(fine.kopecks());
                (Button::danger(&caption).testid("accepted-false").submit())
            },
        );
        html! {
            (Button::danger(&caption).testid("reject").opens(&id))
            (Dialog { id: &id, title: &title, cancel: &keep, is_open: false }.render(&form))
        }
    }

    /// A decided cancellation: by whom, when, what it costs, and the way back.
    fn decided_case(&self, case: &DecidedCancellation) -> Markup {
        let (language, one) = (self.language(), &case.cancelled);
        let state = match (one.status, case.fine.filter(|fine| fine.amount.is_negative())) {
            (CancellationStatus::Rejected, Some(fine)) => {
                let amount = fine.amount.shown(language);
                badge(Tone::Bad, &text!(language, "cabinet-was-rejected", fine = amount))
            }
            (CancellationStatus::Rejected, None) => badge(Tone::Bad, &text!(language, "cabinet-was-rejected-free")),
            _ => badge(Tone::Good, &text!(language, "cabinet-was-accepted")),
        };
        let is_closed = case.fine.is_some_and(|fine| fine.is_month_closed);
        html! {
            (Card::untitled().testid(&format!("decided-{}", one.id)).render(&html! {
                (self.about(one, &case.plan, &state))
                @if let Some(at) = one.decided_at {
                    p.quiet { (text!(language, "cabinet-decided-by", name = self.name(one.decided_by))) ", " (moment(at, language)) }
                }
                @if !self.access.decides_on(one.user_id) { p.quiet { (SiteRefusal::OwnCase.text(language)) } }
                @else if is_closed { p.quiet data-testid="month-closed" { (SiteRefusal::MonthClosed.text(language)) } }
                @else { (self.take_back(case)) }
            }))
        }
    }

    fn take_back(&self, case: &DecidedCancellation) -> Markup {
        let (language, one) = (self.language(), &case.cancelled);
        let Some(decided_at) = one.decided_at else { return html! {} };
        let fine = case.fine.map(|fine| -fine.amount).filter(|fine| fine.is_positive());
        let about = match fine {
            Some(fine) => text!(language, "cabinet-take-back-fine", fine = fine.shown(language)),
            None => text!(language, "cabinet-take-back-free"),
        };
        let (id, caption) = (format!("take-back-{}", one.id), text!(language, "cabinet-take-back"));
        let (title, keep) = (text!(language, "cabinet-take-back-sure"), text!(language, "cabinet-take-back-not"));
        let form = self.visitor.visit.form(
            &format!("{WAITING}/{}/take-back", one.id),
            &html! {
                p { (about) }
                input type="hidden" name="decided_at" value=(decided_at.0);
                (Button::primary(&caption).icon(Icon::Undo).testid("take-back").submit())
            },
        );
        html! {
            (Button::plain(&caption).icon(Icon::Undo).testid("ask-take-back").opens(&id))
            (Dialog { id: &id, title: &title, cancel: &keep, is_open: false }.render(&form))
        }
    }

    /// Who cancelled what and why.
    fn about(&self, one: &Cancellation, plan: &Plan, state: &Markup) -> Markup {
        let language = self.language();
        let site = self.sites.iter().find(|site| site.id == plan.site_id);
        let photo = one.photo_file.as_ref().map(|file| self.photos.get(file).unwrap_or(&Attachment::Pending));
        html! {
            div.headline { h2 { (self.name(Some(one.user_id))) } (state) }
            p {
                @if let Some(site) = site { (site.about.name) ", " (day_and_hours(plan, site, language)) " " }
                @if one.is_short_notice { (badge(Tone::Wait, &text!(language, "cabinet-short-notice"))) }
            }
            p { (one.reason.text(language)) @if let Some(words) = &one.words { ": " (words) } }
            @if let Some(document) = &one.document { p.quiet { (text!(language, "cabinet-document")) ": " (document) } }
            p.quiet {
                (text!(language, "cabinet-cancelled-at")) " "
                @match site {
                    Some(site) => (day_and_time(local(one.cancelled_at, site.about.time_zone), language)),
                    None => (moment(one.cancelled_at, language)),
                }
            }
            @if let Some(file) = photo {
                div.papers { (media::medium(self.visitor, &ShownMedia { path: format!("{WAITING}/{}/photo", one.id), file, sent: String::new() })) }
            }
        }
    }
}

fn empty(title: &str) -> Markup {
    Empty { icon: Icon::Inbox, title, text: "" }.render(&html! {})
}

/// When a plan was, by the site's clock: `31.01.2026, 09:00–18:00`.
fn day_and_hours(plan: &Plan, site: &Site, language: Language) -> String {
    let day = local(plan.period.from, site.about.time_zone).date();
    format!("{}, {}", web::day(day, language), hours(plan.period, site, language))
}
