//! A person on a stage: what they do and what they see.

use serde_json::{Value, json};

use super::{BOT, Stage};
use crate::key::DialogueKey;

/// Somebody in a private chat with the bot.
#[derive(Clone, Debug)]
pub struct Someone {
    stage: Stage,
    id: i64,
    name: String,
    language: String,
}

/// What a person does. Each deed is over when its turn has committed.
impl Someone {
    /// Sends a text or a command.
    pub async fn sends(&self, text: &str) {
        self.message(text, json!({"text": text})).await;
    }

    /// Sends a photo; answers its file id.
    pub async fn sends_photo(&self) -> String {
        let (file_id, content) = self.photo();
        self.message("(photo)", content).await;
        file_id
    }

    /// Sends a file of this name and type; answers its file id.
    pub async fn sends_document(&self, name: &str, mime_type: &str) -> String {
        let file_id = self.file_id("document");
        let unique = format!("u-{file_id}");
        let document = json!({"file_id": file_id, "file_unique_id": unique, "file_name": name, "mime_type": mime_type, "file_size": 2000});
        self.message("(document)", json!({"document": document})).await;
        file_id
    }

    /// Shares the own phone number.
    pub async fn sends_contact(&self, phone: &str) {
        let contact = json!({"phone_number": phone, "first_name": self.name, "user_id": self.id});
        self.message("(own contact)", json!({"contact": contact})).await;
    }

    /// Sends somebody else's contact.
    pub async fn sends_contact_of(&self, name: &str, phone: &str) {
        self.message("(contact)", json!({"contact": {"phone_number": phone, "first_name": name}})).await;
    }

    /// Sends a position.
    pub async fn sends_location(&self, latitude: f64, longitude: f64) {
        self.message("(location)", json!({"location": {"latitude": latitude, "longitude": longitude}})).await;
    }

    /// Sends several photos as one album; answers their file ids.
    pub async fn sends_album(&self, group: &str, photos: usize) -> Vec<String> {
        let mut ids = Vec::new();
        let mut updates = Vec::new();
        for _ in 0..photos {
            let (file_id, mut content) = self.photo();
            content["media_group_id"] = group.into();
            updates.push(self.message_update("(photo of an album)", content));
            ids.push(file_id);
        }
        self.stage.album(&self.key(), updates).await;
        ids
    }

    /// Sends a message of any content, such as `{"dice": …}`.
    pub async fn sends_message(&self, content: Value) {
        self.message("(message)", content).await;
    }

    /// Presses the button of this caption: the last one that can be seen, also under an old message.
    ///
    /// # Panics
    /// If there is no such button.
    pub async fn presses(&self, caption: &str) {
        self.presses_nth(caption, 0).await;
    }

    /// Presses a button of this caption under an older message: `older` is how many later ones to skip.
    ///
    /// # Panics
    /// If there is no such button.
    pub async fn presses_nth(&self, caption: &str, older: usize) {
        let found = self.look(|room| {
            let lines = room.lines.iter().rev();
            let mut buttons = lines.flat_map(|line| line.buttons.iter().map(move |button| (line.message_id, button)));
            let found = buttons.by_ref().filter(|(_, (text, _))| text == caption).nth(older);
            found.map(|(message, (_, data))| (message, data.clone()))
        });
        let (message, data) = found.unwrap_or_else(|| self.disappointed(&format!("no button [{caption}]")));
        self.press(message, &data, caption).await;
    }

    /// Presses a button with this data, as another program's keyboard would send it.
    pub async fn presses_data(&self, data: &str) {
        self.press(1, data, data).await;
    }

    async fn press(&self, message: i64, data: &str, caption: &str) {
        let update_id = {
            let mut rooms = self.stage.0.rooms.lock();
            rooms.does(self.id, format!("(presses [{caption}])"));
            rooms.pressing = Some(self.id);
            rooms.update_id()
        };
        let message = json!({"message_id": message, "date": 1, "chat": self.chat()});
        let query = json!({"id": format!("q{update_id}"), "from": self.from(), "chat_instance": "1", "data": data, "message": message});
        self.stage.update(&self.key(), json!({"update_id": update_id, "callback_query": query})).await;
    }

    async fn message(&self, words: &str, content: Value) {
        let update = self.message_update(words, content);
        self.stage.update(&self.key(), update).await;
    }
}

