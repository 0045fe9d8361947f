//! Files that a message shows.

use std::path::PathBuf;

use crate::store::Upload;

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRef(From);

#[derive(Clone, Debug, PartialEq, Eq)]
enum From {
    /// A file id or an address, as Telegram takes both.
    Telegram(String),
    Disk {
        path: PathBuf,
        shown_as: Option<String>,
    },
}

impl FileRef {
    /// A file that Telegram has already, by its file id.
    pub fn id(file_id: impl Into<String>) -> Self {
        Self(From::Telegram(file_id.into()))
    }

    /// A file that Telegram fetches from an address.
    pub fn url(url: impl Into<String>) -> Self {
        Self(From::Telegram(url.into()))
    }

    /// A file on disk. It is read when it is sent and must stay there until then.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self(From::Disk { path: path.into(), shown_as: None })
    }

    /// The name that the receiver sees for a file on disk.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        if let From::Disk { shown_as, .. } = &mut self.0 {
            *shown_as = Some(name.into());
        }
        self
    }

    /// What the parameters say, and the upload that it refers to is added to `uploads`.
    pub(super) fn parameter(self, uploads: &mut Vec<Upload>) -> String {
        match self.0 {
            From::Telegram(text) => text,
            From::Disk { path, shown_as } => {
                let name = format!("file{}", uploads.len());
                let own_name = || path.file_name().map(|name| name.to_string_lossy().into_owned());
                let file_name = shown_as.or_else(own_name).unwrap_or_else(|| name.clone());
                let parameter = format!("attach://{name}");
                uploads.push(Upload { name: name.into(), file_name: file_name.into(), path });
                parameter
            }
        }
    }
}
