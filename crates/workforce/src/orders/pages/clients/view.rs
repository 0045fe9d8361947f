//! Markup of clients.

use maud::{Markup, html};

use super::{CLIENTS, ClientDetails, FREQUENCIES};
use crate::key;
use crate::orders::fields::{MAX_CLIENT_NAME, MAX_EQUIPMENT, MAX_NOTES};
use crate::orders::pages::{fields, number, path_of, time};
use crate::orders::{ClientPage, Equipment, Recurrence};
use crate::text;
use crate::texts::{Language, day};
use crate::web::Visitor;
use crate::web::form::{Fields, FilledForm, FormAttempt, FormSpec, fields as form_fields};
use crate::web::ui::{Button, Column, Empty, Icon, card, headline, table};

pub fn list(visitor: &Visitor, wanted: &str, found: &ClientPage) -> Markup {
    let language = visitor.language();
    let title = text!(language, "orders-clients");
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {
                div.row.actions {
                    (Button::plain(&text!(language, "import-title")).icon(Icon::Upload).testid("import").link("/orders/clients/import"))
                }
            }))
            form.search method="get" action=(CLIENTS) role="search" {
                input type="search" name="q" value=(wanted) maxlength="64" aria-label=(text!(language, "web-search"))
                    placeholder=(text!(language, "orders-clients-hint")) data-testid="search";
                (Button::plain(&text!(language, "web-search")).testid("find").submit())
            }
            @if found.clients.is_empty() { (empty(wanted, language)) } @else { (rows(found, language)) }
            @if let Some(next) = found.next {
                nav.pager aria-label=(text!(language, "web-pages")) {
                    @let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", wanted).finish();
                    a.button.plain rel="next" href={ (CLIENTS) "?" (query) "&before=" (next) } { (text!(language, "web-next")) }
                }
            }
        },
    )
}

fn empty(wanted: &str, language: Language) -> Markup {
    let (title, about) = if wanted.is_empty() {
        (text!(language, "orders-no-clients"), text!(language, "orders-no-clients-about"))
    } else {
        (text!(language, "orders-no-client-found"), text!(language, "orders-no-client-found-about"))
    };
    Empty { icon: Icon::People, title: &title, text: &about }.render(&html! {})
}

fn rows(found: &ClientPage, language: Language) -> Markup {
    let columns = [key!("orders-client-name"), key!("orders-client-phone"), key!("orders-client-notes")];
    let columns = columns.map(|key| Column::text(language.text(key)));
    let row = |client: &crate::orders::Client| {
        vec![
            html! { a.name href={ (CLIENTS) "/" (client.id) } data-testid={ "client-" (client.id) } { (client.name) } },
            html! { @match &client.phone { Some(phone) => a.quiet-link href={ "tel:" (phone) } { (phone) }, None => "–" } },
            html! { (client.notes.as_deref().unwrap_or("–")) },
        ]
    };
    table("clients", &columns, &found.clients.iter().map(row).collect::<Vec<_>>())
}

pub fn client(visitor: &Visitor, details: &ClientDetails, attempt: &FormAttempt) -> Markup {
    let (language, client) = (visitor.language(), &details.card.client);
    let new_order = client.phone.as_ref().map(|phone| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("phone", phone).finish();
        Button::primary(&text!(language, "orders-new")).icon(Icon::Plus).link(&format!("/orders/new?{query}"))
    });
    visitor.page(
        &client.name,
        &html! {
            p.crumbs { a href=(CLIENTS) { (text!(language, "orders-clients")) } }
            (headline(&client.name, &html! { div.row.actions { (new_order.unwrap_or_default()) } }))
            (attempt.notice(language))
            div.columns {
                (card(&text!(language, "orders-client"), &about(visitor, details, attempt)))
                (card(&text!(language, "orders-equipment"), &equipment(visitor, details, attempt)))
                (card(&text!(language, "orders-rules"), &rules(visitor, details, attempt)))
                (card(&text!(language, "orders-nav"), &past(details, language)))
            }
        },
    )
}

fn path(details: &ClientDetails) -> String {
    format!("{CLIENTS}/{}", details.card.client.id)
}

fn about(visitor: &Visitor, details: &ClientDetails, attempt: &FormAttempt) -> Markup {
    let (language, client, path) = (visitor.language(), &details.card.client, path(details));
    let notes = client.notes.clone().unwrap_or_default();
    let now = form_fields([("client_name", client.name.clone()), ("notes", notes)]);
    let caption = text!(language, "cabinet-save");
    let version = Some(client.version);
    let spec = FormSpec { path: &path, now: &now, version, back: &path, caption: &caption, testid: "save-client" };
    html! {
        @if let Some(phone) = &client.phone { p { a href={ "tel:" (phone) } { (phone) } } }
        @if client.telegram_id.is_some() { p.quiet { (text!(language, "orders-client-in-bot")) } }
        @if client.has_blocked_bot { p.quiet { (text!(language, "orders-client-blocked-bot")) } }
        (visitor.record_form(attempt, spec, |form| html! {
            (form.line("client_name", &text!(language, "orders-client-name"), MAX_CLIENT_NAME))
            (form.lines("notes", &text!(language, "orders-client-notes"), MAX_NOTES))
        }))
    }
}

fn equipment(visitor: &Visitor, details: &ClientDetails, attempt: &FormAttempt) -> Markup {
    let (language, path) = (visitor.language(), path(details));
    let new = format!("{path}/equipment");
    let (none, caption) = (Fields::new(), text!(language, "cabinet-create"));
    let spec =
        FormSpec { path: &new, now: &none, version: None, back: &path, caption: &caption, testid: "add-equipment" };
    html! {
        ul.rows data-testid="equipment" {
            @for owned in &details.card.equipment { (owned_row(visitor, &path, owned, attempt)) }
        }
        details open[attempt.is_at(&new)] {
            summary data-testid="new-equipment" { (text!(language, "orders-add-equipment")) }
            (visitor.record_form(attempt, spec, equipment_inputs))
        }
    }
}

