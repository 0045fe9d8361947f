//! `opora demo` as a process: what it prints, where it listens, how it ends.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::kit::demo::{ANNA, Demo, STOPS_WITHIN, TIMEOUT, program};
use crate::operator;

#[tokio::test]
async fn it_prints_links_people_and_the_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let Demo { base, printed, .. } = &demo;
    assert!(base.starts_with("http://127.0.0.1:"), "{printed}");
    let kept = folder.path().to_str().unwrap();
    let person = "1001  Anna Peters (owner, superadmin)";
    for expected in
        [&format!("{base}/chat\n"), person, "any six digits", "Jane Wolfe, Zachary Newman", kept, "press Ctrl-C"]
    {
        assert!(printed.contains(expected), "no {expected:?} in: {printed}");
    }
    demo.stop().await;
}

#[tokio::test]
async fn its_welcome_is_in_the_chosen_language() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "ru"]).await;
    for expected in ["демо запущено", "Чат с ботом", "1001  Анна Петрова", "--fresh", "нажмите Ctrl-C"]
    {
        assert!(demo.printed.contains(expected), "no {expected:?} in: {}", demo.printed);
    }
    demo.stop().await;
}

#[tokio::test]
async fn it_prints_its_welcome_and_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("stderr.txt");
    // A directory that the demo creates itself. A given one would cause a warning about its permissions.
    let mut command = Demo::product_command(&folder.path().join("data"), &[]);
    command.env_remove("RUST_LOG").stderr(std::fs::File::create(&log).unwrap());
    let demo = Demo::launch(command).await;
    assert!(demo.printed.starts_with("Opora "), "{}", demo.printed);
    assert!(demo.printed.lines().count() <= 21, "{}", demo.printed);
    demo.says(ANNA, "/help").await;
    demo.receives(ANNA, "I'm your team's assistant").await;
    assert_eq!(demo.stop_and_read().await, "");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "");
}

#[tokio::test]
async fn its_log_is_a_file_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    // Even a log level of the environment does not push the welcome away.
    let stderr = folder.path().join("stderr.txt");
    let mut command = Demo::product_command(&folder.path().join("data"), &[]);
    command.env("RUST_LOG", "info").stderr(std::fs::File::create(&stderr).unwrap());
    let demo = Demo::launch(command).await;
    let log = folder.path().join("data/opora.log");
    assert!(demo.printed.contains(log.to_str().unwrap()), "{}", demo.printed);
    demo.stop().await;
    assert!(std::fs::read_to_string(&log).unwrap().contains("connection limit of the pages"));
    assert_eq!(std::fs::read_to_string(&stderr).unwrap(), "");
}

#[tokio::test]
async fn a_registered_person_is_no_newcomer_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    assert!(demo.printed.contains("Jane Wolfe, Zachary Newman"), "{}", demo.printed);
    let note = |world: &serde_json::Value| {
        let people = world["hints"]["people"].as_array().unwrap();
        people.iter().find(|person| person["id"] == 1007).unwrap()["note"]["en"].as_str().unwrap().to_owned()
    };
    assert_eq!(note(&demo.world().await), "newcomer");
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    let grant = ["people", "grant", "1007", "employee", "--name", "Jane Wolfe", "--database", &address];
    operator::run(&[], &grant).await.success();
    demo.stop().await;

    let demo = Demo::product(&folder, &[]).await;
    assert!(!demo.printed.contains("Jane Wolfe"), "{}", demo.printed);
    assert_eq!(note(&demo.world().await), "employee");
    demo.stop().await;
}

#[tokio::test]
async fn its_chat_page_offers_sites_roles_and_a_tour() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let hints = demo.world().await["hints"].take();
    let places: Vec<_> = hints["places"].as_array().unwrap().iter().map(|place| &place["name"]).collect();
    assert_eq!(places, ["Coffee house on Tverskaya", "Warehouse on Leninskaya"]);
    let notes = hints["people"].as_array().unwrap();
    let notes: Vec<_> = notes.iter().map(|person| person["note"]["en"].as_str().unwrap()).collect();
    let staff = ["owner", "manager", "dispatcher", "technician", "employee", "employee"];
    assert_eq!(notes, [&staff[..], &["newcomer", "newcomer", "applicant", "applicant"]].concat());
    assert_eq!(hints["links"][0]["url"], "/");
    assert_eq!(hints["tour"].as_array().unwrap().len(), 5);
    demo.stop().await;
}

#[tokio::test]
async fn two_applications_wait_for_approval() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let session = signed_in(&demo, "1001").await.unwrap();
    let get = async |path: &str| {
        demo.http.get(format!("{}{path}", demo.base)).header("cookie", &session).send().await.unwrap()
    };
    let queue = get("/registrations").await.text().await.unwrap();
    assert!(queue.contains("Irina Belova") && queue.contains("Kirill Fomin"), "{queue}");
    let pictures: Vec<_> = queue.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let pictures: Vec<_> = pictures.into_iter().filter(|path| path.starts_with("/documents/")).collect();
    assert_eq!(pictures.len(), 4, "{pictures:?}");
    for path in pictures {
        let picture = get(path).await;
        assert_eq!(
            (picture.status().as_u16(), &picture.headers()["content-type"]),
            (200, &"image/jpeg".parse().unwrap())
        );
    }
    demo.stop().await;
}

#[tokio::test]
async fn its_sign_in_page_says_that_any_pin_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let page = demo.http.get(format!("{}/sign-in", demo.base)).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Any six digits are the PIN"), "{page}");
    demo.stop().await;
}

