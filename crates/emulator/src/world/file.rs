//! Files: uploaded by the bot, sent by people, and their ids.
//!
//! A `file_id` is made from the file's number and the bot's secret, so it needs no table, and the id of another bot is
//! refused as by Telegram. `file_unique_id` is made from the content: it is the same for the same bytes and cannot be
//! used to download. Links of `getFile` expire after an hour of the bot's clock.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::content::MediaKind;

/// The largest file that a link can download.
pub const MAX_DOWNLOAD: u64 = 20 << 20;
/// The largest file that a bot can upload.
pub const MAX_UPLOAD: u64 = 50 << 20;
/// The largest photo that a bot can upload.
pub const MAX_PHOTO: u64 = 10 << 20;
const LINK_TTL_SECONDS: i64 = 3600;

/// The number of a file within its bot's world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileNo(pub u32);

/// A stored file. Sending it again by its id keeps all of this.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredFile {
    pub kind: MediaKind,
    pub digest: u64,
    pub size: u64,
    #[serde(skip)]
    pub data: FileData,
    pub attributes: FileAttributes,
    /// When the last link expires.
    pub link_until: i64,
}

/// Properties of a file that its sender may give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttributes {
    pub name: Option<Box<str>>,
    pub mime_type: Option<Box<str>>,
    pub width: u32,
    pub height: u32,
    pub duration: u32,
    pub performer: Option<Box<str>>,
    pub title: Option<Box<str>>,
    pub thumbnail: Option<FileNo>,
    /// The smaller sizes of a photo, which are sent with it.
    pub smaller: Vec<FileNo>,
}

/// Where the bytes are.
#[derive(Clone, Debug)]
pub enum FileData {
    Memory(Bytes),
    Disk(PathBuf),
}

impl Default for FileData {
    fn default() -> Self {
        Self::Memory(Bytes::new())
    }
}

/// All files of one bot.
#[derive(Debug)]
pub struct Files {
    key: u64,
    all: Vec<StoredFile>,
}

impl Files {
    pub fn new(token: &str) -> Self {
        Self { key: digest_of(token.as_bytes()), all: Vec::new() }
    }

    pub fn add(&mut self, file: StoredFile) -> FileNo {
        self.all.push(file);
        // Four billion files do not fit into memory.
        FileNo(u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX))
    }

    pub fn get(&self, no: FileNo) -> Option<&StoredFile> {
        self.all.get(no.0 as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = (FileNo, &StoredFile)> {
        self.all.iter().enumerate().map(|(no, file)| (FileNo(no as u32), file))
    }

    pub fn file_id(&self, no: FileNo) -> String {
        let mut id = [0; 32];
        id[0] = self.get(no).map_or(0, |file| file.kind as u8 + 1);
        id[4..8].copy_from_slice(&no.0.to_be_bytes());
        id[8..16].copy_from_slice(&self.seal(no, 0).to_be_bytes());
        id[16..24].copy_from_slice(&self.seal(no, 1).to_be_bytes());
        id[24..32].copy_from_slice(&self.seal(no, 2).to_be_bytes());
        URL_SAFE_NO_PAD.encode(id)
    }

    pub fn unique_id(&self, no: FileNo) -> String {
        let (digest, size) = self.get(no).map_or((0, 0), |file| (file.digest, file.attributes.width));
        let mut id = [0; 12];
        id[..8].copy_from_slice(&digest.to_be_bytes());
        id[8..].copy_from_slice(&size.to_be_bytes());
        URL_SAFE_NO_PAD.encode(id)
    }

    /// The file with an id of this bot; none for any other text.
    pub fn by_id(&self, file_id: &str) -> Option<FileNo> {
        let id = URL_SAFE_NO_PAD.decode(file_id).ok()?;
        let no = FileNo(u32::from_be_bytes(id.get(4..8)?.try_into().ok()?));
        (self.get(no).is_some() && self.file_id(no) == file_id).then_some(no)
    }

    /// The path of a link, such as `photos/file_7.jpg`, and when it expires: an hour from now.
    pub fn open_link(&mut self, no: FileNo, now: i64) -> Option<(String, i64)> {
        let until = now + LINK_TTL_SECONDS;
        self.restore_link(no, until)?;
        let file = self.get(no)?;
        let folder = match file.kind {
            MediaKind::Photo => "photos",
            MediaKind::Document => "documents",
            MediaKind::Video => "videos",
            MediaKind::Audio => "music",
            MediaKind::Voice => "voice",
            MediaKind::Animation => "animations",
            MediaKind::VideoNote => "video_notes",
        };
        Some((format!("{folder}/file_{}{}", no.0, extension(file)), until))
    }

    /// Restores the expiry of the link of a file.
    pub fn restore_link(&mut self, no: FileNo, until: i64) -> Option<()> {
        self.all.get_mut(no.0 as usize)?.link_until = until;
        Some(())
    }

    pub fn by_link(&self, path: &str, now: i64) -> Option<&StoredFile> {
        let name = path.split_once("/file_")?.1;
        let digits = name.split_once('.').map_or(name, |(digits, _)| digits);
        self.get(FileNo(digits.parse().ok()?)).filter(|file| now < file.link_until)
    }

    fn seal(&self, no: FileNo, part: u8) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key, no.0, part).hash(&mut hasher);
        hasher.finish()
    }
}

pub fn digest_of(bytes: &[u8]) -> u64 {
    // `DefaultHasher::new` has fixed keys: the same bytes give the same id in every run.
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The type of an image by its first bytes, for types that browsers show.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn extension(file: &StoredFile) -> String {
    // Only a plain extension of the sender's file name goes into the path.
    let named = file.attributes.name.as_deref().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let plain = named.filter(|ending| ending.len() <= 8 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    match (file.kind, plain) {
        (MediaKind::Photo, _) => ".jpg".to_owned(),
        (_, Some(ending)) => format!(".{ending}"),
        (MediaKind::Voice, None) => ".oga".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &'static [u8], name: &str) -> StoredFile {
        StoredFile {
            kind: MediaKind::Document,
            digest: digest_of(bytes),
            size: bytes.len() as u64,
            data: FileData::Memory(Bytes::from_static(bytes)),
            attributes: FileAttributes { name: Some(name.into()), ..FileAttributes::default() },
            link_until: 0,
        }
    }

    #[test]
    fn an_id_opens_a_file_of_its_own_bot_only() {
        let (mut ours, mut theirs) = (Files::new("1:aaa"), Files::new("2:bbb"));
        let no = ours.add(file(b"x", "a.txt"));
        theirs.add(file(b"x", "a.txt"));
        let id = ours.file_id(no);
        assert_eq!(ours.by_id(&id), Some(no));
        assert_eq!(theirs.by_id(&id), None);
        assert_eq!(ours.by_id("rubbish"), None);
        assert_eq!(ours.unique_id(no), theirs.unique_id(no));
    }

    #[test]
    fn a_link_works_for_an_hour() {
        let mut files = Files::new("1:aaa");
        let no = files.add(file(b"x", "../../etc/passwd.a/b"));
        let (link, until) = files.open_link(no, 1000).unwrap_or_default();
        assert_eq!((link.as_str(), until), ("documents/file_0", 1000 + 3600));
        assert!(files.by_link(&link, 1000 + 3599).is_some());
        assert!(files.by_link(&link, 1000 + 3600).is_none());
    }
}