/// What a person sees.
impl Someone {
    /// The bot has answered the last deed with a message that holds this text.
    ///
    /// # Panics
    /// If it has not; with the whole chat.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        if !self.look(|room| room.fresh().any(|line| line.text.contains(text))) {
            self.disappointed(&format!("no message with {text:?}"))
        }
    }

    /// The bot has answered the last deed with a message that has a button or a key of this caption.
    ///
    /// # Panics
    /// If it has not; with the whole chat.
    #[track_caller]
    pub fn sees_button(&self, caption: &str) {
        let has = |line: &super::room::Line| {
            line.buttons.iter().map(|(text, _)| text).chain(&line.keys).any(|text| text == caption)
        };
        if !self.look(|room| room.fresh().any(has)) {
            self.disappointed(&format!("no button [{caption}]"))
        }
    }

    /// A text that holds this flashed up when the button was pressed.
    ///
    /// # Panics
    /// If none did; with the whole chat.
    #[track_caller]
    pub fn sees_toast(&self, text: &str) {
        if !self.look(|room| room.toasts.iter().any(|toast| toast.contains(text))) {
            self.disappointed(&format!("no flash with {text:?}"))
        }
    }

    /// The bot has said nothing to the last deed; an answered button may have flashed.
    ///
    /// # Panics
    /// If it has said something; with the whole chat.
    #[track_caller]
    pub fn sees_nothing(&self) {
        if self.look(|room| room.fresh().next().is_some()) {
            self.disappointed("an answer where none was expected")
        }
    }

    /// The texts that the bot has answered the last deed with.
    #[must_use]
    pub fn answers(&self) -> Vec<String> {
        self.look(|room| room.fresh().map(|line| line.text.clone()).collect())
    }

    /// Where the conversation stands, as `dialogue:state`; none if nothing is open.
    pub async fn state(&self) -> Option<String> {
        self.stage.state(&self.key()).await
    }

    /// The whole chat in words.
    #[must_use]
    pub fn transcript(&self) -> String {
        self.look(|room| room.transcript())
    }

    fn look<T>(&self, look: impl FnOnce(&super::room::Room) -> T) -> T {
        look(self.stage.0.rooms.lock().room(self.id))
    }

    #[track_caller]
    fn disappointed(&self, what: &str) -> ! {
        panic!("{} sees {what}. The chat:{}", self.name, self.transcript())
    }
}

/// Who a person is.
impl Someone {
    pub(super) fn new(stage: Stage, id: i64, name: &str) -> Self {
        Self { stage, id, name: name.to_owned(), language: "en".to_owned() }
    }

    /// The first person of a stage, for tests that prepare a store before anybody acts.
    #[cfg(test)]
    pub(crate) fn first(stage: &Stage) -> Self {
        Self::new(stage.clone(), 1001, "Anna")
    }

    /// The same person with an app in this language.
    #[must_use]
    pub fn speaking(mut self, language: &str) -> Self {
        language.clone_into(&mut self.language);
        self
    }

    /// The same person after a restart of the bot.
    #[must_use]
    pub fn on(&self, stage: &Stage) -> Self {
        Self { stage: stage.clone(), ..self.clone() }
    }

    /// The key of this person's conversation.
    #[must_use]
    pub fn key(&self) -> DialogueKey {
        DialogueKey::private(BOT, self.id)
    }

    fn from(&self) -> Value {
        json!({"id": self.id, "is_bot": false, "first_name": self.name, "language_code": self.language})
    }

    fn chat(&self) -> Value {
        json!({"id": self.id, "type": "private", "first_name": self.name})
    }

    fn file_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.stage.0.rooms.lock().message_id())
    }

    fn photo(&self) -> (String, Value) {
        let file_id = self.file_id("photo");
        let size = |id: &str, side: u32| json!({"file_id": id, "file_unique_id": format!("u-{id}"), "width": side, "height": side, "file_size": side * 10});
        let sizes = [size(&format!("{file_id}-small"), 90), size(&file_id, 1280)];
        (file_id, json!({"photo": sizes}))
    }

    fn message_update(&self, words: &str, content: Value) -> Value {
        let mut rooms = self.stage.0.rooms.lock();
        let message_id = rooms.does(self.id, words.to_owned());
        let mut message = json!({"message_id": message_id, "date": 1, "chat": self.chat(), "from": self.from()});
        if let (Some(message), Value::Object(content)) = (message.as_object_mut(), content) {
            message.extend(content);
        }
        json!({"update_id": rooms.update_id(), "message": message})
    }
}
