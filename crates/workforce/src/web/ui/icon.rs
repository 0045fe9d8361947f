//! The icons: strokes on a grid of 20 by 20, in the colour of the text around them.

use maud::{Markup, html};

/// An icon. It is decoration: a control without text needs an `aria-label` of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    Alert,
    ArrowLeft,
    ArrowRight,
    Bell,
    Calendar,
    Chart,
    Check,
    ChevronDown,
    ChevronLeft,
    ChevronRight,
    Clock,
    Close,
    Copy,
    Document,
    Download,
    Edit,
    Filter,
    Gear,
    Globe,
    Home,
    Inbox,
    Info,
    Key,
    Link,
    List,
    Message,
    Money,
    More,
    NoEntry,
    Orders,
    People,
    Person,
    Phone,
    Pin,
    Plus,
    Print,
    Search,
    Send,
    Server,
    Sidebar,
    SignOut,
    Site,
    Trash,
    Undo,
    Upload,
}

impl Icon {
    pub const ALL: [Self; 45] = [
        Self::Alert,
        Self::ArrowLeft,
        Self::ArrowRight,
        Self::Bell,
        Self::Calendar,
        Self::Chart,
        Self::Check,
        Self::ChevronDown,
        Self::ChevronLeft,
        Self::ChevronRight,
        Self::Clock,
        Self::Close,
        Self::Copy,
        Self::Document,
        Self::Download,
        Self::Edit,
        Self::Filter,
        Self::Gear,
        Self::Globe,
        Self::Home,
        Self::Inbox,
        Self::Info,
        Self::Key,
        Self::Link,
        Self::List,
        Self::Message,
        Self::Money,
        Self::More,
        Self::NoEntry,
        Self::Orders,
        Self::People,
        Self::Person,
        Self::Phone,
        Self::Pin,
        Self::Plus,
        Self::Print,
        Self::Search,
        Self::Send,
        Self::Server,
        Self::Sidebar,
        Self::SignOut,
        Self::Site,
        Self::Trash,
        Self::Undo,
        Self::Upload,
    ];

