//! Detects the type of a file by its first bytes. The sender's name and type are ignored.

/// Bytes that are examined.
pub(super) const HEAD_BYTES: usize = 32;

/// Known types. Everything else is stored, and served as bytes that no browser opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Jpeg,
    Png,
    Webp,
    Heic,
    Mp4,
    Webm,
    Pdf,
    Other,
}

/// Brands of HEIF pictures; other files of the same family are videos.
const HEIC_BRANDS: [&[u8]; 6] = [b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1"];
const MP4_BRANDS: [&[u8]; 9] = [b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V "];

impl MediaType {
    const ALL: [Self; 8] =
        [Self::Jpeg, Self::Png, Self::Webp, Self::Heic, Self::Mp4, Self::Webm, Self::Pdf, Self::Other];

    /// The MIME type, also stored in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Heic => "image/heic",
            Self::Mp4 => "video/mp4",
            Self::Webm => "video/webm",
            Self::Pdf => "application/pdf",
            Self::Other => "application/octet-stream",
        }
    }

    /// The type with this name; [`Self::Other`] for unknown names.
    pub fn of_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|one| one.name() == name).unwrap_or(Self::Other)
    }

    pub const fn is_image(self) -> bool {
        matches!(self, Self::Jpeg | Self::Png | Self::Webp | Self::Heic)
    }

    pub const fn is_video(self) -> bool {
        matches!(self, Self::Mp4 | Self::Webm)
    }

    /// Whether browsers show it within a page.
    pub const fn is_shown(self) -> bool {
        self.is_video() || (self.is_image() && !matches!(self, Self::Heic))
    }
}

/// The type of a file that begins like this.
pub fn sniff(head: &[u8]) -> MediaType {
    let brand = |range: std::ops::Range<usize>| head.get(range).unwrap_or_default();
    if head.starts_with(&[0xff, 0xd8, 0xff]) {
        MediaType::Jpeg
    } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        MediaType::Png
    } else if head.starts_with(b"RIFF") && brand(8..12) == b"WEBP" {
        MediaType::Webp
    } else if brand(4..8) == b"ftyp" && HEIC_BRANDS.contains(&brand(8..12)) {
        MediaType::Heic
    } else if brand(4..8) == b"ftyp" && MP4_BRANDS.contains(&brand(8..12)) {
        MediaType::Mp4
    } else if head.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]) {
        MediaType::Webm
    } else if head.starts_with(b"%PDF-") {
        MediaType::Pdf
    } else {
        MediaType::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_detected_by_content() {
        for (head, meant) in [
            (&b"\xff\xd8\xff\xe0\0\x10JFIF"[..], MediaType::Jpeg),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", MediaType::Png),
            (b"RIFF\x24\0\0\0WEBPVP8 ", MediaType::Webp),
            (b"\0\0\0\x18ftypheic\0\0\0\0", MediaType::Heic),
            (b"RIFF\x24\0\0\0WAVEfmt ", MediaType::Other),
            (b"\0\0\0\x18ftypmp42\0\0\0\0", MediaType::Mp4),
            (b"\0\0\0\x18ftypavif\0\0\0\0", MediaType::Other),
            (b"\x1a\x45\xdf\xa3\x9f", MediaType::Webm),
            (b"%PDF-1.7", MediaType::Pdf),
            (b"<svg xmlns=", MediaType::Other),
            (b"<!doctype html>", MediaType::Other),
            (b"\xff\xd8", MediaType::Other),
            (b"", MediaType::Other),
        ] {
            assert_eq!(sniff(head), meant, "{head:?}");
            assert_eq!(MediaType::of_name(meant.name()), meant);
        }
        assert_eq!(MediaType::of_name("text/html"), MediaType::Other);
    }
}
