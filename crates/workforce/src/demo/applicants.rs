//! Two people whose documents wait for approval: with a passport, and with a driving licence.

use opora::clock::Millis;
use opora_emulator::Emulator;

use super::pictures;
use super::staff::{self, FIRST_APPLICANT};
use crate::application::App;
use crate::registration::{Applicant, DocumentKind, Draft, add_applicant};
use crate::texts::Language;

const HOUR_MS: i64 = 3_600_000;

/// What an applicant has sent, and how long ago.
struct Sent {
    phone: &'static str,
    kind: DocumentKind,
    document: &'static [u8],
    selfie: &'static [u8],
    hours_ago: i64,
}

const SENT: [Sent; 2] = [
    Sent {
        phone: "+79160000101",
        kind: DocumentKind::Passport,
        document: include_bytes!("pictures/passport.jpg"),
        selfie: include_bytes!("pictures/selfie-irina.jpg"),
        hours_ago: 20,
    },
    Sent {
        phone: "+79160000102",
        kind: DocumentKind::DrivingLicence,
        document: include_bytes!("pictures/driving-licence.jpg"),
        selfie: include_bytes!("pictures/selfie-kirill.jpg"),
        hours_ago: 2,
    },
];

pub async fn add(app: &App, emulator: &Emulator, language: Language) -> anyhow::Result<()> {
    let now = app.clock.now();
    for (telegram_id, sent) in (FIRST_APPLICANT..).zip(&SENT) {
        let draft = Draft {
            name: staff::full_name(telegram_id, language),
            phone: Some(sent.phone.to_owned()),
            is_email_answered: true,
            kind: Some(sent.kind),
            document: pictures::picture(emulator, sent.document),
            selfie: pictures::picture(emulator, sent.selfie),
            username: staff::username(telegram_id),
            ..Draft::default()
        };
        let applicant = Applicant { telegram_id, draft, language, document: sent.document, selfie: sent.selfie };
        add_applicant(app, applicant, Millis(now.0 - sent.hours_ago * HOUR_MS)).await?;
    }
    Ok(())
}
