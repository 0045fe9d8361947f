//! Pictures that the demo's people have sent: for their tasks, and as documents. They are stored in the emulator, and
//! the product downloads them as from Telegram.

use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::content::MediaKind;
use opora_emulator::world::file::{FileAttributes, FileData, StoredFile, digest_of};

use super::TOKEN;
use crate::registration::Picture;
use crate::shifts::{MediumKind, Proof};

const ALL: [&[u8]; 2] = [include_bytes!("pictures/coffee-machine.jpg"), include_bytes!("pictures/shelves.jpg")];
/// The size of all pictures, in pixels.
const SIZE: (u32, u32) = (480, 360);

/// Adds the pictures of tasks to the emulator; returns their file ids.
pub fn add(emulator: &Emulator) -> Vec<Proof> {
    let proof =
        |added: Picture| Proof { kind: MediumKind::Photo, telegram_file: added.file_id, unique_id: added.unique_id };
    ALL.iter().filter_map(|bytes| picture(emulator, bytes)).map(proof).collect()
}

/// Adds a picture to the emulator.
pub fn picture(emulator: &Emulator, bytes: &'static [u8]) -> Option<Picture> {
    let bot = Token::parse(TOKEN).and_then(|token| emulator.bot(&token))?;
    let mut world = bot.world();
    let no = world.add_file(StoredFile {
        kind: MediaKind::Photo,
        digest: digest_of(bytes),
        size: bytes.len() as u64,
        data: FileData::Memory(bytes.into()),
        attributes: FileAttributes { width: SIZE.0, height: SIZE.1, ..FileAttributes::default() },
        link_until: 0,
    });
    Some(Picture { file_id: world.files.file_id(no), unique_id: world.files.unique_id(no), is_photo: true })
}
