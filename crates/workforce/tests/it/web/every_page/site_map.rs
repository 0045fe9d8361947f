//! The pages of the demo, found by following links from the routes without parameters.
//!
//! A route with a parameter is known by the first link that leads to it. A route to which no link leads is listed in
//! [`UNREACHED`] with the reason; any other one fails the test.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use workforce::application;
use workforce::rooms::Rooms;

use crate::kit::demo::Demo;

/// The people of the demo who look at pages: the owner, the manager and an employee.
const PEOPLE: [i64; 3] = [1001, 1002, 1005];

/// Routes that may have no link on a page of the demo, and why.
const UNREACHED: &[(&str, &str)] = &[
    ("/cancellations/{id}/photo", "a file, and no one in the demo has sent one with a cancellation"),
    ("/orders/clients/{id}", "the demo has no orders"),
    ("/orders/{id}", "the demo has no orders"),
    ("/orders/{id}/files/{file}", "the demo has no orders"),
    ("/people/{id}/unblock", "no one in the demo is blocked; `page_states` blocks a person"),
    ("/sign-in/{token}", "the bot sends the link, and it works once; `page_states` asks for one"),
];
/// Pages that look different to another person, or with other parameters.
const VARIANTS: [(i64, &str); 6] = [
    (1001, "/calendar?panel=new"),
    (1001, "/calendar?panel=fill"),
    (1001, "/calendar?view=month"),
    (1001, "/cancellations?show=decided"),
    (1002, "/"),
    (1005, "/"),
];
/// Parts of pages, which only the script of a page loads.
const PARTS: [&str; 1] = ["/nav"];
/// How many pages of a route are read for their links: not every shift has a photo.
const PAGES_OF_ROUTE: usize = 5;

/// Pages that are not routes of the product, or look different to guests.
const GUEST_PAGES: [&str; 2] = ["/sign-in", "/chat"];

pub struct SiteMap {
    pub views: Vec<View>,
    /// Routes that no link leads to, without a reason in [`UNREACHED`].
    pub forgotten: Vec<String>,
}

/// A page, and the cookies of a person who may see it.
pub struct View {
    /// The route, such as `/people/{id}`.
    pub route: String,
    pub path: String,
    pub cookies: Vec<(String, String)>,
}

impl View {
    /// A name for files.
    pub fn name(&self) -> String {
        let name = self.route.replace(['{', '}'], "").replace('/', "-");
        let name = name.trim_matches('-');
        if name.is_empty() { "home".to_owned() } else { name.to_owned() }
    }
}

impl SiteMap {
    pub async fn of(demo: &Demo) -> Self {
        let routes = application::routes(&Rooms::all());
        let gets = routes.list().iter().filter(|route| route.method == "GET");
        let all: BTreeSet<&str> = gets.map(|route| route.path).collect();
        let mut unseen = all.clone();
        let guest = |path: &str| View { route: path.to_owned(), path: path.to_owned(), cookies: Vec::new() };
        let mut views: Vec<View> = GUEST_PAGES.map(guest).into();
        unseen.retain(|route| !GUEST_PAGES.contains(route) && !PARTS.contains(route));
        for person in PEOPLE {
            let cookies = sign_in(demo, person).await;
            for (_, path) in VARIANTS.into_iter().filter(|(viewer, _)| *viewer == person) {
                let route = format!("{path}-for-{person}").replace(['?', '='], "-");
                views.push(View { route, path: path.to_owned(), cookies: cookies.clone() });
            }
            for (route, path) in reachable(demo, &cookies, &all, &mut unseen).await {
                views.push(View { route, path, cookies: cookies.clone() });
            }
        }
        let listed: BTreeSet<&str> = UNREACHED.iter().map(|(route, _)| *route).collect();
        let reached: Vec<_> = listed.difference(&unseen).collect();
        assert!(reached.is_empty(), "these routes do not exist, or a link leads to them: {reached:?}");
        Self { views, forgotten: unseen.difference(&listed).map(|route| (*route).to_owned()).collect() }
    }
}

