//! Markup of the price list and of the kinds of equipment.

use maud::{Markup, html};

use super::{MAX_NAME, PRICES, PriceLists, write_checklist};
use crate::orders::fields::MAX_EQUIPMENT;
use crate::orders::{EquipmentType, PriceItem};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::{FieldLabel, Fields, FilledForm, FormAttempt, FormSpec, fields, money_field};
use crate::web::ui::{Button, card, headline};

const KINDS: &str = "/orders/kinds";
const MAX_CHECKLIST: usize = 10_000;

pub fn page(visitor: &Visitor, lists: &PriceLists, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "orders-prices");
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            (attempt.notice(language))
            div.columns {
                (card(&text!(language, "orders-price-list"), &prices(visitor, lists, attempt)))
                (card(&text!(language, "orders-kinds"), &kinds(visitor, lists, attempt)))
            }
        },
    )
}

fn prices(visitor: &Visitor, lists: &PriceLists, attempt: &FormAttempt) -> Markup {
    let (language, none) = (visitor.language(), Fields::new());
    let caption = text!(language, "cabinet-create");
    let spec =
        FormSpec { path: PRICES, now: &none, version: None, back: PRICES, caption: &caption, testid: "add-price" };
    html! {
        @if lists.items.is_empty() { p.quiet { (text!(language, "orders-no-prices")) } }
        ul.rows data-testid="prices" { @for item in &lists.items { (price(visitor, lists, item, attempt)) } }
        details open[attempt.is_at(PRICES)] {
            summary data-testid="new-price" { (text!(language, "orders-add-price")) }
            (visitor.record_form(attempt, spec, |form| html! {
                (inputs(form))
                div.row.fields { (form.choice("kind", &text!(language, "orders-equipment"), &choices(lists, language).iter()
                    .map(|(id, name)| (id.as_str(), name.clone())).collect::<Vec<_>>())) }
            }))
        }
    }
}

/// For which kind of equipment an item is.
fn choices(lists: &PriceLists, language: Language) -> Vec<(String, String)> {
    let all = (String::new(), text!(language, "orders-all-equipment"));
    [all].into_iter().chain(lists.kinds.iter().map(|kind| (kind.id.to_string(), kind.name.clone()))).collect()
}

fn price(visitor: &Visitor, lists: &PriceLists, item: &PriceItem, attempt: &FormAttempt) -> Markup {
    let (language, path) = (visitor.language(), format!("{PRICES}/{}", item.id));
    let kind = lists.kinds.iter().find(|kind| Some(kind.id) == item.equipment_type_id);
    let now = fields([("name", item.name.clone()), ("price", money_field(Some(item.price.kopecks())))]);
    let (version, caption) = (Some(item.version), text!(language, "cabinet-save"));
    let spec = FormSpec { path: &path, now: &now, version, back: PRICES, caption: &caption, testid: "save-price" };
    html! {
        li data-testid={ "price-" (item.id) } {
            div {
                (item.name) @if let Some(kind) = kind { " " span.chip { (kind.name) } }
                details open[attempt.is_at(&path)] {
                    summary { (text!(language, "cabinet-edit")) }
                    (visitor.record_form(attempt, spec, inputs))
                    (visitor.visit.form(&format!("{path}/delete"), &html! {
                        input type="hidden" name="version" value=(item.version);
                        input type="hidden" name="name" value=(item.name);
                        (Button::danger(&text!(language, "cabinet-delete")).small().submit())
                    }))
                }
            }
            strong.money { (item.price.shown(language)) }
        }
    }
}

fn inputs(form: &FilledForm<'_>) -> Markup {
    html! {
        div.row.fields {
            (form.line("name", &text!(form.language, "orders-price-name"), MAX_NAME))
            (form.short("price", &text!(form.language, "orders-price"), "text"))
        }
    }
}

fn kinds(visitor: &Visitor, lists: &PriceLists, attempt: &FormAttempt) -> Markup {
    let (language, none) = (visitor.language(), Fields::new());
    let caption = text!(language, "cabinet-create");
    let spec = FormSpec { path: KINDS, now: &none, version: None, back: PRICES, caption: &caption, testid: "add-kind" };
    html! {
        @if lists.kinds.is_empty() { p.quiet { (text!(language, "orders-no-kinds")) } }
        ul.rows data-testid="kinds" { @for kind in &lists.kinds { (kind_row(visitor, kind, attempt)) } }
        details open[attempt.is_at(KINDS)] {
            summary data-testid="new-kind" { (text!(language, "orders-add-kind")) }
            (visitor.record_form(attempt, spec, |form| {
                form.line("equipment_type", &text!(language, "orders-equipment"), MAX_EQUIPMENT)
            }))
        }
    }
}

fn kind_row(visitor: &Visitor, kind: &EquipmentType, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let path = format!("{KINDS}/{}/checklist", kind.id);
    let now = fields([("items", write_checklist(&kind.checklist))]);
    let (caption, hint) = (text!(language, "cabinet-save"), text!(language, "orders-checklist-hint"));
    let spec =
        FormSpec { path: &path, now: &now, version: None, back: PRICES, caption: &caption, testid: "save-checklist" };
    let label = text!(language, "orders-checklist");
    html! {
        li data-testid={ "kind-" (kind.id) } {
            div {
                strong { (kind.name) }
                @for item in &kind.checklist {
                    p.quiet { (item.text) @if item.is_required { " " span.chip { (text!(language, "cabinet-mandatory")) } } }
                }
                details open[attempt.is_at(&path)] {
                    summary { (text!(language, "cabinet-edit")) }
                    (visitor.record_form(attempt, spec, |form| form.lines("items", FieldLabel::hinted(&label, &hint), MAX_CHECKLIST)))
                    (visitor.visit.form(&format!("{KINDS}/{}/delete", kind.id), &html! {
                        (Button::danger(&text!(language, "cabinet-delete")).small().submit())
                    }))
                }
            }
        }
    }
}
