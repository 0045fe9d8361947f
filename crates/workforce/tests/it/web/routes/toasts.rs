//! Every form that changes something says so on the next page.

use super::rows::{ROWS, Row};
use super::{Browser, RoutesFixture, SUE};
use crate::kit::cabinet::PageResponse;
use crate::kit::demo::BORIS;

/// Values that differ from those of the rows, so that the form is accepted here.
const VALUES: [(&str, &str, &str); 5] = [
    ("/people/{id}/roles/grant", "role", "master"),
    ("/people/{id}/contracts", "status", "draft"),
    ("/contracts/new", "status", "draft"),
    ("/calendar/slots", "day", "2026-01-09"),
    ("/shifts/{id}/close", "end", ""),
];
/// Routes that come before the others: a manual amount gets the first number, and a site is deleted while no one is
/// expected there.
const FIRST: [&str; 8] = [
    "/payroll/people/{id}/amounts",
    "/shifts/{id}/close",
    "/sites/{id}/delete",
    "/sites/{id}/restore",
    "/sites/{id}/open",
    "/sites/{id}/close",
    "/schedule/slots/{id}/take",
    "/calendar/slots/{id}/plans/{plan}/cancel",
];
/// Routes without a redirect here, and why.
const NOT_SAVED: [(&str, &str); 13] = [
    ("/people/{id}/export", "answers with a file"),
    ("/import/{kind}", "shows what would be imported"),
    ("/registrations/{id}/approve", "no one waits; the queue shows a decision as a card"),
    ("/registrations/{id}/reject", "no one waits; the queue shows a decision as a card"),
    ("/documents/{id}/validity", "there is no document; registration::validity looks at the toast"),
    ("/orders/clients/import", "shows what would be imported"),
    ("/orders/{id}/files/{file}/again", "there is no photo"),
    ("/cancellations/{id}/judge", "nothing is cancelled"),
    ("/cancellations/{id}/take-back", "nothing is decided"),
    ("/cancellations/{id}/photo/again", "there is no photo"),
    ("/shifts/{id}/media/{medium}/again", "there is no photo; shifts::photo_pages looks at the toast"),
    ("/payroll/close", "the month is not over"),
    ("/payroll/reopen", "the month is open"),
];

#[tokio::test]
async fn every_saved_form_shows_a_toast() {
    let (mut fixture, owner) = RoutesFixture::open().await;
    let (boris, sue) = (fixture.cabinet.signed_in(BORIS).await, fixture.cabinet.signed_in(SUE).await);
    let mut rows: Vec<&Row> = ROWS.iter().filter(|row| row.method == "POST" && is_tried(row)).collect();
    rows.sort_by_key(|row| FIRST.iter().position(|path| *path == row.path).unwrap_or(FIRST.len()));
    let (mut silent, mut not_saved) = (Vec::new(), Vec::new());
    for row in rows {
        let browser = match row.who {
            who if who.contains('o') => &owner,
            who if who.contains('s') => &sue,
            _ => &boris,
        };
        match saved(&mut fixture, browser, row).await {
            Some(answer) if answer.has_toast() => {}
            Some(_) => silent.push(row.path),
            None => not_saved.push(row.path),
        }
    }
    assert_eq!(silent, [""; 0]);
    let expected: Vec<_> = NOT_SAVED.iter().map(|(path, _)| *path).collect();
    assert_eq!(not_saved, expected);
    fixture.cabinet.close().await;
}

/// Whether the route is called. Signing in and out leads to other pages, the running bot decides which jobs there are,
/// and the other routes need the person who would be forgotten.
fn is_tried(row: &Row) -> bool {
    let without = ["/admin/jobs/{id}/retry", "/admin/jobs/{id}/cancel", "/people/{id}/forget"];
    row.who != "*" && !without.contains(&row.path)
}

/// The redirect after the form; none if every version of it is refused.
async fn saved(fixture: &mut RoutesFixture, browser: &Browser, row: &Row) -> Option<PageResponse> {
    let path = fixture.path(row);
    for version in ["0", "1", "2", "3", "4", "5"] {
        let field = |(name, value): &(&'static str, &'static str)| {
            let own = VALUES.iter().find(|(path, field, _)| *path == row.path && field == name);
            (*name, if *name == "version" { version } else { own.map_or(*value, |(_, _, value)| value) })
        };
        let fields: Vec<_> = row.fields.iter().map(field).collect();
        let answer = fixture.call(browser, row, &path, &fields).await;
        if answer.status.as_u16() == 303 {
            return Some(answer);
        }
    }
    None
}