/// The pages that a person reaches and that are not seen yet, by route. What is no page counts as seen.
async fn reachable(
    demo: &Demo,
    cookies: &[(String, String)],
    all: &BTreeSet<&str>,
    unseen: &mut BTreeSet<&str>,
) -> BTreeMap<String, String> {
    let starts = all.iter().filter(|route| !route.contains('{'));
    let mut waiting: VecDeque<String> = starts.map(|route| (*route).to_owned()).collect();
    let (mut tried, mut found) = (BTreeSet::new(), BTreeMap::new());
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(path) = waiting.pop_front() {
        let Some(route) = route_of(&path, all) else { continue };
        let read = pages.entry(route.clone()).or_default();
        if unseen.is_empty() || *read == PAGES_OF_ROUTE || !tried.insert(path.clone()) {
            continue;
        }
        *read += 1;
        let Some(page) = fetch(demo, cookies, &path).await else { continue };
        let is_new = unseen.remove(route.as_str());
        let Page::Html(body) = page else { continue };
        waiting.extend(links(&body));
        if is_new {
            found.insert(route, path);
        }
    }
    found
}

/// The route that a path belongs to; one without parameters first.
fn route_of(path: &str, all: &BTreeSet<&str>) -> Option<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let fits = |route: &str| {
        let (mut parts, mut wanted) = (path.split('/'), route.split('/'));
        loop {
            match (parts.next(), wanted.next()) {
                (None, None) => return true,
                (Some(part), Some(want)) if part == want || (want.starts_with('{') && !part.is_empty()) => {}
                _ => return false,
            }
        }
    };
    let exact = all.iter().find(|route| **route == path);
    exact.or_else(|| all.iter().find(|route| fits(route))).map(|route| (*route).to_owned())
}

enum Page {
    Html(String),
    Other,
}

/// What a path answers; none if the person may not see it.
async fn fetch(demo: &Demo, cookies: &[(String, String)], path: &str) -> Option<Page> {
    let header: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let get = demo.http.get(format!("{}{path}", demo.base)).header("cookie", header.join("; "));
    let answer = get.send().await.unwrap();
    match answer.status().as_u16() {
        // A socket, or a page that leads on, such as the sign-in.
        101 | 400 | 303 | 307 | 308 | 426 => return Some(Page::Other),
        200 => {}
        _ => return None,
    }
    let is_page = answer.headers().get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    Some(if is_page { Page::Html(answer.text().await.unwrap()) } else { Page::Other })
}

/// The addresses that a page names.
fn links(body: &str) -> Vec<String> {
    let named = ["href=\"/", "src=\"/", "action=\"/"].into_iter().flat_map(|start| body.split(start).skip(1));
    named.filter_map(|rest| rest.split('"').next()).map(|rest| format!("/{}", rest.replace("&amp;", "&"))).collect()
}

/// Signs in with any six digits. Returns the cookies.
pub async fn sign_in(demo: &Demo, person: i64) -> Vec<(String, String)> {
    let page = demo.http.get(format!("{}/sign-in", demo.base)).send().await.unwrap();
    let guest = cookies_of(&page);
    let header: Vec<_> = guest.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let body = page.text().await.unwrap();
    let csrf = body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = demo.http.post(format!("{}/auth/login", demo.base)).header("cookie", header.join("; "));
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let answer = form.body(format!("csrf={csrf}&who={person}&pin=123456")).send().await.unwrap();
    let mut cookies = guest;
    for (name, value) in cookies_of(&answer) {
        cookies.retain(|(known, _)| *known != name);
        cookies.push((name, value));
    }
    assert!(cookies.iter().any(|(name, _)| name == "opora_session"), "{person} cannot sign in");
    cookies
}

fn cookies_of(answer: &reqwest::Response) -> Vec<(String, String)> {
    let lines = answer.headers().get_all("set-cookie").iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.filter_map(|line| line.split(';').next()?.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
