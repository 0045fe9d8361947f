//! The views of the sign-in.

use maud::{Markup, html};

use crate::person::Person;
use crate::text;
use crate::web::visit::Visit;

/// Asks for an identifier.
pub fn ask(visit: &Visit, next: &str, notice: Option<&str>) -> Markup {
    let language = visit.language();
    let fields = html! {
        (hidden("next", next))
        label for="who" { (text!(language, "web-who")) }
        input #who name="who" data-testid="who" required maxlength="64" autocomplete="username" autofocus
            aria-describedby="who-hint";
        p.quiet #who-hint { (text!(language, "web-who-hint")) }
        button type="submit" data-testid="send-pin" { (text!(language, "web-send-pin")) }
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
        button type="submit" data-testid="log-in" autofocus { (text!(language, "web-log-in")) }
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
        label for="pin" { (text!(language, "web-pin")) }
        input.pin #pin name="pin" data-testid="pin" required maxlength="12" inputmode="numeric"
            autocomplete="one-time-code" autofocus;
        button type="submit" data-testid="log-in" { (text!(language, "web-log-in")) }
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
            div.card.narrow {
                h1 { (title) }
                @if let Some(notice) = notice {
                    p.warning role="alert" data-testid="notice" { (notice) }
                }
                (body)
            }
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
