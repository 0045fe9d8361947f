//! Components of the pages, each written once: pure functions that return markup.
//!
//! A component knows its look and its accessibility, never a room's records. Styles are in `assets/components.css`. All
//! of them work without a script; `assets/ui.js` adds comfort. `/design` in the demo shows every one.

pub use self::badge::{Tone, badge, count_badge};
pub use self::button::{Button, Look};
pub use self::card::{Card, card, figure, headline, page_title, tile};
pub use self::chart::{Bar, Chart};
pub use self::dialog::Dialog;
pub use self::empty::{ChecklistStep, Empty, checklist};
pub use self::field::Field;
pub use self::icon::Icon;
pub use self::panel::side_panel;
pub use self::table::{Column, table};
pub use self::tabs::{Tab, tabs};
pub use self::time_bar::{TimeBar, TimeSegment};
pub use self::toast::{PageRedirect, Toast};
pub use self::waiting::skeleton;

mod badge;
mod button;
mod card;
mod chart;
mod dialog;
mod empty;
mod field;
mod icon;
mod panel;
mod table;
mod tabs;
mod time_bar;
mod toast;
mod waiting;
