//! TLS files that the address of a Redis names.
//!
//! `ca` is the certificate of the authority that issued the server's certificate, instead of the system's authorities;
//! `cert` and `key` are a client certificate and its key, for a server that asks for one. All are PEM.

use std::path::{Path, PathBuf};

use redis::{Client, ClientTlsConfig, TlsCertificates};

use super::address::Address;
use super::connection::unavailable;
use crate::store::tls::TlsSettingNames;
use crate::store::{StoreError, StoreResult};

pub(super) const SETTING_NAMES: TlsSettingNames =
    TlsSettingNames { authority: "ca", own: "`cert=<file>` and `key=<file>`" };

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TlsFiles {
    pub(super) authority: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl TlsFiles {
    /// Why the files do not fit together, or do not fit an address without TLS.
    pub(super) fn complaint(&self, is_tls: bool) -> Option<&'static str> {
        if self.certificate.is_some() != self.key.is_some() {
            return Some("`cert` and `key` need each other");
        }
        (!is_tls && *self != Self::default()).then_some("`ca`, `cert` and `key` are for TLS: rediss:// was expected")
    }

    async fn read(&self) -> StoreResult<TlsCertificates> {
        let root_cert = match &self.authority {
            Some(path) => Some(read("ca", path, "CERTIFICATE").await?),
            None => None,
        };
        let client_tls = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(ClientTlsConfig {
                client_cert: read("cert", certificate, "CERTIFICATE").await?,
                client_key: read("key", key, "PRIVATE KEY").await?,
            }),
            _ => None,
        };
        Ok(TlsCertificates { client_tls, root_cert })
    }
}

impl Address {
    /// The client that makes connections.
    pub(super) async fn client(&self) -> StoreResult<Client> {
        if self.files == TlsFiles::default() {
            return Client::open(self.info.clone()).map_err(unavailable);
        }
        Client::build_with_tls(self.info.clone(), self.files.read().await?).map_err(unavailable)
    }
}

/// Reads a PEM file and checks that it has a section of this kind: a later failure would say less.
async fn read(setting: &str, path: &Path, kind: &str) -> StoreResult<Vec<u8>> {
    let refused = |why: String| {
        let path = path.display();
        StoreError::Unavailable(format!("the file {path}, which `{setting}` names, cannot be used: {why}").into())
    };
    let bytes = tokio::fs::read(path).await.map_err(|error| refused(error.to_string()))?;
    let end = format!("{kind}-----");
    if bytes.windows(end.len()).any(|part| part == end.as_bytes()) {
        Ok(bytes)
    } else {
        Err(refused(format!("there is no {} in it (PEM was expected)", kind.to_lowercase())))
    }
}
