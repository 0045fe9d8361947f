//! The library's own sentences in the person's language.

use opora::prelude::*;
use serde_json::json;

use super::form::{NAME, form};
use crate::stage::{Running, Stage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "trouble")]
enum Trouble {
    Open,
}

async fn begin(turn: &mut Turn, _: Command) -> Step<Trouble> {
    turn.say(Say::text("?").buttons([[Button::new("!", "fail")]]));
    Ok(Next::Go(Trouble::Open))
}

async fn fails(_: &mut Turn, _: Press) -> Step<Trouble> {
    Err("always".into())
}

#[tokio::test]
async fn a_person_whose_telegram_is_russian_is_told_in_russian() {
    let stage = Stage::new().await;
    let anna = stage.person_who(json!({"first_name": "Анна", "language_code": "ru"})).await;
    let trouble = || Dialogue::new().start(command("trouble"), begin).on(Trouble::OPEN, button("fail"), fails);
    let polite = |bot: Bot| bot.settings(|settings| settings.stop.tell_people = true);
    let store = stage.sqlite().await;
    let bot = Running::start(polite(stage.bot(&store).dialogue(form()).dialogue(trouble())));
    anna.says("/cancel").await;
    anna.hears_just(&["Отменять нечего."]).await;
    anna.says("/trouble").await;
    let button = anna.button("!").await;
    anna.presses_this(&button).await;
    let sorry = "У нас что-то пошло не так. Введённое сохранено.";
    anna.hears_just(&["Отменять нечего.", "?", sorry]).await;
    assert_eq!(anna.presses_this(&button).await["text"], "Эта кнопка больше не действует.");
    anna.button("Попробовать снова").await;
    anna.presses("Отмена").await;
    anna.says("/start").await;
    anna.hears_just(&["Отменять нечего.", "?", sorry, "Отменено.", NAME]).await;
    bot.stops().await;
    anna.hears("Сейчас меня перезапустят.").await;
}
