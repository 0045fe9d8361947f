//! The pages of this room: sites, tasks, contracts, and permissions of managers.

use super::Hours;
use crate::application::App;
use crate::person::{Permission, Person};
use crate::text;
use crate::web::form::Reader;
use crate::web::ui::Icon;
use crate::web::{MAX_HITS, PageError, Routes, SearchGroups, SearchHit, Section};

mod access;
mod broadcast;
mod contracts;
pub mod import;
mod managers;
mod site;
pub mod tasks;

pub use self::access::{Access, refusal};
pub use self::site::{day_name, open_label, pager};

pub fn routes() -> Routes {
    Routes::new()
        .get("/sites", site::list)
        .post("/sites", site::create)
        .get("/sites/{id}", site::show)
        .post("/sites/{id}", site::edit)
        .post("/sites/{id}/delete", site::delete)
        .post("/sites/{id}/restore", site::restore)
        .post("/sites/{id}/open", site::open)
        .post("/sites/{id}/close", site::close)
        .get("/sites/{id}/tasks", site::show_tasks)
        .get("/sites/{id}/staff", site::show_staff)
        .get("/sites/{id}/settings", site::show_settings)
        .post("/sites/{id}/tasks", site::create_task)
        .post("/sites/{id}/tasks/{task}", site::edit_task)
        .post("/sites/{id}/tasks/{task}/delete", site::delete_task)
        .post("/sites/{id}/tasks/{task}/restore", site::restore_task)
        .get("/sites/{id}/broadcast", broadcast::show)
        .post("/sites/{id}/broadcast", broadcast::send)
        .post("/sites/{id}/broadcast/{broadcast}/cancel", broadcast::cancel)
        .get("/people/{id}/contracts", contracts::show)
        .post("/people/{id}/contracts", contracts::create)
        .get("/contracts/new", contracts::ask_whom)
        .post("/contracts/new", contracts::offer)
        .post("/contracts/{id}", contracts::edit)
        .post("/contracts/{id}/delete", contracts::delete)
        .post("/contracts/{id}/restore", contracts::restore)
        .get("/import", import::show)
        .get("/import/{kind}/example", import::example)
        .post("/import/{kind}", import::preview)
        .post("/import/{kind}/now", import::import)
        .get("/managers", managers::list)
        .get("/managers/{id}", managers::show)
        .post("/managers/{id}", managers::edit)
}

/// Reads opening hours from two form fields.
pub fn read_hours(reader: &mut Reader<'_>, from: &'static str, to: &'static str) -> Hours {
    Hours::new(reader.minute(from), reader.minute(to))
}

/// Sites that a search finds, for the command palette.
pub async fn search(app: &App, viewer: &Person, words: &str) -> Result<SearchGroups, PageError> {
    let access = Access::for_person(app, viewer).await?;
    if !access.may_somewhere(Permission::View) {
        return Ok(Vec::new());
    }
    let wanted = words.to_lowercase();
    let fits = |text: &str| text.to_lowercase().contains(&wanted);
    let mut sites = access.sites(app).await?;
    sites.retain(|site| fits(&site.about.name) || fits(&site.about.address));
    let hits = sites.into_iter().take(MAX_HITS).map(|site| SearchHit {
        icon: Icon::Site,
        caption: site.about.name,
        detail: site.about.address,
        path: format!("/sites/{}", site.id),
    });
    Ok(vec![(text!(viewer.language, "cabinet-nav-sites"), hits.collect())])
}

/// Contracts and permissions on a person's page.
pub async fn person_sections(app: &App, viewer: &Person, person: &Person) -> Result<Vec<Section>, PageError> {
    let mut sections = contracts::section(app, viewer, person).await?;
    sections.extend(managers::section(viewer, person));
    Ok(sections)
}
