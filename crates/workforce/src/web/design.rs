//! `/design`: every component in both themes. It exists where test users may sign in, which is the demo.

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;

use super::guards::{SignedIn, Visitor};
use super::page_error::PageError;
use super::ui::{
    self, Bar, Button, Chart, ChecklistStep, Column, Dialog, Empty, Field, Icon, Tab, TimeBar, TimeSegment, Toast,
    Tone, headline,
};
use crate::application::App;
use crate::money::Money;
use crate::text;
use crate::texts::Language;

/// Colour schemes, as the attribute `data-theme` names them.
const THEMES: [&str; 2] = ["light", "dark"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DesignQuery {
    /// Another language than the visitor's.
    language: Option<Language>,
}

/// `GET /design`.
pub async fn show(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(query): Query<DesignQuery>,
) -> Result<Markup, PageError> {
    if !app.allows_test_users().await? {
        return Err(PageError::NotFound);
    }
    let language = query.language.unwrap_or(visitor.language());
    let title = text!(language, "design-title");
    let language_tabs: Vec<Tab> = Language::ALL
        .into_iter()
        .map(|one| Tab::new(one.name().to_owned(), format!("/design?language={}", one.code()), one == language))
        .collect();
    let body = html! {
        (headline(&title, &html! {}))
        p.quiet { (text!(language, "design-about")) }
        (ui::tabs(&text!(language, "web-language"), &language_tabs))
        div.gallery { @for theme in THEMES { (Gallery { visitor: &visitor, language, theme }.draw()) } }
    };
    Ok(visitor.page(&title, &body))
}

/// The components in one theme.
struct Gallery<'a> {
    visitor: &'a Visitor,
    language: Language,
    theme: &'static str,
}

