//! Places, contacts, dice and polls.

use frankenstein::types::{Message, MessageEntityType as Kind, Poll, PollType};
use serde_json::json;

use super::scene::Scene;

pub async fn location(scene: &Scene) {
    let own = json!({
        "latitude": 55.7558, "longitude": 37.6173, "horizontal_accuracy": 12.5, "live_period": 600, "heading": 90,
        "proximity_alert_radius": 100,
    });
    let location = scene.sends("sendLocation", own, &[]).await.location.unwrap();
    assert_eq!((location.latitude, location.longitude), (55.7558, 37.6173));
    assert_eq!((location.horizontal_accuracy, location.live_period), (Some(12.5), Some(600)));
    assert_eq!((location.heading, location.proximity_alert_radius), (Some(90), Some(100)));
}

pub async fn venue(scene: &Scene) {
    let own = json!({
        "latitude": -33.5, "longitude": 151.25, "title": "Depot", "address": "1 Harbour St", "foursquare_id": "4sq",
        "foursquare_type": "arts_entertainment/default", "google_place_id": "place", "google_place_type": "cafe",
    });
    let message = scene.sends("sendVenue", own, &[]).await;
    let venue = message.venue.unwrap();
    assert_eq!((venue.title.as_str(), venue.address.as_str()), ("Depot", "1 Harbour St"));
    assert_eq!((venue.location.latitude, venue.location.longitude), (-33.5, 151.25));
    assert_eq!(message.location.map(|it| it.latitude), Some(-33.5));
    assert_eq!(venue.foursquare_id.as_deref(), Some("4sq"));
    assert_eq!(venue.foursquare_type.as_deref(), Some("arts_entertainment/default"));
    assert_eq!(venue.google_place_id.as_deref(), Some("place"));
    assert_eq!(venue.google_place_type.as_deref(), Some("cafe"));
}

pub async fn contact(scene: &Scene) {
    let own = json!({
        "phone_number": "+15550123", "first_name": "Dora", "last_name": "Lund", "vcard": "BEGIN:VCARD\nEND:VCARD",
    });
    let contact = scene.sends("sendContact", own, &[]).await.contact.unwrap();
    assert_eq!((contact.phone_number.as_str(), contact.first_name.as_str()), ("+15550123", "Dora"));
    assert_eq!(contact.last_name.as_deref(), Some("Lund"));
    assert_eq!((contact.vcard.as_deref(), contact.user_id), (Some("BEGIN:VCARD\nEND:VCARD"), None));
}

pub async fn dice(scene: &Scene) {
    let dice = scene.sends("sendDice", json!({"emoji": "🎰"}), &[]).await.dice.unwrap();
    assert_eq!(dice.emoji, "🎰");
    assert!((1..=64).contains(&dice.value));
    let plain: Message = scene.ask("sendDice", json!({"chat_id": scene.anna})).await;
    let dice = plain.dice.unwrap();
    assert_eq!(dice.emoji, "🎲");
    assert!((1..=6).contains(&dice.value));
}

