//! The first steps of a new business. Each step ticks itself; the list goes away when all are done.

use maud::{Markup, html};

use crate::application::App;
use crate::sites::{Site, Sites};
use crate::text;
use crate::web::ui::{self, ChecklistStep};
use crate::web::{PageError, Visitor};

pub async fn checklist(app: &App, sites: &[Site], visitor: &Visitor) -> Result<Markup, PageError> {
    let (language, api) = (visitor.language(), Sites::of_app(app));
    let (progress, has_team) = tokio::try_join!(api.setup_progress(), app.people.has_several())?;
    let step = |is_done: bool, title: String, text: String, path: &str| ChecklistStep {
        action: Some((text!(language, "overview-start-go"), path.to_owned())),
        title,
        text,
        is_done,
    };
    let steps = [
        step(
            !sites.is_empty(),
            text!(language, "overview-start-site"),
            text!(language, "overview-start-site-about"),
            "/sites",
        ),
        step(
            progress.has_slots,
            text!(language, "overview-start-schedule"),
            text!(language, "overview-start-schedule-about"),
            "/calendar",
        ),
        step(
            has_team,
            text!(language, "overview-start-invite"),
            text!(language, "overview-start-invite-about"),
            "/people/invite",
        ),
        step(
            progress.has_contracts,
            text!(language, "overview-start-contract"),
            text!(language, "overview-start-contract-about"),
            "/contracts/new",
        ),
    ];
    if steps.iter().all(|step| step.is_done) {
        return Ok(html! {});
    }
    let list = ui::checklist(&text!(language, "overview-start"), &text!(language, "overview-start-done"), &steps);
    Ok(html! { div #checklist data-live="sites people" { (list) } })
}
