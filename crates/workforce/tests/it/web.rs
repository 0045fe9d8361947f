//! What all pages share: connections, sign-in, forms, live pages, and every route.

mod attack;
mod cabinet_page;
mod connections;
mod large_firm;
mod live_audience;
mod live_loads;
pub mod live_pages;
mod live_reconnect;
mod live_sockets;
mod routes;
mod sent_twice;
mod signing_in;
mod stale_edits;
pub mod strangers;
mod ways_in;
