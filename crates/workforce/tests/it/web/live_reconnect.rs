//! A page whose socket was closed in favour of newer pages of the same person, in a real browser.

use std::sync::Arc;

use workforce::web::sessions;

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::NOON;
use crate::overview::owners_week::sign_in;
use crate::web::live_pages::{connect, serve};

/// The product's limit of sockets per person.
const MAX_PER_PERSON: usize = 20;

/// Records the sockets of a page, and when and how they were closed.
const COUNT_SOCKETS: &str = r#"
    const Plain = window.WebSocket;
    window.sockets = 0;
    window.lastClose = null;
    window.WebSocket = class extends Plain {
        constructor(...where) {
            super(...where);
            window.sockets += 1;
            this.addEventListener("close", (event) => { window.lastClose = { code: event.code, at: performance.now() }; });
        }
    };
"#;

/// A connection that is lost for another reason is restored within 750 ms.
const STAYS_AWAY: &str = "window.sockets === 1 && performance.now() - window.lastClose.at > 1500";

#[tokio::test]
async fn a_page_closed_for_newer_ones_reconnects_on_use() {
    let (cabinet, base) = Cabinet::on_port().await;
    // Another browser, without a PIN: the chat must have only the PIN for the page.
    let (cookie, anna) = ("a".repeat(43), cabinet.person(ANNA).await.id);
    let other = format!("opora_session={cookie}");
    let begun = cabinet
        .app
        .domain
        .write(move |db| Box::pin(async move { sessions::begin(db, anna, &cookie, "another browser", NOON).await }));
    begun.await.unwrap();
    let address = serve(&cabinet).await;
    visit_pages(Arc::clone(&cabinet.emulator), &base, "too-many-pages", Screen::Desktop, move |page| async move {
        page.add_startup_script(COUNT_SOCKETS).await;
        sign_in(&page, "/", ANNA).await;
        page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
        page.evaluate("(window.sockets = 1)").await;
        let mut newer = Vec::new();
        for _ in 0..MAX_PER_PERSON {
            newer.push(connect(address, &other, Some(&format!("http://{address}"))).await.unwrap());
        }
        page.wait_until("newer pages have its place", "window.lastClose?.code === 4429").await;
        page.wait_until("it does not come back by itself", STAYS_AWAY).await;
        page.wait_until("it is not live", "document.documentElement.dataset.live === 'off'").await;
        page.press_css("h1").await;
        page.wait_until("it is live again", "document.documentElement.dataset.live === 'on' && window.sockets === 2")
            .await;
        drop(newer);
    })
    .await;
    cabinet.close().await;
}
