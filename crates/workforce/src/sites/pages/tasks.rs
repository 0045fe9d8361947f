//! Tasks, of a site or of one of its slots: their forms, what these do, and how tasks are listed. One way for both pages.

use maud::{Markup, html};

use crate::application::App;
use crate::money::Money;
use crate::sites::{AboutTask, Sites, Task};
use crate::text;
use crate::web::form::{
    Attempt, Fields, Filled, Reader, Sheet, carry_out, fields, money_field, once, seen, version_of,
};
use crate::web::{Oops, Visitor};

/// Where the tasks of a page are, and whether they may be changed.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The path of the page; those of its tasks are below it.
    pub page: &'a str,
    pub may_edit: bool,
}

/// What a form says becomes a task.
pub async fn create(
    app: &App,
    visitor: &Visitor,
    site_id: i64,
    slot_id: Option<i64>,
    typed: Fields,
) -> Result<Result<(), Attempt>, Oops> {
    let doors = Sites::of_app(app).once(once(visitor, &typed));
    let act = async |about| doors.create_task(&visitor.person, site_id, slot_id, about).await.map(drop);
    carry_out(visitor, typed, read, act).await
}

pub async fn edit(app: &App, visitor: &Visitor, id: i64, typed: Fields) -> Result<Result<(), Attempt>, Oops> {
    let (doors, version) = (Sites::of_app(app), version_of(&typed));
    carry_out(visitor, typed, read, async |about| doors.edit_task(&visitor.person, id, version, about).await).await
}

pub async fn delete(app: &App, visitor: &Visitor, id: i64, typed: Fields) -> Result<Result<(), Attempt>, Oops> {
    let doors = Sites::of_app(app);
    carry_out(visitor, typed, seen, async |version| doors.delete_task(&visitor.person, id, version).await).await
}

pub async fn restore(app: &App, visitor: &Visitor, id: i64) -> Result<Result<(), Attempt>, Oops> {
    let doors = Sites::of_app(app);
    carry_out(visitor, Fields::new(), seen, async |_| doors.restore_task(&visitor.person, id).await).await
}

/// All tasks of a page, with the ways to change them.
pub fn list(visitor: &Visitor, place: Place<'_>, tasks: &[Task], attempt: &Attempt) -> Markup {
    let language = visitor.language();
    let (alive, gone): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(|task| task.deleted_at.is_none());
    html! {
        @if alive.is_empty() { p.quiet { (text!(language, "cabinet-no-tasks")) } }
        ul.rows data-testid="tasks" { @for one in &alive { (row(visitor, place, one, attempt)) } }
        @if place.may_edit {
            (new(visitor, place, attempt))
            @if !gone.is_empty() { (deleted(visitor, place, &gone)) }
        }
    }
}

fn row(visitor: &Visitor, place: Place<'_>, task: &Task, attempt: &Attempt) -> Markup {
    let language = visitor.language();
    let amount = Money::from_kopecks(task.about.amount_kopecks);
    html! {
        li data-testid={ "task-" (task.id) } {
            div {
                (task.about.text) " "
                @if task.about.is_mandatory { span.chip { (text!(language, "cabinet-mandatory")) } " " }
                @if task.about.needs_media { span.chip { "📷 " (text!(language, "cabinet-needs-media")) } }
                @if place.may_edit { (change(visitor, place, task, attempt)) }
            }
            strong.money.minus[amount.is_negative()] { (amount.signed(language)) }
        }
    }
}

fn change(visitor: &Visitor, place: Place<'_>, task: &Task, attempt: &Attempt) -> Markup {
    let language = visitor.language();
    let path = format!("{}/tasks/{}", place.page, task.id);
    let (now, caption) = (write(&task.about), text!(language, "cabinet-save"));
    let version = Some(task.version);
    let sheet = Sheet { path: &path, now: &now, version, back: place.page, caption: &caption, testid: "save-task" };
    html! {
        details open[attempt.is_at(&path)] {
            summary data-testid="edit-task" { (text!(language, "cabinet-edit")) }
            (visitor.sheet(attempt, sheet, inputs))
            (visitor.visit.form(&format!("{path}/delete"), &html! {
                input type="hidden" name="version" value=(task.version);
                button.danger.small type="submit" data-testid="delete-task" { (text!(language, "cabinet-delete")) }
            }))
        }
    }
}

fn new(visitor: &Visitor, place: Place<'_>, attempt: &Attempt) -> Markup {
    let (language, none) = (visitor.language(), Fields::new());
    let (path, caption) = (format!("{}/tasks", place.page), text!(language, "cabinet-create"));
    let sheet =
        Sheet { path: &path, now: &none, version: None, back: place.page, caption: &caption, testid: "create-task" };
    html! {
        details open[attempt.is_at(&path)] {
            summary data-testid="new-task" { (text!(language, "cabinet-new-task")) }
            (visitor.sheet(attempt, sheet, inputs))
        }
    }
}

fn deleted(visitor: &Visitor, place: Place<'_>, tasks: &[&Task]) -> Markup {
    let language = visitor.language();
    html! {
        details {
            summary data-testid="deleted-tasks" { (text!(language, "cabinet-deleted-tasks")) }
            ul.rows {
                @for task in tasks {
                    li.removed {
                        span { (task.about.text) }
                        (visitor.visit.form(&format!("{}/tasks/{}/restore", place.page, task.id), &html! {
                            button.plain.small type="submit" data-testid="restore-task" { (text!(language, "cabinet-restore")) }
                        }))
                    }
                }
            }
        }
    }
}

fn inputs(form: &Filled<'_>) -> Markup {
    let language = form.language;
    html! {
        div.row.fields {
            (form.line("text", &text!(language, "cabinet-task-text"), 300))
            (form.short("amount", &text!(language, "cabinet-task-amount"), "text"))
        }
        p.quiet { (text!(language, "cabinet-task-amount-about")) }
        div.row.choice {
            (form.tick("is_mandatory", &text!(language, "cabinet-mandatory")))
            (form.tick("needs_media", &text!(language, "cabinet-needs-media")))
        }
    }
}

/// A task as its form shows it.
fn write(about: &AboutTask) -> Fields {
    let mut typed = fields([("text", about.text.clone()), ("amount", money_field(Some(about.amount_kopecks)))]);
    for (name, is_ticked) in [("is_mandatory", about.is_mandatory), ("needs_media", about.needs_media)] {
        if is_ticked {
            typed.insert(name.to_owned(), "on".to_owned());
        }
    }
    typed
}

/// The same the other way.
fn read(typed: &Fields) -> Result<AboutTask, Vec<&'static str>> {
    let mut reader = Reader::new(typed);
    let about = AboutTask {
        text: reader.words("text"),
        amount_kopecks: if reader.words("amount").is_empty() { 0 } else { reader.money("amount") },
        is_mandatory: reader.tick("is_mandatory"),
        needs_media: reader.tick("needs_media"),
    };
    let mut bad = reader.bad;
    bad.extend(about.mistakes());
    if bad.is_empty() { Ok(about) } else { Err(bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_keeps_the_sign_of_its_amount() {
        for kopecks in [-3300, 0, 12_345] {
            let about =
                AboutTask { text: "Sweep".into(), amount_kopecks: kopecks, is_mandatory: true, needs_media: false };
            assert_eq!(read(&write(&about)), Ok(about));
        }
    }
}