fn owned_row(visitor: &Visitor, page: &str, owned: &Equipment, attempt: &FormAttempt) -> Markup {
    let (language, about) = (visitor.language(), &owned.about);
    let path = format!("{page}/equipment/{}", owned.id);
    let names = [about.model.as_deref(), about.serial.as_deref()];
    let names = names.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let now = form_fields([
        ("equipment_type", about.equipment_type.clone()),
        ("model", text(&about.model)),
        ("serial", text(&about.serial)),
        ("warranty", about.warranty_until.map(|day| day.to_string()).unwrap_or_default()),
        ("notes", text(&about.notes)),
    ]);
    let (version, caption) = (Some(owned.version), text!(language, "cabinet-save"));
    let spec = FormSpec { path: &path, now: &now, version, back: page, caption: &caption, testid: "save-equipment" };
    html! {
        li {
            div {
                strong { (about.equipment_type) } " " span.quiet { (names) }
                @if let Some(until) = about.warranty_until {
                    p.quiet { (text!(language, "orders-warranty")) " " (day(until, language)) }
                }
                details open[attempt.is_at(&path)] {
                    summary { (text!(language, "cabinet-edit")) }
                    (visitor.record_form(attempt, spec, equipment_inputs))
                    (visitor.visit.form(&format!("{path}/delete"), &html! {
                        input type="hidden" name="version" value=(owned.version);
                        (Button::danger(&text!(language, "cabinet-delete")).small().submit())
                    }))
                }
            }
        }
    }
}

fn equipment_inputs(form: &FilledForm<'_>) -> Markup {
    let language = form.language;
    html! {
        (form.line("equipment_type", &text!(language, "orders-equipment"), MAX_EQUIPMENT))
        div.row.fields {
            (form.line("model", &text!(language, "orders-owned-model"), MAX_EQUIPMENT))
            (form.line("serial", &text!(language, "orders-serial"), MAX_EQUIPMENT))
        }
        div.row.fields { (form.short("warranty", &text!(language, "orders-warranty"), "date")) }
        (form.line("notes", &text!(language, "orders-notes"), MAX_NOTES))
    }
}

/// Rules that make orders, and the form of a new one. It begins with the last order.
fn rules(visitor: &Visitor, details: &ClientDetails, attempt: &FormAttempt) -> Markup {
    let (language, page) = (visitor.language(), path(details));
    let path = format!("{page}/rules");
    let mut now = time::usual();
    if let Some(last) = details.card.orders.first() {
        let about = crate::orders::AboutOrder { window: None, ..last.order.about.clone() };
        now.extend(fields::write(&about, details.zone));
    }
    now.extend(form_fields([("frequency", "MONTHLY".into()), ("interval", "1".into()), ("lead_days", "3".into())]));
    let caption = text!(language, "cabinet-create");
    let spec = FormSpec { path: &path, now: &now, version: None, back: &page, caption: &caption, testid: "add-rule" };
    html! {
        @if details.rules.is_empty() { p.quiet { (text!(language, "orders-no-rules")) } }
        ul.rows data-testid="rules" { @for rule in &details.rules { (rule_row(visitor, &path, rule, details)) } }
        details open[attempt.is_at(&path)] {
            summary data-testid="new-rule" { (text!(language, "orders-add-rule")) }
            (visitor.record_form(attempt, spec, |form| html! {
                (fields::inputs(form, &details.kinds))
                div.row.fields {
                    (form.short("interval", &text!(language, "orders-every"), "number"))
                    (form.choice("frequency", &text!(language, "orders-unit"), &frequencies(language)))
                    (form.short("lead_days", &text!(language, "orders-lead-days"), "number"))
                }
            }))
        }
    }
}

fn frequencies(language: Language) -> Vec<(&'static str, String)> {
    let caption = |name| match name {
        "DAILY" => text!(language, "orders-unit-days"),
        "WEEKLY" => text!(language, "orders-unit-weeks"),
        "MONTHLY" => text!(language, "orders-unit-months"),
        _ => text!(language, "orders-unit-years"),
    };
    FREQUENCIES.map(|name| (name, caption(name))).into()
}

fn rule_row(visitor: &Visitor, path: &str, rule: &Recurrence, details: &ClientDetails) -> Markup {
    let language = visitor.language();
    let next = rule.next_at.map(|at| time::moment(at, details.zone, language));
    html! {
        li {
            div {
                strong { (rule.about.equipment_type) }
                p.quiet { (text!(language, "orders-next", when = next.unwrap_or_else(|| "–".to_owned()))) }
            }
            (visitor.visit.form(&format!("{path}/{}/stop", rule.id), &html! {
                (Button::danger(&text!(language, "orders-stop-rule")).small().testid(&format!("stop-{}", rule.id)).submit())
            }))
        }
    }
}

fn past(details: &ClientDetails, language: Language) -> Markup {
    html! {
        @if details.card.orders.is_empty() { p.quiet { (text!(language, "orders-none")) } }
        ul.rows data-testid="past" {
            @for seen in &details.card.orders {
                li {
                    span { a href=(path_of(seen.order.id)) { (number(seen, language)) } " " (seen.order.about.equipment_type) }
                    span.quiet { (seen.order.status.text(language)) }
                }
            }
        }
    }
}
