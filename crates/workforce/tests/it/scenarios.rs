//! Stories of several days in a real browser, told by what people see and click: the owner in the dashboard, everyone
//! in the chat.
//!
//! Only visible labels are used. The chat page is the only address that is typed; the bot's link leads to the
//! dashboard.

mod first_paid_shift;
mod newcomer_to_pay;
mod owner;
mod rejected_cancellation;
mod scene;
mod worker;
