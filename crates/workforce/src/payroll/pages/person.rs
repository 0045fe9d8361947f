//! A person's month, drawn: sums, every amount with its reason, payments, and for owners the forms.

use std::collections::HashMap;

use maud::{Markup, html};

use super::super::{Changed, Earnings, Entry, Kind, Line, Money, Payment, Period, REASON_MOST, Why};
use super::{Attempt, OWN, PAYROLL, TOPIC, sheet};
use crate::payroll::earnings::day_words;
use crate::people::Person;
use crate::text;
use crate::texts::Language;
use crate::web::{OWNERS, Visitor, moment};

/// What all parts of the page need.
struct Drawn<'a> {
    visitor: &'a Visitor,
    person: &'a Person,
    earnings: &'a Earnings,
    names: &'a HashMap<i64, String>,
    attempt: &'a Attempt,
}

pub fn page(
    visitor: &Visitor,
    person: &Person,
    earnings: &Earnings,
    names: &HashMap<i64, String>,
    attempt: &Attempt,
) -> Markup {
    Drawn { visitor, person, earnings, names, attempt }.page()
}

impl Drawn<'_> {
    fn page(&self) -> Markup {
        let (language, period) = (self.language(), self.earnings.month.period);
        let own = text!(language, "payroll-nav-own");
        let title = if self.is_own() { own.as_str() } else { self.person.full_name.as_str() };
        let path = if self.is_own() { OWN.to_owned() } else { format!("{PAYROLL}/people/{}", self.person.id) };
        let body = html! {
            @if self.may_change() { p.crumbs { a href={ (PAYROLL) "?period=" (period) } { (text!(language, "payroll-nav")) } } }
            div.headline {
                h1 { (title) }
                // Of one's own pay, every month may be looked at.
                (sheet::months(&path, period, Period::next(period), language))
            }
            @if let Some(why) = self.attempt.why { (self.refused(why)) }
            div #earnings data-live={ (TOPIC) " shifts" } {
                @match &self.earnings.entry {
                    None => div.card.empty { (text!(language, "payroll-nothing-there")) },
                    Some(entry) => (self.sums(entry)),
                }
                @if self.may_change() { (self.forms()) }
                @if !self.earnings.lines.is_empty() { (self.lines()) }
                @if !self.earnings.payments.is_empty() { (self.payments()) }
                @if self.may_change() && !self.earnings.changes.is_empty() { (self.history()) }
            }
        };
        self.visitor.page(title, &body)
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

    /// Why something was not done, and what was typed.
    fn refused(&self, why: Why) -> Markup {
        let (language, attempt) = (self.language(), self.attempt);
        html! {
            div.notice-line role="status" data-testid="notice" {
                (why.words(language))
                @if why == Why::Stale && attempt.id.is_some() {
                    " " (text!(language, "payroll-you-wrote", amount = attempt.amount.as_str(), reason = attempt.reason.as_str()))
                }
            }
        }
    }

    fn sums(&self, entry: &Entry) -> Markup {
        let language = self.language();
        html! {
            div.cards.sums {
                (sheet::card(&text!(language, "payroll-total"), &entry.total.shown(language), "total"))
                (sheet::card(&text!(language, "payroll-hours"), &entry.hours.shown(language), "hours"))
                (sheet::card(&text!(language, "payroll-paid"), &entry.paid.shown(language), "paid"))
                @if self.earnings.credit.is_positive() {
                    (sheet::card(&text!(language, "payroll-credit"), &self.earnings.credit.shown(language), "credit"))
                }
                (sheet::card(&text!(language, "payroll-due"), &self.earnings.due().shown(language), "due"))
            }
        }
    }

    fn lines(&self) -> Markup {
        let language = self.language();
        html! {
            section.card {
                h2 { (text!(language, "payroll-amounts")) }
                ul.rows.amounts data-testid="amounts" { @for line in &self.earnings.lines { (self.line(line)) } }
            }
        }
    }

    fn line(&self, line: &Line) -> Markup {
        let language = self.language();
        let is_changeable = line.kind.is_manual() && self.may_change();
        html! {
            li.removed[line.is_removed] data-testid={ "amount-" (line.id) } {
                div {
                    span.quiet.day { (day_words(&line.day)) }
                    @match line.shift_id {
                        Some(shift) => a href={ "/shifts/" (shift) } { (line.caption(language)) },
                        None => span { (line.caption(language)) },
                    }
                    p.quiet { (line.words(language)) }
                    @if let Some(now) = line.corrected {
                        p.quiet { (text!(language, "payroll-corrected", amount = now.shown(language))) }
                    }
                    @if is_changeable { (self.edit(line)) }
                }
                strong.money.minus[line.amount.is_negative()] { (line.amount.signed(language)) }
            }
        }
    }

    /// Changing, removing and bringing back.
    fn edit(&self, line: &Line) -> Markup {
        let (language, visit) = (self.language(), &self.visitor.visit);
        let tried = (self.attempt.id == Some(line.id)).then_some(self.attempt);
        let amount = tried.map_or_else(|| line.corrected.unwrap_or(line.amount).to_string(), |one| one.amount.clone());
        let reason = tried.map_or_else(|| line.reason.clone().unwrap_or_default(), |one| one.reason.clone());
        let place = html! {
            input type="hidden" name="period" value=(self.earnings.month.period);
            input type="hidden" name="user" value=(self.person.id);
            input type="hidden" name="version" value=(line.version);
        };
        if line.is_removed {
            let caption = text!(language, "payroll-restore");
            return html! {
                @if !self.earnings.month.is_closed() {
                    (visit.form(&format!("/payroll/amounts/{}/restore", line.id), &html! {
                        (place) button.plain.small type="submit" data-testid="restore" { (caption) }
                    }))
                }
            };
        }
        html! {
            details open[tried.is_some()] {
                summary { (text!(language, "payroll-change")) }
                @if self.earnings.month.is_closed() { p.quiet { (text!(language, "payroll-change-closed")) } }
                (visit.form(&format!("/payroll/amounts/{}/change", line.id), &html! {
                    (place)
                    (self.fields(&amount, &reason))
                    button type="submit" data-testid="save" { (text!(language, "payroll-save")) }
                }))
                (visit.form(&format!("/payroll/amounts/{}/remove", line.id), &html! {
                    (place)
                    input type="hidden" name="reason" value=(text!(language, "payroll-removed"));
                    button.danger.small type="submit" data-testid="remove" { (text!(language, "payroll-remove")) }
                }))
            }
        }
    }

    fn fields(&self, amount: &str, reason: &str) -> Markup {
        let language = self.language();
        html! {
            div.row.fields {
                label { (text!(language, "payroll-amount"))
                    input type="text" inputmode="decimal" name="amount" required maxlength="20" value=(amount); }
                label.wide { (text!(language, "payroll-reason"))
                    input type="text" name="reason" required maxlength=(REASON_MOST) value=(reason); }
            }
        }
    }

    /// A new amount, and a payment.
    fn forms(&self) -> Markup {
        let (language, visit, period) = (self.language(), &self.visitor.visit, self.earnings.month.period);
        let is_new = self.attempt.id.is_none();
        let typed = |text: &str| if is_new { text.to_owned() } else { String::new() };
        html! {
            div.columns {
                section.card {
                    h2 { (text!(language, "payroll-add")) }
                    @if self.earnings.month.is_closed() { p.quiet { (text!(language, "payroll-add-closed")) } }
                    (visit.form(&format!("/payroll/people/{}/amounts", self.person.id), &html! {
                        input type="hidden" name="period" value=(period);
                        div.row.choice {
                            label { input type="radio" name="kind" value="bonus" checked; (language.text(Kind::ManualBonus.caption())) }
                            label { input type="radio" name="kind" value="deduction"; (language.text(Kind::ManualDeduction.caption())) }
                        }
                        (self.fields(&typed(&self.attempt.amount), &typed(&self.attempt.reason)))
                        button type="submit" data-testid="add" { (text!(language, "payroll-add-button")) }
                    }))
                }
                @if let Some(entry) = &self.earnings.entry {
                    section.card {
                        h2 { (text!(language, "payroll-payment")) }
                        p { (sheet::payment_label(entry, language)) }
                        (self.paying(entry))
                    }
                }
            }
        }
    }

    /// Marking a payment. More than is due is asked about once more: an advance, or a slip.
    fn paying(&self, entry: &Entry) -> Markup {
        let (language, earnings) = (self.language(), self.earnings);
        let due = earnings.due();
        let usual = if due.is_positive() { due.to_string() } else { String::new() };
        let amount = self.attempt.paying.as_deref().unwrap_or(&usual);
        let is_asked = self.attempt.why == Some(Why::MoreThanDue);
        self.visitor.visit.form(
            &format!("/payroll/people/{}/paid", self.person.id),
            &html! {
                input type="hidden" name="period" value=(earnings.month.period);
                input type="hidden" name="version" value=(entry.version);
                label { (text!(language, "payroll-amount"))
                    input type="text" inputmode="decimal" name="amount" required maxlength="20" value=(amount); }
                @if is_asked {
                    label.tick data-testid="advance" {
                        input type="checkbox" name="is_advance" value="yes" required;
                        (text!(language, "payroll-advance", due = due.max(Money::ZERO).shown(language)))
                    }
                }
                button type="submit" data-testid="pay" { (text!(language, "payroll-mark-paid")) }
            },
        )
    }

    fn payments(&self) -> Markup {
        let language = self.language();
        html! {
            section.card {
                h2 { (text!(language, "payroll-payments")) }
                ul.rows data-testid="payments" { @for paid in &self.earnings.payments { (self.payment(paid)) } }
            }
        }
    }

    fn payment(&self, paid: &Payment) -> Markup {
        let (language, visit) = (self.language(), &self.visitor.visit);
        html! {
            li.removed[paid.is_taken_back] {
                div {
                    strong.money { (paid.amount.shown(language)) }
                    p.quiet { (moment(paid.at)) " · " (self.name(paid.by)) }
                    @if paid.is_taken_back { p.quiet { (text!(language, "payroll-taken-back")) } }
                }
                @if self.may_change() && !paid.is_taken_back {
                    (visit.form(&format!("/payroll/payments/{}/take-back", paid.id), &html! {
                        input type="hidden" name="period" value=(self.earnings.month.period);
                        input type="hidden" name="user" value=(self.person.id);
                        button.plain.small type="submit" data-testid="take-back" { (text!(language, "payroll-take-back")) }
                    }))
                }
            }
        }
    }

    fn history(&self) -> Markup {
        let language = self.language();
        html! {
            section.card {
                h2 { (text!(language, "payroll-history")) }
                ul.rows data-testid="pay-history" {
                    @for change in self.earnings.changes.iter().rev() {
                        li {
                            div {
                                (deed(change, language)) ": " (change.amount.signed(language)) " · " (change.reason)
                                p.quiet { (self.name(change.by)) }
                            }
                            span.quiet { (moment(change.at)) }
                        }
                    }
                }
            }
        }
    }

    fn name(&self, id: i64) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("#{id}"))
    }
}

fn deed(change: &Changed, language: Language) -> String {
    match change.deed.as_str() {
        "added" => text!(language, "payroll-deed-added"),
        "changed" => text!(language, "payroll-deed-changed"),
        "removed" => text!(language, "payroll-deed-removed"),
        _ => text!(language, "payroll-deed-restored"),
    }
}
