//! The pages of the import.

use maud::{Markup, html};

use super::{Checked, Refused, kind_name, table_error_text, title};
use crate::money::Money;
use crate::person::role_name;
use crate::sites::import::{ImportKind, MAX_ROWS, MAX_TABLE_BYTES, Mistake, SiteLine, StaffEffect, StaffLine};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::ui::{Button, Card, Column, Icon, Tone, badge, headline, table};

/// The first page: what to upload, with examples.
pub fn start(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    page(
        visitor,
        &html! {
            p.quiet { (text!(language, "import-about", rows = MAX_ROWS, kilobytes = MAX_TABLE_BYTES / 1024)) }
            @for kind in [ImportKind::Staff, ImportKind::Sites] { (upload(visitor, kind)) }
        },
    )
}

/// What is wrong, line by line, and the form once more.
pub fn refused(visitor: &Visitor, kind: ImportKind, refused: &Refused) -> Markup {
    let language = visitor.language();
    page(
        visitor,
        &html! {
            (refusal_markup(refused, language))
            (upload(visitor, kind))
        },
    )
}

/// What is wrong, line by line.
pub fn refusal_markup(refused: &Refused, language: Language) -> Markup {
    html! {
        @match refused {
            Refused::NoTable(error) => div.notice-line role="status" data-testid="notice" { (table_error_text(*error, language)) },
            Refused::Mistakes(mistakes) => {
                div.notice-line role="status" data-testid="notice" { (text!(language, "import-mistakes", count = mistakes.len())) }
                div.scroll tabindex="0" role="region" aria-label=(text!(language, "import-what-to-do")) {
                    (mistakes_table(mistakes, language))
                }
            },
        }
    }
}

/// What an import would do, with the button that does it.
pub fn preview(visitor: &Visitor, kind: ImportKind, typed: &str, checked: &Checked) -> Markup {
    let language = visitor.language();
    let (rows, news) = match checked {
        Checked::Staff(lines) => {
            let news = lines.iter().filter(|(_, effect)| effect.is_new_person || effect.is_new_contract).count();
            (staff_table(lines, language), news)
        }
        Checked::Sites(lines) => (sites_table(lines, language), lines.iter().filter(|(_, is_new)| *is_new).count()),
    };
    page(
        visitor,
        &html! {
            p data-testid="preview" { (text!(language, "import-preview", count = news)) }
            @if news > 0 {
                (form(visitor, &format!("/import/{}/now", kind_name(kind)), &html! {
                    textarea.hidden-field name="text" hidden { (typed) }
                    div.row {
                        (Button::primary(&text!(language, "import-now", count = news)).icon(Icon::Check).testid("import-now").submit())
                        (Button::plain(&text!(language, "import-other")).link("/import"))
                    }
                }))
            } @else {
                (Button::plain(&text!(language, "import-other")).link("/import"))
            }
            (rows)
        },
    )
}

fn page(visitor: &Visitor, body: &Markup) -> Markup {
    let title = title(visitor);
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href="/people" { (text!(visitor.language(), "web-people")) } }
            (headline(&title, &html! {}))
            (body)
        },
    )
}

fn upload(visitor: &Visitor, kind: ImportKind) -> Markup {
    let (language, name) = (visitor.language(), kind_name(kind));
    let (title, about) = match kind {
        ImportKind::Staff => (text!(language, "import-staff"), text!(language, "import-staff-about")),
        ImportKind::Sites => (text!(language, "import-sites"), text!(language, "import-sites-about")),
    };
    html! {
        (Card::new(&title).testid(&format!("import-{name}")).render(&html! {
            p { (about) }
            (form(visitor, &format!("/import/{name}"), &html! {
                label.wide { (text!(language, "import-file"))
                    input type="file" name="file" accept=".csv,.txt,text/csv" data-testid={ "file-" (name) };
                }
                label.wide { (text!(language, "import-paste")) textarea name="text" rows="3" data-testid={ "text-" (name) } {} }
                div.row {
                    (Button::primary(&text!(language, "import-check")).icon(Icon::Upload).testid(&format!("check-{name}")).submit())
                    (Button::plain(&text!(language, "import-example")).icon(Icon::Download).link(&format!("/import/{name}/example")))
                }
            }))
        }))
    }
}

fn form(visitor: &Visitor, action: &str, fields: &Markup) -> Markup {
    visitor.visit.upload_form(action, fields)
}

fn mistakes_table(mistakes: &[Mistake], language: Language) -> Markup {
    let columns = [
        Column::text(text!(language, "import-line")),
        Column::text(text!(language, "import-column")),
        Column::text(text!(language, "import-typed")),
        Column::text(text!(language, "import-what-to-do")),
    ];
    let row = |one: &Mistake| {
        let line = one.line.map_or_else(|| text!(language, "import-head"), |line| line.to_string());
        vec![html! { (line) }, html! { (one.column) }, html! { (one.typed) }, html! { (one.kind.text(language)) }]
    };
    table("mistakes", &columns, &mistakes.iter().map(row).collect::<Vec<_>>())
}

fn staff_table(lines: &[(StaffLine, StaffEffect)], language: Language) -> Markup {
    let columns = [
        Column::text(text!(language, "import-line")),
        Column::text(text!(language, "web-name")),
        Column::text(text!(language, "web-phone")),
        Column::text(text!(language, "web-telegram-id")),
        Column::text(text!(language, "web-roles")),
        Column::amount(text!(language, "cabinet-history-rate")),
        Column::text(text!(language, "import-effect")),
    ];
    let row = |(line, effect): &(StaffLine, StaffEffect)| {
        let rate = line.rate_kopecks.map_or("–".to_owned(), |rate| Money::from_kopecks(rate).shown(language));
        vec![
            html! { (line.line) },
            html! { (line.full_name) },
            html! { (line.phone.as_deref().unwrap_or("–")) },
            html! { (line.telegram_id) },
            html! { (role_name(line.role, language)) },
            html! { (rate) },
            html! {
                @if effect.is_new_person { (badge(Tone::Good, &text!(language, "import-new-person"))) " " }
                @if effect.is_new_contract { (badge(Tone::Good, &text!(language, "import-new-contract"))) }
                @if effect.is_kept_out { (badge(Tone::Bad, &text!(language, "import-kept-out"))) }
                @else if !effect.is_new_person && !effect.is_new_contract { (badge(Tone::Neutral, &text!(language, "import-exists"))) }
            },
        ]
    };
    table("staff", &columns, &lines.iter().map(row).collect::<Vec<_>>())
}

fn sites_table(lines: &[(SiteLine, bool)], language: Language) -> Markup {
    let columns = [
        Column::text(text!(language, "import-line")),
        Column::text(text!(language, "web-name")),
        Column::text(text!(language, "import-address")),
        Column::text(text!(language, "import-zone")),
        Column::amount(text!(language, "cabinet-history-rate")),
        Column::text(text!(language, "import-effect")),
    ];
    let row = |(line, is_new): &(SiteLine, bool)| {
        let about = &line.about;
        let effect = if *is_new {
            badge(Tone::Good, &text!(language, "import-new-site"))
        } else {
            badge(Tone::Neutral, &text!(language, "import-exists"))
        };
        vec![
            html! { (line.line) },
            html! { (about.name) },
            html! { (about.address) },
            html! { (about.time_zone.name()) },
            html! { (Money::from_kopecks(about.rate_kopecks).shown(language)) },
            effect,
        ]
    };
    table("sites", &columns, &lines.iter().map(row).collect::<Vec<_>>())
}
