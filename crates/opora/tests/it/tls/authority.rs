//! A certificate authority for one test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Server certificates are for `localhost` only.
const EXTENSIONS: &str = "
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
[server]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:localhost
[client]
basicConstraints = critical, CA:FALSE
";

/// An authority. Clients trust its own certificate.
pub struct Authority {
    pub certificate: PathBuf,
    folder: PathBuf,
}

pub struct Certificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A folder that other users may enter.
pub fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o711)).tempdir().unwrap()
}

impl Authority {
    pub fn new(folder: &Path) -> Self {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
        fs::write(folder.join("forms"), EXTENSIONS).unwrap();
        let Certificate { certificate, .. } = issue(folder, folder, "authority", "authority", &[]);
        Self { certificate, folder: folder.to_owned() }
    }

    /// A certificate for a server at `localhost`, in its own folder, which may be given to another user.
    pub fn server(&self) -> (PathBuf, Certificate) {
        let folder = self.folder.join("server");
        fs::create_dir(&folder).unwrap();
        let shown = self.issue(&folder, "server", "localhost");
        (folder, shown)
    }

    pub fn client(&self, name: &str) -> Certificate {
        self.issue(&self.folder, "client", name)
    }

    fn issue(&self, folder: &Path, form: &str, name: &str) -> Certificate {
        let key = self.folder.join("authority.key");
        let by = ["-CA", self.certificate.to_str().unwrap(), "-CAkey", key.to_str().unwrap()];
        issue(&self.folder, folder, form, name, &by)
    }
}

fn issue(home: &Path, folder: &Path, form: &str, name: &str, by: &[&str]) -> Certificate {
    let path = |ending: &str| folder.join(format!("{form}.{ending}"));
    let (certificate, key) = (path("pem"), path("key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-extensions", form, "-days", "2", "-noenc", "-newkey", "ec"]);
    openssl.args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", &format!("/CN={name}"), "-config"]);
    openssl.arg(home.join("forms")).args(by).arg("-out").arg(&certificate).arg("-keyout").arg(&key);
    let done = openssl.output().expect("openssl is installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Certificate { certificate, key }
}
