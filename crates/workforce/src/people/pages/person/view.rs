//! The view of a person's page.

use maud::{Markup, html};

use super::PersonPage;
use crate::audit::{self, Line};
use crate::people::OwnerAction;
use crate::person::{Person, Role, Status, role_name};
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Button, Card, Icon, Tab, headline, page_title, tabs};
use crate::web::{Visit, Visitor, moment, role_label, status_label};

pub fn page(visitor: &Visitor, shown: &PersonPage) -> Markup {
    let (language, person) = (visitor.language(), &shown.person);
    visitor.page(
        &person.full_name,
        &html! {
            p.crumbs { a href="/people" { (text!(language, "web-people")) } }
            div #person data-live={ "person:" (person.id) } {
                (head(visitor, shown))
                (tabs(&text!(language, "web-person-sections"), &section_tabs(shown, language)))
                div.columns #overview {
                    (Card::untitled().render(&facts(person, language)))
                    (Card::new(&text!(language, "web-access")).render(&access(visitor, person)))
                }
                @for (at, section) in shown.sections.iter().enumerate() {
                    (Card::new(&section.title).id(&format!("section-{at}")).render(&section.body))
                }
                (Card::new(&text!(language, "web-history")).id("history").render(&html! {
                    (history(shown, language))
                }))
                @if may(visitor, person, OwnerAction::Export) { (own_data(visitor, person)) }
            }
        },
    )
}

/// Name, photo, ways to reach the person, and the menu with what matters more.
fn head(visitor: &Visitor, shown: &PersonPage) -> Markup {
    let (language, person) = (visitor.language(), &shown.person);
    let page = format!("/people/{}", person.id);
    html! {
        div.headline.person-head {
            @if let Some(photo) = &shown.photo {
                img.photo src={ "/documents/" (photo) "/file" } alt=(text!(language, "web-person-photo")) data-testid="photo";
            }
            (page_title(&person.full_name, Some("full-name")))
            (status_label(person.status, language))
            div.row.actions {
                @if let Some(phone) = &person.phone {
                    a.button.plain href={ "tel:" (phone) } data-testid="call" { (Icon::Phone.svg()) (text!(language, "web-person-call")) }
                }
                @if let Some(link) = shown.telegram_link() {
                    a.button.plain href=(link) rel="noopener" data-testid="telegram" { (Icon::Send.svg()) "Telegram" }
                }
                @if may(visitor, person, OwnerAction::Edit) {
                    a.button.plain href={ (page) "/edit" } data-testid="edit-person" { (Icon::Edit.svg()) (text!(language, "web-person-edit")) }
                }
                @if may(visitor, person, OwnerAction::Block) { (menu(visitor, person)) }
            }
        }
    }
}

/// What takes access or data away: behind a menu, and each with a question.
fn menu(visitor: &Visitor, person: &Person) -> Markup {
    let (language, page) = (visitor.language(), format!("/people/{}", person.id));
    html! {
        details.menu.person-menu data-menu {
            summary.button.plain aria-label=(text!(language, "web-person-more")) data-testid="person-menu" { (Icon::More.svg()) }
            div.menu-sheet {
                @if person.status == Status::Blocked {
                    a.menu-item href={ (page) "/unblock" } data-testid="ask-unblock" { (Icon::Key.svg()) (text!(language, "web-unblock-ask")) }
                } @else {
                    a.menu-item.danger href={ (page) "/block" } data-testid="ask-block" { (Icon::NoEntry.svg()) (text!(language, "web-block-ask")) }
                }
            }
        }
    }
}

/// Links to the parts of the page.
fn section_tabs(shown: &PersonPage, language: Language) -> Vec<Tab> {
    let mut all = vec![Tab::new(text!(language, "web-person-overview"), "#overview".to_owned(), true)];
    let sections = shown.sections.iter().enumerate();
    all.extend(sections.map(|(at, section)| Tab::new(section.title.clone(), format!("#section-{at}"), false)));
    all.push(Tab::new(text!(language, "web-history"), "#history".to_owned(), false));
    all
}

/// Buttons to export and to forget personal data.
fn own_data(visitor: &Visitor, person: &Person) -> Markup {
    let language = visitor.language();
    html! {
        (Card::new(&text!(language, "web-own-data")).render(&html! {
            p.quiet { (text!(language, "web-own-data-about")) }
            div.row {
                (visitor.visit.form(&format!("/people/{}/export", person.id), &html! {
                    (Button::plain(&text!(language, "web-export")).testid("export").submit())
                }))
                @if may(visitor, person, OwnerAction::Forget) {
                    a.button.plain href={ "/people/" (person.id) "/forget" } data-testid="forget" {
                        (text!(language, "web-forget"))
                    }
                }
            }
        }))
    }
}

