//! The names that most bots need: `use opora::prelude::*;`.

pub use crate::bot::Bot;
pub use serde::{Deserialize, Serialize};

pub use crate::States;
pub use crate::dialogue::{At, Dialogue, Next, OnError, Script, States, Step};
pub use crate::input::{
    Alarm, Album, Command, Contact, Document, Failure, Image, Input, Item, Location, Media, Outcome, Photo, Press,
    Returned, Timer, alarm, album, any, any_button, any_command, button, command, contact, document, exactly, image,
    location, media, other, outcome, photo, returned, text, timer,
};
pub use crate::store::{BoxError, Refusal};
pub use crate::telegram::{Button, Edit, FileRef, Keyboard, Say};
pub use crate::turn::Turn;
