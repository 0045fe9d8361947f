//! What a bot says about itself.

use frankenstein::types::{BotCommand, BotDescription, BotName, BotShortDescription, MenuButton, User};
use serde_json::json;

use super::scene::Scene;

pub async fn me(scene: &Scene) {
    let described = json!({
        "first_name": "Foreman", "username": "foreman_bot", "can_join_groups": false,
        "can_read_all_group_messages": false, "supports_inline_queries": true,
    });
    scene.stage.post("/bot", described).await;
    let me: User = scene.ask("getMe", json!({})).await;
    assert_eq!((me.id, me.is_bot), (123_456_789, true));
    assert_eq!((me.first_name.as_str(), me.username.as_deref()), ("Foreman", Some("foreman_bot")));
    assert_eq!((me.can_join_groups, me.can_read_all_group_messages), (Some(false), Some(false)));
    assert_eq!((me.supports_inline_queries, me.can_connect_to_business), (Some(true), Some(false)));
    assert_eq!(me.has_main_web_app, Some(false));
}

pub async fn log_out(scene: &Scene) {
    scene.does("logOut", json!({})).await;
    assert_eq!(scene.stage.refused("getMe", json!({})).await, (400, "Logged out".to_owned()));
}

pub async fn close(scene: &Scene) {
    assert_eq!(scene.stage.refused("close", json!({})).await.0, 429);
    scene.stage.post("/clock", json!({"advance_seconds": 601})).await;
    scene.does("close", json!({})).await;
}

pub async fn commands(scene: &Scene) {
    let whose = json!({"scope": {"type": "chat", "chat_id": scene.anna}, "language_code": "en"});
    let mut set = whose.clone();
    set["commands"] =
        json!([{"command": "/start", "description": "Begin"}, {"command": "help", "description": "Help"}]);
    scene.does("setMyCommands", set).await;
    let commands: Vec<BotCommand> = scene.ask("getMyCommands", whose.clone()).await;
    let commands: Vec<_> = commands.iter().map(|it| (it.command.as_str(), it.description.as_str())).collect();
    assert_eq!(commands, [("start", "Begin"), ("help", "Help")]);
    assert_eq!(scene.ask::<Vec<BotCommand>>("getMyCommands", json!({})).await, []);
    scene.does("deleteMyCommands", whose.clone()).await;
    assert_eq!(scene.ask::<Vec<BotCommand>>("getMyCommands", whose).await, []);
}

pub async fn name(scene: &Scene) {
    scene.does("setMyName", json!({"name": "Foreman"})).await;
    scene.does("setMyName", json!({"name": "Бригадир", "language_code": "ru"})).await;
    assert_eq!(scene.ask::<BotName>("getMyName", json!({})).await.name, "Foreman");
    assert_eq!(scene.ask::<BotName>("getMyName", json!({"language_code": "ru"})).await.name, "Бригадир");
    assert_eq!(scene.ask::<User>("getMe", json!({})).await.first_name, "Foreman");
}

pub async fn description(scene: &Scene) {
    scene.does("setMyDescription", json!({"description": "Plans shifts", "language_code": "en"})).await;
    let description: BotDescription = scene.ask("getMyDescription", json!({"language_code": "en"})).await;
    assert_eq!(description.description, "Plans shifts");
    assert_eq!(scene.ask::<BotDescription>("getMyDescription", json!({})).await.description, "");
}

pub async fn short_description(scene: &Scene) {
    scene.does("setMyShortDescription", json!({"short_description": "Shifts", "language_code": "en"})).await;
    let short: BotShortDescription = scene.ask("getMyShortDescription", json!({"language_code": "en"})).await;
    assert_eq!(short.short_description, "Shifts");
    assert_eq!(scene.ask::<BotShortDescription>("getMyShortDescription", json!({})).await.short_description, "");
}

pub async fn menu_button(scene: &Scene) {
    let app = json!({"type": "web_app", "text": "Open", "web_app": {"url": "https://example.org/app"}});
    scene.does("setChatMenuButton", json!({"chat_id": scene.anna, "menu_button": app})).await;
    let of_anna: MenuButton = scene.ask("getChatMenuButton", json!({"chat_id": scene.anna})).await;
    let MenuButton::WebApp(app) = of_anna else { panic!("the button opens an app") };
    assert_eq!((app.text.as_str(), app.web_app.url.as_str()), ("Open", "https://example.org/app"));
    scene.does("setChatMenuButton", json!({"menu_button": {"type": "commands"}})).await;
    assert_eq!(scene.ask::<MenuButton>("getChatMenuButton", json!({})).await, MenuButton::Commands);
}
