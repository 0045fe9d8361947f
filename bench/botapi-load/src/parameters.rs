//! The parameters of a call, from its query, JSON, form or multipart body.

use serde_json::Value;

#[derive(Debug)]
pub struct Parameters {
    pub chat: i64,
    pub text: Option<String>,
    pub offset: Option<i64>,
    pub limit: i64,
    pub timeout_s: f64,
    pub url: Option<String>,
    pub max_connections: usize,
    pub message: i64,
    pub file_id: String,
    /// Whether the keyboard has the button that users press.
    pub has_keyboard: bool,
    pub drops_pending_updates: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            chat: 0,
            text: None,
            offset: None,
            limit: 100,
            timeout_s: 0.0,
            url: None,
            max_connections: 40,
            message: 0,
            file_id: String::new(),
            has_keyboard: false,
            drops_pending_updates: false,
        }
    }
}

impl Parameters {
    pub fn parse(query: Option<&str>, content_type: &str, body: &[u8]) -> Self {
        let mut parameters = Self::default();
        parameters.set_form(query.unwrap_or_default().as_bytes());
        match body.first() {
            None => {}
            Some(first)
                if content_type.starts_with("application/json") || (content_type.is_empty() && *first == b'{') =>
            {
                if let Ok(json) = serde_json::from_slice(body) {
                    parameters.set_json(&json);
                }
            }
            Some(_) if content_type.starts_with("multipart/") => parameters.set_multipart(content_type, body),
            Some(_) => parameters.set_form(body),
        }
        parameters
    }

    /// Of a method call in the answer to a webhook.
    pub fn of_json(json: &Value) -> Self {
        let mut parameters = Self::default();
        parameters.set_json(json);
        parameters
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "chat_id" => self.chat = value.parse().unwrap_or(0),
            "text" => self.text = Some(value.to_owned()),
            "offset" => self.offset = value.parse().ok(),
            "limit" => self.limit = value.parse().unwrap_or(100),
            "timeout" => self.timeout_s = value.parse().unwrap_or(0.0),
            "url" => self.url = Some(value.to_owned()),
            "max_connections" => self.max_connections = value.parse().unwrap_or(40),
            "message_id" => self.message = value.parse().unwrap_or(0),
            "file_id" => self.file_id = value.to_owned(),
            "reply_markup" => self.has_keyboard = value.contains("lang:en"),
            "drop_pending_updates" => self.drops_pending_updates = value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }

    fn set_form(&mut self, form: &[u8]) {
        for (name, value) in form_urlencoded::parse(form) {
            self.set(&name, &value);
        }
    }

    fn set_json(&mut self, json: &Value) {
        for (name, value) in json.as_object().into_iter().flatten() {
            match value {
                Value::String(text) => self.set(name, text),
                Value::Null => {}
                other => self.set(name, &other.to_string()),
            }
        }
    }

    fn set_multipart(&mut self, content_type: &str, body: &[u8]) {
        let Some(boundary) = content_type.split("boundary=").nth(1) else { return };
        let boundary = boundary.split(';').next().unwrap_or_default().trim().trim_matches('"');
        for part in String::from_utf8_lossy(body).split(&format!("--{boundary}")) {
            let Some((head, value)) = part.trim_start_matches("\r\n").split_once("\r\n\r\n") else { continue };
            let Some(name) = head.split("name=").nth(1) else { continue };
            let name = name.split([';', '\r']).next().unwrap_or_default().trim().trim_matches('"');
            self.set(name, value.strip_suffix("\r\n").unwrap_or(value));
        }
    }
}
