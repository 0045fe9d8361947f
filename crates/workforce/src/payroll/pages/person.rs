//! Markup of a person's month: sums, adjustments, payments, and for owners the forms.

use std::collections::HashMap;

use maud::{Markup, html};

use super::super::{
    Adjustment, AdjustmentChange, Earnings, Entry, MAX_REASON_LENGTH, Money, NO_ENTRY, Payment, PayrollMonth,
};
use super::access::PayAccess;
use super::changes::{KINDS, kind_of, size};
use super::{BONUS, KIND, OWN, PAYROLL, TOPIC, sheet};
use crate::money::day_of;
use crate::person::{OWNERS, Person};
use crate::text;
use crate::texts::Language;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, fields};
use crate::web::ui::{Button, Dialog, Empty, Icon, Tone, badge, card, figure, headline};
use crate::web::{Visitor, day, moment};

/// The data of the page.
#[derive(Clone, Copy, Debug)]
pub struct PersonPage<'a> {
    pub visitor: &'a Visitor,
    pub person: &'a Person,
    pub earnings: &'a Earnings,
    pub names: &'a HashMap<i64, String>,
    /// The last month in which payments can be marked.
    pub payable: PayrollMonth,
    /// The last month that the page links to.
    pub last: PayrollMonth,
    /// Whether this is the first page of adjustments.
    pub is_first: bool,
    pub access: &'a PayAccess,
    pub attempt: &'a FormAttempt,
}

