//! The page outlives the server: it says that it lost it, comes back by itself and shows what it missed.

use tempfile::TempDir;

use crate::kit::browser::{Screen, visit_demo};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::page::Page;

#[tokio::test]
async fn a_page_comes_back_after_the_server_was_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(&["--data", folder.path().to_str().unwrap()]).await;
    visit_demo(demo, "returning", Screen::Desktop, |page| lose_and_find(page, folder)).await;
}

async fn lose_and_find(page: Page, folder: TempDir) {
    page.press("chat-1001").await;
    page.write("before").await;
    page.bubbles(ANNA, "bot", "before", 1).await;
    page.demo.signal("TERM");
    page.find("offline").await;
    page.shoot("1-lost").await;
    page.write("into the void").await;
    page.reads("toast", "The server does not answer").await;
    let kept = page.find("composer").await.value().await.unwrap();
    assert_eq!(kept.as_deref(), Some("into the void"), "what could not be sent is not lost");
    page.shoot("2-refused").await;

    let again = Demo::start_on(page.demo.port(), &["--data", folder.path().to_str().unwrap()]).await;
    again.says(BORIS, "while you were away").await;
    page.until("the page is back", "document.querySelector(\"[data-testid='offline']\").hidden").await;
    page.bubbles(ANNA, "bot", "before", 1).await;
    page.type_keys("composer", "\n").await;
    page.bubbles(ANNA, "own", "into the void", 1).await;
    page.bubbles(ANNA, "bot", "into the void", 1).await;
    page.press("chat-1002").await;
    page.bubbles(BORIS, "own", "while you were away", 1).await;
    page.bubbles(BORIS, "bot", "while you were away", 1).await;
    page.shoot("3-back").await;
    page.leave().await;
    // The browser tells of every connection that was refused meanwhile; reading them takes them from its list.
    let complaints = page.complaints().await;
    assert!(complaints.iter().all(|one| one.contains("ERR_CONNECTION_REFUSED")), "{complaints:#?}");
    again.stop().await;
}
