//! Markup of an order's page: title, buttons, and the cards.

use maud::{Markup, html};

use super::OrderPage;
use crate::orders::jobs::is_late;
use crate::orders::pages::deed::Deed;
use crate::orders::pages::{BOARD, number};
use crate::orders::{OrderSource, OrderStatus};
use crate::text;
use crate::texts::Language;
use crate::web::Visitor;
use crate::web::form::FormAttempt;
use crate::web::ui::{Button, Tone, badge, card, headline};

/// Buttons beyond these are in a fold: a page has few that are pressed often.
const MAX_BUTTONS: usize = 5;

pub fn order(visitor: &Visitor, page: &OrderPage, attempt: &FormAttempt) -> Markup {
    let (language, seen) = (visitor.language(), page.seen());
    let title = number(seen, language);
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href=(BOARD) { (text!(language, "orders-nav")) } }
            (attempt.notice(language))
            div.order-page #order data-live="orders" {
                (headline(&title, &html! { span.badges { (badges(page, language)) } }))
                (buttons(visitor, page))
                div.columns {
                    (card(&text!(language, "orders-about"), &page.about(language)))
                    (card(&text!(language, "orders-client"), &page.client(language)))
                    (card(&text!(language, "orders-work"), &page.work(language)))
                    @if page.has_money() { (card(&text!(language, "orders-money"), &page.money(language))) }
                    @if !page.details.checklist.is_empty() {
                        (card(&text!(language, "orders-checklist"), &page.checklist(visitor)))
                    }
                    @if !page.details.offers.is_empty() { (card(&text!(language, "orders-offers"), &page.offers(language))) }
                    (card(&text!(language, "orders-messages"), &page.messages(visitor, attempt)))
                }
                @if !page.details.files.is_empty() { (card(&text!(language, "orders-files"), &page.photos(visitor))) }
                (card(&text!(language, "orders-history"), &page.history(language)))
                (page.dialogs(visitor, attempt))
            }
        },
    )
}

/// The colour of a status.
pub const fn tone(status: OrderStatus) -> Tone {
    match status {
        OrderStatus::New => Tone::Wait,
        OrderStatus::Assigned | OrderStatus::Accepted => Tone::Info,
        OrderStatus::OnSite | OrderStatus::LongRepair => Tone::Neutral,
        OrderStatus::Closed => Tone::Good,
        OrderStatus::Refused => Tone::Bad,
    }
}

fn badges(page: &OrderPage, language: Language) -> Markup {
    let order = &page.seen().order;
    let is_unconfirmed = order.source == OrderSource::Client && order.progress.confirmed_at.is_none();
    html! {
        (badge(tone(order.status), &order.status.text(language)))
        @if is_late(order, page.now) { (badge(Tone::Bad, &text!(language, "orders-overdue"))) }
        @if is_unconfirmed && order.status.is_open() { (badge(Tone::Wait, &text!(language, "orders-to-confirm"))) }
        @if page.is_offered() { (badge(Tone::Info, &text!(language, "orders-offered"))) }
    }
}

/// A button for everything that the viewer may do: one click, or one that opens a dialog.
fn buttons(visitor: &Visitor, page: &OrderPage) -> Markup {
    let language = visitor.language();
    let possible: Vec<Deed> = Deed::ALL.into_iter().filter(|deed| deed.is_button() && page.may(*deed)).collect();
    let (often, seldom) = possible.split_at(MAX_BUTTONS.min(possible.len()));
    html! {
        div.row.deeds-row data-testid="deeds" {
            @for (at, deed) in often.iter().enumerate() { (button(visitor, page, *deed, at == 0)) }
            @if !seldom.is_empty() {
                details.menu.person-menu data-menu {
                    summary.button.plain data-testid="more-deeds" { (text!(language, "web-more")) }
                    div.menu-sheet { @for deed in seldom { (button(visitor, page, *deed, false)) } }
                }
            }
        }
    }
}

fn button(visitor: &Visitor, page: &OrderPage, deed: Deed, is_first: bool) -> Markup {
    let caption = text!(visitor.language(), deed.caption());
    let button = match (deed.is_danger(), is_first) {
        (true, _) => Button::danger(&caption),
        (false, true) => Button::primary(&caption),
        (false, false) => Button::plain(&caption),
    };
    let button = button.testid(deed.name());
    if !deed.is_plain() {
        return button.opens(deed.name());
    }
    visitor.visit.form(
        &page.path(deed),
        &html! {
            input type="hidden" name="version" value=(page.seen().order.version);
            (button.submit())
        },
    )
}
