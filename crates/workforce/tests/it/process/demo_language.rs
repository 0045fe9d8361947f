//! The chat page of a demo speaks the language of the demo, whatever the browser prefers.

use crate::kit::browser::{Screen, visit_demo};
use crate::kit::demo::Demo;

#[tokio::test]
async fn the_chat_page_speaks_the_language_of_the_demo() {
    // The browser of the tests prefers English.
    for (language, start) in [("ru", "Запустить"), ("en", "Start")] {
        let folder = tempfile::tempdir().unwrap();
        let demo = Demo::product(&folder, &["--language", language]).await;
        assert!(demo.printed.contains(start), "{}", demo.printed);
        visit_demo(demo, &format!("demo-{language}"), Screen::Desktop, move |page| async move {
            page.until("the language is set", &format!("document.documentElement.lang === '{language}'")).await;
            page.press("chat-1007").await;
            page.reads("start", start).await;
        })
        .await;
    }
}
