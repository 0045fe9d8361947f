//! Pictures that the demo's people have sent for their tasks. They are stored in the emulator, and the product
//! downloads them as from Telegram.

use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::content::MediaKind;
use opora_emulator::world::file::{FileAttributes, FileData, StoredFile, digest_of};

use super::TOKEN;
use crate::shifts::{MediumKind, Proof};

const ALL: [&[u8]; 2] = [include_bytes!("pictures/coffee-machine.jpg"), include_bytes!("pictures/shelves.jpg")];
/// The size of all pictures, in pixels.
const SIZE: (u32, u32) = (480, 360);

/// Adds the pictures to the emulator; returns their file ids.
pub fn add(emulator: &Emulator) -> Vec<Proof> {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return Vec::new() };
    let mut world = bot.world();
    let added = ALL.map(|bytes| {
        let no = world.add_file(StoredFile {
            kind: MediaKind::Photo,
            digest: digest_of(bytes),
            size: bytes.len() as u64,
            data: FileData::Memory(bytes.into()),
            attributes: FileAttributes { width: SIZE.0, height: SIZE.1, ..FileAttributes::default() },
            link_until: 0,
        });
        Proof { kind: MediumKind::Photo, telegram_file: world.files.file_id(no), unique_id: world.files.unique_id(no) }
    });
    added.into()
}
