//! The owner's questionnaire file: changed during a session, broken, and checked by the command line.

use workforce::person::Role;

use super::{QUESTIONS, answers, begins, firm, some, write_file};
use crate::kit::firm::{StorageKind, on_every_database};
use crate::operator::run;

on_every_database! {
    a_changed_questionnaire_breaks_no_session_under_way,
    a_broken_file_leaves_the_last_good_one_in_force,
}

/// One question is gone, one is new, one has another kind, and the order has changed.
const CHANGED: &str = r#"
    [[questions]]
    id = "years"
    kind = "scale"
    ru = "Опыт по шкале?"
    en = "Experience on a scale?"
    [[questions]]
    id = "car"
    kind = "text"
    ru = "Какая машина?"
    en = "Which car?"
"#;

async fn a_changed_questionnaire_breaks_no_session_under_way(kind: StorageKind) {
    let firm = firm(kind).await;
    let (daria, egor) = (firm.member("Daria", &[Role::Employee]).await, firm.member("Egor", &[Role::Master]).await);
    begins(&daria).await;
    daria.sends("Dasha").await;
    write_file(&firm, CHANGED);
    begins(&egor).await;
    egor.sees("1/2\nExperience on a scale?");
    daria.sends("25").await;
    daria.sees("3/5\nWhich hours?");
    daria.presses("⏸ Pause").await;
    daria.presses("📝 Questionnaire").await;
    for input in ["Nights", "8"] {
        daria.presses(input).await;
    }
    daria.sees("5/5\nWhich skills?");
    daria.presses("Skip").await;
    daria.sees("Thank you, that's all!");
    assert_eq!(answers(&firm, &daria).await, [some("Dasha"), some("25"), some("Nights"), some("8"), None]);
    egor.presses("9").await;
    egor.sends("A van").await;
    assert_eq!(answers(&firm, &egor).await, [some("9"), some("A van")]);
}

async fn a_broken_file_leaves_the_last_good_one_in_force(kind: StorageKind) {
    let firm = firm(kind).await;
    let (daria, egor) = (firm.member("Daria", &[Role::Employee]).await, firm.member("Egor", &[Role::Employee]).await);
    begins(&daria).await;
    for broken in ["[[questions]\nid = 1", "", &QUESTIONS.replace("scale", "guess")] {
        write_file(&firm, broken);
        egor.sends("/start").await;
        egor.presses("📝 Questionnaire").await;
        egor.sees("has 5 questions.");
        egor.sends("/cancel").await;
    }
    begins(&egor).await;
    egor.sees("1/5\nWhat shall we call you?");
    std::fs::remove_file(firm.app.data_dir.join("questionnaire.toml")).unwrap();
    let fedor = firm.member("Fedor", &[Role::Employee]).await;
    begins(&fedor).await;
    fedor.sees("1/8\nWhat shall we call you at work?");
}

#[tokio::test]
async fn the_command_line_checks_a_file_and_prints_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("questionnaire.toml");
    let name = path.to_str().unwrap();
    let example = run(&[], &["onboarding", "example"]).await.success().stdout;
    std::fs::write(&path, example).unwrap();
    let checked = run(&[], &["onboarding", "check", name]).await.success().stdout;
    assert!(checked.ends_with("is valid: 8 questions\n"), "{checked}");
    std::fs::write(&path, CHANGED.replace("scale", "guess").replace("\"car\"", "\"years\"")).unwrap();
    let refused = run(&[], &["onboarding", "check", name]).await;
    refused.fails_with(&["its kind is none of", "its id is taken already", "has 2 mistakes and would not be used"]);
    run(&[], &["onboarding", "check", "/nowhere.toml"]).await.fails_with(&["cannot read /nowhere.toml"]);
}
