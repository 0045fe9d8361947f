//! Badges: a state in a word or two, or a count.

use maud::{Markup, html};

/// What a colour says. The words say it too, so no meaning is in the colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    Good,
    Wait,
    Bad,
    Info,
    #[default]
    Neutral,
}

impl Tone {
    pub const ALL: [Self; 5] = [Self::Good, Self::Wait, Self::Bad, Self::Info, Self::Neutral];

    /// The CSS class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Wait => "wait",
            Self::Bad => "bad",
            Self::Info => "info",
            Self::Neutral => "neutral",
        }
    }

    /// The tone with this class name; neutral for other names.
    pub fn of_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|tone| tone.name() == name).unwrap_or_default()
    }
}

/// A state in a word or two.
pub fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class={ "badge tone-" (tone.name()) } { (text) } }
}

/// A count beside a caption, such as a tab's. Zero shows nothing.
pub fn count_badge(count: u64) -> Markup {
    html! {
        @if count > 99 { span.count-badge { "99+" } }
        @else if count > 0 { span.count-badge { (count) } }
    }
}
