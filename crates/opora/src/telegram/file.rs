//! Files of a message.

use std::path::PathBuf;

use crate::store::Upload;

/// A file to send: by id, by URL or from disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct FileRef(FileSource);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileSource {
    /// A file id or a URL.
    Telegram(String),
    Disk {
        path: PathBuf,
        file_name: Option<String>,
    },
}

impl FileRef {
    /// A file that Telegram has already, by its file id.
    pub fn id(file_id: impl Into<String>) -> Self {
        Self(FileSource::Telegram(file_id.into()))
    }

    /// A file that Telegram downloads from a URL.
    pub fn url(url: impl Into<String>) -> Self {
        Self(FileSource::Telegram(url.into()))
    }

    /// A file on disk. It is read when the message is sent, and must exist until then.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self(FileSource::Disk { path: path.into(), file_name: None })
    }

    /// The name that the receiver sees for a file on disk.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        if let FileSource::Disk { file_name, .. } = &mut self.0 {
            *file_name = Some(name.into());
        }
        self
    }

    /// The value of the parameter. A file on disk is added to `uploads`.
    pub(super) fn parameter(self, uploads: &mut Vec<Upload>) -> String {
        match self.0 {
            FileSource::Telegram(text) => text,
            FileSource::Disk { path, file_name } => {
                let name = format!("file{}", uploads.len());
                let own_name = || path.file_name().map(|name| name.to_string_lossy().into_owned());
                let file_name = file_name.or_else(own_name).unwrap_or_else(|| name.clone());
                let parameter = format!("attach://{name}");
                uploads.push(Upload { name: name.into(), file_name: file_name.into(), path });
                parameter
            }
        }
    }
}
