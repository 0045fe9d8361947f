//! Tasks of a site or of a slot: the list, and its forms. Shared by the pages of sites and slots.

use maud::{Markup, html};

use crate::application::App;
use crate::key;
use crate::money::Money;
use crate::settings::MANDATORY_TASK_PENALTY;
use crate::sites::{AboutTask, FIELD_HELP, Sites, Task, price_text};
use crate::text;
use crate::web::form::{
    FieldErrors, Fields, FilledForm, FormAttempt, FormSpec, Reader, Submitted, fields, form_key, money_field, submit,
    version_of, version_only,
};
use crate::web::ui::Button;
use crate::web::{PageError, Visitor};

/// The field for the sort of a task, and its values.
const KIND: &str = "price";
const BONUS: &str = "bonus";
const PENALTY: &str = "penalty";
const FREE: &str = "free";

/// The page that shows a list of tasks, and whether they may be changed there.
#[derive(Clone, Copy, Debug)]
pub struct TaskListPlace<'a> {
    /// The path of the page. The paths of the tasks' forms begin with it.
    pub page: &'a str,
    /// The page with the list, for a link back.
    pub back: &'a str,
    pub may_edit: bool,
    /// What skipping a mandatory task without a price costs; None if it costs nothing.
    pub skipped: Option<Money>,
}

/// What skipping a mandatory task without a price costs, as a positive amount.
pub async fn skipped(app: &App) -> Result<Option<Money>, PageError> {
    let fine: Money = app.settings.get(&MANDATORY_TASK_PENALTY).await?.into();
    Ok(Some(-fine.as_deduction()).filter(|fine| fine.is_positive()))
}

/// Creates a task from a form.
pub async fn create(
    app: &App,
    visitor: &Visitor,
    site_id: i64,
    slot_id: Option<i64>,
    typed: Fields,
) -> Result<Submitted<()>, PageError> {
    let api = Sites::of_app(app).once(form_key(visitor, &typed));
    let act = async |about| api.create_task(&visitor.person, site_id, slot_id, about).await.map(drop);
    submit(visitor, typed, read, act).await
}

pub async fn edit(app: &App, visitor: &Visitor, id: i64, typed: Fields) -> Result<Submitted<()>, PageError> {
    let (api, version) = (Sites::of_app(app), version_of(&typed));
    submit(visitor, typed, read, async |about| api.edit_task(&visitor.person, id, version, about).await).await
}

pub async fn delete(app: &App, visitor: &Visitor, id: i64, typed: Fields) -> Result<Submitted<()>, PageError> {
    let api = Sites::of_app(app);
    submit(visitor, typed, version_only, async |version| api.delete_task(&visitor.person, id, version).await).await
}

pub async fn restore(app: &App, visitor: &Visitor, id: i64) -> Result<Submitted<()>, PageError> {
    let api = Sites::of_app(app);
    submit(visitor, Fields::new(), version_only, async |_| api.restore_task(&visitor.person, id).await).await
}

/// The list of tasks with its forms.
pub fn list(visitor: &Visitor, place: TaskListPlace<'_>, tasks: &[Task], attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let (current, deleted_ones): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(|task| task.deleted_at.is_none());
    html! {
        @if current.is_empty() { p.quiet { (text!(language, "cabinet-no-tasks")) } }
        ul.rows data-testid="tasks" { @for one in &current { (row(visitor, place, one, attempt)) } }
        @if place.may_edit {
            (new(visitor, place, attempt))
            @if !deleted_ones.is_empty() { (deleted(visitor, place, &deleted_ones)) }
        }
    }
}

fn row(visitor: &Visitor, place: TaskListPlace<'_>, task: &Task, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let amount = Money::from_kopecks(task.about.amount_kopecks);
    html! {
        li data-testid={ "task-" (task.id) } {
            div {
                (task.about.text) " "
                @if task.about.is_mandatory { span.chip { (text!(language, "cabinet-mandatory")) } " " }
                @if task.about.needs_media { span.chip { (text!(language, "cabinet-needs-media")) } }
                @if let Some(fine) = place.skipped.filter(|_| task.about.is_mandatory && amount == Money::ZERO) {
                    p.quiet data-testid="skipped" { (text!(language, "cabinet-task-skipped", amount = fine.shown(language))) }
                }
                @if place.may_edit { (change(visitor, place, task, attempt)) }
            }
            strong.money.minus[amount.is_negative()] { (price_text(amount, language)) }
        }
    }
}

