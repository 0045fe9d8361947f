//! One certificate of an authority that the programs of the tests trust, instead of all that the system knows.
//!
//! Each HTTP client reads the system's certificates when it is created, unoptimised, which took a tenth of the time of
//! the tests. No test connects to a public server; tests of TLS have authorities of their own.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Debian keeps all certificates.
const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";
const END: &str = "-----END CERTIFICATE-----\n";

/// Writes the file that `SSL_CERT_FILE` should name, in a folder of its own. `SSL_CERT_DIR` should name that folder:
/// cargo sets it to the system's folder if it is not set. None on a system that keeps its certificates elsewhere.
pub(crate) fn write(target: &Path) -> Option<PathBuf> {
    let first = first_of(&fs::read_to_string(SYSTEM).ok()?)?.to_owned();
    let folder = target.join("trusted-certificates");
    fs::create_dir_all(&folder).ok()?;
    let file = folder.join("only.pem");
    fs::write(&file, first).ok()?;
    Some(file)
}

fn first_of(certificates: &str) -> Option<&str> {
    certificates.find(END).map(|at| &certificates[..at + END.len()])
}

#[cfg(test)]
mod tests {
    use super::{END, first_of};

    #[test]
    fn the_first_certificate_is_complete() {
        let one = format!("-----BEGIN CERTIFICATE-----\nMIIB\n{END}");
        assert_eq!(first_of(&one.repeat(2)), Some(one.as_str()));
        assert_eq!(first_of("none"), None);
    }
}
