//! The page notices that the server is gone, reconnects by itself and shows what it missed.

use tempfile::TempDir;

use crate::kit::browser::{Screen, visit_chat_of};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::page::Page;

#[tokio::test]
async fn a_page_reconnects_after_a_server_restart() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(&["--data", folder.path().to_str().unwrap()]).await;
    visit_chat_of(demo, "returning", Screen::Desktop, |page| lose_and_reconnect(page, folder)).await;
}

async fn lose_and_reconnect(page: Page, folder: TempDir) {
    page.press("chat-1001").await;
    page.send_text("before").await;
    page.wait_for_bubbles(ANNA, "bot", "before", 1).await;
    page.demo.signal("TERM");
    page.find("offline").await;
    page.screenshot("1-lost").await;
    page.send_text("into the void").await;
    page.wait_for_text("toast", "The server does not answer").await;
    let kept = page.find("composer").await.value().await.unwrap();
    assert_eq!(kept.as_deref(), Some("into the void"), "an unsent text stays in the composer");
    page.screenshot("2-refused").await;

    let again = Demo::start_on(page.demo.port(), &["--data", folder.path().to_str().unwrap()]).await;
    again.says(BORIS, "while you were away").await;
    page.wait_until("the page is back", "document.querySelector(\"[data-testid='offline']\").hidden").await;
    page.wait_for_bubbles(ANNA, "bot", "before", 1).await;
    page.type_keys("composer", "\n").await;
    page.wait_for_bubbles(ANNA, "own", "into the void", 1).await;
    page.wait_for_bubbles(ANNA, "bot", "into the void", 1).await;
    page.press("chat-1002").await;
    page.wait_for_bubbles(BORIS, "own", "while you were away", 1).await;
    page.wait_for_bubbles(BORIS, "bot", "while you were away", 1).await;
    page.screenshot("3-back").await;
    page.leave().await;
    // The browser logs every refused connection. Reading the log empties it.
    let console_errors = page.console_errors().await;
    assert!(console_errors.iter().all(|one| one.contains("ERR_CONNECTION_REFUSED")), "{console_errors:#?}");
    again.stop().await;
}