/// The page that asks for confirmation before a person is forgotten.
pub fn forgetting(visitor: &Visitor, person: &Person) -> Markup {
    let (language, path) = (visitor.language(), format!("/people/{}", person.id));
    let title = text!(language, "web-forget-title", name = person.full_name.as_str());
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href=(path) { (person.full_name) } }
            (headline(&title, &html! {}))
            (Card::untitled().render(&html! {
                p { (text!(language, "web-forget-goes")) }
                p { (text!(language, "web-forget-stays")) }
                p.warning { (text!(language, "web-forget-final")) }
                (visitor.visit.form(&format!("{path}/forget"), &html! {
                    label.check {
                        input type="checkbox" name="sure" value="yes" required data-testid="sure";
                        (text!(language, "web-forget-sure"))
                    }
                    div.row {
                        (Button::danger(&text!(language, "web-forget-now")).testid("forget-now").submit())
                        a.button.plain href=(path) { (text!(language, "web-forget-not")) }
                    }
                }))
            }))
        },
    )
}

/// A person's data.
pub fn facts(person: &Person, language: Language) -> Markup {
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    let rows = [
        (text!(language, "web-name"), person.full_name.clone()),
        (
            text!(language, "web-telegram-id"),
            or_none(&(!person.is_forgotten()).then(|| person.telegram_id.to_string())),
        ),
        (text!(language, "web-username"), person.username.as_ref().map_or("–".into(), |name| format!("@{name}"))),
        (text!(language, "web-phone"), or_none(&person.phone)),
        (text!(language, "web-email"), or_none(&person.email)),
        (text!(language, "web-language"), person.language.name().to_owned()),
    ];
    html! {
        dl.facts {
            @for (name, value) in &rows { dt { (name) } dd { (value) } }
            dt { (text!(language, "web-since")) } dd { (moment(person.created_at, language)) }
            @if person.is_test { dt { (text!(language, "web-test-user")) } dd { "✓" } }
        }
    }
}

fn access(visitor: &Visitor, person: &Person) -> Markup {
    let (language, visit) = (visitor.language(), &visitor.visit);
    html! {
        ul.rows {
            @for role in person.roles.iter() {
                li {
                    (role_label(role, language))
                    @if may(visitor, person, OwnerAction::Revoke(role)) {
                        (role_form(visit, person, "revoke", role, &text!(language, "web-take-role")))
                    }
                }
            }
            @if person.roles.iter().next().is_none() { li.quiet { (text!(language, "front-no-roles")) } }
        }
        (grant_form(visitor, person))
    }
}

fn may(visitor: &Visitor, person: &Person, action: OwnerAction) -> bool {
    action.check(&visitor.person, person).is_ok()
}

fn role_form(visit: &Visit, person: &Person, action: &str, role: Role, caption: &str) -> Markup {
    visit.form(
        &format!("/people/{}/roles/{action}", person.id),
        &html! {
            input type="hidden" name="role" value=(role.name());
            (Button::plain(caption).small().testid(&format!("{action}-{role}")).submit())
        },
    )
}

fn grant_form(visitor: &Visitor, person: &Person) -> Markup {
    let language = visitor.language();
    // A registration makes an applicant, never an owner.
    let is_offered = |role: &Role| {
        *role != Role::Applicant && !person.roles.has(*role) && may(visitor, person, OwnerAction::Grant(*role))
    };
    let others: Vec<Role> = Role::ALL.into_iter().filter(is_offered).collect();
    let fields = html! {
        div.row {
            select name="role" aria-label=(text!(language, "web-roles")) data-testid="role" {
                @for role in &others { option value=(role.name()) { (role_name(*role, language)) } }
            }
            (Button::plain(&text!(language, "web-give-role")).testid("grant").submit())
        }
    };
    html! {
        @if !others.is_empty() { (visitor.visit.form(&format!("/people/{}/roles/grant", person.id), &fields)) }
    }
}

fn history(shown: &PersonPage, language: Language) -> Markup {
    html! {
        @if shown.lines.is_empty() { p.quiet { (text!(language, "web-history-empty")) } }
        ul.rows data-testid="history" {
            @for line in &shown.lines {
                li {
                    div { (audit::in_words(line, language)) p.quiet { (actor(shown, line, language)) } }
                    span.quiet { (moment(line.at, language)) }
                }
            }
        }
    }
}

fn actor(shown: &PersonPage, line: &Line, language: Language) -> String {
    match line.actor {
        Some(id) => shown.names.get(&id).cloned().unwrap_or_else(|| format!("#{id}")),
        None => text!(language, "web-by-command"),
    }
}
