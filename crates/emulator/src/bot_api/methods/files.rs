//! Files that a bot uploads or sends by id; `getFile` and `getUserProfilePhotos`.

use serde::Deserialize;
use serde_json::json;

use crate::bot_api::MethodResult;
use crate::bot_api::call::{Call, Upload, is_link};
use crate::bot_api::error::ApiError;
use crate::world::World;
use crate::world::content::MediaKind;
use crate::world::file::{
    FileAttributes, FileData, FileNo, MAX_DOWNLOAD, MAX_PHOTO, MAX_UPLOAD, StoredFile, digest_of,
};
use crate::world::render::PhotoView;

/// A file in a call: an upload under the name of the field, `attach://…`, a link, or a `file_id`.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub field: &'static str,
    pub value: Option<&'a str>,
    pub thumbnail: Option<&'a str>,
}

/// The longest side of the small version of a photo.
const THUMBNAIL_SIDE: u32 = 320;
/// Limits of a photo: the sum of width and height, and their ratio.
const MAX_SIDES: u64 = 10_000;
const MAX_RATIO: u64 = 20;

/// The files of one medium: all sizes of a photo, or the one file.
pub fn stored(
    world: &mut World,
    call: &Call,
    kind: MediaKind,
    source: Source<'_>,
    mut attributes: FileAttributes,
) -> Result<Box<[FileNo]>, ApiError> {
    let Some(upload) = uploaded(call, source.field, source.value)? else {
        return known(world, kind, source);
    };
    check(upload, kind)?;
    if let Some(thumbnail) = uploaded(call, "thumbnail", source.thumbnail)? {
        attributes.thumbnail = Some(small(world, thumbnail, 1.0));
    }
    add(world, kind, upload, attributes, true)
}

/// Stores an upload. `strict` refuses a photo that is no image, as Telegram does with bots.
pub fn add(
    world: &mut World,
    kind: MediaKind,
    upload: &Upload,
    mut attributes: FileAttributes,
    strict: bool,
) -> Result<Box<[FileNo]>, ApiError> {
    let pixels = imagesize::blob_size(&upload.bytes).ok();
    if kind == MediaKind::Photo {
        let unreadable = || ApiError::bad_request("IMAGE_PROCESS_FAILED");
        let (width, height) = match pixels {
            Some(size) if strict && !is_photo(size.width as u64, size.height as u64) => {
                return Err(ApiError::bad_request("PHOTO_INVALID_DIMENSIONS"));
            }
            Some(size) => (side(size.width), side(size.height)),
            None if strict => return Err(unreadable()),
            None => (1280, 960),
        };
        (attributes.width, attributes.height) = (width, height);
        let scale = f64::from(THUMBNAIL_SIDE) / f64::from(width.max(height).max(1));
        if scale < 1.0 {
            attributes.smaller = vec![small(world, upload, scale)];
        }
    } else {
        attributes.name = Some(clean_name(&upload.name).into());
        attributes.mime_type = Some(mime_type(upload, kind).into());
    }
    let mut files = attributes.smaller.clone();
    files.push(world.add_file(file(kind, upload, attributes)));
    Ok(files.into())
}

/// Whether Telegram takes an image of this size as a photo. A header may claim any size, so sums must not overflow.
fn is_photo(width: u64, height: u64) -> bool {
    let (longer, shorter) = (width.max(height), width.min(height));
    shorter > 0 && longer.saturating_add(shorter) <= MAX_SIDES && longer <= shorter.saturating_mul(MAX_RATIO)
}

fn side(pixels: usize) -> u32 {
    u32::try_from(pixels).unwrap_or(u32::MAX)
}

fn file(kind: MediaKind, upload: &Upload, attributes: FileAttributes) -> StoredFile {
    StoredFile {
        kind,
        digest: digest_of(&upload.bytes),
        size: upload.bytes.len() as u64,
        data: FileData::Memory(upload.bytes.clone()),
        attributes,
        link_until: 0,
    }
}

/// A smaller version of a photo. Its bytes are those of the original: nothing here can scale an image.
fn small(world: &mut World, upload: &Upload, scale: f64) -> FileNo {
    let side = |pixels: usize| ((pixels as f64 * scale).round() as u32).max(1);
    let (width, height) = match imagesize::blob_size(&upload.bytes) {
        Ok(size) => (side(size.width), side(size.height)),
        Err(_) => (THUMBNAIL_SIDE, THUMBNAIL_SIDE * 3 / 4),
    };
    world.add_file(file(MediaKind::Photo, upload, FileAttributes { width, height, ..FileAttributes::default() }))
}

fn uploaded<'a>(call: &'a Call, field: &str, value: Option<&str>) -> Result<Option<&'a Upload>, ApiError> {
    match value {
        None | Some("") => Ok(call.upload(field)),
        Some(value) if is_link(value) => match call.upload(value) {
            Some(upload) => Ok(Some(upload)),
            // Links were fetched before. This one is in a field from which Telegram fetches nothing.
            None => Err(ApiError::bad_request("failed to get HTTP URL content")),
        },
        Some(value) => match value.strip_prefix("attach://") {
            Some(name) => match call.upload(name) {
                Some(upload) => Ok(Some(upload)),
                None => Err(ApiError::bad_request("can't parse InputMedia: attached file not found")),
            },
            None => Ok(None),
        },
    }
}