    /// The icon as inline SVG. Pages may have no inline styles, so size and stroke come from the class.
    pub fn svg(self) -> Markup {
        html! {
            svg.icon viewBox="0 0 20 20" aria-hidden="true" focusable="false" { path d=(self.path()) {} }
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Alert => "M10 3 2.5 16.5h15zM10 8v4M10 14.4v.1",
            Self::ArrowLeft => "M16 10H4M9 5l-5 5 5 5",
            Self::ArrowRight => "M4 10h12M11 5l5 5-5 5",
            Self::Bell => "M5 13V9a5 5 0 0 1 10 0v4l1.5 2h-13zM8.5 17.5h3",
            Self::Calendar => {
                "M4 4.5h12A1.5 1.5 0 0 1 17.5 6v10a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 16V6A1.5 1.5 0 0 1 4 4.5zM2.5 8.5h15M6.5 2.5v3.5M13.5 2.5v3.5"
            }
            Self::Chart => "M3 3v14h14M7 13.5V10M11 13.5V6M15 13.5V8.5",
            Self::Check => "M4 10.5l4 4 8-9",
            Self::ChevronDown => "M5 8l5 5 5-5",
            Self::ChevronLeft => "M12 5l-5 5 5 5",
            Self::ChevronRight => "M8 5l5 5-5 5",
            Self::Clock => "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM10 6v4l3 2",
            Self::Close => "M5 5l10 10M15 5 5 15",
            Self::Copy => {
                "M8 7h7.5A1.5 1.5 0 0 1 17 8.5V16a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 16V8.5A1.5 1.5 0 0 1 8 7zM3.5 13A1.5 1.5 0 0 1 3 12V4a1.5 1.5 0 0 1 1.5-1.5H12a1.5 1.5 0 0 1 1 .5"
            }
            Self::Document => {
                "M5.5 2.5H11l4.5 4.5v9a1.5 1.5 0 0 1-1.5 1.5H5.5A1.5 1.5 0 0 1 4 16V4a1.5 1.5 0 0 1 1.5-1.5zM11 2.5V7h4.5M7 11h6M7 14h4"
            }
            Self::Download => "M10 3v9M6 8.5l4 4 4-4M3.5 14.5v2h13v-2",
            Self::Edit => "M13 3.5l3.5 3.5L7.5 16 3.5 16.5 4 12.5zM11 5.5 14.5 9",
            Self::Filter => "M3 5h14M6 10h8M8.5 15h3",
            Self::Gear => "M3 6h7M14 6h3M12 4v4M3 14h3M10 14h7M8 12v4",
            Self::Globe => {
                "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM2.5 10h15M10 2.5c5 5 5 10 0 15-5-5-5-10 0-15z"
            }
            Self::Home => "M3 9.5 10 3l7 6.5M5 8v9h10V8M8.5 17v-5h3v5",
            Self::Inbox => {
                "M5 3.5h10l2.5 8V15A1.5 1.5 0 0 1 16 16.5H4A1.5 1.5 0 0 1 2.5 15v-3.5zM2.5 11.5H7a3 3 0 0 0 6 0h4.5"
            }
            Self::Info => "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM10 9v4.5M10 6.4v.1",
            Self::Key => "M7 8.5a4 4 0 1 1 0 .1zM7.8 10.8 3 15.5V17h3v-2h2v-2l1.2-1.2M12.5 7.4v.1",
            Self::Link => {
                "M8.5 11.5a3.5 3.5 0 0 0 5 0l3-3a3.5 3.5 0 0 0-5-5l-1 1M11.5 8.5a3.5 3.5 0 0 0-5 0l-3 3a3.5 3.5 0 0 0 5 5l1-1"
            }
            Self::List => "M7 5h10M7 10h10M7 15h10M3.5 5v.1M3.5 10v.1M3.5 15v.1",
            Self::Message => {
                "M4 3.5h12A1.5 1.5 0 0 1 17.5 5v7.5A1.5 1.5 0 0 1 16 14H9l-4 3.5V14H4a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 4 3.5z"
            }
            Self::Money => {
                "M3.5 5h13A1.5 1.5 0 0 1 18 6.5v7a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 2 13.5v-7A1.5 1.5 0 0 1 3.5 5zM10 7.8a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4zM5 10v.1M15 10v.1"
            }
            Self::More => {
                "M4 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0zM9.3 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0zM14.6 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0z"
            }
            Self::NoEntry => "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM4.8 4.8l10.4 10.4",
            Self::Orders => {
                "M7 4H5.5A1.5 1.5 0 0 0 4 5.5v11A1.5 1.5 0 0 0 5.5 18h9a1.5 1.5 0 0 0 1.5-1.5v-11A1.5 1.5 0 0 0 14.5 4H13M7.5 2.5h5v3h-5zM7 11.5l2 2 4-4.5"
            }
            Self::People => {
                "M7.5 3.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2 16.5a5.5 5.5 0 0 1 11 0M13 3.8a3 3 0 0 1 0 5.5M15 11.8a5.5 5.5 0 0 1 3 4.7"
            }
            Self::Person => "M10 3a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM3.5 17a6.5 6.5 0 0 1 13 0",
            Self::Phone => {
                "M4 3h3l1.5 4-2 1.5a10 10 0 0 0 5 5l1.5-2 4 1.5v3A1.5 1.5 0 0 1 15.5 17.5 13 13 0 0 1 2.5 4.5 1.5 1.5 0 0 1 4 3z"
            }
            Self::Pin => {
                "M10 2.5a5.5 5.5 0 0 1 5.5 5.5c0 4-5.5 9.5-5.5 9.5S4.5 12 4.5 8A5.5 5.5 0 0 1 10 2.5zM10 6.2a1.9 1.9 0 1 1 0 3.8 1.9 1.9 0 0 1 0-3.8z"
            }
            Self::Plus => "M10 4v12M4 10h12",
            Self::Print => {
                "M6 7.5V3h8v4.5M6 14H4a1.5 1.5 0 0 1-1.5-1.5V9A1.5 1.5 0 0 1 4 7.5h12A1.5 1.5 0 0 1 17.5 9v3.5A1.5 1.5 0 0 1 16 14h-2M6 11.5h8v5.5H6z"
            }
            Self::Search => "M8.8 3a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6zM13.2 13.2l4 4",
            Self::Send => "M17.5 2.5 2.5 8.5l6 3 3 6zM17.5 2.5l-9 9",
            Self::Server => {
                "M4 3.5h12A1.5 1.5 0 0 1 17.5 5v3A1.5 1.5 0 0 1 16 9.5H4A1.5 1.5 0 0 1 2.5 8V5A1.5 1.5 0 0 1 4 3.5zM4 10.5h12a1.5 1.5 0 0 1 1.5 1.5v3a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 15v-3A1.5 1.5 0 0 1 4 10.5zM6 6.5v.1M6 13.5v.1"
            }
            Self::Sidebar => {
                "M4 3.5h12A1.5 1.5 0 0 1 17.5 5v10a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 15V5A1.5 1.5 0 0 1 4 3.5zM7.5 3.5v13"
            }
            Self::SignOut => "M8 3.5H4.5A1.5 1.5 0 0 0 3 5v10a1.5 1.5 0 0 0 1.5 1.5H8M13 6.5l3.5 3.5-3.5 3.5M16.5 10H8",
            Self::Site => {
                "M4 17.5V4a1.5 1.5 0 0 1 1.5-1.5h6A1.5 1.5 0 0 1 13 4v13.5M13 8h2a1.5 1.5 0 0 1 1.5 1.5v8M2.5 17.5h15M7 6.5h3M7 10h3M7 13.5h3"
            }
            Self::Trash => {
                "M3.5 5.5h13M8 5.5V3h4v2.5M5 5.5l.8 11A1.5 1.5 0 0 0 7.3 18h5.4a1.5 1.5 0 0 0 1.5-1.5l.8-11M8.5 9v5.5M11.5 9v5.5"
            }
            Self::Undo => "M7 4 3 8l4 4M3 8h8.5a4.5 4.5 0 0 1 0 9H8",
            Self::Upload => "M10 12.5v-9M6 7l4-4 4 4M3.5 14.5v2h13v-2",
        }
    }
}
