//! Every mistake that the derive refuses, with the words it is refused with.

use super::states;

/// What the compiler would show, one text for each error.
fn refusals(source: &str) -> Vec<String> {
    let input = syn::parse_str(source).unwrap();
    let error = states(&input).expect_err(source);
    error.into_iter().map(|error| error.to_string()).collect()
}

#[track_caller]
fn is_refused(source: &str, message: &str) {
    assert_eq!(refusals(source), [message], "{source}");
}

#[test]
fn only_an_enum_has_states() {
    let message = "`States` is for an enum: one variant for each state of the dialogue";
    is_refused("struct Form { name: String }", message);
    is_refused("struct Form;", message);
    is_refused("union Form { name: u8 }", message);
}

#[test]
fn a_dialogue_has_a_state() {
    is_refused("enum Form {}", "a dialogue needs at least one state");
}

#[test]
fn states_are_one_type() {
    let message = "the states of a dialogue are one type: they take no generics and no lifetimes";
    is_refused("enum Form<T> { Name(T) }", message);
    is_refused("enum Form<'a> { Name(&'a str) }", message);
    is_refused("enum Form<const N: usize> { Name([u8; N]) }", message);
}

#[test]
fn an_enum_takes_a_dialogue_and_a_version() {
    let message = "the enum takes `dialogue = \"…\"` and `version = …`";
    is_refused("#[states(name = \"form\")] enum Form { Name }", message);
    is_refused("#[states(dialog = \"form\")] enum Form { Name }", message);
}

#[test]
fn a_variant_takes_a_name() {
    let message = "a variant takes `name = \"…\"`";
    is_refused("enum Form { #[states(rename = \"who\")] Name }", message);
    is_refused("enum Form { #[states(dialogue = \"form\")] Name }", message);
}

#[test]
fn a_field_takes_nothing() {
    let message = "`states` says something of an enum or a variant, not of a field";
    is_refused("enum Form { Age { #[states(name = \"who\")] name: String } }", message);
}

#[test]
fn nothing_is_said_twice() {
    for source in [
        "#[states(dialogue = \"form\", dialogue = \"survey\")] enum Form { Name }",
        "#[states(version = 1)] #[states(version = 2)] enum Form { Name }",
        "enum Form { #[states(name = \"who\")] #[states(name = \"name\")] Name }",
    ] {
        is_refused(source, "this is said twice");
    }
}

#[test]
fn an_attribute_that_says_nothing_shows_how_it_is_written() {
    is_refused("#[states] enum Form { Name }", "expected attribute arguments in parentheses: #[states(...)]");
    is_refused("#[states(dialogue)] enum Form { Name }", "expected `=`");
    is_refused("enum Form { #[states(name)] Name }", "expected `=`");
}

#[test]
fn versions_are_numbers_from_one() {
    is_refused("#[states(version = 0)] enum Form { Name }", "versions count from 1");
    is_refused("#[states(version = \"2\")] enum Form { Name }", "expected integer literal");
    is_refused("#[states(version = 4294967296)] enum Form { Name }", "number too large to fit in target type");
}

#[test]
fn a_name_can_stand_in_a_key_and_in_a_log() {
    let message = "a name is not empty and holds no colon and no space";
    for name in ["", "a:b", "two words", "a\\tb", "a\\0b"] {
        is_refused(&format!("#[states(dialogue = \"{name}\")] enum Form {{ Name }}"), message);
        is_refused(&format!("enum Form {{ #[states(name = \"{name}\")] Name }}"), message);
    }
    is_refused("#[states(dialogue = 7)] enum Form { Name }", "expected string literal");
}

#[test]
fn a_state_has_no_more_fields_than_a_handler_takes() {
    is_refused(
        "enum Form { Many(u8, u16, u32, u64) }",
        "a state has at most 3 fields; put them into a struct: `Many(Many)`",
    );
    let most = syn::parse_str("enum Form { Many(u8, u16, u32) }").unwrap();
    assert!(states(&most).is_ok());
}

#[test]
fn fields_that_could_be_swapped_are_refused() {
    let message = "two fields of `Paper` have the same type, and a handler could swap them unnoticed; put the fields \
                   into a struct: `Paper(Paper)`";
    is_refused("enum Form { Paper { name: String, age: u8, phone: String } }", message);
    is_refused("enum Form { Paper(Vec<u8>, Vec<u8>) }", message);
    let different = syn::parse_str("enum Form { Paper { name: String, phone: Option<String> } }").unwrap();
    assert!(states(&different).is_ok());
}

#[test]
fn a_variant_in_capitals_is_told_a_better_name() {
    let message =
        |written, better| format!("`{written}` would hide the constant of the same name; write it as `{better}`");
    is_refused("enum Form { AGE }", &message("AGE", "Age"));
    is_refused("enum Form { A }", &message("A", "StateA"));
}

#[test]
fn two_states_of_one_name_are_both_named() {
    is_refused(
        "enum Form { Name, #[states(name = \"name\")] Who }",
        "the states `Name` and `Who` would have the same name `name`",
    );
    is_refused(
        "enum Form { HttpProxy, HTTPProxy }",
        "the states `HttpProxy` and `HTTPProxy` would have the same name `http_proxy`",
    );
    is_refused(
        "enum Form { HttpProxy, #[states(name = \"old_proxy\")] HTTPProxy }",
        "the states `HttpProxy` and `HTTPProxy` would have the same constant `HTTP_PROXY`",
    );
}

#[test]
fn all_twins_are_told_at_once() {
    let source = "enum Form { Name, #[states(name = \"name\")] Who, #[states(name = \"name\")] Whose }";
    assert_eq!(
        refusals(source),
        [
            "the states `Name` and `Who` would have the same name `name`",
            "the states `Name` and `Whose` would have the same name `name`",
        ]
    );
}
