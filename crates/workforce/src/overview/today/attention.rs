//! What needs attention now: each line says what, and has the button that leads there.

use maud::{Markup, html};

use super::{Today, clock};
use crate::overview::dates;
use crate::registration::{Validity, kind_name};
use crate::sites::{Slot, local};
use crate::text;
use crate::texts;
use crate::web::Visitor;
use crate::web::ui::{Card, Icon, Tone};

/// The most lines about single people, and about single slots.
const MAX_LINES: usize = 4;

/// A line of the list.
struct Line {
    name: &'static str,
    tone: Tone,
    icon: Icon,
    text: String,
    about: String,
    action: String,
    path: String,
}

pub fn attention(today: &Today, visitor: &Visitor) -> Markup {
    let language = today.language;
    let mut lines = waiting(visitor);
    lines.extend(expiring(today));
    lines.extend(no_shows(today));
    lines.extend(gaps(today));
    // An empty business has the checklist instead.
    if lines.is_empty() && today.sites.is_empty() {
        return html! {};
    }
    html! {
        (Card::new(&text!(language, "overview-attention")).class("attention").testid("attention").render(&html! {
            @if lines.is_empty() { p.all-good { (Icon::Check.svg()) (text!(language, "overview-all-good")) } }
            @else { ul { @for line in &lines { (draw(line)) } } }
        }))
    }
}

fn draw(line: &Line) -> Markup {
    html! {
        li class={ "tone-" (line.tone.name()) } data-testid={ "attention-" (line.name) } {
            (line.icon.svg())
            div {
                strong { (line.text) }
                @if !line.about.is_empty() { p.quiet { (line.about) } }
            }
            a.button.plain.small href=(line.path) { (line.action) }
        }
    }
}

/// Documents that are expired or expire soon, for owners.
fn expiring(today: &Today) -> Vec<Line> {
    let language = today.language;
    let line = |tone, text, about, path| {
        let action = text!(language, "overview-show-document");
        Line { name: "expiring", tone, icon: Icon::Alert, text, about, action, path }
    };
    let shown = today.expiring.iter().take(MAX_LINES).map(|one| {
        let (name, kind) = (one.person.full_name.as_str(), kind_name(one.document.kind, language));
        let day = texts::day(one.valid_until, language);
        let (tone, about) = match one.validity {
            Validity::Expired => (Tone::Bad, text!(language, "overview-expired", day = day)),
            Validity::ExpiresSoon | Validity::Valid => (Tone::Wait, text!(language, "overview-expires", day = day)),
        };
        let text = text!(language, "overview-expiring", name = name, kind = kind);
        line(tone, text, about, format!("/documents/{}", one.document.id))
    });
    let mut lines: Vec<Line> = shown.collect();
    let more = today.expiring.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let text = text!(language, "overview-more-expiring", count = more as i64);
        let all = line(Tone::Wait, text, String::new(), "/registrations#expiring".to_owned());
        lines.push(Line { action: text!(language, "overview-show-all"), ..all });
    }
    lines
}

/// Applications and cancellations that this person may decide on: the counts of the navigation.
fn waiting(visitor: &Visitor) -> Vec<Line> {
    let (language, visit) = (visitor.language(), &visitor.visit);
    let (applications, cancellations) = (visit.badge("/registrations"), visit.badge("/cancellations"));
    let line = |name, icon, text, action, path: &str| Line {
        name,
        tone: Tone::Wait,
        icon,
        text,
        about: String::new(),
        action,
        path: path.to_owned(),
    };
    let mut lines = Vec::new();
    if applications > 0 {
        let text = text!(language, "registration-card", count = applications);
        let action = text!(language, "overview-applications-review");
        lines.push(line("applications", Icon::Inbox, text, action, "/registrations"));
    }
    if cancellations > 0 {
        let text = text!(language, "overview-cancellations", count = cancellations);
        let action = text!(language, "overview-cancellations-decide");
        lines.push(line("cancellations", Icon::NoEntry, text, action, "/cancellations"));
    }
    lines
}

fn no_shows(today: &Today) -> Vec<Line> {
    let language = today.language;
    let line = |text, about, action, path| Line {
        name: "no-show",
        tone: Tone::Bad,
        icon: Icon::Alert,
        text,
        about,
        action,
        path,
    };
    let mut lines: Vec<Line> = today
        .missing()
        .take(MAX_LINES)
        .map(|(plan, site)| {
            let text = text!(language, "overview-no-show", name = today.name(plan.user_id));
            let (name, time) = (site.about.name.as_str(), clock(plan.expected_at(), site));
            let about = text!(language, "overview-no-show-about", site = name, time = time);
            let day = local(plan.period.from, site.about.time_zone).date();
            let path = format!("/calendar?day={day}&slot={}", plan.slot_id);
            line(text, about, text!(language, "overview-no-show-open"), path)
        })
        .collect();
    let more = today.missing().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let text = text!(language, "overview-more-no-shows", count = more as i64);
        let path = format!("/calendar?day={}", today.day);
        lines.push(line(text, String::new(), text!(language, "overview-show-all"), path));
    }
    lines
}

/// Places that are still free today, of slots that are not over.
fn gaps(today: &Today) -> Vec<Line> {
    let language = today.language;
    let is_gap = |slot: &&Slot| slot.places_left() > 0 && slot.period.to > today.now;
    let gaps: Vec<&Slot> = today.slots.iter().filter(is_gap).collect();
    let line = |text, about, action, path| Line {
        name: "gap",
        tone: Tone::Wait,
        icon: Icon::Calendar,
        text,
        about,
        action,
        path,
    };
    let mut lines: Vec<Line> = gaps
        .iter()
        .take(MAX_LINES)
        .map(|slot| {
            let site = today.site(slot.site_id).map_or("–", |site| site.about.name.as_str());
            let hours = dates::hours(slot.about.hours, language);
            let text = text!(language, "overview-gap", count = slot.places_left());
            let about = text!(language, "overview-gap-about", site = site, hours = hours);
            let path = format!("/calendar?day={}&slot={}", slot.about.day, slot.id);
            line(text, about, text!(language, "overview-gap-assign"), path)
        })
        .collect();
    let more = gaps.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let text = text!(language, "overview-more-gaps", count = more as i64);
        let path = format!("/calendar?day={}", today.day);
        lines.push(line(text, String::new(), text!(language, "overview-show-all"), path));
    }
    lines
}
