//! The address of the file storage.

use std::fmt;
use std::path::PathBuf;

use super::Secret;

/// The region of servers that have none.
const DEFAULT_REGION: &str = "us-east-1";

/// A folder on this machine, or an S3 bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesAddress {
    Folder(PathBuf),
    Bucket(BucketAddress),
}

/// A bucket, a prefix in it, and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    pub bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    pub prefix: String,
    /// The server's address; Amazon's by default.
    pub endpoint: Option<String>,
    pub region: String,
    pub access_key: String,
    pub secret_key: Secret,
}

impl FilesAddress {
    /// Parses `file:<folder>` or `s3://<bucket>/<prefix>`; `setting` returns other settings by name. The error has a
    /// sentence for each mistake, and repeats no value.
    pub fn read<'a>(url: &str, setting: impl Fn(&str) -> Option<&'a str>) -> Result<Self, Vec<String>> {
        if let Some(folder) = url.strip_prefix("file:") {
            return Ok(Self::Folder(folder.strip_prefix("//").unwrap_or(folder).into()));
        }
        let Some(place) = url.strip_prefix("s3://") else {
            return Err(vec!["FILES_URL does not begin with file: or s3://".to_owned()]);
        };
        let mut mistakes = Vec::new();
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(plain) || !prefix.bytes().all(|byte| plain(byte) || byte == b'/') {
            let rule = "of A-Z, a-z, 0-9, -, . and _; keys stand in S3_ACCESS_KEY and S3_SECRET_KEY";
            mistakes.push(format!("FILES_URL is not s3://<bucket>/<prefix> {rule}"));
        }
        let endpoint = setting("S3_ENDPOINT");
        if endpoint.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            mistakes.push("S3_ENDPOINT is not an address of http or https".to_owned());
        }
        let mut key = |name: &str| {
            let given = setting(name).unwrap_or_default();
            if given.is_empty() {
                mistakes.push(format!("{name} is missing: FILES_URL names a bucket"));
            }
            given.to_owned()
        };
        let (access_key, secret_key) = (key("S3_ACCESS_KEY"), Secret(key("S3_SECRET_KEY")));
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self::Bucket(BucketAddress {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            endpoint: endpoint.map(|url| url.trim_end_matches('/').to_owned()),
            region: setting("S3_REGION").unwrap_or(DEFAULT_REGION).to_owned(),
            access_key,
            secret_key,
        }))
    }
}

/// For operators, without keys.
impl fmt::Display for FilesAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Bucket(BucketAddress { bucket, prefix, endpoint, region, .. }) => {
                let server = endpoint.as_deref().unwrap_or(region);
                write!(f, "s3://{bucket}{}{prefix} at {server}", if prefix.is_empty() { "" } else { "/" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [("S3_ACCESS_KEY", "AKIA"), ("S3_SECRET_KEY", "hunter2")];

    fn read(url: &str, settings: &[(&str, &'static str)]) -> Result<FilesAddress, Vec<String>> {
        FilesAddress::read(url, |name| settings.iter().find(|(given, _)| *given == name).map(|(_, value)| *value))
    }

    #[test]
    fn folders_and_buckets_are_parsed() {
        for url in ["file:/srv/files", "file:///srv/files"] {
            assert_eq!(read(url, &[]), Ok(FilesAddress::Folder("/srv/files".into())));
        }
        let bucket = read("s3://papers/opora/", &[KEYS[0], KEYS[1], ("S3_ENDPOINT", "http://s3:9000/")]).unwrap();
        assert_eq!(bucket.to_string(), "s3://papers/opora at http://s3:9000");
        assert!(!format!("{bucket:?}").contains("hunter2"), "{bucket:?}");
        assert_eq!(read("s3://papers", &KEYS).unwrap().to_string(), "s3://papers at us-east-1");
    }

    #[test]
    fn all_mistakes_are_listed_without_keys() {
        let mistakes = read("s3://me:hunter2@papers", &[("S3_ENDPOINT", "s3:9000")]).unwrap_err();
        assert_eq!(mistakes.len(), 4, "{mistakes:#?}");
        assert!(!mistakes.join(" ").contains("hunter2"));
        assert!(read("s3:///papers", &KEYS).is_err() && read("ftp://host", &KEYS).is_err());
    }
}