pub async fn poll(scene: &Scene) {
    let own = json!({
        "question": "Which <b>evening</b>?", "question_parse_mode": "HTML",
        "options": [{"text": "<i>Monday</i>", "text_parse_mode": "HTML"}, {"text": "Tuesday"}, "Friday"],
        "is_anonymous": false, "type": "regular", "allows_multiple_answers": true, "allows_revoting": false,
        "shuffle_options": false, "allow_adding_options": false, "hide_results_until_closes": false,
        "members_only": true, "country_codes": ["NO"], "open_period": 300, "is_closed": false,
        "description": "For *June*", "description_parse_mode": "MarkdownV2",
        "media": {"type": "location", "latitude": 1.0, "longitude": 2.0},
    });
    let poll = scene.sends("sendPoll", own, &[]).await.poll.unwrap();
    assert_eq!((poll.question.as_str(), poll.type_field), ("Which evening?", PollType::Regular));
    assert_eq!(poll.question_entities.as_ref().map(|it| it[0].type_field), Some(Kind::Bold));
    let options: Vec<_> = poll.options.iter().map(|option| (option.text.as_str(), option.voter_count)).collect();
    assert_eq!(options, [("Monday", 0), ("Tuesday", 0), ("Friday", 0)]);
    assert_eq!(poll.options[0].text_entities.as_ref().map(|it| it[0].type_field), Some(Kind::Italic));
    assert!(poll.options.iter().all(|option| option.persistent_id.is_some()));
    assert_eq!((poll.total_voter_count, poll.is_closed, poll.is_anonymous), (0, false, false));
    assert_eq!((poll.allows_multiple_answers, poll.allows_revoting), (Some(true), Some(false)));
    assert_eq!((poll.members_only, poll.open_period), (Some(true), Some(300)));
    assert_eq!(poll.description.as_deref(), Some("For June"));
    assert_eq!(poll.description_entities.map(|it| it[0].type_field), Some(Kind::Bold));
}

pub async fn quiz(scene: &Scene) {
    let bold = json!([{"type": "bold", "offset": 0, "length": 4}]);
    let parameters = json!({
        "chat_id": scene.anna, "question": "When is the break?", "question_entities": bold, "type": "quiz",
        "options": [{"text": "Noon", "text_entities": bold}, {"text": "Never"}], "correct_option_ids": [0],
        "explanation": "Noon, as ever", "explanation_entities": bold, "close_date": 1_900_000_000,
        "description": "Noon or never", "description_entities": bold,
        "explanation_media": {"type": "location", "latitude": 1.0, "longitude": 2.0},
    });
    let quiz = scene.ask::<Message>("sendPoll", parameters.clone()).await.poll.unwrap();
    assert_eq!((quiz.type_field, quiz.is_anonymous), (PollType::Quiz, true));
    assert_eq!((quiz.correct_option_ids.as_deref(), quiz.close_date), (Some(&[0][..]), Some(1_900_000_000)));
    assert_eq!(quiz.explanation.as_deref(), Some("Noon, as ever"));
    let formatted = [&quiz.question_entities, &quiz.explanation_entities, &quiz.description_entities];
    let formatted = formatted.into_iter().chain([&quiz.options[0].text_entities]);
    assert!(formatted.into_iter().all(|it| it.as_ref().is_some_and(|it| it[0].type_field == Kind::Bold)));

    let mut parsed = parameters;
    parsed["explanation_parse_mode"] = json!("HTML");
    parsed["explanation"] = json!("<u>Noon</u>");
    let quiz = scene.ask::<Message>("sendPoll", parsed).await.poll.unwrap();
    assert_eq!(quiz.explanation_entities.map(|it| it[0].type_field), Some(Kind::Underline));
}

pub async fn stop_poll(scene: &Scene) {
    let sent = json!({"chat_id": scene.anna, "question": "Tea?", "options": ["Yes", "No"], "description": "Now"});
    let sent: Message = scene.ask("sendPoll", sent).await;
    scene.acts(scene.anna, "vote", json!({"from": scene.anna, "message_id": sent.message_id, "option_ids": [1]})).await;
    let markup = json!({"inline_keyboard": [[{"text": "Again", "callback_data": "again"}]]});
    let stop = json!({"chat_id": scene.anna, "message_id": sent.message_id, "reply_markup": markup});
    let poll: Poll = scene.ask("stopPoll", stop).await;
    assert_eq!(Some(&poll.id), sent.poll.as_ref().map(|poll| &poll.id));
    assert_eq!((poll.is_closed, poll.total_voter_count), (true, 1));
    assert_eq!(poll.options.iter().map(|option| option.voter_count).collect::<Vec<_>>(), [0, 1]);
    // Only a message shows a poll's description.
    assert_eq!((sent.poll.unwrap().description.as_deref(), poll.description), (Some("Now"), None));
}
