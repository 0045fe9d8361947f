//! One picture stands for a document or for a face, and never for both.

use serde_json::json;

use super::{PNG, until_documents, works};
use crate::kit::firm::{Firm, Kind};

#[tokio::test]
async fn the_same_picture_is_no_selfie() {
    let firm = Firm::open(Kind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    until_documents(&anna).await;
    let sizes = json!([{"file_id": "f1", "file_unique_id": "same", "width": 9, "height": 9, "file_size": 90}]);
    anna.sends_message(json!({"photo": sizes})).await;
    anna.sees("Now a selfie");
    anna.sends_message(json!({"photo": sizes})).await;
    anna.sees("the same picture");
    let large = json!([{"file_id": "f2", "file_unique_id": "2", "width": 9, "height": 9, "file_size": 10_000_001}]);
    anna.sends_message(json!({"photo": large})).await;
    anna.sees("at most 10 MB");
}

/// Who goes back has a selfie already: the same picture must not come to stand for both.
#[tokio::test]
async fn a_selfie_is_no_document() {
    let firm = Firm::open(Kind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    until_documents(&anna).await;
    let photo = |id: &str| json!([{"file_id": id, "file_unique_id": id, "width": 9, "height": 9, "file_size": 90}]);
    anna.sends_message(json!({"photo": photo("paper")})).await;
    anna.sends_message(json!({"photo": photo("face")})).await;
    anna.sees("I am saving your registration");
    firm.stage.fails("download", "the connection was cut").await;
    anna.sees("could not be saved");
    anna.presses("← Back").await;
    anna.sees("Send a photo of your passport");
    anna.sends_message(json!({"photo": photo("face")})).await;
    anna.sees("the same picture as your selfie");
    anna.sends_message(json!({"photo": photo("another")})).await;
    works(&firm, PNG).await;
    anna.sees("Your registration is being looked at.");
}
