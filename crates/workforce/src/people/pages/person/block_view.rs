//! The questions before a block and before its end. Each says exactly what will happen.

use maud::{Markup, html};

use crate::person::Person;
use crate::rooms::{GivenBack, PendingWork};
use crate::text;
use crate::web::Visitor;
use crate::web::ui::{Button, Card, headline};

/// The question before a block.
pub fn block(visitor: &Visitor, person: &Person, work: &PendingWork) -> Markup {
    let (language, path) = (visitor.language(), format!("/people/{}", person.id));
    let title = text!(language, "web-block-title", name = person.full_name.as_str());
    let count = work.plans.len();
    let body = html! {
        ul.consequences data-testid="consequences" {
            li { (text!(language, "web-block-signs-out")) }
            li { (text!(language, "web-block-gives-back", count = count)) }
            @if work.is_at_work { li { (text!(language, "web-block-at-work")) } }
            li { (text!(language, "web-block-tells")) }
        }
        (list(&work.plans))
        p.quiet { (text!(language, "web-block-undo")) }
        (visitor.visit.form(&format!("{path}/block"), &html! {
            div.row {
                (Button::danger(&text!(language, "web-block")).testid("block").submit())
                a.button.plain href=(path) { (text!(language, "web-block-not")) }
            }
        }))
    };
    question(visitor, person, &title, &body)
}

/// The question before the end of a block.
pub fn unblock(visitor: &Visitor, person: &Person, given_back: &[GivenBack]) -> Markup {
    let (language, path) = (visitor.language(), format!("/people/{}", person.id));
    let title = text!(language, "web-unblock-title", name = person.full_name.as_str());
    let free: Vec<String> =
        given_back.iter().filter(|one| one.obstacle.is_none()).map(|one| one.text.clone()).collect();
    let gone = given_back.iter().filter_map(|one| Some((&one.text, one.obstacle.as_ref()?)));
    let body = html! {
        p { (text!(language, "web-unblock-about")) }
        @if gone.clone().next().is_some() {
            p { (text!(language, "web-unblock-gone")) }
            ul.rows data-testid="gone" { @for (text, why) in gone { li { span { (text) } span.quiet { (why) } } } }
        }
        (visitor.visit.form(&format!("{path}/unblock"), &html! {
            @if !free.is_empty() {
                label.check {
                    input type="checkbox" name="restores" value="on" checked data-testid="restores";
                    (text!(language, "web-unblock-restores", count = free.len()))
                }
                (list(&free))
            }
            div.row {
                (Button::primary(&text!(language, "web-unblock")).testid("unblock").submit())
                a.button.plain href=(path) { (text!(language, "web-unblock-not")) }
            }
        }))
    };
    question(visitor, person, &title, &body)
}

fn question(visitor: &Visitor, person: &Person, title: &str, body: &Markup) -> Markup {
    visitor.page(
        title,
        &html! {
            p.crumbs { a href={ "/people/" (person.id) } { (person.full_name) } }
            (headline(title, &html! {}))
            (Card::untitled().render(body))
        },
    )
}

fn list(lines: &[String]) -> Markup {
    html! { @if !lines.is_empty() { ul data-testid="plans" { @for line in lines { li { (line) } } } } }
}
