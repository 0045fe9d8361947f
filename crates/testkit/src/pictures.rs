//! Pictures that people in tests send.

use std::path::Path;

pub const TOWER: &[u8] = include_bytes!("pictures/tower.png");
pub const HILL: &[u8] = include_bytes!("pictures/hill.png");

pub const PIXEL_PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    6, 0, 0, 0, 0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 0x0D, b'I', b'D', b'A', b'T', 0x78, 0x9C, 0x63, 0xF8, 0xCF, 0xC0,
    0xF0, 0x1F, 0, 5, 0, 1, 0xFF, 0x56, 0xC7, 0x2F, 0x0D, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xAE, 0x42, 0x60, 0x82,
];

/// The path of a picture, for a browser's file dialog: `tower` or `hill`.
pub fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pictures");
    folder.join(format!("{name}.png")).to_str().unwrap().to_owned()
}
