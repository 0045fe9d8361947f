//! Markup around the board: views, filters, days and masters.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::{BoardPage, DAYS};
use crate::key;
use crate::orders::pages::place::{BoardQuery, BoardView};
use crate::orders::{MasterLoad, OrderStatus};
use crate::text;
use crate::texts::{Language, short_day};
use crate::web::Visitor;
use crate::web::form::FormAttempt;
use crate::web::ui::{Button, Empty, Field, Icon, headline};

pub fn board(visitor: &Visitor, page: &BoardPage, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let title = text!(language, "orders-nav");
    visitor.page(
        &title,
        &html! {
            div.orders-page {
                (headline(&title, &html! {
                    (views(page, language))
                    div.row.actions { (actions(page, language)) }
                }))
                (attempt.notice(language))
                (filters(page, language))
                (days(page, language))
                div #orders data-live="orders clock" data-place=(page.query.place()) {
                    @if page.query.view() == BoardView::Statuses { (masters(page, language)) }
                    (orders(page, language))
                }
            }
        },
    )
}

fn orders(page: &BoardPage, language: Language) -> Markup {
    if page.board.orders.is_empty() {
        return empty(page, language);
    }
    match page.query.view() {
        BoardView::Statuses => page.by_status(language),
        BoardView::Masters => page.by_masters(language),
        BoardView::Table => page.table(language),
    }
}

fn empty(page: &BoardPage, language: Language) -> Markup {
    let place = page.query.in_view(BoardView::Statuses).place();
    if !place.is_empty() {
        let (title, about) = (text!(language, "orders-none-found"), text!(language, "orders-none-found-about"));
        let all = Button::plain(&text!(language, "orders-show-all")).testid("show-all").link(super::super::BOARD);
        return Empty { icon: Icon::Search, title: &title, text: &about }.render(&all);
    }
    let (title, about) = (text!(language, "orders-none"), text!(language, "orders-none-about"));
    Empty { icon: Icon::Orders, title: &title, text: &about }.render(&html! {})
}

fn views(page: &BoardPage, language: Language) -> Markup {
    let caption = |view| match view {
        BoardView::Statuses => key!("orders-view-statuses"),
        BoardView::Masters => key!("orders-view-masters"),
        BoardView::Table => key!("orders-view-table"),
    };
    html! {
        nav.views aria-label=(text!(language, "cabinet-view")) {
            @for view in BoardView::ALL {
                a href=(page.query.in_view(view).path()) aria-current=[(page.query.view() == view).then_some("true")] {
                    (language.text(caption(view)))
                }
            }
        }
    }
}

fn actions(page: &BoardPage, language: Language) -> Markup {
    html! {
        @if page.query.view() == BoardView::Table {
            (Button::plain(&text!(language, "web-invite-print")).icon(Icon::Print).prints())
        }
        @if page.may_dispatch {
            (Button::primary(&text!(language, "orders-new")).icon(Icon::Plus).testid("new-order").link("/orders/new"))
        }
    }
}

/// The filters apply at once with the script, and by their button without it.
fn filters(page: &BoardPage, language: Language) -> Markup {
    let query = &page.query;
    let all = |key: &str| (String::new(), language.text(key));
    let statuses = OrderStatus::ALL.into_iter().map(|status| (status.name().to_owned(), status.text(language)));
    let statuses: Vec<_> = [all(key!("orders-all-statuses"))].into_iter().chain(statuses).collect();
    let masters = page.masters.iter().map(|one| (one.person.id.to_string(), one.person.full_name.clone()));
    let masters: Vec<_> = [all(key!("orders-all-masters"))].into_iter().chain(masters).collect();
    let kinds = page.kinds.iter().map(|kind| (kind.name.clone(), kind.name.clone()));
    let kinds: Vec<_> = [all(key!("orders-all-equipment"))].into_iter().chain(kinds).collect();
    let day = query.day().map(|day| day.to_string()).unwrap_or_default();
    html! {
        form.filters method="get" action=(super::super::BOARD) data-instant {
            input type="hidden" name="view" value=(query.view().name());
            (Field::new("status", &text!(language, "web-status")).select(query.status().map_or("", OrderStatus::name), &statuses))
            @if page.may_dispatch {
                (Field::new("master", &text!(language, "orders-master")).select(&query.master, &masters))
            }
            @if page.kinds.len() > 1 {
                (Field::new("equipment", &text!(language, "orders-equipment")).select(&query.equipment, &kinds))
            }
            (Field::new("day", &text!(language, "cabinet-day")).input("date", &day, 10))
            (Button::plain(&text!(language, "cabinet-show")).testid("filter").submit())
        }
    }
}

/// The next days: links, and with the script targets of a drag.
fn days(page: &BoardPage, language: Language) -> Markup {
    let link = |day: Option<NaiveDate>, caption: &str| {
        let is_current = page.query.day() == day;
        html! {
            a href=(page.query.on(day).path()) aria-current=[is_current.then_some("true")]
                data-order-day=[day.filter(|day| page.may_dispatch && *day >= page.today)] { (caption) }
        }
    };
    let count = usize::try_from(DAYS).unwrap_or_default();
    html! {
        nav.order-days aria-label=(text!(language, "cabinet-day")) data-testid="days" {
            (link(None, &text!(language, "orders-all-days")))
            @for day in page.first_day().iter_days().take(count) {
                @let caption = if day == page.today { text!(language, "cabinet-today") } else { weekday(day, language) };
                (link(Some(day), &caption))
            }
        }
    }
}

fn weekday(day: NaiveDate, language: Language) -> String {
    use chrono::Datelike;
    let number = usize::try_from(day.weekday().num_days_from_monday()).unwrap_or_default();
    format!("{} {}", crate::sites::pages::day_name(number, language), short_day(day, language))
}

/// The masters with their loads: links to their orders, and with the script targets of a drag.
fn masters(page: &BoardPage, language: Language) -> Markup {
    let link = |one: &MasterLoad| {
        let is_current = page.query.master() == Some(one.person.id);
        let to: BoardQuery = page.query.of_master((!is_current).then_some(one.person.id));
        html! {
            a.order-master.off[!one.is_on_shift] href=(to.path()) aria-current=[is_current.then_some("true")]
                data-order-master=(one.person.id) data-testid={ "master-" (one.person.id) } {
                strong { (one.person.full_name) } " "
                span.quiet { (text!(language, "orders-load", count = one.open)) }
                @if one.is_on_shift { " " span.quiet { "· " (text!(language, "orders-on-shift")) } }
            }
        }
    };
    html! {
        @if !page.masters.is_empty() {
            nav.order-masters aria-label=(text!(language, "orders-masters")) {
                @for one in &page.masters { (link(one)) }
            }
        }
    }
}
