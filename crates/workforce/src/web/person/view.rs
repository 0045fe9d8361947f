//! A person's page, drawn.

use maud::{Markup, html};

use super::{Shown, may_change, may_give};
use crate::audit::Line;
use crate::front::role_name;
use crate::people::{Person, Role, Status};
use crate::text;
use crate::texts::Language;
use crate::web::draw::{moment, role_label, status_label, status_name};
use crate::web::guards::Visitor;
use crate::web::{OWNERS, Visit};

pub fn page(visitor: &Visitor, shown: &Shown) -> Markup {
    let (language, person) = (visitor.language(), &shown.person);
    visitor.page(
        &person.full_name,
        &html! {
            p.crumbs { a href="/people" { (text!(language, "web-people")) } }
            div #person data-live={ "person:" (person.id) } {
                div.headline {
                    h1 data-testid="full-name" { (person.full_name) }
                    (status_label(person.status, language))
                }
                div.columns {
                    div.card { (facts(person, language)) }
                    div.card { h2 { (text!(language, "web-access")) } (access(visitor, person)) }
                }
                @for section in &shown.sections {
                    section.card { h2 { (section.title) } (section.body) }
                }
                section.card {
                    h2 { (text!(language, "web-history")) }
                    (history(shown, language))
                }
            }
        },
    )
}

/// What is known of a person.
pub fn facts(person: &Person, language: Language) -> Markup {
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    let rows = [
        (text!(language, "web-name"), person.full_name.clone()),
        (text!(language, "web-telegram-id"), person.telegram_id.to_string()),
        (text!(language, "web-username"), person.username.as_ref().map_or("–".into(), |name| format!("@{name}"))),
        (text!(language, "web-phone"), or_none(&person.phone)),
        (text!(language, "web-email"), or_none(&person.email)),
        (text!(language, "web-language"), person.language.name().to_owned()),
    ];
    html! {
        dl.facts {
            @for (name, value) in &rows { dt { (name) } dd { (value) } }
            dt { (text!(language, "web-since")) } dd { (moment(person.created_at)) }
            @if person.is_test { dt { (text!(language, "web-test-user")) } dd { "✓" } }
        }
    }
}

fn access(visitor: &Visitor, person: &Person) -> Markup {
    let (language, visit) = (visitor.language(), &visitor.visit);
    let is_changeable = may_change(visitor, person);
    html! {
        ul.rows {
            @for role in person.roles.iter() {
                li {
                    (role_label(role, language))
                    @if is_changeable && may_give(visitor, role).is_ok() && !is_own_power(visitor, person, role) {
                        (role_form(visit, person, "revoke", role, &text!(language, "web-take-role")))
                    }
                }
            }
            @if person.roles.iter().next().is_none() { li.quiet { (text!(language, "front-no-roles")) } }
        }
        @if is_changeable { (grant_form(visitor, person)) }
        @if is_changeable && person.id != visitor.person.id { (block_form(visitor, person)) }
    }
}

fn is_own_power(visitor: &Visitor, person: &Person, role: Role) -> bool {
    person.id == visitor.person.id && OWNERS.contains(&role)
}

fn role_form(visit: &Visit, person: &Person, deed: &str, role: Role, caption: &str) -> Markup {
    visit.form(
        &format!("/people/{}/roles/{deed}", person.id),
        &html! {
            input type="hidden" name="role" value=(role.name());
            button.plain.small type="submit" data-testid={ (deed) "-" (role) } { (caption) }
        },
    )
}

fn grant_form(visitor: &Visitor, person: &Person) -> Markup {
    let language = visitor.language();
    let others: Vec<Role> =
        Role::ALL.into_iter().filter(|role| !person.roles.has(*role) && may_give(visitor, *role).is_ok()).collect();
    let fields = html! {
        div.row {
            select name="role" aria-label=(text!(language, "web-roles")) data-testid="role" {
                @for role in &others { option value=(role.name()) { (role_name(*role, language)) } }
            }
            button.plain type="submit" data-testid="grant" { (text!(language, "web-give-role")) }
        }
    };
    html! {
        @if !others.is_empty() { (visitor.visit.form(&format!("/people/{}/roles/grant", person.id), &fields)) }
    }
}

fn block_form(visitor: &Visitor, person: &Person) -> Markup {
    let language = visitor.language();
    if person.status == Status::Blocked {
        return visitor.visit.form(
            &format!("/people/{}/unblock", person.id),
            &html! {
                button type="submit" data-testid="unblock" { (text!(language, "web-unblock")) }
            },
        );
    }
    visitor.visit.form(
        &format!("/people/{}/block", person.id),
        &html! {
            p.quiet { (text!(language, "web-block-about")) }
            button.danger type="submit" data-testid="block" { (text!(language, "web-block")) }
        },
    )
}

fn history(shown: &Shown, language: Language) -> Markup {
    html! {
        @if shown.lines.is_empty() { p.quiet { (text!(language, "web-history-empty")) } }
        ul.rows data-testid="history" {
            @for line in &shown.lines {
                li {
                    div { (deed(line, language)) p.quiet { (actor(shown, line, language)) } }
                    span.quiet { (moment(line.at)) }
                }
            }
        }
    }
}

fn actor(shown: &Shown, line: &Line, language: Language) -> String {
    match line.actor {
        Some(id) => shown.names.get(&id).cloned().unwrap_or_else(|| format!("#{id}")),
        None => text!(language, "web-by-command"),
    }
}

/// What staff did, in words. What no version of this page knows is told as it was written.
fn deed(line: &Line, language: Language) -> String {
    let detail = |name: &str| line.detail[name].as_str().unwrap_or_default();
    let role =
        || detail("role").parse::<Role>().map_or_else(|_| detail("role").to_owned(), |role| role_name(role, language));
    match line.action.as_str() {
        "role granted" => text!(language, "web-role-granted", role = role()),
        "role revoked" => text!(language, "web-role-revoked", role = role()),
        "status changed" => {
            let status = detail("status").parse::<Status>();
            let status = status.map_or_else(|_| detail("status").to_owned(), |status| status_name(status, language));
            text!(language, "web-status-changed", status = status)
        }
        other => other.to_owned(),
    }
}
