//! What is set where.

use std::collections::BTreeMap;
use std::path::Path;

use config::FileFormat;

/// Every setting there is.
pub const NAMES: &[&str] = &[
    "BOT_API_URL",
    "BOT_TOKEN",
    "CACHE_URL",
    "DATABASE_URL",
    "DATA_DIR",
    "FILES_URL",
    "LANGUAGE",
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

/// One place in which settings are.
#[derive(Clone, Default)]
pub struct Layer {
    /// What to call it when something in it is wrong.
    pub origin: String,
    pub values: BTreeMap<String, String>,
}

/// All of them, the strongest first, and what is wrong with the places themselves.
#[derive(Clone, Default)]
pub struct Layers {
    layers: Vec<Layer>,
    mistakes: Vec<String>,
}

/// A setting, and where it is set.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub value: &'a str,
    pub origin: &'a str,
}

impl Layers {
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers, mistakes: Vec::new() }
    }

    /// Adds a place, and what is wrong with it.
    pub fn add(&mut self, layer: Layer, mistakes: Vec<String>) {
        self.layers.push(layer);
        self.mistakes.extend(mistakes);
    }

    /// What could not be read, each as a sentence.
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    /// The setting of a name; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<Given<'_>> {
        let found = self.layers.iter().filter_map(|layer| Some((layer.values.get(name)?, layer)));
        let mut filled = found.filter(|(value, _)| !value.trim().is_empty());
        filled.next().map(|(value, layer)| Given { value: value.trim(), origin: &layer.origin })
    }
}

/// Values may be secret.
impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| &layer.origin)).finish()
    }
}

impl std::fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.origin)
    }
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.origin)
    }
}

/// A file of `name = "value"`, and what is wrong in it; names may be written in small letters.
pub fn of_file(path: &Path) -> (Layer, Vec<String>) {
    let name = path.display().to_string();
    let nothing = Layer { origin: name.clone(), values: BTreeMap::new() };
    let source = config::File::from(path).format(FileFormat::Toml);
    let read = config::Config::builder().add_source(source).build();
    // An error of this reader quotes the line, which may hold a secret.
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
            Err(_) => mistakes.push(format!("{name}: {key} is not a text")),
        }
    }
    if !unknown.is_empty() {
        let (unknown, known) = (unknown.join(", "), NAMES.join(", "));
        mistakes.push(format!("{name} has settings that nobody knows: {unknown}; there are {known}"));
    }
    (Layer { values, ..nothing }, mistakes)
}