impl Gallery<'_> {
    fn draw(&self) -> Markup {
        let language = self.language;
        let name = if self.theme == "light" { text!(language, "design-light") } else { text!(language, "design-dark") };
        let parts = [
            (text!(language, "design-buttons"), self.buttons()),
            (text!(language, "design-states"), self.badges()),
            (text!(language, "design-fields"), self.fields()),
            (text!(language, "design-tabs"), self.tabs()),
            (text!(language, "design-table"), self.table()),
            (text!(language, "design-bar"), self.time_bar()),
            (text!(language, "design-chart"), self.chart()),
            (text!(language, "design-dialog"), self.dialog()),
            (text!(language, "design-toast"), self.toast()),
            (text!(language, "design-panel"), self.panel()),
            (text!(language, "design-waiting"), ui::skeleton(3, &text!(language, "design-waiting"))),
            (text!(language, "design-icons"), icons()),
        ];
        html! {
            section.theme data-theme=(self.theme) data-testid={ "theme-" (self.theme) } aria-label=(name) {
                h2 { (name) }
                @for (title, body) in &parts { (ui::card(title, body)) }
                (self.empty())
                (self.checklist())
            }
        }
    }

    fn buttons(&self) -> Markup {
        let language = self.language;
        let (save, export) = (text!(language, "design-save"), text!(language, "design-export"));
        html! {
            div.row {
                (Button::primary(&save).link("#main"))
                (Button::primary(&text!(language, "design-add")).icon(Icon::Plus).link("#main"))
                (Button::plain(&export).icon(Icon::Download).link("#main"))
                (Button::danger(&text!(language, "design-delete")).icon(Icon::Trash).link("#main"))
                (Button::plain(&export).small().link("#main"))
            }
        }
    }

    fn badges(&self) -> Markup {
        let language = self.language;
        let words = [
            (Tone::Good, text!(language, "design-working")),
            (Tone::Wait, text!(language, "design-late")),
            (Tone::Bad, text!(language, "design-missing")),
            (Tone::Info, text!(language, "design-new")),
            (Tone::Neutral, text!(language, "design-over")),
        ];
        html! { div.row { @for (tone, text) in &words { (ui::badge(*tone, text)) } (ui::count_badge(7)) } }
    }

    fn fields(&self) -> Markup {
        let language = self.language;
        let id = |name: &str| format!("{}-{name}", self.theme);
        let (zone, hint) = (text!(language, "design-zone"), text!(language, "design-zone-hint"));
        let error = text!(language, "design-zone-error");
        let role = text!(language, "design-role");
        let roles = [("a", text!(language, "design-working")), ("b", text!(language, "design-over"))];
        html! {
            (Field::new("zone", &zone).id(&id("zone")).hint(&hint).input("text", "Europe/Moscow", 40))
            (Field::new("zone", &zone).id(&id("wrong")).hint(&hint).error(Some(&error)).input("text", "Москва", 40))
            (Field::new("role", &role).id(&id("role")).select("a", &roles))
            (Field::new("note", &text!(language, "design-note")).id(&id("note")).text_area("", 2, 200))
        }
    }

    fn tabs(&self) -> Markup {
        let language = self.language;
        let tab = |caption: String, is_current| Tab::new(caption, "#main".to_owned(), is_current);
        let tabs = [
            tab(text!(language, "web-nav-people"), true),
            tab(text!(language, "design-fields"), false).count(3),
            tab(text!(language, "design-over"), false),
        ];
        ui::tabs(&format!("{} {}", text!(language, "design-tabs"), self.theme), &tabs)
    }

    fn table(&self) -> Markup {
        let language = self.language;
        let columns = [
            Column::text(text!(language, "design-person")),
            Column::text(text!(language, "web-status")),
            Column::amount(text!(language, "design-amount")),
        ];
        let row = |name: &str, tone, status: String, kopecks| {
            let amount = Money::from_kopecks(kopecks).shown(language);
            vec![html! { (name) }, ui::badge(tone, &status), html! { (amount) }]
        };
        let rows = [
            row("Анна Петрова", Tone::Good, text!(language, "design-working"), 1_250_000),
            row("Boris Kim", Tone::Wait, text!(language, "design-late"), 874_050),
        ];
        ui::table(&format!("table-{}", self.theme), &columns, &rows)
    }

    fn time_bar(&self) -> Markup {
        let segment =
            |minutes, tone, title: &str, is_planned| TimeSegment { minutes, tone, title: title.to_owned(), is_planned };
        let segments = vec![
            segment(8 * 60..14 * 60, Tone::Good, "Анна Петрова, 08:00 – 14:00", false),
            segment(10 * 60..18 * 60, Tone::Info, "Boris Kim, 10:00 – 18:00", true),
            segment(18 * 60..22 * 60, Tone::Wait, "18:00 – 22:00", true),
        ];
        let label = text!(self.language, "design-bar-label");
        TimeBar { label, segments, now: Some(13 * 60), has_scale: true }.render()
    }

    fn chart(&self) -> Markup {
        let language = self.language;
        let amounts = [320_000, 450_000, 0, 280_000, -60_000, 510_000, 390_000];
        let bars = amounts.iter().zip(1..).map(|(kopecks, day): (&i64, i32)| Bar {
            caption: day.to_string(),
            value: *kopecks,
            text: Money::from_kopecks(*kopecks).shown(language),
        });
        let (bars, label) = (bars.collect::<Vec<_>>(), text!(language, "design-amount"));
        let table = [text!(language, "cabinet-as-table"), text!(language, "cabinet-day")];
        let chart = Chart {
            id: &format!("chart-{}", self.theme),
            label: &label,
            bars: &bars,
            unit: 100,
            mark: &|kopecks| Money::from_kopecks(kopecks).shown(language),
            table: [&table[0], &table[1], &label],
        };
        html! { div.chart { (chart.render()) } }
    }

    fn dialog(&self) -> Markup {
        let language = self.language;
        let id = format!("dialog-{}", self.theme);
        let go = text!(language, "design-dialog-go");
        let (title, cancel) = (text!(language, "design-dialog-title"), text!(language, "design-dialog-cancel"));
        let dialog = Dialog { id: &id, title: &title, cancel: &cancel, is_open: false };
        html! {
            (Button::danger(&text!(language, "design-delete")).testid(&format!("opens-{id}")).opens(&id))
            (dialog.render(&html! {
                p { (text!(language, "design-dialog-text")) }
                form method="get" action="/design" { (Button::danger(&go).submit()) }
            }))
        }
    }

    fn toast(&self) -> Markup {
        let (text, undo) = (text!(self.language, "design-toast-text"), text!(self.language, "design-toast-undo"));
        Toast::new(text).action(undo, "/me/language", &[]).render(&self.visitor.visit)
    }

    fn panel(&self) -> Markup {
        html! {
            aside.panel aria-label={ (text!(self.language, "design-panel")) " " (self.theme) } {
                div.panel-head {
                    h3 { (text!(self.language, "design-panel")) }
                    span.icon-button aria-hidden="true" { (Icon::Close.svg()) }
                }
                div.panel-body { p { (text!(self.language, "design-panel-text")) } }
            }
        }
    }

    fn empty(&self) -> Markup {
        let language = self.language;
        let (title, text) = (text!(language, "design-empty-title"), text!(language, "design-empty-text"));
        let add = text!(language, "design-add");
        let empty = Empty { icon: Icon::Site, title: &title, text: &text };
        empty.render(&Button::primary(&add).icon(Icon::Plus).link("#main"))
    }

    fn checklist(&self) -> Markup {
        let language = self.language;
        let step = |title: String, is_done| ChecklistStep {
            title,
            text: text!(language, "design-step-text"),
            is_done,
            action: Some((text!(language, "design-add"), "#main".to_owned())),
        };
        let steps =
            [step(text!(language, "design-step-site"), true), step(text!(language, "design-step-schedule"), false)];
        ui::checklist(&text!(language, "design-steps"), &text!(language, "design-step-done"), &steps)
    }
}

fn icons() -> Markup {
    html! { div.row { @for icon in Icon::ALL { (icon.svg()) } } }
}