#[tokio::test]
async fn printed_links_and_accounts_work() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let line = |label: &str| demo.printed.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    let link = |label: &str| line(label).split_whitespace().last().unwrap().to_owned();
    let (cabinet, admin) = (link("Dashboard "), link("Admin page "));
    assert_eq!((cabinet.as_str(), &admin), (format!("{}/", demo.base).as_str(), &format!("{}/admin", demo.base)));
    let words = demo.printed.lines().filter_map(|line| line.split_whitespace().next());
    let numbers: Vec<_> = words.filter(|word| word.parse::<i64>().is_ok()).collect();
    assert_eq!(numbers, ["1001", "1002", "1003", "1004", "1005", "1006"], "newcomers have no account");
    for number in numbers {
        let session = signed_in(&demo, number).await.unwrap_or_else(|| panic!("{number} cannot sign in"));
        let page = demo.http.get(&cabinet).header("cookie", &session).send().await.unwrap();
        assert_eq!(page.status(), 200, "{number}");
        let page = demo.http.get(&admin).header("cookie", &session).send().await.unwrap();
        assert_eq!(page.status(), if number == "1001" { 200 } else { 403 }, "{number}");
        // The manager sees the pay of a site, the owner sees all of it.
        let page = demo.http.get(format!("{}/payroll", demo.base)).header("cookie", &session).send().await.unwrap();
        assert_eq!(page.status() == 200, ["1001", "1002"].contains(&number), "{number}: {}", page.status());
    }
    assert_eq!(signed_in(&demo, "1007").await, None);
    // The schedule links to the chat page, where the demo's bot is.
    let session = signed_in(&demo, "1005").await.unwrap();
    let page = async || {
        let page = demo.http.get(format!("{}/schedule", demo.base)).header("cookie", &session).send().await.unwrap();
        page.text().await.unwrap()
    };
    let schedule = page().await;
    assert!(schedule.contains(&format!("href=\"{}/chat\"", demo.base)), "{schedule}");
    assert!(!schedule.contains("t.me"), "the bot's name may belong to a stranger's bot in Telegram");
    demo.stop().await;
}

/// Signs in with any six digits, as the demo suggests. Returns the session cookie.
async fn signed_in(demo: &Demo, number: &str) -> Option<String> {
    let page = demo.http.get(format!("{}/sign-in", demo.base)).send().await.unwrap();
    let guest = page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let body = page.text().await.unwrap();
    let csrf = body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = format!("csrf={csrf}&who={number}&pin=123456");
    let form = demo.http.post(format!("{}/auth/login", demo.base)).header("cookie", guest);
    let signed = form.header("content-type", "application/x-www-form-urlencoded").body(fields).send().await.unwrap();
    let cookies = signed.headers().get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    let session = cookies.filter_map(|line| line.split(';').next()).find(|line| line.starts_with("opora_session="));
    session.map(str::to_owned)
}

#[tokio::test]
async fn the_root_redirects_to_sign_in_and_chat_is_separate() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let door = demo.http.get(&demo.base).send().await.unwrap();
    assert!(door.status().is_redirection(), "{}", door.status());
    assert_eq!(door.headers()["location"], "/sign-in");
    let page = demo.http.get(format!("{}/chat", demo.base)).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(page.text().await.unwrap().contains("/client/page/main.js"));
    demo.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let demo = Demo::product(&folder, &[]).await;
    let port = demo.port();
    let second = Command::new(program()).args(["demo", "--port", port, "--data"]).arg(other.path()).output();
    let second = timeout(TIMEOUT, second).await.expect("it should give up at once").unwrap();
    let complaint = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{complaint}");
    let words = ["opora: cannot listen on 127.0.0.1:", port, "--port", "in use"];
    assert!(words.iter().all(|word| complaint.contains(word)), "{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    assert!(second.stdout.is_empty(), "no links were printed");
    demo.stop().await;
}

#[tokio::test]
async fn proxy_variables_are_ignored() {
    let unused_proxy = "http://127.0.0.1:1";
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product_in(&[("HTTP_PROXY", unused_proxy), ("http_proxy", unused_proxy)], &folder, &[]).await;
    demo.says(ANNA, "/help").await;
    demo.receives(ANNA, "I'm your team's assistant").await;
    demo.stop().await;
}

#[tokio::test]
async fn sigterm_stops_it_with_open_connections() {
    assert_stops_on("TERM").await;
}

#[tokio::test]
async fn sigint_stops_it_with_open_connections() {
    assert_stops_on("INT").await;
}

async fn assert_stops_on(signal: &str) {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let page = events(&demo).await;
    let path = format!("/client/{}/chats/{ANNA}/messages?after=0&wait=60", demo.token);
    let reader = request(&demo, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    let body = json!({"timeout": 50}).to_string();
    let call = format!(
        "POST /bot123456789:AAtesttesttesttesttesttesttesttestt/getUpdates HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let bot = request(&demo, &call).await;
    // When the other bot is known, its long poll has arrived.
    demo.until("the other bot polls", async |demo| {
        let server =
            demo.http.get(format!("{}/client", demo.base)).send().await.ok()?.json::<serde_json::Value>().await;
        server.ok()?["bots"].as_array()?.iter().any(|bot| bot["id"] == 123_456_789).then_some(())
    })
    .await;
    demo.signal(signal);
    assert_eq!(demo.ended(STOPS_WITHIN).await, Some(0));
    drop((page, reader, bot));
}

/// The WebSocket that a page holds open.
async fn events(demo: &Demo) -> TcpStream {
    let handshake = format!(
        "GET /client/{}/events HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        demo.token
    );
    let mut stream = request(demo, &handshake).await;
    let mut answer = [0; 12];
    timeout(TIMEOUT, stream.read_exact(&mut answer)).await.expect("the stream did not open").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101");
    stream
}

async fn request(demo: &Demo, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(demo.base.trim_start_matches("http://")).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}
