//! Pages on paper, by keyboard, and for people who want less motion.

use std::sync::Arc;

use serde_json::json;
use thirtyfour::Key;

use super::every_page::site_map::sign_in;
use crate::kit::browser::{Screen, visit_pages};
use crate::kit::demo::{ANNA, Demo};
use crate::kit::page::Page;

/// The most steps of a walk by the keyboard through a page.
const MAX_TABS: usize = 60;

#[tokio::test]
async fn dark_pages_are_printed_dark_on_white() {
    as_owner("print", |page| async move {
        for path in ["/payroll", "/people/invite"] {
            page.emulate_media("print", &[("prefers-color-scheme", "dark")]).await;
            page.goto(path).await;
            page.find_css("main h1").await;
            assert_eq!(page.evaluate(ON_PAPER).await, json!([]), "{path}: only the content is printed");
            assert_eq!(page.evaluate(PALE).await, json!([]), "{path}: the text is dark on white");
        }
    })
    .await;
}

#[tokio::test]
async fn the_keyboard_shows_where_it_is() {
    as_owner("focus", |page| async move {
        page.emulate_media("screen", &[("prefers-reduced-motion", "reduce")]).await;
        page.goto("/people").await;
        let person = page.evaluate("document.querySelector(\"main a[href^='/people/1']\").pathname").await;
        for path in ["/", "/calendar", person.as_str().unwrap()] {
            page.goto(path).await;
            page.find_css("main h1").await;
            let mut reached = 0;
            for _ in 0..MAX_TABS {
                page.press_key(Key::Tab).await;
                let focused = page.evaluate(FOCUSED).await;
                let Some(focused) = focused.as_str() else { break };
                assert!(!focused.starts_with("hidden"), "{path}: the focus cannot be seen on {focused}");
                reached += 1;
            }
            assert!(reached > 10, "{path}: the keyboard reaches {reached} elements");
        }
        page.goto("/calendar?panel=new").await;
        page.wait_until("the focus is in the panel", "document.activeElement.closest('.panel')").await;
        page.press_key(Key::Escape).await;
        page.wait_for_count("[data-testid='panel']", 0).await;
    })
    .await;
}

#[tokio::test]
async fn nothing_moves_for_people_who_want_less_motion() {
    as_owner("motion", |page| async move {
        for path in ["/design", "/calendar?panel=new"] {
            page.emulate_media("screen", &[("prefers-reduced-motion", "no-preference")]).await;
            page.goto(path).await;
            page.find_css("main h1").await;
            assert_ne!(page.evaluate(MOVING).await, json!([]), "{path} moves for others");
            page.emulate_media("screen", &[("prefers-reduced-motion", "reduce")]).await;
            page.goto(path).await;
            page.find_css("main h1").await;
            assert_eq!(page.evaluate(MOVING).await, json!([]), "{path}");
        }
    })
    .await;
}

/// Runs the steps in the demo, signed in as the owner.
async fn as_owner<Steps>(test: &str, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    let folder = tempfile::tempdir().unwrap();
    let demo = Arc::new(Demo::product(&folder, &["--language", "en"]).await);
    let (base, cookies) = (demo.base.clone(), sign_in(&demo, ANNA).await);
    let signed_in = move |page: Page| {
        let entered = page.clone();
        let steps = steps(page);
        async move {
            entered.set_cookies(&cookies).await;
            steps.await;
        }
    };
    visit_pages(Arc::clone(&demo), &base, test, Screen::Desktop, signed_in).await;
    Arc::into_inner(demo).expect("no other owner of the demo").stop().await;
}

/// Parts that have no place on paper and are shown.
const ON_PAPER: &str = r#"[...document.querySelectorAll(
    "header.side, nav.bottom, .toasts, .page-tabs, main button, main .button, dialog"
)].filter((one) => one.getClientRects().length > 0).map((one) => one.outerHTML.slice(0, 120))"#;

/// Texts that are not dark, and grounds that are not light. A colour is three numbers, or three parts of one.
const PALE: &str = r#"(() => {
    const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = (colour) => {
        const [red, green, blue] = numbers(colour).map((part) => colour.startsWith("rgb") ? part / 255 : part);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const isClear = (colour) => colour === "rgba(0, 0, 0, 0)";
    const wrong = [];
    for (const one of document.querySelectorAll("body, main, main h1, main h2, main p, main th, main td, main .card")) {
        if (one.getClientRects().length === 0) continue;
        const { color, backgroundColor } = getComputedStyle(one);
        if (light(color) > 0.5) wrong.push(`${color} on ${one.outerHTML.slice(0, 80)}`);
        if (!isClear(backgroundColor) && light(backgroundColor) < 0.8) wrong.push(`${backgroundColor} of ${one.outerHTML.slice(0, 80)}`);
    }
    return wrong;
})()"#;

/// The focused element, `hidden` first if nothing shows the focus; null at the end of the page.
const FOCUSED: &str = r#"(() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const shows = (part) => {
        const style = getComputedStyle(part);
        return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
    };
    return `${shows(one) ? "shown" : "hidden"} ${one.outerHTML.slice(0, 120)}`;
})()"#;

/// Elements with a transition or an animation that can be noticed.
const MOVING: &str = r#"[...document.querySelectorAll("body *")].filter((one) => {
    const style = getComputedStyle(one);
    const times = `${style.transitionDuration}, ${style.animationDuration}`.split(", ");
    return times.some((time) => (time.endsWith("ms") ? parseFloat(time) : parseFloat(time) * 1000) > 20);
}).slice(0, 5).map((one) => one.outerHTML.slice(0, 120))"#;