/// A file that was sent before, by its id.
fn known(world: &World, kind: MediaKind, source: Source<'_>) -> Result<Box<[FileNo]>, ApiError> {
    let Some(id) = source.value else {
        return Err(ApiError::bad_request(format!("there is no {} in the request", source.field)));
    };
    let wrong = || ApiError::bad_request("wrong file identifier/HTTP URL specified");
    let no = world.files.by_id(id).ok_or_else(wrong)?;
    let file = world.files.get(no).ok_or_else(wrong)?;
    // Telegram sends a known document as anything it can be, but a photo only as a photo, and a round video as one.
    let is_own_kind = |kind| matches!(kind, MediaKind::Photo | MediaKind::VideoNote);
    if file.kind != kind && (is_own_kind(file.kind) || is_own_kind(kind)) {
        let message = format!("can't use file of type {:?} as {kind:?}", file.kind);
        return Err(ApiError::bad_request(message));
    }
    let mut files = file.attributes.smaller.clone();
    files.push(no);
    Ok(files.into())
}

fn check(upload: &Upload, kind: MediaKind) -> Result<(), ApiError> {
    let most = if kind == MediaKind::Photo { MAX_PHOTO } else { MAX_UPLOAD };
    if upload.bytes.is_empty() {
        return Err(ApiError::bad_request("file must be non-empty"));
    }
    if upload.bytes.len() as u64 > most {
        return Err(ApiError::bad_request("file is too big"));
    }
    Ok(())
}

/// The last part of a file name, without characters that could leave a folder or break a header.
fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|letter| !letter.is_control()).take(100).collect();
    if clean.is_empty() { "file".to_owned() } else { clean }
}

fn mime_type(upload: &Upload, kind: MediaKind) -> String {
    let declared =
        upload.mime_type.as_deref().filter(|declared| *declared != "application/octet-stream" && declared.is_ascii());
    let ending = upload.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let by_name = match ending.as_deref() {
        Some("jpg" | "jpeg") => Some("image/jpeg"),
        Some("png") => Some("image/png"),
        Some("gif") => Some("image/gif"),
        Some("webp") => Some("image/webp"),
        Some("pdf") => Some("application/pdf"),
        Some("txt") => Some("text/plain"),
        Some("mp4") => Some("video/mp4"),
        Some("mp3") => Some("audio/mpeg"),
        Some("ogg" | "oga") => Some("audio/ogg"),
        Some("zip") => Some("application/zip"),
        _ => None,
    };
    let by_kind = match kind {
        MediaKind::Video | MediaKind::Animation | MediaKind::VideoNote => "video/mp4",
        MediaKind::Audio => "audio/mpeg",
        MediaKind::Voice => "audio/ogg",
        MediaKind::Photo => "image/jpeg",
        MediaKind::Document => "application/octet-stream",
    };
    declared.or(by_name).unwrap_or(by_kind).to_owned()
}

#[derive(Debug, Deserialize)]
pub struct GetFile {
    file_id: Option<String>,
}

pub fn get(world: &mut World, call: &Call) -> MethodResult {
    let given: GetFile = call.parameters.read()?;
    let Some(file_id) = given.file_id else {
        return Err(ApiError::bad_request("file_id not specified"));
    };
    let wrong = || ApiError::bad_request("wrong file_id or the file is temporarily unavailable");
    let no = world.files.by_id(&file_id).ok_or_else(wrong)?;
    let size = world.files.get(no).map_or(0, |file| file.size);
    if size > MAX_DOWNLOAD {
        return Err(ApiError::bad_request("file is too big"));
    }
    let path = world.open_link(no).ok_or_else(wrong)?;
    let unique = world.files.unique_id(no);
    let file = json!({"file_id": file_id, "file_unique_id": unique, "file_size": size, "file_path": path});
    Ok(file.to_string().into())
}

#[derive(Debug, Deserialize)]
pub struct GetProfilePhotos {
    user_id: i64,
    offset: Option<usize>,
    limit: Option<usize>,
}

pub fn profile_photos(world: &mut World, call: &Call) -> MethodResult {
    let given: GetProfilePhotos = call.parameters.read()?;
    if world.user(given.user_id).is_none() {
        return Err(ApiError::bad_request("user not found"));
    }
    let all = world.profile_photos(given.user_id);
    let (offset, limit) = (given.offset.unwrap_or(0), given.limit.unwrap_or(100).clamp(1, 100));
    let page = all.iter().skip(offset).take(limit);
    let photos: Vec<_> = page.map(|sizes| PhotoView { world, sizes }).collect();
    Ok(json!({"total_count": all.len(), "photos": photos}).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photo_has_sides_that_telegram_takes() {
        for (width, height) in [(1, 1), (20, 1), (1, 20), (5000, 5000)] {
            assert!(is_photo(width, height), "{width}x{height}");
        }
        let largest = u64::from(u32::MAX);
        for (width, height) in
            [(0, 0), (0, 1), (21, 1), (1, 21), (5000, 5001), (largest, largest), (largest, 1), (u64::MAX, u64::MAX)]
        {
            assert!(!is_photo(width, height), "{width}x{height}");
        }
    }
}
