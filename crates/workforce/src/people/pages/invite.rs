//! The invitation: a link and a QR code that lead newcomers to the bot.

use axum::extract::State;
use maud::{Markup, html};
use qrcode::{Color, EcLevel, QrCode};

use crate::application::App;
use crate::person::Permission;
use crate::text;
use crate::web::ui::{Button, Card, headline};
use crate::web::{PageError, SignedIn, Visitor};

/// What the bot is started with: Telegram shows *Start* instead of an empty chat.
const START: &str = "?start=work";
/// The empty border that readers of QR codes need, in modules.
const BORDER: usize = 4;

/// `GET /people/invite`: for owners, and for managers who look after employees.
pub async fn show(State(app): State<App>, SignedIn(visitor): SignedIn) -> Result<Markup, PageError> {
    if !visitor.visit.may_somewhere(Permission::Employees) {
        return Err(PageError::Forbidden);
    }
    Ok(draw(&visitor, app.bot_link().map(invitation).as_deref()))
}

/// The link with its start parameter. A chat page of the demo takes none.
fn invitation(bot: String) -> String {
    if bot.starts_with("https://t.me/") { bot + START } else { bot }
}

fn draw(visitor: &Visitor, link: Option<&str>) -> Markup {
    let language = visitor.language();
    let title = text!(language, "web-invite");
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href="/people" { (text!(language, "web-people")) } }
            (headline(&title, &html! {}))
            (Card::untitled().class("invite").render(&html! {
                p { (text!(language, "web-invite-about")) }
                @match link {
                    Some(link) => {
                        @if let Some(picture) = qr(link, &text!(language, "web-invite-qr")) { (picture) }
                        label.wide { (text!(language, "web-invite-link"))
                            input #invitation type="text" readonly value=(link) data-testid="invitation";
                        }
                        div.row.no-print {
                            (Button::primary(&text!(language, "web-invite-copy")).testid("copy-invitation").copies("invitation", &text!(language, "web-invite-copied")))
                            (Button::plain(&text!(language, "web-invite-print")).prints())
                            (Button::plain(&text!(language, "web-invite-open")).link(link))
                        }
                        p.quiet.no-print { (text!(language, "web-invite-next")) }
                    },
                    None => p.notice-line data-testid="no-bot-name" { (text!(language, "web-invite-unknown")) }
                }
            }))
        },
    )
}

/// A QR code as a picture; none if the text is too long for one.
fn qr(text: &str, label: &str) -> Option<Markup> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let (width, size) = (code.width(), code.width() + 2 * BORDER);
    let dark = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
    let modules: String =
        dark.map(|(at, _)| format!("M{} {}h1v1h-1z", at % width + BORDER, at / width + BORDER)).collect();
    Some(html! {
        svg.qr viewBox={ "0 0 " (size) " " (size) } role="img" aria-label=(label) shape-rendering="crispEdges" data-testid="qr" {
            rect width=(size) height=(size) fill="#fff" {}
            path d=(modules) fill="#000" {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_telegram_gets_a_start_parameter() {
        assert_eq!(invitation("https://t.me/opora_bot".into()), "https://t.me/opora_bot?start=work");
        assert_eq!(invitation("http://127.0.0.1:8080/chat".into()), "http://127.0.0.1:8080/chat");
    }

    #[test]
    fn a_qr_code_has_finder_patterns_and_a_border() {
        let picture = qr("https://t.me/opora_bot?start=work", "code").unwrap().into_string();
        // Version 3 has 29 modules.
        assert!(picture.contains("viewBox=\"0 0 37 37\""), "{picture}");
        let is_dark = |x: usize, y: usize| picture.contains(&format!("M{x} {y}h1v1h-1z"));
        for (x, y) in [(4, 4), (26, 4), (4, 26)] {
            assert!((0..7).all(|step| is_dark(x + step, y) && is_dark(x, y + step)), "{x} {y}");
            assert!(!is_dark(x + 1, y + 1) && is_dark(x + 3, y + 3));
        }
        assert!(!is_dark(3, 3) && !is_dark(33, 33));
        assert!(qr(&"x".repeat(5000), "too long").is_none());
    }
}
