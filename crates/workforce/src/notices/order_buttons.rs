//! The buttons under news of an order. The room of orders handles them.

use opora::telegram::Button;

use super::{OrderNews, OrderNewsKind};
use crate::front::menu_button;
use crate::text;
use crate::texts::Language;

/// Followed by the id of an order: opens its card.
pub const OPEN: &str = "orders:open:";
/// Followed by the id of an order, the version that was seen or `-`, and what to do.
pub const DO: &str = "orders:do:";
/// The same, for what needs a reason.
pub const ASK: &str = "orders:ask:";
/// After the prefix: in place of a version, and the actions that news offer.
pub const ANY_VERSION: &str = "-";
pub const ACCEPT: &str = "accept";
pub const DECLINE: &str = "decline";

/// A button that opens the card of an order.
pub fn open_button(order_id: i64, language: Language) -> Button {
    Button::raw(text!(language, "orders-open-button"), format!("{OPEN}{order_id}"))
}

/// The rows of buttons under news of an order.
pub(super) fn rows(news: &OrderNews, language: Language) -> Vec<Vec<Button>> {
    let menu = vec![menu_button(language)];
    let open = vec![open_button(news.order, language)];
    match news.what {
        OrderNewsKind::Assigned { .. } | OrderNewsKind::Offered { .. } | OrderNewsKind::Unaccepted { .. } => {
            let data = |prefix: &str, action: &str| format!("{prefix}{}:{ANY_VERSION}:{action}", news.order);
            let accept = Button::raw(text!(language, "orders-accept-button"), data(DO, ACCEPT));
            let decline = Button::raw(text!(language, "orders-decline-button"), data(ASK, DECLINE));
            vec![vec![accept, decline], open, menu]
        }
        // The reader may not see it any more.
        OrderNewsKind::OfferOver | OrderNewsKind::TakenBack => vec![menu],
        _ => vec![open, menu],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_that_ask_for_an_answer_have_it() {
        let rows_of = |what| rows(&OrderNews { order: 7, number: 3, what }, Language::En).len();
        assert_eq!(rows_of(OrderNewsKind::Assigned { when: None }), 3);
        assert_eq!(rows_of(OrderNewsKind::FromClient), 2);
        assert_eq!(rows_of(OrderNewsKind::OfferOver), 1);
    }
}
