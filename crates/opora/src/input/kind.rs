//! Kinds of input, by which handlers are registered.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{
    Alarm, Album, Command, Contact, Document, Image, Input, Location, Media, Other, Outcome, Photo, Press, Returned,
    Timer,
};

/// A kind of input. Its handlers get a `T`.
#[must_use]
pub struct Kind<T> {
    pub(crate) pattern: InputPattern,
    /// Whether only some inputs of the pattern are taken. Such a kind shadows no other.
    pub(crate) partial: bool,
    read: ReadInput<T>,
}

type ReadInput<T> = Arc<dyn Fn(&Input) -> Option<T> + Send + Sync>;

/// Which inputs a kind takes, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputPattern {
    Text,
    Exactly(Cow<'static, str>),
    AnyCommand,
    Command(Cow<'static, str>),
    /// A button whose data has this prefix.
    Button(Cow<'static, str>),
    Photo,
    Document,
    /// A photo, or a file whose MIME type is an image.
    Image,
    /// A video, an audio, a voice message, a sticker and the like.
    Media,
    Contact,
    Location,
    Album,
    /// The outcome of this kind of effect.
    Outcome(Cow<'static, str>),
    /// The timer of this name.
    Timer(Cow<'static, str>),
    /// An alarm whose name has this prefix.
    Alarm(Cow<'static, str>),
    /// The end of a child dialogue.
    Returned,
    /// Another kind of update or message, by Telegram's name.
    Other(Cow<'static, str>),
    /// Anything that a person does.
    Any,
}

/// Reads one variant of `Input`.
macro_rules! only {
    ($kind:ident) => {
        |input| match input {
            $crate::input::Input::$kind(value) => Some(value.clone()),
            _ => None,
        }
    };
}
pub(crate) use only;

/// Kinds that take every input of one variant.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident: $pattern:ident of $variant:ident($value:ty);)*) => {
        $($(#[$about])* pub fn $name() -> Kind<$value> {
            Kind::new(InputPattern::$pattern, only!($variant))
        })*
    };
}

kinds! {
    /// Any text that is no command.
    text: Text of Text(String);
    /// Any command, known or not.
    any_command: AnyCommand of Command(Command);
    /// A photo.
    photo: Photo of Photo(Photo);
    /// A file.
    document: Document of Document(Document);
    /// A video, an audio, a voice message, a video message, an animation or a sticker.
    media: Media of Media(Media);
    /// A contact.
    contact: Contact of Contact(Contact);
    /// A position or a venue.
    location: Location of Location(Location);
    /// An album.
    album: Album of Album(Album);
    /// The end of a child dialogue.
    returned: Returned of Returned(Returned);
}

/// Exactly this text, such as that of a key of a reply keyboard.
pub fn exactly(text: impl Into<Cow<'static, str>>) -> Kind<String> {
    Kind::new(InputPattern::Exactly(text.into()), only!(Text))
}

/// The command of this name, without the slash.
pub fn command(name: impl Into<Cow<'static, str>>) -> Kind<Command> {
    let name = name.into();
    let name = name.strip_prefix('/').map(|bare| Cow::Owned(bare.to_owned())).unwrap_or(name);
    Kind::new(InputPattern::Command(name), only!(Command))
}

/// A button whose data has this prefix. [`Press::rest`] is what follows.
pub fn button(prefix: impl Into<Cow<'static, str>>) -> Kind<Press> {
    let prefix = prefix.into();
    let length = prefix.len();
    Kind::new(InputPattern::Button(prefix), move |input| match input {
        Input::Press(press) => Some(Press { rest: press.data.get(length..)?.to_owned(), ..press.clone() }),
        _ => None,
    })
}

/// Any button.
pub fn any_button() -> Kind<Press> {
    button("")
}

/// A photo, or a file whose MIME type is an image.
pub fn image() -> Kind<Image> {
    Kind::new(InputPattern::Image, |input| match input {
        Input::Photo(photo) => Some(Image::Photo(photo.clone())),
        Input::Document(document) => Some(Image::Document(document.clone())),
        _ => None,
    })
}

/// The outcome of an effect that was asked for with [`Turn::effect`](crate::turn::Turn::effect).
pub fn outcome(kind: impl Into<Cow<'static, str>>) -> Kind<Outcome> {
    Kind::new(InputPattern::Outcome(kind.into()), only!(Outcome))
}

/// The timer of this name, set with [`Turn::timer`](crate::turn::Turn::timer).
pub fn timer(name: impl Into<Cow<'static, str>>) -> Kind<Timer> {
    Kind::new(InputPattern::Timer(name.into()), only!(Timer))
}

/// An alarm whose name has this prefix, set with [`Turn::alarm`](crate::turn::Turn::alarm). [`Alarm::rest`] is what
/// follows.
pub fn alarm(prefix: impl Into<Cow<'static, str>>) -> Kind<Alarm> {
    let prefix = prefix.into();
    let length = prefix.len();
    Kind::new(InputPattern::Alarm(prefix), move |input| match input {
        Input::Alarm(alarm) => Some(Alarm { rest: alarm.name.get(length..)?.to_owned(), ..alarm.clone() }),
        _ => None,
    })
}

/// Another kind of update or message, by Telegram's name, such as `edited_message` or `web_app_data`.
pub fn other(kind: impl Into<Cow<'static, str>>) -> Kind<Other> {
    Kind::new(InputPattern::Other(kind.into()), only!(Other))
}

/// Anything that a person does; not timers, outcomes and other kinds of updates. Narrower kinds, such as commands of
/// entries, take precedence.
pub fn any() -> Kind<Input> {
    Kind::new(InputPattern::Any, |input| Some(input.clone()))
}

impl<T: 'static> Kind<T> {
    fn new(pattern: InputPattern, read: impl Fn(&Input) -> Option<T> + Send + Sync + 'static) -> Self {
        Self { pattern, partial: false, read: Arc::new(read) }
    }

    /// Takes only inputs for which `map` returns a value, and passes that value to the handler. Other inputs go to
    /// later handlers.
    pub fn filter_map<U: 'static>(self, map: impl Fn(T) -> Option<U> + Send + Sync + 'static) -> Kind<U> {
        let read = self.read;
        Kind { pattern: self.pattern, partial: true, read: Arc::new(move |input| read(input).and_then(&map)) }
    }

    /// Takes only inputs that meet a condition.
    pub fn filter(self, condition: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.filter_map(move |value| condition(&value).then_some(value))
    }

    /// The value that a handler gets. None if the input is not of this kind.
    pub(crate) fn read(&self, input: &Input) -> Option<T> {
        self.pattern.matches(input).then(|| (self.read)(input)).flatten()
    }

    pub(crate) fn matches(&self, input: &Input) -> bool {
        self.pattern.matches(input) && (!self.partial || (self.read)(input).is_some())
    }
}

impl Kind<String> {
    /// Takes only texts that can be parsed, and passes the parsed value. Spaces around the text are ignored.
    pub fn parse<U: FromStr + 'static>(self) -> Kind<U> {
        self.filter_map(|text| text.trim().parse().ok())
    }
}

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Self {
        Self { pattern: self.pattern.clone(), partial: self.partial, read: Arc::clone(&self.read) }
    }
}

