//! A person on a stage: actions and checks.

use serde_json::{Value, json};

use super::{BOT, Stage};
use crate::key::ConversationKey;

/// A person in a private chat with the bot.
#[derive(Clone, Debug)]
pub struct ChatUser {
    stage: Stage,
    id: i64,
    name: String,
    language: String,
}

/// Actions. Each returns when its turn has committed.
impl ChatUser {
    /// Sends a text or a command.
    pub async fn sends(&self, text: &str) {
        self.message(text, json!({"text": text})).await;
    }

    /// Sends a photo. Returns its file id.
    pub async fn sends_photo(&self) -> String {
        let (file_id, content) = self.photo();
        self.message("(photo)", content).await;
        file_id
    }

    /// Sends a file with this name and type. Returns its file id.
    pub async fn sends_document(&self, name: &str, mime_type: &str) -> String {
        let file_id = self.file_id("document");
        let unique = format!("u-{file_id}");
        let document = json!({"file_id": file_id, "file_unique_id": unique, "file_name": name, "mime_type": mime_type, "file_size": 2000});
        self.message("(document)", json!({"document": document})).await;
        file_id
    }

    /// Shares the person's own phone number.
    pub async fn sends_contact(&self, phone: &str) {
        let contact = json!({"phone_number": phone, "first_name": self.name, "user_id": self.id});
        self.message("(own contact)", json!({"contact": contact})).await;
    }

    /// Sends another person's contact.
    pub async fn sends_contact_of(&self, name: &str, phone: &str) {
        self.message("(contact)", json!({"contact": {"phone_number": phone, "first_name": name}})).await;
    }

    /// Sends a position.
    pub async fn sends_location(&self, latitude: f64, longitude: f64) {
        self.message("(location)", json!({"location": {"latitude": latitude, "longitude": longitude}})).await;
    }

    /// Sends several photos as one album. Returns their file ids.
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

    /// Presses the latest button with this caption, also under an old message.
    ///
    /// # Panics
    /// If there is no such button.
    pub async fn presses(&self, caption: &str) {
        self.presses_older(caption, 0).await;
    }

    /// Presses a button with this caption under an older message; `older` is how many later ones to skip.
    ///
    /// # Panics
    /// If there is no such button.
    pub async fn presses_older(&self, caption: &str, older: usize) {
        let found = self.with_view(|view| {
            let lines = view.lines.iter().rev();
            let mut buttons = lines.flat_map(|line| line.buttons.iter().map(move |button| (line.message_id, button)));
            let found = buttons.by_ref().filter(|(_, (text, _))| text == caption).nth(older);
            found.map(|(message, (_, data))| (message, data.clone()))
        });
        let (message, data) = found.unwrap_or_else(|| self.fail(&format!("no button [{caption}]")));
        self.press(message, &data, caption).await;
    }

    /// Presses a button with this data, as if another program had sent the keyboard.
    pub async fn presses_data(&self, data: &str) {
        self.press(1, data, data).await;
    }

    async fn press(&self, message: i64, data: &str, caption: &str) {
        let update_id = {
            let mut views = self.stage.0.views.lock();
            views.person_acts(self.id, format!("(presses [{caption}])"));
            views.pressing = Some(self.id);
            views.update_id()
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

/// Checks.
impl ChatUser {
    /// Checks that the bot has answered the last action with a message that contains this text.
    ///
    /// # Panics
    /// If not; the message shows the whole chat.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        if !self.with_view(|view| view.new_lines().any(|line| line.text.contains(text))) {
            self.fail(&format!("no message with {text:?}"))
        }
    }

    /// Checks that the bot has answered the last action with a message that has a button or a key with this caption.
    ///
    /// # Panics
    /// If not; the message shows the whole chat.
    #[track_caller]
    pub fn sees_button(&self, caption: &str) {
        let has = |line: &super::view::Line| {
            line.buttons.iter().map(|(text, _)| text).chain(&line.keys).any(|text| text == caption)
        };
        if !self.with_view(|view| view.new_lines().any(has)) {
            self.fail(&format!("no button [{caption}]"))
        }
    }

    /// Checks that the button press was answered with a toast that contains this text.
    ///
    /// # Panics
    /// If not; the message shows the whole chat.
    #[track_caller]
    pub fn sees_toast(&self, text: &str) {
        if !self.with_view(|view| view.toasts.iter().any(|toast| toast.contains(text))) {
            self.fail(&format!("no toast with {text:?}"))
        }
    }

    /// Checks that the bot has sent no message since the last action. A toast is allowed.
    ///
    /// # Panics
    /// If it has; the message shows the whole chat.
    #[track_caller]
    pub fn sees_nothing(&self) {
        if self.with_view(|view| view.new_lines().next().is_some()) {
            self.fail("an answer where none was expected")
        }
    }

    /// The texts of the bot's answers to the last action.
    #[must_use]
    pub fn answers(&self) -> Vec<String> {
        self.with_view(|view| view.new_lines().map(|line| line.text.clone()).collect())
    }

    /// The state of the conversation as `dialogue:state`; none if no dialogue is open.
    pub async fn state(&self) -> Option<String> {
        self.stage.state(&self.key()).await
    }

    /// The whole chat as text.
    #[must_use]
    pub fn transcript(&self) -> String {
        self.with_view(|view| view.transcript())
    }

    fn with_view<T>(&self, with_view: impl FnOnce(&super::view::ChatView) -> T) -> T {
        with_view(self.stage.0.views.lock().view(self.id))
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        panic!("{} sees {what}. The chat:{}", self.name, self.transcript())
    }
}

/// Identity.
impl ChatUser {
    pub(super) fn new(stage: Stage, id: i64, name: &str) -> Self {
        Self { stage, id, name: name.to_owned(), language: "en".to_owned() }
    }

    /// The first person of a stage, for tests that prepare a store first.
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
    pub fn key(&self) -> ConversationKey {
        ConversationKey::private(BOT, self.id)
    }

    fn from(&self) -> Value {
        json!({"id": self.id, "is_bot": false, "first_name": self.name, "language_code": self.language})
    }

    fn chat(&self) -> Value {
        json!({"id": self.id, "type": "private", "first_name": self.name})
    }

    fn file_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.stage.0.views.lock().message_id())
    }

    fn photo(&self) -> (String, Value) {
        let file_id = self.file_id("photo");
        let size = |id: &str, side: u32| json!({"file_id": id, "file_unique_id": format!("u-{id}"), "width": side, "height": side, "file_size": side * 10});
        let sizes = [size(&format!("{file_id}-small"), 90), size(&file_id, 1280)];
        (file_id, json!({"photo": sizes}))
    }

    fn message_update(&self, words: &str, content: Value) -> Value {
        let mut views = self.stage.0.views.lock();
        let message_id = views.person_acts(self.id, words.to_owned());
        let mut message = json!({"message_id": message_id, "date": 1, "chat": self.chat(), "from": self.from()});
        if let (Some(message), Value::Object(content)) = (message.as_object_mut(), content) {
            message.extend(content);
        }
        json!({"update_id": views.update_id(), "message": message})
    }
}
