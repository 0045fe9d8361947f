//! The dialogs of an order's page: each is one form that asks for what its action needs.

use maud::{Markup, html};

use super::OrderPage;
use crate::key;
use crate::orders::fields::MAX_REASON;
use crate::orders::pages::deed::{Deed, quantity_field};
use crate::orders::pages::{fields, path_of, time};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{FieldLabel, Fields, FilledForm, FormAttempt, FormSpec, fields as form_fields, money_field};
use crate::web::ui::{Button, Dialog};

/// Minutes that a master chooses from on the way, and in which masters answer an offer.
const WAYS: [&str; 6] = ["15", "30", "45", "60", "90", "120"];
const ANSWERS: [&str; 4] = ["15", "30", "60", "120"];

impl OrderPage {
    pub(super) fn dialogs(&self, visitor: &Visitor, attempt: &FormAttempt) -> Markup {
        let asked = Deed::ALL.into_iter().filter(|deed| deed.is_button() && !deed.is_plain() && self.may(*deed));
        html! { @for deed in asked { (self.dialog(visitor, attempt, deed)) } }
    }

    fn dialog(&self, visitor: &Visitor, attempt: &FormAttempt, deed: Deed) -> Markup {
        let (language, path) = (visitor.language(), self.path(deed));
        let caption = text!(language, deed.caption());
        let cancel = text!(language, "web-close");
        let dialog = Dialog { id: deed.name(), title: &caption, cancel: &cancel, is_open: attempt.is_at(&path) };
        if deed == Deed::Assign {
            return dialog.render(&self.assign(visitor, &path));
        }
        let (now, back) = (self.begins(deed), path_of(self.seen().order.id));
        let caption = if deed == Deed::Edit { text!(language, "cabinet-save") } else { caption.clone() };
        let (version, testid) = (Some(self.seen().order.version), format!("{}-now", deed.name()));
        let spec = FormSpec { path: &path, now: &now, version, back: &back, caption: &caption, testid: &testid };
        dialog.render(&visitor.record_form(attempt, spec, |form| self.inputs(deed, form)))
    }

    /// A button for each master, so that the second click assigns.
    fn assign(&self, visitor: &Visitor, path: &str) -> Markup {
        let (language, order) = (visitor.language(), &self.seen().order);
        let free = self.masters.iter().filter(|one| order.master_id != Some(one.person.id));
        visitor.visit.form(
            path,
            &html! {
                input type="hidden" name="version" value=(order.version);
                @if self.masters.is_empty() { p.quiet { (text!(language, "orders-no-masters")) } }
                ul.rows.order-takers {
                    @for one in free {
                        li {
                            div { strong { (one.person.full_name) } p.quiet { (self.load(one, language)) } }
                            (Button::plain(&text!(language, "orders-do-assign")).small()
                                .testid(&format!("assign-{}", one.person.id))
                                .value("master", &one.person.id.to_string()).submit())
                        }
                    }
                }
            },
        )
    }

    /// `on shift · 2 orders · 3 km`.
    fn load(&self, one: &crate::orders::MasterLoad, language: Language) -> String {
        let shift = one.is_on_shift.then(|| text!(language, "orders-on-shift"));
        let load = Some(text!(language, "orders-load", count = one.open));
        let far = one.distance_m.map(|metres| text!(language, "orders-distance", km = (metres / 1000).max(1)));
        [shift, load, far].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// What a form begins with.
    fn begins(&self, deed: Deed) -> Fields {
        let (order, money) = (&self.seen().order, &self.seen().order.money);
        let kopecks = |amount: Option<crate::money::Money>| money_field(amount.map(crate::money::Money::kopecks));
        match deed {
            Deed::Edit => fields::write(&order.about, self.zone),
            Deed::Reschedule => {
                let mut now = time::usual();
                now.extend(time::write(order.about.window, self.zone));
                now
            }
            Deed::OnTheWay => form_fields([("minutes", "30".to_owned())]),
            Deed::Offer => {
                let ready = self.masters.iter().filter(|one| one.is_on_shift);
                let mut now = form_fields([("minutes", "15".to_owned())]);
                now.extend(ready.map(|one| (format!("master{}", one.person.id), "on".to_owned())));
                now
            }
            Deed::LongRepair => form_fields([("prepayment", kopecks(Some(money.prepayment)))]),
            Deed::Amount | Deed::Complete | Deed::Correct => {
                // The lines of the price list are the total.
                let total = money.total.filter(|_| self.details.lines.is_empty());
                let mut now = form_fields([("total", kopecks(total)), ("materials", kopecks(money.materials))]);
                let ticks = [("has_review", money.has_review), ("is_out_of_town", money.is_out_of_town)];
                now.extend(ticks.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| ((*name).into(), "on".into())));
                let billed = self.details.lines.iter().filter_map(|line| Some((line.price_item_id?, line.quantity)));
                now.extend(billed.map(|(item, count)| (quantity_field(item), count.to_string())));
                now
            }
            _ => Fields::new(),
        }
    }