impl<T> fmt::Debug for Kind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.pattern).finish()
    }
}

impl InputPattern {
    /// Whether an input matches.
    pub fn matches(&self, input: &Input) -> bool {
        match (self, input) {
            (Self::Text, Input::Text(_))
            | (Self::AnyCommand, Input::Command(_))
            | (Self::Photo | Self::Image, Input::Photo(_))
            | (Self::Document, Input::Document(_))
            | (Self::Media, Input::Media(_))
            | (Self::Contact, Input::Contact(_))
            | (Self::Location, Input::Location(_))
            | (Self::Album, Input::Album(_))
            | (Self::Returned, Input::Returned(_)) => true,
            (Self::Exactly(wanted), Input::Text(text)) => text.trim() == wanted.as_ref(),
            (Self::Command(name), Input::Command(command)) => command.name.eq_ignore_ascii_case(name),
            (Self::Button(prefix), Input::Press(press)) => press.data.starts_with(prefix.as_ref()),
            (Self::Image, Input::Document(document)) => {
                document.mime_type.as_deref().is_some_and(|mime| mime.starts_with("image/"))
            }
            (Self::Outcome(kind), Input::Outcome(outcome)) => *kind == *outcome.kind,
            (Self::Timer(name), Input::Timer(timer)) => *name == *timer.name,
            (Self::Alarm(prefix), Input::Alarm(alarm)) => alarm.name.starts_with(prefix.as_ref()),
            (Self::Other(kind), Input::Other(other)) => *kind == *other.kind,
            (Self::Any, input) => input.is_by_person(),
            _ => false,
        }
    }

    /// Whether every input that matches `other` matches this pattern too.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text, Self::Exactly(_)) | (Self::AnyCommand, Self::Command(_)) | (Self::Image, Self::Photo) => true,
            (Self::Button(prefix), Self::Button(longer)) | (Self::Alarm(prefix), Self::Alarm(longer)) => {
                longer.starts_with(prefix.as_ref())
            }
            (Self::Command(name), Self::Command(same)) => name.eq_ignore_ascii_case(same),
            (Self::Any, Self::Outcome(_) | Self::Timer(_) | Self::Alarm(_) | Self::Returned | Self::Other(_)) => false,
            (Self::Any, _) => true,
            (one, other) => one == other,
        }
    }

    /// Whether a person can do this at any time, so that it can be a way out of a state.
    pub fn is_by_person(&self) -> bool {
        !matches!(self, Self::Outcome(_) | Self::Timer(_) | Self::Alarm(_) | Self::Returned | Self::Other(_))
    }
}

/// As in the code that registers a handler.
impl fmt::Display for InputPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text()"),
            Self::Exactly(text) => write!(f, "exactly({text:?})"),
            Self::AnyCommand => f.write_str("any_command()"),
            Self::Command(name) => write!(f, "command({name:?})"),
            Self::Button(prefix) if prefix.is_empty() => f.write_str("any_button()"),
            Self::Button(prefix) => write!(f, "button({prefix:?})"),
            Self::Photo => f.write_str("photo()"),
            Self::Document => f.write_str("document()"),
            Self::Image => f.write_str("image()"),
            Self::Media => f.write_str("media()"),
            Self::Contact => f.write_str("contact()"),
            Self::Location => f.write_str("location()"),
            Self::Album => f.write_str("album()"),
            Self::Outcome(kind) => write!(f, "outcome({kind:?})"),
            Self::Timer(name) => write!(f, "timer({name:?})"),
            Self::Alarm(prefix) => write!(f, "alarm({prefix:?})"),
            Self::Returned => f.write_str("returned()"),
            Self::Other(kind) => write!(f, "other({kind:?})"),
            Self::Any => f.write_str("any()"),
        }
    }
}
