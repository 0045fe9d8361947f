//! `getUpdates`: offsets, waiting, and who may poll.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn an_update_comes_until_it_is_confirmed() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "one").await;
    stage.says(anna, "two").await;
    let first = stage.updates(0).await;
    assert_eq!(first.iter().map(|it| &it["message"]["text"]).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(stage.updates(0).await, first);
    let second = first[1]["update_id"].as_i64().unwrap();
    assert_eq!(second, first[0]["update_id"].as_i64().unwrap() + 1);
    assert_eq!(stage.updates(second).await.len(), 1);
    assert!(stage.updates(second + 1).await.is_empty());
}

#[tokio::test]
async fn a_waiting_poller_is_woken_by_a_message() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let (updates, _) = tokio::join!(stage.call("getUpdates", json!({"timeout": 30})), async {
        stage.polled().await;
        stage.says(anna, "hello").await
    });
    assert_eq!(updates[0]["message"]["text"], "hello");
}

#[tokio::test]
async fn a_second_poller_sends_the_first_away() {
    let stage = Stage::new().await;
    let (first, second) = tokio::join!(stage.refused("getUpdates", json!({"timeout": 30})), async {
        stage.polled().await;
        stage.call("getUpdates", json!({"timeout": 0})).await
    });
    let conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    assert_eq!(first, (409, conflict.to_owned()));
    assert_eq!(second, json!([]));
}
