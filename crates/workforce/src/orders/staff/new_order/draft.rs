//! The draft of an order: what the dispatcher has entered so far.

use chrono_tz::Tz;
use opora::clock::Millis;
use opora::prelude::*;

use super::CreateOrderStates;
use crate::attachments::{self, MAX_FILE_BYTES};
use crate::orders::{AboutOrder, FieldMistake, FileKind, FileStage, MAX_FILES, NewFile, fields};
use crate::sites::{Period, Position};
use crate::texts::Language;
use crate::{key, text};

/// What is known of an order. Texts have the names that an aiogram bot gives them, so its drafts load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderDraft {
    pub equipment_type: Option<String>,
    pub description: Option<String>,
    pub client_name: Option<String>,
    pub client_address: Option<String>,
    pub client_phone: Option<String>,
    pub notes: Option<String>,
    /// A time in the words of an imported draft. It becomes a note if no window is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_time: Option<String>,
    pub window: Option<Period>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DraftFile>,
    /// Whether the summary was shown. Then an answer leads back to it.
    pub is_complete: bool,
}

/// A photo, a video, a file or a voice message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftFile {
    pub kind: FileKind,
    pub telegram_file: String,
    pub unique_id: String,
    pub size: Option<u64>,
}

/// A question of the dialogue, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    EquipmentType,
    Description,
    ClientName,
    ClientAddress,
    ClientPhone,
    Notes,
    ScheduledTime,
}

impl Field {
    pub const ALL: [Self; 7] = [
        Self::EquipmentType,
        Self::Description,
        Self::ClientName,
        Self::ClientAddress,
        Self::ClientPhone,
        Self::Notes,
        Self::ScheduledTime,
    ];

    /// The name of its state, also in buttons.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EquipmentType => "equipment_type",
            Self::Description => "description",
            Self::ClientName => "client_name",
            Self::ClientAddress => "client_address",
            Self::ClientPhone => "client_phone",
            Self::Notes => "notes",
            Self::ScheduledTime => "scheduled_time",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    pub fn question(self, language: Language) -> String {
        language.text(match self {
            Self::EquipmentType => key!("orders-ask-equipment"),
            Self::Description => key!("orders-ask-description"),
            Self::ClientName => key!("orders-ask-name"),
            Self::ClientAddress => key!("orders-ask-address"),
            Self::ClientPhone => key!("orders-ask-phone"),
            Self::Notes => key!("orders-ask-notes"),
            Self::ScheduledTime => key!("orders-ask-time"),
        })
    }

    /// What people call it.
    pub fn caption(self, language: Language) -> String {
        language.text(match self {
            Self::EquipmentType => key!("orders-equipment-button"),
            Self::Description => key!("orders-description-button"),
            Self::ClientName => key!("orders-name-button"),
            Self::ClientAddress => key!("orders-address-button"),
            Self::ClientPhone => key!("orders-phone-button"),
            Self::Notes => key!("orders-notes-button"),
            Self::ScheduledTime => key!("orders-time-button"),
        })
    }

    pub const fn is_optional(self) -> bool {
        matches!(self, Self::Notes | Self::ScheduledTime)
    }

    pub fn before(self) -> Option<Self> {
        Self::ALL.into_iter().rfind(|field| *field < self)
    }

    /// The state that asks for it.
    pub fn state(self, draft: OrderDraft) -> CreateOrderStates {
        match self {
            Self::EquipmentType => CreateOrderStates::EquipmentType(draft),
            Self::Description => CreateOrderStates::Description(draft),
            Self::ClientName => CreateOrderStates::ClientName(draft),
            Self::ClientAddress => CreateOrderStates::ClientAddress(draft),
            Self::ClientPhone => CreateOrderStates::ClientPhone(draft),
            Self::Notes => CreateOrderStates::Notes(draft),
            Self::ScheduledTime => CreateOrderStates::ScheduledTime(draft),
        }
    }
}

impl OrderDraft {
    /// Takes a typed answer to any question but the one for the time.
    pub fn set(&mut self, field: Field, typed: &str) -> Result<(), FieldMistake> {
        match field {
            Field::EquipmentType => self.equipment_type = Some(fields::equipment_type(typed)?),
            Field::Description => self.description = Some(fields::description(typed)?),
            Field::ClientName => self.client_name = Some(fields::client_name(typed)?),
            Field::ClientAddress => self.client_address = Some(fields::address(typed)?),
            Field::ClientPhone => self.client_phone = Some(fields::phone(typed)?),
            Field::Notes => self.notes = fields::notes(typed)?,
            Field::ScheduledTime => {}
        }
        Ok(())
    }

    pub fn set_window(&mut self, window: Option<Period>) {
        self.window = window;
        self.scheduled_time = None;
    }

    /// The answer to a question, as people read it.
    pub fn answer(&self, field: Field, zone: Tz, language: Language) -> Option<String> {
        match field {
            Field::EquipmentType => self.equipment_type.clone(),
            Field::Description => self.description.clone(),
            Field::ClientName => self.client_name.clone(),
            Field::ClientAddress => self.client_address.clone(),
            Field::ClientPhone => self.client_phone.clone(),
            Field::Notes => self.notes.clone(),
            Field::ScheduledTime => {
                let window = self.window.map(|window| window.local(zone).shown(language));
                window.or_else(|| self.scheduled_time.clone())
            }
        }
    }

