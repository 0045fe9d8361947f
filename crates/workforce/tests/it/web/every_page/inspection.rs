//! What is wrong with a page in the browser: rules that axe finds broken, a width that scrolls sideways, a large first
//! load. Mistakes are collected, so that one run names them all.

use opora_testkit::environment;

use crate::kit::page::Page;

pub const DESKTOP: u32 = 1280;
pub const PHONE: u32 = 390;
const NARROWEST: u32 = 360;
/// For a page with its style sheet, scripts and icons, as they are sent.
const MAX_FIRST_LOAD_BYTES: u64 = 100 * 1024;

pub struct Inspection<'p> {
    page: &'p Page,
    mistakes: Vec<String>,
}

impl<'p> Inspection<'p> {
    /// Pages that are loaded from now on have axe.
    pub async fn new(page: &'p Page) -> Self {
        page.add_startup_script(&axe()).await;
        Self { page, mistakes: Vec::new() }
    }

    pub fn note(&mut self, mistake: String) {
        self.mistakes.push(mistake);
    }

    /// Runs axe on the page, on a desktop and on a phone.
    pub async fn look(&mut self, what: &str) {
        for width in [DESKTOP, PHONE] {
            self.page.set_width(width).await;
            self.run(&format!("{what} ({width})"), VIOLATIONS).await;
        }
    }

    /// Opens every dialog, every menu and every fold, and runs axe on each.
    pub async fn look_into_everything(&mut self, what: &str) {
        for width in [DESKTOP, PHONE] {
            self.page.set_width(width).await;
            self.run(&format!("{what} ({width}), opened"), OPENED_VIOLATIONS).await;
        }
    }

    async fn run(&mut self, what: &str, script: &str) {
        let found = self.page.evaluate_promise(script).await;
        let found = found.as_array().into_iter().flatten();
        self.mistakes.extend(found.map(|violation| format!("{what}: {}", violation.as_str().unwrap())));
    }

    /// The first load of this page is small.
    pub async fn measure_load(&mut self, path: &str) {
        let loaded = self.page.evaluate(LOADED_BYTES).await.as_u64().unwrap();
        if !(1..=MAX_FIRST_LOAD_BYTES).contains(&loaded) {
            self.note(format!("a first load of {path} has {loaded} bytes"));
        }
    }

    pub async fn fits_the_narrowest_phone(&mut self, what: &str) {
        self.page.set_width(NARROWEST).await;
        let needed = self.page.evaluate("document.documentElement.scrollWidth").await;
        if needed.as_u64() > Some(NARROWEST.into()) {
            let culprits = self.page.evaluate(TOO_WIDE).await;
            self.note(format!("{what} needs {needed} px: {culprits}"));
        }
    }

    /// Fails if anything was wrong.
    pub fn finish(self) {
        assert!(self.mistakes.is_empty(), "{} mistakes:\n{}", self.mistakes.len(), self.mistakes.join("\n"));
    }
}

/// The source of axe-core, which `cargo xtask test` installs.
fn axe() -> String {
    let path = environment::node_path().join("axe-core/axe.min.js");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A line for each element that breaks a rule. Nothing is preloaded: no rule that applies here reads style sheets.
const VIOLATIONS: &str = r#"axe.run(document, { resultTypes: ["violations"], preload: false }).then((found) =>
    found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`)))"#;

/// The same for what is closed when a page is loaded: dialogs as modals, menus that can be seen, and folds.
const OPENED_VIOLATIONS: &str = r#"(async () => {
    const lines = [];
    const look = async (one) => {
        const found = await axe.run(one, { resultTypes: ["violations"], preload: false });
        for (const rule of found.violations)
            for (const node of rule.nodes) lines.push(`${rule.id}: ${node.html.slice(0, 200)}`);
    };
    for (const dialog of document.querySelectorAll("dialog")) {
        if (!dialog.open) dialog.showModal();
        await look(dialog);
        dialog.close();
    }
    for (const fold of document.querySelectorAll("details:not([open])")) {
        if (fold.getClientRects().length === 0) continue;
        fold.open = true;
        await look(fold);
        fold.open = false;
    }
    return lines;
})()"#;

/// The size of the page and of what it links to. Photos and parts that are loaded later do not count, files in the
/// browser's cache do.
const LOADED_BYTES: &str = r#"performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .filter((one) => ["navigation", "link", "script", "css"].includes(one.initiatorType))
    .reduce((sum, one) => sum + one.encodedBodySize + 300, 0)"#;

/// The widest elements that no ancestor clips or scrolls.
const TOO_WIDE: &str = r#"(() => {
    const clips = (one) => one && one !== document.documentElement
        && (getComputedStyle(one).overflowX !== "visible" || clips(one.parentElement));
    const wide = [...document.querySelectorAll("body *")].filter((one) =>
        one.getBoundingClientRect().right > innerWidth + 1 && !clips(one.parentElement));
    return wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(" | ");
})()"#;
