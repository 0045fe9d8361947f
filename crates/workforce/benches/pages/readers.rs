//! The readers, their measured times, and what a page costs the database.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use opora_testkit::product::large_firm::{LargeFirm, Page, Reader};
use opora_testkit::queries::QueryCounter;
use reqwest::{Client, header};

use crate::progress;

/// The number of readers of each kind.
const READERS: [(Reader, i64); 3] = [(Reader::Owner, 20), (Reader::Manager, 10), (Reader::Employee, 20)];
/// How many pages one account reads while queries are counted.
const PAGES_PER_ACCOUNT: usize = 5;
/// The limit for the p99 of a page.
const MAX_P99: Duration = Duration::from_millis(50);
/// A page is judged by its own p99 only if it was read this often. With fewer reads the p99 is the maximum.
const MIN_READS_TO_JUDGE: usize = 200;
const MIN_PAUSE_MS: u64 = 500;
const PAUSE_RANGE_MS: u64 = 1000;
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// A reader and the name of a page.
pub type Key = (Reader, &'static str);
pub type Times = BTreeMap<Key, Vec<Duration>>;

/// The cost of one page without other load.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    queries: usize,
    bytes: usize,
}

/// A signed-in browser.
struct Browser {
    client: Client,
    base: String,
    cookie: String,
}

/// Counts the queries of every page, without other load.
pub async fn measure_costs(base: &str, firm: &LargeFirm, queries: &QueryCounter) -> BTreeMap<Key, Cost> {
    let mut costs = BTreeMap::new();
    for (reader, _) in READERS {
        let count = firm.pages(reader, 0).len();
        // These reads count for the account's rate limit, so no account reads all pages.
        for (begin, number) in (0..count).step_by(PAGES_PER_ACCOUNT).zip(0..) {
            let browser = Browser::sign_in(base, firm.account(reader, number), "192.0.2.250").await;
            for page in firm.pages(reader, number).into_iter().skip(begin).take(PAGES_PER_ACCOUNT) {
                let mut bytes = 0;
                let count = queries.count(async || bytes = browser.get(&page.path).await).await;
                costs.insert((reader, page.name), Cost { queries: count, bytes });
            }
        }
        progress(&format!("counted the queries of {reader:?}s"));
    }
    costs
}

/// All readers read for this time.
pub async fn measure_times(base: &str, firm: &LargeFirm, duration: Duration) -> Times {
    let all = READERS.iter().flat_map(|(reader, count)| (1..=*count).map(move |number| (*reader, number % count)));
    let mut browsers = Vec::new();
    for (at, (reader, number)) in all.enumerate() {
        let browser = Browser::sign_in(base, firm.account(reader, number), &format!("192.0.2.{}", at + 1)).await;
        let mut pages = firm.pages(reader, number);
        // A month's file is requested once a month.
        pages.retain(|page| !page.path.contains("/export."));
        browsers.push((browser, reader, pages));
    }
    let until = Instant::now() + duration;
    let show_progress = async {
        let mut left = duration;
        while left > PROGRESS_INTERVAL {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            left = until.saturating_duration_since(Instant::now());
            progress(&format!("50 people read for {} s more", left.as_secs()));
        }
    };
    let reading = browsers
        .iter()
        .zip(1..)
        .map(|((browser, reader, pages), seed)| read_pages(browser, *reader, pages, until, seed));
    let (read, ()) = tokio::join!(join_all(reading), show_progress);
    let mut times = Times::new();
    for (key, took) in read.into_iter().flatten() {
        times.entry(key).or_default().push(took);
    }
    times
}

