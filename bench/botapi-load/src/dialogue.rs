//! The registration dialogue: its steps, the values that a user gives, and how a bot's replies are recognised.
//!
//! The contract with bots is in `../README.md`. Values differ for every user: a mixed-up state shows as a wrong answer.

/// The reply that a user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Language,
    Name,
    Phone,
    Passport,
    Selfie,
    Done,
}

impl Step {
    pub const COUNT: usize = 6;

    /// The step of a reply, by its text.
    pub fn of_reply(text: &str) -> Option<Self> {
        let words = [
            ("selfie", Self::Selfie),
            ("passport", Self::Passport),
            ("phone", Self::Phone),
            ("name", Self::Name),
            ("language", Self::Language),
        ];
        if text.starts_with("done ") {
            return Some(Self::Done);
        }
        words.into_iter().find(|(word, _)| text.contains(word)).map(|(_, step)| step)
    }

    /// The step after this one; the last one stays.
    pub fn next(self) -> Self {
        match self {
            Self::Language => Self::Name,
            Self::Name => Self::Phone,
            Self::Phone => Self::Passport,
            Self::Passport => Self::Selfie,
            Self::Selfie | Self::Done => Self::Done,
        }
    }

    /// Whether the user's message of this step may be sent twice: the press, the name and the phone.
    pub fn can_be_double_tapped(self) -> bool {
        matches!(self, Self::Name | Self::Phone | Self::Passport)
    }
}

/// A set of steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepSet(u8);

impl StepSet {
    pub fn contains(self, step: Step) -> bool {
        self.0 & (1 << step as u8) != 0
    }

    pub fn insert(&mut self, step: Step) {
        self.0 |= 1 << step as u8;
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Which message of a double tap a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    First,
    Second,
}

/// Which of the two photos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Photo {
    Passport,
    Selfie,
}

/// The sizes of a photo as Telegram names them, and their width in pixels.
pub const PHOTO_SIZES: [(char, u32); 3] = [('s', 90), ('m', 320), (LARGEST, 1280)];
const LARGEST: char = 'L';

pub fn name_of(user: usize, tap: Tap) -> String {
    let tap = if tap == Tap::Second { "b" } else { "a" };
    format!("N{user}{tap}")
}

pub fn phone_of(user: usize, tap: Tap) -> String {
    let number = (user * 2 + usize::from(tap == Tap::Second)) % 10_000_000;
    format!("+7999{number:07}")
}

pub fn file_id(user: usize, photo: Photo, size: char) -> String {
    let letter = if photo == Photo::Selfie { "S" } else { "P" };
    format!("AgAC{letter}-{user}-{size}")
}

/// The final answer for a user whose bot took these taps of the name and the phone.
pub fn final_answer(user: usize, name: Tap, phone: Tap) -> String {
    let passport = file_id(user, Photo::Passport, LARGEST);
    let selfie = file_id(user, Photo::Selfie, LARGEST);
    format!("done {} {} {passport} {selfie}", name_of(user, name), phone_of(user, phone))
}

/// Whether a final answer is correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Right,
    /// Right, with the second value of a double tap.
    SecondWon,
    Wrong,
}

/// Checks a final answer. `doubled` are the steps that the user has double-tapped.
pub fn judge(text: &str, user: usize, doubled: StepSet) -> Answer {
    if text == final_answer(user, Tap::First, Tap::First) {
        return Answer::Right;
    }
    // The reply to a name asks for the phone, and the reply to a phone for the passport.
    let taps_of = |step| if doubled.contains(step) { &[Tap::First, Tap::Second][..] } else { &[Tap::First][..] };
    let is_allowed = taps_of(Step::Phone)
        .iter()
        .any(|name| taps_of(Step::Passport).iter().any(|phone| text == final_answer(user, *name, *phone)));
    if is_allowed { Answer::SecondWon } else { Answer::Wrong }
}
