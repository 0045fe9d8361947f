//! What a file really is, by its first bytes: what its sender calls it is not asked.

/// How much of a file is looked at.
pub(super) const HEAD_BYTES: usize = 32;

/// The images that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Jpeg,
    Png,
    Webp,
    Heic,
}

/// Brands of HEIF pictures; other files of the same family are films.
const HEIC_BRANDS: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1"];

impl MediaType {
    /// Its name on the web and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Heic => "image/heic",
        }
    }
}

/// Which image begins so; none if it is something else.
pub fn sniff(head: &[u8]) -> Option<MediaType> {
    let brand = |range: std::ops::Range<usize>| head.get(range).unwrap_or_default();
    if head.starts_with(&[0xff, 0xd8, 0xff]) {
        Some(MediaType::Jpeg)
    } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(MediaType::Png)
    } else if head.starts_with(b"RIFF") && brand(8..12) == b"WEBP" {
        Some(MediaType::Webp)
    } else if brand(4..8) == b"ftyp" && HEIC_BRANDS.contains(&brand(8..12)) {
        Some(MediaType::Heic)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_from_what_only_looks_like_them() {
        for (head, meant) in [
            (&b"\xff\xd8\xff\xe0\0\x10JFIF"[..], Some(MediaType::Jpeg)),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some(MediaType::Png)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some(MediaType::Webp)),
            (b"\0\0\0\x18ftypheic\0\0\0\0", Some(MediaType::Heic)),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"\0\0\0\x18ftypmp42\0\0\0\0", None),
            (b"%PDF-1.7", None),
            (b"<svg xmlns=", None),
            (b"\xff\xd8", None),
            (b"", None),
        ] {
            assert_eq!(sniff(head), meant, "{head:?}");
        }
    }
}
