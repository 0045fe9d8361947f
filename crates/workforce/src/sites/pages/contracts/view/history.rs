//! The history of a contract: each change with its fields, before and after.

use maud::{Markup, html};
use serde_json::Value;

use super::{ContractsPage, status_name};
use crate::audit::{self, Line};
use crate::domain::days;
use crate::money::Money;
use crate::sites::Site;
use crate::text;
use crate::texts::Language;
use crate::web::{self, moment};

/// A fold with the changes of one contract.
pub fn fold(shown: &ContractsPage, contract_id: i64, sites: &[Site], language: Language) -> Markup {
    let lines = shown.history.iter().filter(|(id, _)| *id == contract_id);
    html! {
        details data-testid={ "contract-history-" (contract_id) } {
            summary { (text!(language, "cabinet-permissions-history")) }
            ul.rows {
                @for (_, line) in lines {
                    li {
                        div {
                            (audit::in_words(line, language))
                            @for change in changes(line, sites, language) { p { (change) } }
                            p.quiet { (line.actor.and_then(|id| shown.names.get(&id)).map_or("–", String::as_str)) }
                        }
                        span.quiet { (moment(line.at, language)) }
                    }
                }
            }
        }
    }
}

/// The changed fields of a line: "Own hourly rate: 300 ₽ → 350 ₽".
fn changes(line: &Line, sites: &[Site], language: Language) -> Vec<String> {
    let fields = line.detail.as_object().into_iter().flatten();
    let change = |(name, value): (&String, &Value)| {
        let label = label(name, language)?;
        let shown = |value: &Value| shown(name, value, sites, language);
        match value.as_array().map(Vec::as_slice) {
            Some([before, after]) if line.action == "contract changed" => {
                Some(format!("{label}: {} → {}", shown(before), shown(after)))
            }
            _ => Some(format!("{label}: {}", shown(value))).filter(|_| !value.is_null()),
        }
    };
    fields.filter_map(change).collect()
}

fn label(field: &str, language: Language) -> Option<String> {
    Some(match field {
        "status" => text!(language, "cabinet-state"),
        "rate_kopecks" => text!(language, "cabinet-history-rate"),
        "allows_spontaneous" => text!(language, "cabinet-unscheduled-shifts"),
        "sites" => text!(language, "cabinet-nav-sites"),
        "valid_from" => text!(language, "cabinet-contract-from"),
        "valid_until" => text!(language, "cabinet-contract-until"),
        _ => return None,
    })
}

fn shown(field: &str, value: &Value, sites: &[Site], language: Language) -> String {
    let text = value.as_str().unwrap_or_default();
    match (field, value) {
        ("sites", Value::Array(ids)) => {
            let name = |id: &Value| {
                let site = sites.iter().find(|site| Some(site.id) == id.as_i64());
                site.map_or_else(|| format!("№ {id}"), |site| site.about.name.clone())
            };
            ids.iter().map(name).collect::<Vec<_>>().join(", ")
        }
        (_, Value::Null) => "–".to_owned(),
        ("status", _) => text.parse().map_or_else(|_| text.to_owned(), |status| status_name(status, language)),
        ("rate_kopecks", _) => Money::from_kopecks(value.as_i64().unwrap_or_default()).shown(language),
        ("allows_spontaneous", Value::Bool(true)) => text!(language, "cabinet-yes"),
        ("allows_spontaneous", _) => text!(language, "cabinet-no"),
        _ => days::day_of(text).map_or_else(|| value.to_string(), |day| web::day(day, language)),
    }
}
