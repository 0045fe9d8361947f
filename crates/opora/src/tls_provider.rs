//! The provider of cryptography that TLS needs.
//!
//! The library's clients come without one, so that an application has one provider and not two. An application's own
//! `reqwest` inherits that, and would panic at its first client. So a provider is installed by the first thing that a
//! bot's author makes: a bot, a store or a test's stage.

use rustls::crypto::{CryptoProvider, ring};

/// Makes ring the provider of this process, unless the application has chosen one.
pub(crate) fn install() {
    if CryptoProvider::get_default().is_none() {
        // Of two threads that install one at once, either serves.
        let _ = ring::default_provider().install_default();
    }
}
