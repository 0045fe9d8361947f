//! What all pages share: connections, sign-in, forms, live pages, and every route.

mod attack;
mod cabinet_in_browser;
mod connections;
mod design_in_browser;
mod double_submit;
mod every_page;
mod known_devices_and_links;
mod large_firm;
mod live_audience;
mod live_loads;
pub mod live_pages;
mod live_reconnect;
mod live_sockets;
mod navigation;
mod page_states;
mod print_and_focus;
mod routes;
mod sign_in;
mod stale_edits;
pub mod strangers;