fn change(visitor: &Visitor, place: TaskListPlace<'_>, task: &Task, attempt: &FormAttempt) -> Markup {
    let language = visitor.language();
    let path = format!("{}/tasks/{}", place.page, task.id);
    let (now, caption) = (write(&task.about), text!(language, "cabinet-save"));
    let (version, back) = (Some(task.version), place.back);
    let sheet = FormSpec { path: &path, now: &now, version, back, caption: &caption, testid: "save-task" };
    html! {
        details open[attempt.is_at(&path)] {
            summary data-testid="edit-task" { (text!(language, "cabinet-edit")) }
            (visitor.record_form(attempt, sheet, inputs))
            (visitor.visit.form(&format!("{path}/delete"), &html! {
                input type="hidden" name="version" value=(task.version);
                (Button::danger(&text!(language, "cabinet-delete")).small().testid("delete-task").submit())
            }))
        }
    }
}

fn new(visitor: &Visitor, place: TaskListPlace<'_>, attempt: &FormAttempt) -> Markup {
    let (language, none) = (visitor.language(), Fields::new());
    let (path, caption) = (format!("{}/tasks", place.page), text!(language, "cabinet-create"));
    let sheet =
        FormSpec { path: &path, now: &none, version: None, back: place.back, caption: &caption, testid: "create-task" };
    html! {
        details open[attempt.is_at(&path)] {
            summary data-testid="new-task" { (text!(language, "cabinet-new-task")) }
            (visitor.record_form(attempt, sheet, inputs))
        }
    }
}

fn deleted(visitor: &Visitor, place: TaskListPlace<'_>, tasks: &[&Task]) -> Markup {
    let language = visitor.language();
    html! {
        details {
            summary data-testid="deleted-tasks" { (text!(language, "cabinet-deleted-tasks")) }
            ul.rows {
                @for task in tasks {
                    li.removed {
                        span { (task.about.text) }
                        (visitor.visit.form(&format!("{}/tasks/{}/restore", place.page, task.id), &html! {
                            (Button::plain(&text!(language, "cabinet-restore")).small().testid("restore-task").submit())
                        }))
                    }
                }
            }
        }
    }
}

fn inputs(form: &FilledForm<'_>) -> Markup {
    let language = form.language;
    let kinds = [
        (BONUS, text!(language, "cabinet-task-bonus")),
        (PENALTY, text!(language, "cabinet-task-penalty")),
        (FREE, text!(language, "cabinet-task-free")),
    ];
    html! {
        div.row.fields { (form.line("text", &text!(language, "cabinet-task-text"), 300)) }
        div.row.fields {
            (form.choice(KIND, &text!(language, "cabinet-task-kind"), &kinds))
            (form.short("amount", &text!(language, "cabinet-task-amount"), "text"))
        }
        div.row.choice {
            (form.tick("is_mandatory", &text!(language, "cabinet-mandatory")))
            (form.tick("needs_media", &text!(language, "cabinet-needs-media")))
        }
    }
}

/// The form fields of a task.
fn write(about: &AboutTask) -> Fields {
    let price = (about.amount_kopecks != 0).then(|| about.amount_kopecks.saturating_abs());
    let kind = match about.amount_kopecks.signum() {
        1 => BONUS,
        -1 => PENALTY,
        _ => FREE,
    };
    let mut typed = fields([("text", about.text.clone()), (KIND, kind.to_owned()), ("amount", money_field(price))]);
    for (name, is_ticked) in [("is_mandatory", about.is_mandatory), ("needs_media", about.needs_media)] {
        if is_ticked {
            typed.insert(name.to_owned(), "on".to_owned());
        }
    }
    typed
}

/// Reads the form fields, or says which do not fit.
fn read(typed: &Fields) -> Result<AboutTask, FieldErrors> {
    let mut reader = Reader::new(typed);
    let about = AboutTask {
        text: reader.clean_text("text"),
        amount_kopecks: amount(&mut reader),
        is_mandatory: reader.tick("is_mandatory"),
        needs_media: reader.tick("needs_media"),
    };
    let invalid = about.invalid_fields();
    reader.finish(about, &invalid, &FIELD_HELP)
}

/// The signed amount of a task: a penalty is negative. The field has no sign, and one that was typed does not count.
fn amount(reader: &mut Reader<'_>) -> i64 {
    let price = |text: &str| text.parse::<Money>().ok();
    match reader.clean_text(KIND).as_str() {
        FREE => 0,
        kind @ (BONUS | PENALTY) => {
            let help = key!("cabinet-bad-task-amount");
            let typed = reader.read("amount", help, |text| price(text).filter(|amount| *amount != Money::ZERO));
            let deduction = typed.as_deduction();
            if kind == PENALTY { deduction.kopecks() } else { (-deduction).kopecks() }
        }
        _ => reader.read(KIND, key!("web-form-bad-choice"), |_| None),
    }
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
