//! The limit of sockets per person, and their cost together.

use tokio_tungstenite::tungstenite::Message;
use workforce::person::Role;
use workforce::web::Event;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::StorageKind;
use crate::kit::queries::QueryCounter;
use crate::web::live_pages::{next_message, open, serve};

/// The product's limit of sockets per person.
const MAX_PER_PERSON: usize = 20;
const TOO_MANY: u16 = 4429;

#[tokio::test]
async fn one_page_too_many_closes_the_oldest() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let address = serve(&cabinet).await;
    let mut boriss = open(address, &boris).await;
    let mut pages = Vec::new();
    for _ in 0..=MAX_PER_PERSON {
        pages.push(open(address, &owner).await);
    }
    let Message::Close(Some(frame)) = next_message(&mut pages[0]).await else { panic!("the oldest is still open") };
    assert_eq!(u16::from(frame.code), TOO_MANY);
    until("the oldest is gone", async || (cabinet.app.events.count_sockets() == MAX_PER_PERSON + 1).then_some(()))
        .await;
    cabinet.app.events.publish(Event::to_roles("tales", &[Role::Owner, Role::Employee]));
    for page in pages[1..].iter_mut().chain([&mut boriss]) {
        assert!(next_message(page).await.to_text().unwrap().contains("tales"));
    }
    drop((pages, boriss));
    until("all places are free", async || (cabinet.app.events.count_sockets() == 0).then_some(())).await;
    cabinet.close().await;
}

#[tokio::test]
async fn pages_of_one_browser_share_the_person_lookup() {
    let queries = QueryCounter::install();
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let address = serve(&cabinet).await;
    let mut pages = Vec::new();
    for _ in 0..MAX_PER_PERSON {
        pages.push(open(address, &owner).await);
    }
    let news = queries.count(async || {
        cabinet.app.events.publish(Event::to_roles("tales", &[Role::Owner]));
        for page in &mut pages {
            assert!(next_message(page).await.to_text().unwrap().contains("tales"));
        }
    });
    let asked = news.await;
    assert!((1..MAX_PER_PERSON).contains(&asked), "{MAX_PER_PERSON} pages asked {asked} times");
    cabinet.close().await;
}
