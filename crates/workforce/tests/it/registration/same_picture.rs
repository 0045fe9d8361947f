//! The same picture cannot be both the document and the selfie.

use serde_json::json;

use super::{PNG, answers_until_documents, finish_effects};
use crate::kit::firm::{Firm, StorageKind};

#[tokio::test]
async fn the_document_is_not_accepted_as_selfie() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    answers_until_documents(&anna).await;
    let sizes = json!([{"file_id": "f1", "file_unique_id": "same", "width": 9, "height": 9, "file_size": 90}]);
    anna.sends_message(json!({"photo": sizes})).await;
    anna.sees("Now send a selfie");
    anna.sends_message(json!({"photo": sizes})).await;
    anna.sees("the same picture");
    let large = json!([{"file_id": "f2", "file_unique_id": "2", "width": 9, "height": 9, "file_size": 10_000_001}]);
    anna.sends_message(json!({"photo": large})).await;
    anna.sees("10 MB or less");
}

/// Going back with a selfie already given.
#[tokio::test]
async fn the_selfie_is_not_accepted_as_document() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    answers_until_documents(&anna).await;
    let photo = |id: &str| json!([{"file_id": id, "file_unique_id": id, "width": 9, "height": 9, "file_size": 90}]);
    anna.sends_message(json!({"photo": photo("paper")})).await;
    anna.sends_message(json!({"photo": photo("face")})).await;
    anna.sees("saving your registration");
    firm.stage.fail_effect("download", "the connection was cut").await;
    anna.sees("couldn't be saved");
    anna.presses("← Back").await;
    anna.sees("Send a photo of your passport");
    anna.sends_message(json!({"photo": photo("face")})).await;
    anna.sees("the same picture as your selfie");
    anna.sends_message(json!({"photo": photo("another")})).await;
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
}
