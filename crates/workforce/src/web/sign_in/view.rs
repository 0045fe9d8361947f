//! The views of the sign-in.

use maud::{Markup, html};

use crate::person::Person;
use crate::text;
use crate::web::ui::{Button, Card, Field, page_title};
use crate::web::visit::Visit;

/// Asks for an identifier.
pub fn ask(visit: &Visit, next: &str, notice: Option<&str>) -> Markup {
    let language = visit.language();
    let (label, hint) = (text!(language, "web-who"), text!(language, "web-who-hint"));
    let who = Field::new("who", &label).hint(&hint);
    let fields = html! {
        (hidden("next", next))
        (who.around(&html! {
            input id=(who.own_id()) name="who" data-testid="who" required maxlength="64" autocomplete="username" autofocus
                aria-describedby=[who.described_by()];
        }))
        (Button::primary(&text!(language, "web-send-pin")).testid("send-pin").submit())
    };
    card(
        visit,
        notice,
        &html! {
            p { (text!(language, "web-sign-in-about")) }
            (visit.form("/auth/send-pin", &fields))
            (demo_hint(visit))
            p.quiet { (text!(language, "web-sign-in-by-link")) }
        },
    )
}

/// Asks to confirm the account of a link.
pub fn confirm(visit: &Visit, person: &Person, token: &str) -> Markup {
    let language = visit.language();
    let fields = html! {
        (hidden("token", token))
        (Button::primary(&text!(language, "web-log-in")).testid("log-in").focused().submit())
    };
    card(
        visit,
        None,
        &html! {
            p data-testid="link-owner" { (text!(language, "web-link-owner", name = person.full_name.as_str())) }
            (visit.form("/auth/link", &fields))
        },
    )
}

/// Asks for the PIN.
pub fn enter(visit: &Visit, who: &str, next: &str, notice: Option<&str>) -> Markup {
    let language = visit.language();
    let fields = html! {
        (hidden("next", next))
        (hidden("who", who))
        (Field::new("pin", &text!(language, "web-pin")).around(&html! {
            input.pin #pin name="pin" data-testid="pin" required maxlength="12" inputmode="numeric"
                autocomplete="one-time-code" autofocus;
        }))
        (Button::primary(&text!(language, "web-log-in")).testid("log-in").submit())
    };
    card(
        visit,
        notice,
        &html! {
            p data-testid="pin-sent" { (text!(language, "web-pin-sent", who = who)) }
            (visit.form("/auth/login", &fields))
            (demo_hint(visit))
            p { a href="/sign-in" { (text!(language, "web-ask-again")) } }
        },
    )
}

fn card(visit: &Visit, notice: Option<&str>, body: &Markup) -> Markup {
    let title = text!(visit.language(), "web-sign-in");
    visit.page(
        &title,
        &html! {
            (Card::untitled().class("narrow").render(&html! {
                (page_title(&title, None))
                @if let Some(notice) = notice {
                    p.warning role="alert" data-testid="notice" { (notice) }
                }
                (body)
            }))
        },
    )
}

/// In the demo: who can sign in, and that any PIN will do.
fn demo_hint(visit: &Visit) -> Markup {
    let (language, chat_page) = (visit.language(), visit.app().chat_page.as_deref());
    html! {
        @if let Some(chat_page) = chat_page {
            p.quiet data-testid="demo-hint" {
                (text!(language, "web-demo-sign-in")) " "
                a href=(chat_page) { (text!(language, "demo-chat")) }
            }
        }
    }
}

fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}
