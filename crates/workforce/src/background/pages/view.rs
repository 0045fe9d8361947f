//! The views of the pages of jobs.

use maud::{Markup, html};
use opora::clock::Millis;
use opora::jobs::{JobRow, JobState};

use super::super::queues::QueueStatus;
use super::super::schedules::ScheduleStatus;
use super::super::{TOPIC, filter_words};
use super::{Filters, JobsPage, PATH};
use crate::audit;
use crate::text;
use crate::texts::Language;
use crate::web::ui::{Button, Card, Column, Dialog, Empty, Icon, Tone, badge, card, headline, table};
use crate::web::{Visitor, moment};

/// The list, with the queues above it.
pub(super) fn list(visitor: &Visitor, page: &JobsPage, now: Millis) -> Markup {
    let language = visitor.language();
    let title = text!(language, "background-nav");
    visitor.page(
        &title,
        &html! {
            (headline(&title, &html! {}))
            p.quiet { (text!(language, "background-about")) }
            div #job-queues data-live=(TOPIC) {
                (card(&text!(language, "background-queues"), &queues(visitor, &page.queues)))
            }
            div #job-schedules data-live=(TOPIC) {
                (card(&text!(language, "background-schedules"), &schedules(visitor, &page.schedules)))
            }
            (Card::new(&text!(language, "background-jobs")).render(&html! {
                (filters(page, language))
                div #job-list data-live=(TOPIC) { (jobs(page, now, language)) }
                div.row.deeds { (bulk(visitor, page)) }
            }))
            @if !page.audit.is_empty() { (card(&text!(language, "background-done"), &lines(page, language))) }
        },
    )
}

fn queues(visitor: &Visitor, queues: &[QueueStatus]) -> Markup {
    let language = visitor.language();
    let columns = [
        Column::text(text!(language, "background-queue")),
        Column::amount(text!(language, "background-waiting")),
        Column::amount(text!(language, "background-oldest")),
        Column::amount(text!(language, "background-scheduled")),
        Column::amount(text!(language, "background-running")),
        Column::amount(text!(language, "background-lately")),
        Column::text(text!(language, "background-action")),
    ];
    let rows: Vec<_> = queues.iter().map(|queue| queue_row(visitor, queue)).collect();
    table("queues", &columns, &rows)
}

fn queue_row(visitor: &Visitor, queue: &QueueStatus) -> Vec<Markup> {
    let language = visitor.language();
    let path = Filters { queue: queue.queue.clone(), ..Filters::default() }.path();
    let (deed, caption) = match queue.is_paused {
        true => ("resume", text!(language, "background-resume")),
        false => ("pause", text!(language, "background-pause")),
    };
    let testid = format!("{deed}-{}", queue.queue);
    vec![
        html! {
            a href=(path) { (queue.queue) } " "
            @if queue.is_paused { (badge(Tone::Wait, &text!(language, "background-is-paused"))) }
        },
        html! { (queue.waiting) },
        html! { (if queue.waiting > 0 { age(queue.oldest_ms, language) } else { "–".to_owned() }) },
        html! { (queue.scheduled) },
        html! { (queue.running) },
        html! { (queue.completed_lately) },
        visitor.visit.form(
            &format!("{PATH}/queues/{}/{deed}", queue.queue),
            &Button::plain(&caption).small().testid(&testid).submit(),
        ),
    ]
}

fn schedules(visitor: &Visitor, schedules: &[ScheduleStatus]) -> Markup {
    let language = visitor.language();
    let columns = [
        Column::text(text!(language, "background-job")),
        Column::text(text!(language, "background-queue")),
        Column::text(text!(language, "background-cron")),
        Column::text(text!(language, "background-last-tick")),
        Column::text(text!(language, "background-next-tick")),
        Column::text(text!(language, "background-action")),
    ];
    let rows: Vec<_> = schedules.iter().map(|schedule| schedule_row(visitor, schedule)).collect();
    let zone = schedules.first().map(|schedule| schedule.zone.name());
    html! {
        p.quiet { (text!(language, "background-schedules-about", zone = zone.unwrap_or_default())) }
        (table("schedules", &columns, &rows))
    }
}

fn schedule_row(visitor: &Visitor, schedule: &ScheduleStatus) -> Vec<Markup> {
    let language = visitor.language();
    let name = schedule.name;
    let path = Filters { name: name.to_owned(), ..Filters::default() }.path();
    let time = |at: Option<Millis>| html! { @match at { Some(at) => (moment(at, language)), None => "–" } };
    let button = Button::plain(&text!(language, "background-run")).small().testid(&format!("run-{name}")).submit();
    vec![
        html! { a href=(path) { (name) } },
        html! { (schedule.queue) },
        html! {
            @match &schedule.cron {
                Some(cron) => { code { (cron) } }
                None => (badge(Tone::Neutral, &text!(language, "background-off"))),
            }
        },
        time(schedule.last),
        time(schedule.next),
        visitor.visit.form(&format!("{PATH}/run/{name}"), &button),
    ]
}

