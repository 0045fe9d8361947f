//! The cryptography provider for TLS.
//!
//! The library's clients are built without a provider, so that an application never has two. The application's own
//! `reqwest` is built the same way and would panic without one. So bots, stores and test stages install it.

use rustls::crypto::{CryptoProvider, ring};

/// Installs ring as the provider of this process, unless the application installed one.
pub(crate) fn install() {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, which is fine.
        let _ = ring::default_provider().install_default();
    }
}