    fn has(&self, field: Field) -> bool {
        self.answer(field, Tz::UTC, Language::En).is_some()
    }

    /// The state after an answer: the next question without an answer, or the summary.
    pub fn after(mut self, answered: Field) -> CreateOrderStates {
        let is_open = |field: &Field| !self.has(*field) && (!field.is_optional() || *field > answered);
        let open = Field::ALL.into_iter().find(is_open).filter(|_| !self.is_complete);
        match open {
            Some(field) => field.state(self),
            None => {
                self.is_complete = true;
                CreateOrderStates::Confirm(self)
            }
        }
    }

    /// The order that the draft describes. Missing texts are empty, which the rules of the fields refuse.
    pub fn about(&self, language: Language) -> AboutOrder {
        let words = self.scheduled_time.as_deref().filter(|_| self.window.is_none());
        let words = words.map(|time| text!(language, "orders-time-note", time = time));
        let notes: Vec<String> = self.notes.clone().into_iter().chain(words).collect();
        AboutOrder {
            equipment_type: self.equipment_type.clone().unwrap_or_default(),
            description: self.description.clone().unwrap_or_default(),
            client_name: self.client_name.clone().unwrap_or_default(),
            phone: self.client_phone.clone().unwrap_or_default(),
            address: self.client_address.clone().unwrap_or_default(),
            position: self.position,
            notes: (!notes.is_empty()).then(|| notes.join("\n")),
            window: self.window,
        }
    }

    /// Adds files as far as the order may have more. Returns false if not all of them fit.
    pub fn add_files(&mut self, sent: Vec<DraftFile>) -> bool {
        for file in sent {
            if self.files.iter().any(|one| one.unique_id == file.unique_id) {
                continue;
            }
            if self.files.len() as u64 >= MAX_FILES {
                return false;
            }
            self.files.push(file);
        }
        true
    }
}

/// Files for the commit of this turn; requests those that Telegram gives to bots.
pub fn request_files(turn: &mut Turn, stage: FileStage, files: Vec<DraftFile>, at: Millis) -> Vec<NewFile> {
    let new = |turn: &mut Turn, file: DraftFile| NewFile {
        stage,
        kind: file.kind,
        is_too_large: attachments::download(turn, &file.telegram_file, file.size),
        telegram_file: file.telegram_file,
        unique_id: file.unique_id,
        asked_at: Some(at),
    };
    files.into_iter().map(|file| new(turn, file)).collect()
}

/// Whether Telegram gives the file to bots.
pub fn is_too_large(file: &DraftFile) -> bool {
    file.size.is_some_and(|size| size > MAX_FILE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_name_of_its_state() {
        for field in Field::ALL {
            assert_eq!(States::name(&field.state(OrderDraft::default())), field.name());
            assert_eq!(Field::of_name(field.name()), Some(field));
        }
    }

    #[test]
    fn the_next_question_is_the_first_open_one() {
        let mut draft = OrderDraft { equipment_type: Some("Oven".into()), ..OrderDraft::default() };
        assert!(matches!(draft.clone().after(Field::ClientPhone), CreateOrderStates::Description(_)));
        for (field, typed) in [
            (Field::Description, "It does not get warm"),
            (Field::ClientName, "Anna Petrova"),
            (Field::ClientAddress, "Lenin street 5"),
            (Field::ClientPhone, "89991234567"),
        ] {
            draft.set(field, typed).unwrap();
        }
        assert!(matches!(draft.clone().after(Field::ClientPhone), CreateOrderStates::Notes(_)));
        assert!(matches!(draft.clone().after(Field::Notes), CreateOrderStates::ScheduledTime(_)));
        let CreateOrderStates::Confirm(draft) = draft.after(Field::ScheduledTime) else { panic!() };
        assert!(matches!(draft.after(Field::Description), CreateOrderStates::Confirm(_)), "edited");
    }

    #[test]
    fn an_imported_time_in_words_becomes_a_note() {
        let draft: OrderDraft =
            serde_json::from_str(r#"{"notes": null, "scheduled_time": "завтра", "extra": 1}"#).unwrap();
        assert_eq!(draft.about(Language::Ru).notes.as_deref(), Some("Время: завтра"));
        let window = Period { from: Millis(1), to: Millis(2) };
        let mut chosen = draft;
        chosen.set_window(Some(window));
        assert_eq!(chosen.about(Language::Ru).notes, None);
    }

    #[test]
    fn files_beyond_the_limit_and_repeated_ones_are_left_out() {
        let file = |id: u64| DraftFile {
            kind: FileKind::Photo,
            telegram_file: id.to_string(),
            unique_id: id.to_string(),
            size: None,
        };
        let mut draft = OrderDraft::default();
        assert!(draft.add_files(vec![file(1), file(1)]));
        assert_eq!(draft.files.len(), 1);
        assert!(!draft.add_files((0..50).map(file).collect()));
        assert_eq!(draft.files.len() as u64, MAX_FILES);
    }
}
