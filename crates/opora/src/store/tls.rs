//! What a failure of TLS means, and what to do about it, in words.
//!
//! The libraries hand such a failure on within errors of their own; here it is found in them. Nothing of it is retried:
//! a certificate that does not fit now does not fit later.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// How an address names the files of TLS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// The setting that names the authority's certificate.
    pub(super) authority: &'static str,
    /// The settings that name our own certificate and its key.
    pub(super) own: &'static str,
}

/// What failed; none if it was not TLS.
pub(super) fn in_words(error: &(dyn Error + 'static), settings: Settings) -> Option<String> {
    let Settings { authority, own } = settings;
    let error = found(error)?;
    Some(match error {
        // A bad signature is that of another authority with the same name, such as the former one.
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => format!(
            "its certificate was issued by an authority that is not trusted here; `{authority}=<file>` in the address \
             names the certificate of the right one"
        ),
        TlsError::InvalidCertificate(
            why @ (CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }),
        ) => format!("its certificate is for another host than the address names: {why}"),
        TlsError::InvalidCertificate(why) => format!("its certificate cannot be accepted: {why}"),
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => "it does not speak TLS there".to_owned(),
        TlsError::AlertReceived(alert) if is_about_us(*alert) => {
            format!(
                "it does not accept our certificate, or wants one and got none ({alert:?}): {own} in the address name it"
            )
        }
        other => format!("TLS failed: {other}"),
    })
}

fn is_about_us(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    let about_us = [
        Alert::CertificateRequired,
        Alert::BadCertificate,
        Alert::UnsupportedCertificate,
        Alert::CertificateRevoked,
        Alert::CertificateExpired,
        Alert::CertificateUnknown,
        Alert::UnknownCA,
        Alert::AccessDenied,
        Alert::DecryptError,
        Alert::NoCertificate,
    ];
    about_us.contains(&alert)
}

fn found<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e TlsError> {
    if let Some(tls) = error.downcast_ref::<TlsError>() {
        return Some(tls);
    }
    // These two tell the source of what they carry, and pass over what they carry themselves.
    if let Some(io) = error.downcast_ref::<io::Error>() {
        return found(io.get_ref()?);
    }
    if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return found(&**shared);
    }
    found(error.source()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings { authority: "ca", own: "`cert` and `key`" };

    #[test]
    fn a_failure_is_found_within_others_and_what_is_none_is_left_alone() {
        let failure = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(io::Error::other(failure()));
        let wrapped = redis::RedisError::from(io::Error::other(failure()));
        let within: [&(dyn Error + 'static); 4] = [&failure(), &io::Error::other(failure()), &shared, &wrapped];
        for error in within {
            assert!(in_words(error, SETTINGS).is_some_and(|words| words.contains("`ca=<file>`")), "{error}");
        }
        assert_eq!(in_words(&io::Error::from(io::ErrorKind::ConnectionRefused), SETTINGS), None);
    }

    #[test]
    fn each_failure_says_what_to_look_at() {
        let name = TlsError::InvalidCertificate(CertificateError::NotValidForName);
        let wanted = TlsError::AlertReceived(AlertDescription::CertificateRequired);
        let plain = TlsError::InvalidMessage(InvalidMessage::InvalidContentType);
        for (error, words) in [(name, "another host"), (wanted, "`cert` and `key`"), (plain, "does not speak TLS")] {
            assert!(in_words(&error, SETTINGS).is_some_and(|told| told.contains(words)), "{error}");
        }
    }
}
