//! How many sockets a person may have, and what they cost together.

use tokio_tungstenite::tungstenite::Message;
use workforce::person::Role;
use workforce::web::Event;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::Kind;
use crate::kit::queries::Queries;
use crate::web::live_pages::{listening, open, told};

/// As the product has it.
const OF_A_PERSON: usize = 20;
const TOO_MANY: u16 = 4429;

#[tokio::test]
async fn a_page_too_many_closes_the_oldest_of_the_person() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let address = listening(&cabinet).await;
    let mut boriss = open(address, &boris).await;
    let mut pages = Vec::new();
    for _ in 0..=OF_A_PERSON {
        pages.push(open(address, &owner).await);
    }
    let Message::Close(Some(frame)) = told(&mut pages[0]).await else { panic!("the oldest is still open") };
    assert_eq!(u16::from(frame.code), TOO_MANY);
    until("the oldest is gone", async || (cabinet.app.events.count_sockets() == OF_A_PERSON + 1).then_some(())).await;
    cabinet.app.events.publish(Event::to_roles("tales", &[Role::Owner, Role::Employee]));
    for page in pages[1..].iter_mut().chain([&mut boriss]) {
        assert!(told(page).await.to_text().unwrap().contains("tales"));
    }
    drop((pages, boriss));
    until("all places are free", async || (cabinet.app.events.count_sockets() == 0).then_some(())).await;
    cabinet.close().await;
}

#[tokio::test]
async fn the_pages_of_a_browser_look_up_who_listens_once() {
    let queries = Queries::counted();
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let address = listening(&cabinet).await;
    let mut pages = Vec::new();
    for _ in 0..OF_A_PERSON {
        pages.push(open(address, &owner).await);
    }
    let news = queries.of(async || {
        cabinet.app.events.publish(Event::to_roles("tales", &[Role::Owner]));
        for page in &mut pages {
            assert!(told(page).await.to_text().unwrap().contains("tales"));
        }
    });
    let asked = news.await;
    assert!((1..OF_A_PERSON).contains(&asked), "{OF_A_PERSON} pages asked {asked} times");
    cabinet.close().await;
}
