//! The library's own messages in the person's language.

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
async fn a_person_with_a_russian_telegram_is_told_in_russian() {
    let stage = Stage::new().await;
    let anna = stage.person_with(json!({"first_name": "Анна", "language_code": "ru"})).await;
    let trouble = || Dialogue::new().start(command("trouble"), begin).on(Trouble::OPEN, button("fail"), fails);
    let polite = |bot: Bot| bot.settings(|settings| settings.stop.tell_people = true);
    let store = stage.sqlite().await;
    let bot = Running::start(polite(stage.bot(&store).dialogue(form()).dialogue(trouble())));
    anna.says("/cancel").await;
    anna.receives_exactly(&["Отменять нечего."]).await;
    anna.says("/trouble").await;
    let button = anna.button("!").await;
    anna.presses_this(&button).await;
    let sorry = "У нас что-то пошло не так. Введённое сохранено.";
    anna.receives_exactly(&["Отменять нечего.", "?", sorry]).await;
    assert_eq!(anna.presses_this(&button).await["text"], "Эта кнопка больше не действует.");
    anna.button("Попробовать снова").await;
    anna.presses("Отмена").await;
    anna.says("/start").await;
    anna.receives_exactly(&["Отменять нечего.", "?", sorry, "Отменено.", NAME]).await;
    bot.stops().await;
    anna.receives("Сейчас меня перезапустят.").await;
}

/// The application's record of languages, and how often it was read.
#[derive(Default)]
struct Chosen(std::sync::atomic::AtomicUsize);

#[tokio::test]
async fn a_chosen_language_wins_and_is_read_only_when_needed() {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    let stage = Stage::new().await;
    let anna = stage.person_with(json!({"first_name": "Анна", "language_code": "ru"})).await;
    let boris = stage.person_with(json!({"first_name": "Борис", "language_code": "ru"})).await;
    let (chosen, known) = (Arc::new(Chosen::default()), anna.id);
    let script = Script::from(form()).languages(move |context, people| async move {
        context.get::<Arc<Chosen>>().unwrap().0.fetch_add(1, Ordering::SeqCst);
        people.into_iter().filter(|person| *person == known).map(|person| (person, "en".to_owned())).collect()
    });
    let store = stage.sqlite().await;
    let polite = |bot: Bot| bot.settings(|settings| settings.stop.tell_people = true);
    let bot = Running::start(polite(stage.bot(&store).script(script).context(Arc::clone(&chosen))));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    assert_eq!(chosen.0.load(Ordering::SeqCst), 0, "the handler said everything");
    anna.says("/cancel").await;
    anna.receives_exactly(&[NAME, "Cancelled."]).await;
    boris.says("/cancel").await;
    boris.receives_exactly(&["Отменять нечего."]).await;
    anna.says("/start").await;
    boris.says("/start").await;
    anna.receives_exactly(&[NAME, "Cancelled.", NAME]).await;
    boris.receives_exactly(&["Отменять нечего.", NAME]).await;
    bot.stops().await;
    anna.receives("I will be restarted in a moment.").await;
    boris.receives("Сейчас меня перезапустят.").await;
}

async fn choose(turn: &mut Turn, _: Command) -> Step<Trouble> {
    turn.set_language("en");
    turn.say("English, then.");
    Ok(Next::Go(Trouble::Open))
}

#[tokio::test]
async fn a_language_chosen_in_a_dialogue_stays_while_it_is_open() {
    let stage = Stage::new().await;
    let anna = stage.person_with(json!({"first_name": "Анна", "language_code": "ru"})).await;
    let trouble = Dialogue::new().start(command("choose"), choose).on(Trouble::OPEN, button("fail"), fails);
    let bot = Running::start(stage.bot(&stage.sqlite().await).dialogue(trouble));
    anna.says("/choose").await;
    anna.says("what?").await;
    anna.receives("Sorry, this does not fit here.").await;
    anna.says("/cancel").await;
    anna.receives("Cancelled.").await;
    anna.says("/cancel").await;
    anna.receives("Отменять нечего.").await;
    bot.stops().await;
}

fn refuse_everyone<'t>(
    turn: &'t mut Turn,
    input: &'t Input,
) -> futures_util::future::BoxFuture<'t, Result<bool, BoxError>> {
    Box::pin(async move {
        let is_let_in = !matches!(input, Input::Text(_));
        if !is_let_in {
            turn.say("Not now.");
        }
        Ok(is_let_in)
    })
}

#[tokio::test]
async fn a_guard_can_refuse_every_input() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&stage.sqlite().await).script(Script::from(form()).guard(refuse_everyone)));
    anna.says("/start").await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, "Not now."]).await;
    bot.stops().await;
}
