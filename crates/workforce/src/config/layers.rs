//! The sources of settings.

use std::collections::BTreeMap;
use std::path::Path;

use config::FileFormat;

/// All settings.
pub const NAMES: &[&str] = &[
    "BOT_API_URL",
    "BOT_TOKEN",
    "CACHE_URL",
    "CRON_ATTACHMENTS",
    "CRON_DAILY_SUMMARY",
    "CRON_DOCUMENT_EXPIRY",
    "CRON_FILE_CLEANUP",
    "CRON_OLD_NOTICES",
    "CRON_ORDER_DEADLINES",
    "CRON_ORDER_OFFERS",
    "CRON_ORDER_RECURRENCES",
    "CRON_PAYROLL",
    "CRON_QUESTIONNAIRE",
    "CRON_RETENTION",
    "CRON_SESSIONS",
    "CRON_SHIFT_ADJUSTMENTS",
    "CRON_SHIFT_AUTO_CLOSE",
    "CRON_SHIFT_NO_SHOWS",
    "CRON_SHIFT_REMINDERS",
    "CRON_SLOTS_OF_NEXT_YEAR",
    "DATABASE_URL",
    "DATA_DIR",
    "FILES_URL",
    "LANGUAGE",
    "METRICS_LISTEN",
    "METRICS_TOKEN",
    "ONLY_INSTANCE",
    "PUBLIC_URL",
    "REDIS_URL",
    "S3_ACCESS_KEY",
    "S3_ENDPOINT",
    "S3_REGION",
    "S3_SECRET_KEY",
    "SEND_LIMITS",
    "STATE_URL",
    "TRUSTED_PROXIES",
    "WEBHOOK_SECRET",
    "WEBHOOK_URL",
    "WEB_CONNECTIONS",
    "WEB_LISTEN",
];

/// One source of settings.
#[derive(Clone, Default)]
pub struct Layer {
    /// The name of the source in messages.
    pub origin: String,
    pub values: BTreeMap<String, String>,
}

/// All sources, the strongest first, and mistakes of the sources themselves.
#[derive(Clone, Default)]
pub struct Layers {
    layers: Vec<Layer>,
    mistakes: Vec<String>,
}

/// A setting, and its source.
#[derive(Clone, Copy)]
pub struct SettingValue<'a> {
    pub value: &'a str,
    pub origin: &'a str,
}

impl Layers {
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers, mistakes: Vec::new() }
    }

    /// Adds a source, and its mistakes.
    pub fn add(&mut self, layer: Layer, mistakes: Vec<String>) {
        self.layers.push(layer);
        self.mistakes.extend(mistakes);
    }

    /// Mistakes of the sources, each as a sentence.
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    /// A setting by name; an empty one counts as missing.
    pub fn get(&self, name: &str) -> Option<SettingValue<'_>> {
        let found = self.layers.iter().filter_map(|layer| Some((layer.values.get(name)?, layer)));
        let mut filled = found.filter(|(value, _)| !value.trim().is_empty());
        filled.next().map(|(value, layer)| SettingValue { value: value.trim(), origin: &layer.origin })
    }
}

/// Hides the values, which may be secret.
impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| &layer.origin)).finish()
    }
}

impl std::fmt::Debug for SettingValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.origin)
    }
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin)
    }
}

/// Reads a file of `name = "value"`; names may be in lower case. Returns its mistakes, too.
pub fn of_file(path: &Path) -> (Layer, Vec<String>) {
    let name = path.display().to_string();
    let nothing = Layer { origin: name.clone(), values: BTreeMap::new() };
    let source = config::File::from(path).format(FileFormat::Toml);
    let read = config::Config::builder().add_source(source).build();
    // The reader's error quotes the line, which may hold a secret.
    let entries = read.ok().and_then(|read| read.try_deserialize::<BTreeMap<String, config::Value>>().ok());
    let Some(entries) = entries else { return (nothing, vec![format!("{name} is not TOML")]) };
    let (mut values, mut unknown, mut mistakes) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (key, value) in entries {
        let setting = key.to_uppercase();
        if !NAMES.contains(&setting.as_str()) {
            unknown.push(key);
            continue;
        }
        match value.into_string() {
            Ok(value) => _ = values.insert(setting, value),
            Err(_) => mistakes.push(format!("{name}: {key} is not a string")),
        }
    }
    if !unknown.is_empty() {
        let (unknown, known) = (unknown.join(", "), NAMES.join(", "));
        mistakes.push(format!("{name} has unknown settings: {unknown}; known settings are {known}"));
    }
    (Layer { values, ..nothing }, mistakes)
}
