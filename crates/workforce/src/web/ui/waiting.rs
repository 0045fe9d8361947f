//! A placeholder for what is being loaded.

use maud::{Markup, html};

/// Grey lines in place of content. `label` says what is being loaded.
pub fn skeleton(lines: usize, label: &str) -> Markup {
    html! {
        div.skeleton role="status" { span.sr-only { (label) } @for _ in 0..lines { span.bone aria-hidden="true" {} } }
    }
}
