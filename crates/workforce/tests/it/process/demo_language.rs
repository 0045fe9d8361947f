//! The demo's chat page is in the language of the demo, whatever the browser prefers.

use crate::kit::browser::{Screen, visit_chat_of};
use crate::kit::demo::Demo;

#[tokio::test]
async fn the_chat_page_is_in_the_demos_language() {
    // The browser of the tests prefers English.
    for (language, start) in [("ru", "Запустить"), ("en", "Start")] {
        let folder = tempfile::tempdir().unwrap();
        let demo = Demo::product(&folder, &["--language", language]).await;
        assert!(demo.printed.contains(start), "{}", demo.printed);
        visit_chat_of(demo, &format!("demo-{language}"), Screen::Desktop, move |page| async move {
            page.wait_until("the language is set", &format!("document.documentElement.lang === '{language}'")).await;
            page.press("chat-1007").await;
            page.wait_for_text("start", start).await;
        })
        .await;
    }
}