/// A duration in its largest unit.
fn age(ms: i64, language: Language) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => text!(language, "background-seconds", count = seconds),
        60..3600 => text!(language, "background-minutes", count = seconds / 60),
        _ => text!(language, "background-hours", count = seconds / 3600),
    }
}

/// The filters: a form that leads to the list.
fn filters(page: &JobsPage, language: Language) -> Markup {
    let Filters { queue, state, name, .. } = &page.filters;
    let queues: Vec<_> = page.queues.iter().map(|one| (one.queue.as_str(), one.queue.clone())).collect();
    let states: Vec<_> = JobState::ALL.iter().map(|one| (one.name(), state_name(*one, language))).collect();
    html! {
        form.row.fields method="get" action=(PATH) data-testid="filters" {
            (choice("queue", &text!(language, "background-queue"), queue, &queues, language))
            (choice("state", &text!(language, "background-state"), state, &states, language))
            label {
                span { (text!(language, "background-name")) }
                input type="text" name="name" value=(name) list="job-names" maxlength="60";
            }
            datalist #job-names { @for name in &page.names { option value=(name) {} } }
            (Button::plain(&text!(language, "background-filter")).testid("filter").submit())
        }
    }
}

fn choice(name: &str, label: &str, now: &str, options: &[(&str, String)], language: Language) -> Markup {
    html! {
        label {
            span { (label) }
            select name=(name) {
                option value="" { (text!(language, "background-all")) }
                @for (value, caption) in options {
                    option value=(value) selected[*value == now] { (caption) }
                }
            }
        }
    }
}

fn jobs(page: &JobsPage, now: Millis, language: Language) -> Markup {
    if page.jobs.is_empty() {
        let title = text!(language, "background-none");
        return Empty { icon: Icon::Inbox, title: &title, text: "" }.render(&html! {});
    }
    let columns = [
        Column::text(text!(language, "background-job")),
        Column::text(text!(language, "background-queue")),
        Column::text(text!(language, "background-state")),
        Column::amount(text!(language, "background-attempts")),
        Column::text(text!(language, "background-time")),
        Column::text(text!(language, "background-error")),
    ];
    let rows: Vec<_> = page.jobs.iter().map(|job| job_row(job, now, language)).collect();
    let older = page.jobs.last().filter(|_| page.has_more);
    html! {
        (table("jobs", &columns, &rows))
        @if let Some(last) = older {
            @let older = Filters { before: Some(last.id.0), ..page.filters.clone() };
            p { a href=(older.path()) data-testid="older" { (text!(language, "background-older")) } }
        }
    }
}

fn job_row(job: &JobRow, now: Millis, language: Language) -> Vec<Markup> {
    let at = job.finished_at.or(job.started_at.filter(|_| job.state == JobState::Running)).unwrap_or(job.run_at);
    vec![
        html! { a href={ (PATH) "/" (job.id.0) } data-testid={ "job-" (job.id.0) } { (job.name) " #" (job.id.0) } },
        html! { (job.queue) },
        state(job.state, job.cancel_requested, language),
        html! { (job.attempt) "/" (job.max_attempts) },
        html! { @if at > now { (text!(language, "background-from")) " " } (moment(at, language)) },
        html! { @if let Some(error) = job.errors.last() { (short(&error.reason)) } },
    ]
}

fn state(state: JobState, is_cancelling: bool, language: Language) -> Markup {
    let tone = match state {
        JobState::Completed => Tone::Good,
        JobState::Discarded => Tone::Bad,
        JobState::Running => Tone::Info,
        JobState::Scheduled | JobState::Available => Tone::Wait,
        JobState::Cancelled => Tone::Neutral,
    };
    html! {
        (badge(tone, &state_name(state, language)))
        @if is_cancelling { " " (badge(Tone::Wait, &text!(language, "background-cancelling"))) }
    }
}

fn state_name(state: JobState, language: Language) -> String {
    match state {
        JobState::Scheduled => text!(language, "background-state-scheduled"),
        JobState::Available => text!(language, "background-state-available"),
        JobState::Running => text!(language, "background-state-running"),
        JobState::Completed => text!(language, "background-state-completed"),
        JobState::Discarded => text!(language, "background-state-discarded"),
        JobState::Cancelled => text!(language, "background-state-cancelled"),
    }
}

