//! Every mistake that the derive rejects, with its error message.

use super::states;

/// The error messages of the compiler.
fn errors(source: &str) -> Vec<String> {
    let input = syn::parse_str(source).unwrap();
    let error = states(&input).expect_err(source);
    error.into_iter().map(|error| error.to_string()).collect()
}

#[track_caller]
fn is_rejected(source: &str, message: &str) {
    assert_eq!(errors(source), [message], "{source}");
}

#[test]
fn only_an_enum_has_states() {
    let message = "`States` is for an enum: one variant for each state of the dialogue";
    is_rejected("struct Form { name: String }", message);
    is_rejected("struct Form;", message);
    is_rejected("union Form { name: u8 }", message);
}

#[test]
fn states_are_one_type() {
    let message = "the states of a dialogue are one type: they take no generics and no lifetimes";
    is_rejected("enum Form<T> { Name(T) }", message);
    is_rejected("enum Form<'a> { Name(&'a str) }", message);
    is_rejected("enum Form<const N: usize> { Name([u8; N]) }", message);
}

#[test]
fn an_enum_takes_a_dialogue_and_a_version() {
    let message = "the enum takes `dialogue = \"…\"` and `version = …`";
    is_rejected("#[states(name = \"form\")] enum Form { Name }", message);
    is_rejected("#[states(dialog = \"form\")] enum Form { Name }", message);
}

#[test]
fn a_variant_takes_a_name() {
    let message = "a variant takes `name = \"…\"`";
    is_rejected("enum Form { #[states(rename = \"who\")] Name }", message);
    is_rejected("enum Form { #[states(dialogue = \"form\")] Name }", message);
}

#[test]
fn a_field_takes_nothing() {
    let message = "`states` goes on an enum or a variant, not on a field";
    is_rejected("enum Form { Age { #[states(name = \"who\")] name: String } }", message);
}

#[test]
fn nothing_is_set_twice() {
    for source in [
        "#[states(dialogue = \"form\", dialogue = \"survey\")] enum Form { Name }",
        "#[states(version = 1)] #[states(version = 2)] enum Form { Name }",
        "enum Form { #[states(name = \"who\")] #[states(name = \"name\")] Name }",
    ] {
        is_rejected(source, "this is set twice");
    }
}

#[test]
fn an_empty_attribute_is_rejected() {
    is_rejected("#[states] enum Form { Name }", "expected attribute arguments in parentheses: #[states(...)]");
    is_rejected("#[states(dialogue)] enum Form { Name }", "expected `=`");
    is_rejected("enum Form { #[states(name)] Name }", "expected `=`");
}

#[test]
fn versions_are_numbers_from_one() {
    is_rejected("#[states(version = 0)] enum Form { Name }", "versions count from 1");
    is_rejected("#[states(version = \"2\")] enum Form { Name }", "expected integer literal");
    is_rejected("#[states(version = 4294967296)] enum Form { Name }", "number too large to fit in target type");
}

#[test]
fn a_name_can_stand_in_a_key_and_in_a_log() {
    let message = "a name is not empty and holds no colon and no space";
    for name in ["", "a:b", "two words", "a\\tb", "a\\0b"] {
        is_rejected(&format!("#[states(dialogue = \"{name}\")] enum Form {{ Name }}"), message);
        is_rejected(&format!("enum Form {{ #[states(name = \"{name}\")] Name }}"), message);
    }
    is_rejected("#[states(dialogue = 7)] enum Form { Name }", "expected string literal");
}

#[test]
fn a_state_has_no_more_fields_than_a_handler_takes() {
    is_rejected(
        "enum Form { Many(u8, u16, u32, u64) }",
        "a state has at most 3 fields; put them into a struct: `Many(Many)`",
    );
    let most = syn::parse_str("enum Form { Many(u8, u16, u32) }").unwrap();
    assert!(states(&most).is_ok());
}

#[test]
fn fields_of_the_same_type_are_rejected() {
    let message = "two fields of `Paper` have the same type, and a handler could swap them unnoticed; put the fields \
                   into a struct: `Paper(Paper)`";
    is_rejected("enum Form { Paper { name: String, age: u8, phone: String } }", message);
    is_rejected("enum Form { Paper(Vec<u8>, Vec<u8>) }", message);
    let different = syn::parse_str("enum Form { Paper { name: String, phone: Option<String> } }").unwrap();
    assert!(states(&different).is_ok());
}

#[test]
fn a_variant_in_capitals_gets_a_suggestion() {
    let message =
        |written, better| format!("`{written}` would hide the constant of the same name; write it as `{better}`");
    is_rejected("enum Form { AGE }", &message("AGE", "Age"));
    is_rejected("enum Form { A }", &message("A", "StateA"));
}

#[test]
fn duplicate_names_are_rejected() {
    is_rejected(
        "enum Form { Name, #[states(name = \"name\")] Who }",
        "the states `Name` and `Who` would have the same name `name`",
    );
    is_rejected(
        "enum Form { HttpProxy, HTTPProxy }",
        "the states `HttpProxy` and `HTTPProxy` would have the same name `http_proxy`",
    );
    is_rejected(
        "enum Form { HttpProxy, #[states(name = \"old_proxy\")] HTTPProxy }",
        "the states `HttpProxy` and `HTTPProxy` would have the same constant `HTTP_PROXY`",
    );
}

#[test]
fn all_duplicates_are_reported_at_once() {
    let source = "enum Form { Name, #[states(name = \"name\")] Who, #[states(name = \"name\")] Whose }";
    assert_eq!(
        errors(source),
        [
            "the states `Name` and `Who` would have the same name `name`",
            "the states `Name` and `Whose` would have the same name `name`",
        ]
    );
}
