//! Masters with their loads and results.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::{BOARD, require_dispatcher};
use crate::application::App;
use crate::orders::{MasterLoad, MasterResults, Orders};
use crate::person::OWNERS;
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Column, Empty, Icon, Tone, badge, headline, table};
use crate::web::{PageError, SignedIn, Visitor};

/// `GET /orders/masters`.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Response, PageError> {
    require_dispatcher(&visitor)?;
    let orders = Orders::of_app(&app);
    let masters = orders.masters(None).await?;
    let results = orders.results(None).await?;
    let rows: Vec<(MasterLoad, MasterResults)> = masters
        .into_iter()
        .map(|one| {
            let results = results.get(&one.person.id).copied().unwrap_or_default();
            (one, results)
        })
        .collect();
    Ok(draw(&visitor, &rows).into_response())
}

fn draw(visitor: &Visitor, rows: &[(MasterLoad, MasterResults)]) -> Markup {
    let (language, may_see_pay) = (visitor.language(), visitor.person.may(OWNERS));
    let title = text!(language, "orders-masters");
    let mut columns = vec![
        Column::text(text!(language, "orders-master")),
        Column::amount(text!(language, "orders-open")),
        Column::amount(text!(language, "orders-status-on-site")),
        Column::amount(text!(language, "orders-closed")),
        Column::amount(text!(language, "orders-first-time-fix")),
        Column::amount(text!(language, "orders-rating")),
        Column::amount(text!(language, "orders-revenue")),
    ];
    if may_see_pay {
        columns.push(Column::amount(text!(language, "orders-share")));
    }
    let rows: Vec<_> = rows.iter().map(|(load, results)| row(load, *results, may_see_pay, language)).collect();
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            div #masters data-live="orders shifts people" {
                @if rows.is_empty() { (empty(language)) } @else { (table("masters", &columns, &rows)) }
            }
        },
    )
}

fn empty(language: Language) -> Markup {
    let (title, about) = (text!(language, "orders-no-masters"), text!(language, "orders-no-masters-about"));
    Empty { icon: Icon::People, title: &title, text: &about }.render(&html! {})
}

fn row(load: &MasterLoad, results: MasterResults, may_see_pay: bool, language: Language) -> Vec<Markup> {
    let dash = || "–".to_owned();
    let fixed = (results.fixed_at_once * 100).checked_div(results.closed).map_or_else(dash, |rate| format!("{rate}%"));
    // Tenths, rounded half up.
    let tenths = (results.stars * 20 + results.ratings).checked_div(results.ratings * 2);
    let rating = tenths.map_or_else(dash, |tenths| text!(language, "orders-stars", stars = decimal(tenths, language)));
    let mut cells = vec![
        html! {
            a.name href={ (BOARD) "?master=" (load.person.id) } { (load.person.full_name) }
            @if load.is_on_shift { " " (badge(Tone::Good, &text!(language, "orders-on-shift"))) }
        },
        html! { (load.open) },
        html! { (load.on_site) },
        html! { (results.closed) },
        html! { (fixed) },
        html! { (rating) @if results.ratings > 0 { " " span.quiet { "(" (results.ratings) ")" } } },
        html! { (results.total.shown(language)) },
    ];
    if may_see_pay {
        cells.push(html! { (results.share.shown(language)) });
    }
    cells
}

/// Tenths as people of the language write them.
fn decimal(tenths: i64, language: Language) -> String {
    let point = match language {
        Language::Ru => ',',
        Language::En => '.',
    };
    format!("{}{point}{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_have_one_decimal() {
        assert_eq!((decimal(47, Language::Ru), decimal(50, Language::En)), ("4,7".into(), "5.0".into()));
    }
}