/// The beginning of a reason.
fn short(reason: &str) -> String {
    const LONGEST: usize = 80;
    match reason.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// Buttons for all jobs that pass the filters, each with a question.
fn bulk(visitor: &Visitor, page: &JobsPage) -> Markup {
    let language = visitor.language();
    let retry = BulkQuestion {
        deed: "retry",
        caption: text!(language, "background-retry-all"),
        title: text!(language, "background-retry-all-sure"),
        about: text!(language, "background-retry-all-about"),
    };
    let cancel = BulkQuestion {
        deed: "cancel",
        caption: text!(language, "background-cancel-all"),
        title: text!(language, "background-cancel-all-sure"),
        about: text!(language, "background-cancel-all-about"),
    };
    html! { (retry.draw(visitor, page)) (cancel.draw(visitor, page)) }
}

struct BulkQuestion {
    deed: &'static str,
    caption: String,
    title: String,
    about: String,
}

impl BulkQuestion {
    fn draw(&self, visitor: &Visitor, page: &JobsPage) -> Markup {
        let filters = &page.filters;
        let Self { deed, caption, title, about } = self;
        let id = format!("{deed}-all");
        let (asks, confirms) = (format!("ask-{id}"), format!("confirm-{id}"));
        let button = if *deed == "cancel" { Button::danger(caption) } else { Button::primary(caption) };
        let form = visitor.visit.form(
            &format!("{PATH}/{deed}"),
            &html! {
                p { (about) }
                p { code { (filter_words(&page.filter)) } }
                input type="hidden" name="queue" value=(filters.queue);
                input type="hidden" name="state" value=(filters.state);
                input type="hidden" name="name" value=(filters.name);
                (button.testid(&confirms).submit())
            },
        );
        let keep = text!(visitor.language(), "background-keep");
        html! {
            (Button::plain(caption).testid(&asks).opens(&id))
            (Dialog { id: &id, title, cancel: &keep, is_open: false }.render(&form))
        }
    }
}

fn lines(page: &JobsPage, language: Language) -> Markup {
    html! {
        ul.rows data-testid="jobs-audit" {
            @for line in &page.audit {
                li {
                    div {
                        (audit::in_words(line, language))
                        @let name = line.actor.and_then(|id| page.actors.get(&id));
                        p.quiet { (name.cloned().unwrap_or_else(|| text!(language, "web-by-command"))) }
                    }
                    span.quiet { (moment(line.at, language)) }
                }
            }
        }
    }
}

/// One job with its attempts.
pub(super) fn job(visitor: &Visitor, job: &JobRow) -> Markup {
    let language = visitor.language();
    let title = format!("{} #{}", job.name, job.id.0);
    visitor.page(
        &title,
        &html! {
            p.crumbs { a href=(PATH) { (text!(language, "background-nav")) } }
            div #job data-live=(TOPIC) {
                (headline(&title, &state(job.state, job.cancel_requested, language)))
                (Card::untitled().render(&html! {
                    (facts(job, language))
                    div.row.deeds { (deeds(visitor, job)) }
                }))
                (card(&text!(language, "background-errors"), &errors(job, language)))
            }
        },
    )
}

fn facts(job: &JobRow, language: Language) -> Markup {
    let time = |at: Option<Millis>| html! { @match at { Some(at) => (moment(at, language)), None => "–" } };
    html! {
        dl.facts {
            dt { (text!(language, "background-queue")) } dd { (job.queue) }
            dt { (text!(language, "background-priority")) } dd { (job.priority) }
            dt { (text!(language, "background-attempts")) } dd { (job.attempt) "/" (job.max_attempts) }
            dt { (text!(language, "background-enqueued")) } dd { (moment(job.enqueued_at, language)) }
            dt { (text!(language, "background-run-at")) } dd { (moment(job.run_at, language)) }
            dt { (text!(language, "background-started")) } dd { (time(job.started_at)) }
            dt { (text!(language, "background-finished")) } dd { (time(job.finished_at)) }
            dt { (text!(language, "background-arguments")) } dd { code { (job.args) } }
            @if let Some(result) = &job.result {
                dt { (text!(language, "background-result")) } dd { code { (result) } }
            }
        }
    }
}

fn deeds(visitor: &Visitor, job: &JobRow) -> Markup {
    let language = visitor.language();
    let path = format!("{PATH}/{}", job.id.0);
    let (retry, cancel) = (text!(language, "background-retry"), text!(language, "background-cancel"));
    html! {
        @if job.state != JobState::Running && job.state != JobState::Available {
            (visitor.visit.form(&format!("{path}/retry"), &Button::primary(&retry).testid("retry").submit()))
        }
        @if !job.state.is_finished() && !job.cancel_requested {
            (visitor.visit.form(&format!("{path}/cancel"), &Button::danger(&cancel).testid("cancel").submit()))
        }
    }
}

fn errors(job: &JobRow, language: Language) -> Markup {
    html! {
        @if job.errors.is_empty() { p.quiet { (text!(language, "background-no-errors")) } }
        ul.rows data-testid="job-errors" {
            @for error in job.errors.iter().rev() {
                li {
                    div {
                        strong { (text!(language, "background-attempt", number = error.attempt)) }
                        p { (error.reason) }
                    }
                    span.quiet { (moment(error.at, language)) }
                }
            }
        }
    }
}