/// Prints the results. Returns whether every page was fast enough.
pub fn print_results(times: &Times, costs: &BTreeMap<Key, Cost>, duration: Duration) -> bool {
    progress("");
    let all: usize = times.values().map(Vec::len).sum();
    let rate = all as f64 / duration.as_secs_f64();
    println!(
        "50 people, a page each about every second: {all} pages in {} s, {rate:.0} a second\n",
        duration.as_secs()
    );
    println!(
        "{:<10}{:<28}{:>7}{:>9}{:>9}{:>9}{:>9}{:>7}",
        "who", "page", "read", "p50 ms", "p99 ms", "max ms", "queries", "KB"
    );
    let mut is_good = true;
    for ((reader, name), took) in times {
        let mut took = took.clone();
        took.sort_unstable();
        let cost = costs[&(*reader, *name)];
        let (half, last, most) = (percentile(&took, 50), percentile(&took, 99), percentile(&took, 100));
        let is_fast = last < MAX_P99;
        let is_judged = took.len() >= MIN_READS_TO_JUDGE;
        is_good &= is_fast || !is_judged;
        println!(
            "{:<10}{name:<28}{:>7}{:>9.1}{:>9.1}{:>9.1}{:>9}{:>7}{}",
            format!("{reader:?}"),
            took.len(),
            ms(half),
            ms(last),
            ms(most),
            cost.queries,
            cost.bytes / 1024,
            match (is_fast, is_judged) {
                (true, _) => "",
                (false, true) => "  TOO SLOW",
                (false, false) => "  slow once; read too seldom to judge",
            }
        );
    }
    let mut every: Vec<Duration> = times.values().flatten().copied().collect();
    every.sort_unstable();
    println!(
        "{:<38}{:>7}{:>9.1}{:>9.1}{:>9.1}",
        "all",
        every.len(),
        ms(percentile(&every, 50)),
        ms(percentile(&every, 99)),
        ms(percentile(&every, 100))
    );
    is_good &= percentile(&every, 99) < MAX_P99;
    let verdict = if is_good { "every page is" } else { "NOT every page is" };
    println!("\n{verdict} within {} ms at its slowest hundredth", MAX_P99.as_millis());
    is_good
}

/// Opens pages in a random order until the time is over.
async fn read_pages(
    browser: &Browser,
    reader: Reader,
    pages: &[Page],
    until: Instant,
    seed: u64,
) -> Vec<(Key, Duration)> {
    let mut chance = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = |below: u64| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance % below
    };
    let mut took = Vec::new();
    let mut at = next(pages.len() as u64) as usize;
    loop {
        tokio::time::sleep(Duration::from_millis(MIN_PAUSE_MS + next(PAUSE_RANGE_MS))).await;
        let began = Instant::now();
        if began >= until {
            return took;
        }
        let page = &pages[at % pages.len()];
        browser.get(&page.path).await;
        took.push(((reader, page.name), began.elapsed()));
        at += 1;
    }
}

impl Browser {
    /// All accounts are test users, so any PIN is right.
    async fn sign_in(base: &str, account: i64, address: &str) -> Self {
        // Only the first call installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = header::HeaderMap::new();
        headers.insert("x-forwarded-for", address.parse().unwrap());
        let client = Client::builder().no_proxy().default_headers(headers).redirect(reqwest::redirect::Policy::none());
        let mut browser = Self { client: client.build().unwrap(), base: base.to_owned(), cookie: String::new() };
        let asked = browser.client.get(format!("{base}/sign-in")).send().await.unwrap();
        browser.keep_cookie(asked.headers());
        let form = asked.text().await.unwrap();
        let csrf = form.split_once("name=\"csrf\" value=\"").unwrap().1.split('"').next().unwrap().to_owned();
        let login = browser.client.post(format!("{base}/auth/login")).header(header::COOKIE, &browser.cookie);
        let login = login.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let login = login.body(format!("who={account}&pin=000000&csrf={csrf}")).send().await.unwrap();
        assert_eq!(login.status().as_u16(), 303, "{account} cannot sign in");
        browser.keep_cookie(login.headers());
        browser
    }

    /// Loads a page and returns its size in bytes, compressed.
    async fn get(&self, path: &str) -> usize {
        let asked = self.client.get(format!("{}{path}", self.base)).header(header::COOKIE, &self.cookie);
        // As browsers do; the page stays compressed here.
        let asked = asked.header(header::ACCEPT_ENCODING, "gzip");
        let answer = asked.send().await.unwrap();
        let status = answer.status();
        let body = answer.bytes().await.unwrap();
        assert_eq!(status.as_u16(), 200, "{path}: {}", String::from_utf8_lossy(&body));
        body.len()
    }

    fn keep_cookie(&mut self, headers: &header::HeaderMap) {
        let mut given = headers.get_all(header::SET_COOKIE).iter().map(|line| line.to_str().unwrap());
        if let Some(line) = given.find(|line| !line.contains("Max-Age=0")) {
            self.cookie = line.split(';').next().unwrap().to_owned();
        }
    }
}

/// The percentile of a sorted list.
fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let at = (sorted.len() * hundredths).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
