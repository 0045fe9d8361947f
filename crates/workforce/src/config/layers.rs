//! What is set where.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
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
    "WEB_LISTEN",
];

/// One place in which settings are.
#[derive(Clone, Default)]
pub struct Layer {
    /// What to call it when something in it is wrong.
    pub origin: String,
    pub values: BTreeMap<String, String>,
}

/// All of them, the strongest first.
#[derive(Clone, Default)]
pub struct Layers(Vec<Layer>);

/// A setting, and where it is set.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub value: &'a str,
    pub origin: &'a str,
}

impl Layers {
    pub fn new(layers: Vec<Layer>) -> Self {
        Self(layers)
    }

    /// The setting of a name; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<Given<'_>> {
        let found = self.0.iter().filter_map(|layer| Some((layer.values.get(name)?, layer)));
        let mut filled = found.filter(|(value, _)| !value.trim().is_empty());
        filled.next().map(|(value, layer)| Given { value: value.trim(), origin: &layer.origin })
    }
}

/// Values may be secret.
impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|layer| &layer.origin)).finish()
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

/// A file of `name = "value"`; names may be written in small letters.
pub fn of_file(path: &Path) -> anyhow::Result<Layer> {
    let name = path.display();
    let source = config::File::from(path).format(FileFormat::Toml);
    let read = config::Config::builder().add_source(source).build();
    // An error of this reader quotes the line, which may hold a secret.
    let read = read.ok().with_context(|| format!("{name} is not TOML"))?;
    let entries: BTreeMap<String, config::Value> = read.try_deserialize()?;
    let mut values = BTreeMap::new();
    let mut unknown = Vec::new();
    for (key, value) in entries {
        let setting = key.to_uppercase();
        if !NAMES.contains(&setting.as_str()) {
            unknown.push(key);
            continue;
        }
        let value = value.into_string().ok().with_context(|| format!("{name}: {key} is not a text"))?;
        values.insert(setting, value);
    }
    if !unknown.is_empty() {
        bail!("{name} has settings that nobody knows: {}; there are {}", unknown.join(", "), NAMES.join(", "));
    }
    Ok(Layer { origin: name.to_string(), values })
}
