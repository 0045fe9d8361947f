//! Explains TLS failures: what failed and what to do about it.
//!
//! Libraries wrap a TLS error in errors of their own; this module finds it there. TLS failures are not retried: a
//! certificate that does not fit now will not fit later.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// The names of an address's TLS settings, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct TlsSettingNames {
    /// The setting that names the authority's certificate.
    pub(super) authority: &'static str,
    /// The settings that name the client certificate and its key.
    pub(super) own: &'static str,
}

/// What failed. `None` if it was not TLS.
pub(super) fn describe_error(error: &(dyn Error + 'static), settings: TlsSettingNames) -> Option<String> {
    let TlsSettingNames { authority, own } = settings;
    let error = find_tls_error(error)?;
    Some(match error {
        // A bad signature: another authority with the same name, such as the former one.
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => format!(
            "its certificate was issued by an authority that is not trusted here; `{authority}=<file>` in the address \
             names the certificate of the right one"
        ),
        TlsError::InvalidCertificate(
            why @ (CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }),
        ) => format!("its certificate is for another host than the address names: {why}"),
        TlsError::InvalidCertificate(why) => format!("its certificate cannot be accepted: {why}"),
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => "it does not expect TLS there".to_owned(),
        TlsError::AlertReceived(alert) if is_about_client_certificate(*alert) => {
            format!(
                "it does not accept our certificate, or wants one and got none ({alert:?}): {own} in the address name it"
            )
        }
        other => format!("TLS failed: {other}"),
    })
}

fn is_about_client_certificate(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    let codes = [
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
    codes.contains(&alert)
}

fn find_tls_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e TlsError> {
    if let Some(tls) = error.downcast_ref::<TlsError>() {
        return Some(tls);
    }
    // `source()` of these two skips the error that they wrap.
    if let Some(io) = error.downcast_ref::<io::Error>() {
        return find_tls_error(io.get_ref()?);
    }
    if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return find_tls_error(&**shared);
    }
    find_tls_error(error.source()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: TlsSettingNames = TlsSettingNames { authority: "ca", own: "`cert` and `key`" };

    #[test]
    fn a_tls_error_is_found_inside_other_errors() {
        let failure = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(io::Error::other(failure()));
        let wrapped = redis::RedisError::from(io::Error::other(failure()));
        let within: [&(dyn Error + 'static); 4] = [&failure(), &io::Error::other(failure()), &shared, &wrapped];
        for error in within {
            assert!(describe_error(error, SETTINGS).is_some_and(|words| words.contains("`ca=<file>`")), "{error}");
        }
        assert_eq!(describe_error(&io::Error::from(io::ErrorKind::ConnectionRefused), SETTINGS), None);
    }

    #[test]
    fn each_failure_says_what_to_look_at() {
        let name = TlsError::InvalidCertificate(CertificateError::NotValidForName);
        let wanted = TlsError::AlertReceived(AlertDescription::CertificateRequired);
        let plain = TlsError::InvalidMessage(InvalidMessage::InvalidContentType);
        for (error, words) in [(name, "another host"), (wanted, "`cert` and `key`"), (plain, "does not expect TLS")] {
            assert!(describe_error(&error, SETTINGS).is_some_and(|message| message.contains(words)), "{error}");
        }
    }
}
