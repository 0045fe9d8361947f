//! Pictures that the people of the demo have sent for their tasks: the emulator has them, as if they had been sent there,
//! and the product fetches them from it as it would from Telegram.

use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::content::MediaKind;
use opora_emulator::world::file::{Data, StoredFile, Traits, digest_of};

use super::TOKEN;
use crate::shifts::{MediumKind, Proof};

const ALL: [&[u8]; 2] = [include_bytes!("pictures/coffee-machine.jpg"), include_bytes!("pictures/shelves.jpg")];
/// All are of one size, in pixels.
const SIZE: (u32, u32) = (480, 360);

/// Gives them to the emulator; answers how they are named there.
pub fn arrive(emulator: &Emulator) -> Vec<Proof> {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return Vec::new() };
    let mut world = bot.world();
    let taken = ALL.map(|bytes| {
        let no = world.add_file(StoredFile {
            kind: MediaKind::Photo,
            digest: digest_of(bytes),
            size: bytes.len() as u64,
            data: Data::Memory(bytes.into()),
            traits: Traits { width: SIZE.0, height: SIZE.1, ..Traits::default() },
            link_until: 0,
        });
        Proof { kind: MediumKind::Photo, telegram_file: world.files.file_id(no), unique_id: world.files.unique_id(no) }
    });
    taken.into()
}
