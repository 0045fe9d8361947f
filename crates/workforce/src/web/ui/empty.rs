//! What a page shows when there is nothing to show yet.

use maud::{Markup, html};

use super::Icon;

/// An empty list: what belongs here, and how to begin.
#[derive(Clone, Copy, Debug)]
pub struct Empty<'a> {
    pub icon: Icon,
    pub title: &'a str,
    pub text: &'a str,
}

/// A step of a checklist.
#[derive(Clone, Debug)]
pub struct ChecklistStep {
    pub title: String,
    pub text: String,
    pub is_done: bool,
    /// Caption and path of the link that does the step.
    pub action: Option<(String, String)>,
}

impl Empty<'_> {
    /// The empty state with its action, such as a link button; an empty markup for none.
    pub fn render(self, action: &Markup) -> Markup {
        html! {
            div.card.empty {
                span.empty-icon { (self.icon.svg()) }
                h2 { (self.title) }
                @if !self.text.is_empty() { p { (self.text) } }
                (action)
            }
        }
    }
}

/// Steps towards a working business. The first step that is not done has the primary button. `done` is read to people
/// who do not see the tick.
pub fn checklist(title: &str, done: &str, steps: &[ChecklistStep]) -> Markup {
    let next = steps.iter().position(|step| !step.is_done);
    let count = steps.iter().filter(|step| step.is_done).count();
    html! {
        section.card.checklist data-testid="checklist" {
            div.headline { h2 { (title) } span.quiet { (count) " / " (steps.len()) } }
            ol {
                @for (at, step) in steps.iter().enumerate() {
                    li.done[step.is_done] {
                        span.step-mark { @if step.is_done { (Icon::Check.svg()) } @else { (at + 1) } }
                        div {
                            strong { (step.title) @if step.is_done { span.sr-only { ": " (done) } } }
                            p.quiet { (step.text) }
                        }
                        @if let (false, Some((caption, path))) = (step.is_done, &step.action) {
                            a.button.plain[next != Some(at)] href=(path) { (caption) }
                        }
                    }
                }
            }
        }
    }
}