impl PersonPage<'_> {
    pub fn draw(&self) -> Markup {
        let (language, period) = (self.language(), self.earnings.month.period);
        let own = text!(language, "payroll-nav-own");
        let title = if self.is_own() { own.as_str() } else { self.person.full_name.as_str() };
        let path = self.path();
        let body = html! {
            @if self.may_change() || !self.access.is_all() { p.crumbs { a href={ (PAYROLL) "?period=" (period) } { (text!(language, "payroll-nav")) } } }
            (headline(title, &html! {
                @if let Some(entry) = self.earnings.entry.as_ref().filter(|_| self.access.is_all()) { (sheet::payment_label(entry, language)) }
                (sheet::months(&path, period, self.last, language))
            }))
            (self.attempt.notice(language))
            (self.access.text(language))
            div #earnings data-live={ (TOPIC) " shifts" } {
                (self.month_line())
                @match &self.earnings.entry {
                    None => (self.empty()),
                    Some(entry) => (self.sums(entry)),
                }
                @if self.may_change() { (self.actions()) }
                @if !self.earnings.lines.is_empty() { (self.lines()) }
                @if !self.earnings.payments.is_empty() { (self.payments()) }
                @if self.may_change() && !self.earnings.changes.is_empty() { (self.history()) }
            }
        };
        self.visitor.page(title, &body)
    }

    fn path(&self) -> String {
        if self.is_own() { OWN.to_owned() } else { format!("{PAYROLL}/people/{}", self.person.id) }
    }

    fn language(&self) -> Language {
        self.visitor.language()
    }

    fn is_own(&self) -> bool {
        self.person.id == self.visitor.person.id
    }

    fn may_change(&self) -> bool {
        self.visitor.person.may(OWNERS)
    }

    fn sums(&self, entry: &Entry) -> Markup {
        let language = self.language();
        html! {
            div.cards.sums {
                (figure(&text!(language, "payroll-total"), &entry.total.shown(language), "total"))
                (figure(&text!(language, "payroll-hours"), &entry.hours.shown(language), "hours"))
                @if self.access.is_all() {
                    (figure(&text!(language, "payroll-paid"), &entry.paid.shown(language), "paid"))
                    @if entry.credit.is_positive() {
                        (figure(&text!(language, "payroll-credit"), &entry.credit.shown(language), "credit"))
                    }
                    (figure(&text!(language, "payroll-due"), &entry.due().shown(language), "due"))
                }
            }
        }
    }

    /// Whether the amounts may still change.
    fn month_line(&self) -> Markup {
        let language = self.language();
        html! {
            p.quiet data-testid="month-status" {
                @match self.earnings.month.closed {
                    Some((at, _)) => { (badge(Tone::Neutral, &text!(language, "payroll-is-closed-badge"))) " " (text!(language, "payroll-closed-since")) " " (moment(at, language)) },
                    None => { (badge(Tone::Good, &text!(language, "payroll-is-open-badge"))) " " (text!(language, "payroll-open-person")) },
                }
            }
        }
    }

    fn empty(&self) -> Markup {
        let title = text!(self.language(), "payroll-nothing-there");
        Empty { icon: Icon::Money, title: &title, text: "" }.render(&html! {})
    }

    fn lines(&self) -> Markup {
        let language = self.language();
        card(
            &text!(language, "payroll-amounts"),
            &html! {
                ul.rows.amounts data-testid="amounts" { @for line in &self.earnings.lines { (self.line(line)) } }
                (self.pager())
            },
        )
    }

    /// Links to the first and the next page of adjustments.
    fn pager(&self) -> Markup {
        let (language, path) = (self.language(), format!("{}?period={}", self.path(), self.earnings.month.period));
        html! {
            @if !self.is_first || self.earnings.next_page.is_some() {
                nav.pager aria-label=(text!(language, "web-pages")) {
                    @if !self.is_first { a.button.plain href=(path) { (text!(language, "payroll-newest")) } }
                    @if let Some(mark) = &self.earnings.next_page {
                        a.button.plain rel="next" href={ (path) "&after=" (mark) } { (text!(language, "web-next")) }
                    }
                }
            }
        }
    }

    fn line(&self, line: &Adjustment) -> Markup {
        let language = self.language();
        let is_changeable = line.kind.is_manual() && self.may_change();
        html! {
            li.removed[line.is_removed] data-testid={ "amount-" (line.id) } {
                div {
                    span.quiet.day { (day_of(&line.day).map_or_else(|| line.day.clone(), |at| day(at, language))) }
                    @match line.shift_id {
                        Some(shift) => a href={ "/shifts/" (shift) } { (line.caption(language)) },
                        None => span { (line.caption(language)) },
                    }
                    p.quiet { (line.text(language)) }
                    @if let Some(now) = line.corrected {
                        p.quiet { (text!(language, "payroll-corrected", amount = now.shown(language))) }
                    }
                    @if is_changeable { (self.edit(line)) }
                }
                strong.money.minus[line.amount.is_negative()] { (line.amount.signed(language)) }
            }
        }
    }

    /// The forms to change, remove and restore an adjustment.
    fn edit(&self, line: &Adjustment) -> Markup {
        let (language, visit) = (self.language(), &self.visitor.visit);
        if line.is_removed {
            let caption = text!(language, "payroll-restore");
            return html! {
                @if !self.earnings.month.is_closed() {
                    (visit.form(&format!("/payroll/amounts/{}/restore", line.id), &html! {
                        (self.hidden_fields()) (Button::plain(&caption).small().icon(Icon::Undo).testid("restore").submit())
                    }))
                }
            };
        }
        let path = format!("/payroll/amounts/{}/change", line.id);
        let now = edit_fields(line);
        html! {
            details open[self.attempt.is_at(&path)] {
                summary { (text!(language, "payroll-change")) }
                @if self.earnings.month.is_closed() || line.corrected.is_some() { p.quiet { (text!(language, "payroll-change-closed")) } }
                (self.sheet(&path, &now, Some(line.version), (&text!(language, "payroll-save"), "save"), |form| html! {
                    (self.hidden_fields())
                    (self.fields(form))
                }))
                (self.removal(line))
            }
        }
    }

    /// The question before an amount is removed: which one, and what is left.
    fn removal(&self, line: &Adjustment) -> Markup {
        let (language, id) = (self.language(), format!("remove-{}", line.id));
        let amount = line.corrected.unwrap_or(line.amount);
        let shown = size(amount).shown(language);
        let title = if amount.is_negative() {
            text!(language, "payroll-remove-deduction-sure", amount = shown)
        } else {
            text!(language, "payroll-remove-bonus-sure", amount = shown)
        };
        let (caption, cancel) = (text!(language, "payroll-remove"), text!(language, "payroll-keep"));
        let left = self.earnings.entry.as_ref().map_or(Money::ZERO, |entry| entry.total - amount);
        let about = if self.earnings.month.is_closed() || line.corrected.is_some() {
            text!(language, "payroll-change-closed")
        } else {
            let month = self.earnings.month.period.shown(language);
            text!(language, "payroll-total-then", month = month, total = left.shown(language))
        };
        let body = html! {
            p { (about) }
            (self.visitor.visit.form(&format!("/payroll/amounts/{}/remove", line.id), &html! {
                (self.hidden_fields())
                input type="hidden" name="version" value=(line.version);
                input type="hidden" name="reason" value=(text!(language, "payroll-removed"));
                (Button::danger(&caption).testid("remove").submit())
            }))
        };
        html! {
            (Button::danger(&text!(language, "payroll-remove-ask")).small().testid("ask-remove").opens(&id))
            (Dialog { id: &id, title: &title, cancel: &cancel, is_open: false }.render(&body))
        }
    }

    /// The month and the person, as hidden fields.
    fn hidden_fields(&self) -> Markup {
        html! {
            input type="hidden" name="period" value=(self.earnings.month.period);
            input type="hidden" name="user" value=(self.person.id);
        }
    }

    fn sheet(
        &self,
        path: &str,
        now: &Fields,
        version: Option<i64>,
        (caption, testid): (&str, &str),
        draw: impl FnOnce(&FilledForm<'_>) -> Markup,
    ) -> Markup {
        let back = format!("{PAYROLL}/people/{}?period={}", self.person.id, self.earnings.month.period);
        self.visitor.record_form(self.attempt, FormSpec { path, now, version, back: &back, caption, testid }, draw)
    }

    /// The fields of an adjustment: kind, amount and reason.
    fn fields(&self, form: &FilledForm<'_>) -> Markup {
        let language = self.language();
        html! {
            (form.radios(KIND, &KINDS.map(|(name, kind)| (name, language.text(kind.caption())))))
            div.row.fields {
                (form.short("amount", &text!(language, "payroll-amount"), "text"))
                (form.line("reason", &text!(language, "payroll-reason"), MAX_REASON_LENGTH))
            }
        }
    }

    /// The buttons that open the forms for a payment and for an adjustment.
    fn actions(&self) -> Markup {
        let (language, month) = (self.language(), &self.earnings.month);
        let is_payable = month.period <= self.payable && (self.earnings.entry.is_some() || !month.is_closed());
        let due = self.earnings.due();
        let pay = if due.is_positive() {
            text!(language, "payroll-pay-due", amount = due.shown(language))
        } else {
            text!(language, "payroll-pay-advance")
        };
        let add = text!(language, "payroll-add-ask");
        html! {
            div.row.deeds-row {
                @if is_payable {
                    @let button = if due.is_positive() { Button::primary(&pay) } else { Button::plain(&pay) };
                    (button.icon(Icon::Money).testid("ask-pay").opens("pay-person"))
                }
                (Button::plain(&add).icon(Icon::Plus).testid("ask-add").opens("add-amount"))
            }
            @if is_payable { (self.new_payment()) }
            (self.new_amount())
        }
    }

    fn new_amount(&self) -> Markup {
        let (language, name) = (self.language(), self.person.full_name.as_str());
        let path = format!("{PAYROLL}/people/{}/amounts", self.person.id);
        let now = fields([(KIND, BONUS.to_owned())]);
        let title =
            text!(language, "payroll-add-title", name = name, month = self.earnings.month.period.shown(language));
        let body = html! {
            @if self.earnings.month.is_closed() { p.quiet { (text!(language, "payroll-add-closed")) } }
            (self.sheet(&path, &now, None, (&text!(language, "payroll-add-button"), "add"), |form| html! {
                (self.hidden_fields())
                (self.fields(form))
            }))
        };
        let (cancel, is_open) = (text!(language, "payroll-cancel"), self.attempt.is_at(&path));
        Dialog { id: "add-amount", title: &title, cancel: &cancel, is_open }.render(&body)
    }

    /// The form for a payment, filled with what is due or what was submitted. More than is due needs a confirmation
    /// that it is an advance. Without earnings only an advance is possible, while the month is open.
    fn new_payment(&self) -> Markup {
        let (language, entry, due) = (self.language(), self.earnings.entry.as_ref(), self.earnings.due());
        let version = entry.map_or(NO_ENTRY, |entry| entry.version);
        let path = format!("{PAYROLL}/people/{}/paid", self.person.id);
        let usual = if due.is_positive() { due.to_string() } else { String::new() };
        let now = fields([("amount", usual)]);
        let (name, month) = (self.person.full_name.as_str(), self.earnings.month.period.shown(language));
        let about = match entry {
            Some(_) if due.is_negative() => text!(language, "payroll-pay-overpaid", amount = (-due).shown(language)),
            Some(_) => text!(language, "payroll-pay-about", month = month, due = due.shown(language)),
            None => text!(language, "payroll-nothing-to-pay"),
        };
        let body = html! {
            p { (about) }
            (self.sheet(&path, &now, Some(version), (&text!(language, "payroll-mark-paid"), "pay"), |form| html! {
                (self.hidden_fields())
                (form.short("amount", &text!(language, "payroll-amount"), "text"))
                @if entry.is_none() || self.attempt.is_unconfirmed(&path) {
                    label.check data-testid="advance" {
                        input type="checkbox" name="is_advance" value="on" required;
                        (text!(language, "payroll-advance", due = due.max(Money::ZERO).shown(language)))
                    }
                }
            }))
        };
        let title = text!(language, "payroll-pay-title", name = name);
        let (cancel, is_open) = (text!(language, "payroll-cancel"), self.attempt.is_at(&path));
        Dialog { id: "pay-person", title: &title, cancel: &cancel, is_open }.render(&body)
    }

    fn payments(&self) -> Markup {
        let language = self.language();
        let rows = html! { @for paid in &self.earnings.payments { (self.payment(paid)) } };
        card(&text!(language, "payroll-payments"), &html! { ul.rows data-testid="payments" { (rows) } })
    }

    fn payment(&self, paid: &Payment) -> Markup {
        let language = self.language();
        html! {
            li.removed[paid.is_taken_back] {
                div {
                    strong.money { (paid.amount.shown(language)) }
                    p.quiet { (moment(paid.at, language)) " · " (self.name(paid.by)) }
                    @if paid.is_taken_back { p.quiet { (text!(language, "payroll-taken-back")) } }
                }
                @if self.may_change() && !paid.is_taken_back {
                    (self.taking_back(paid))
                }
            }
        }
    }

    /// The question before a payment is taken back: which one, and what is due then.
    fn taking_back(&self, paid: &Payment) -> Markup {
        let (language, id) = (self.language(), format!("take-back-{}", paid.id));
        let title = text!(language, "payroll-take-back-sure", amount = paid.amount.shown(language));
        let (caption, cancel) = (text!(language, "payroll-take-back"), text!(language, "payroll-keep-payment"));
        let due = (self.earnings.due() + paid.amount).max(Money::ZERO);
        let body = html! {
            p { (text!(language, "payroll-take-back-about", due = due.shown(language))) }
            (self.visitor.visit.form(&format!("/payroll/payments/{}/take-back", paid.id), &html! {
                (self.hidden_fields())
                (Button::danger(&caption).testid("take-back").submit())
            }))
        };
        html! {
            div {
                (Button::plain(&text!(language, "payroll-take-back-ask")).small().testid("ask-take-back").opens(&id))
                (Dialog { id: &id, title: &title, cancel: &cancel, is_open: false }.render(&body))
            }
        }
    }

    fn history(&self) -> Markup {
        let language = self.language();
        let rows = html! {
            ul.rows data-testid="pay-history" {
                @for change in self.earnings.changes.iter().rev() {
                    li {
                        div {
                            (deed(change, language)) ": " (change.amount.signed(language)) " · " (change.reason)
                            p.quiet { (self.name(change.by)) }
                        }
                        span.quiet { (moment(change.at, language)) }
                    }
                }
            }
        };
        card(&text!(language, "payroll-history"), &rows)
    }

    fn name(&self, id: i64) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("#{id}"))
    }
}

/// The fields of a manual adjustment. The kind stands for the sign.
fn edit_fields(line: &Adjustment) -> Fields {
    let amount = line.corrected.unwrap_or(line.amount);
    // An amount that was corrected to zero keeps its former sign.
    let signed = if amount == Money::ZERO { line.amount } else { amount };
    let reason = line.reason.clone().unwrap_or_default();
    fields([(KIND, kind_of(signed).to_owned()), ("amount", size(amount).to_string()), ("reason", reason)])
}

fn deed(change: &AdjustmentChange, language: Language) -> String {
    match change.deed.as_str() {
        "added" => text!(language, "payroll-deed-added"),
        "changed" => text!(language, "payroll-deed-changed"),
        "removed" => text!(language, "payroll-deed-removed"),
        _ => text!(language, "payroll-deed-restored"),
    }
}