    fn inputs(&self, deed: Deed, form: &FilledForm<'_>) -> Markup {
        let language = form.language;
        match deed {
            Deed::Edit => fields::inputs(form, &self.kinds),
            Deed::Reschedule => html! {
                (time::inputs(form))
                p.hint { (text!(language, "orders-no-day-about")) }
                (reason(form))
            },
            Deed::OnTheWay => form.choice("minutes", &text!(language, "orders-arrives-in"), &minutes(&WAYS, language)),
            Deed::Offer => self.offer_inputs(form),
            Deed::LongRepair => html! {
                div.row.fields {
                    (form.short("until", &text!(language, "orders-repair-until"), "date"))
                    (form.short("prepayment", &text!(language, "orders-prepayment"), "text"))
                }
            },
            Deed::Amount => self.bill(form),
            Deed::Complete => {
                html! { (self.bill(form)) (extras(form)) (form.tick("is_cash", &text!(language, "orders-is-cash"))) }
            }
            Deed::Correct => html! { (self.bill(form)) (extras(form)) (reason(form)) },
            _ => reason(form),
        }
    }

    fn offer_inputs(&self, form: &FilledForm<'_>) -> Markup {
        let language = form.language;
        html! {
            div.ticks {
                @for one in &self.masters {
                    (form.tick(&format!("master{}", one.person.id), &format!("{} ({})", one.person.full_name, self.load(one, language))))
                }
            }
            (form.choice("minutes", &text!(language, "orders-answer-in"), &minutes(&ANSWERS, language)))
            (form.tick("all_at_once", &text!(language, "orders-all-at-once")))
        }
    }

    /// The price list, a total, and materials.
    fn bill(&self, form: &FilledForm<'_>) -> Markup {
        let language = form.language;
        html! {
            @if !self.prices.is_empty() {
                details open[self.details.lines.iter().any(|line| line.price_item_id.is_some())] {
                    summary { (text!(language, "orders-price-list")) }
                    @for item in &self.prices {
                        @let label = format!("{} · {}", item.name, item.price.shown(language));
                        (form.short(&quantity_field(item.id), FieldLabel::hinted(&label, &text!(language, "orders-pieces")), "number"))
                    }
                }
            }
            div.row.fields {
                (form.short("total", &text!(language, "orders-total"), "text"))
                (form.short("materials", &text!(language, "orders-materials"), "text"))
            }
        }
    }
}

fn reason(form: &FilledForm<'_>) -> Markup {
    form.line("reason", &text!(form.language, "orders-reason"), MAX_REASON)
}

fn extras(form: &FilledForm<'_>) -> Markup {
    let language = form.language;
    html! {
        div.row.choice {
            @for (name, key) in [("has_review", key!("orders-with-review")), ("is_out_of_town", key!("orders-out-of-town"))] {
                (form.tick(name, &language.text(key)))
            }
        }
    }
}

fn minutes<'a>(values: &[&'a str], language: Language) -> Vec<(&'a str, String)> {
    let caption = |value: &str| text!(language, "orders-minutes", count = value.parse::<i64>().unwrap_or_default());
    values.iter().map(|value| (*value, caption(value))).collect()
}
