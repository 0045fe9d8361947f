//! Converts camel case to snake case and to capitals.

/// `EnterHours` becomes `enter_hours`, `HTTPProxy` becomes `http_proxy`, `Step2` becomes `step2`.
pub fn snake(name: &str) -> String {
    let letters: Vec<char> = name.trim_start_matches("r#").chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (index, letter) in letters.iter().enumerate() {
        if letter.is_uppercase() && index > 0 && letters[index - 1] != '_' {
            let after_small = !letters[index - 1].is_uppercase();
            let before_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
            if after_small || before_small {
                snake.push('_');
            }
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `EnterHours` becomes `ENTER_HOURS`.
pub fn capitals(name: &str) -> String {
    snake(name).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_like_a_reader_would() {
        for (name, expected) in [
            ("Age", "age"),
            ("EnterHours", "enter_hours"),
            ("HTTPProxy", "http_proxy"),
            ("Step2", "step2"),
            ("Step2Done", "step2_done"),
            ("AlreadyOK", "already_ok"),
            ("With_Line", "with_line"),
        ] {
            assert_eq!(snake(name), expected);
        }
        assert_eq!(capitals("EnterHours"), "ENTER_HOURS");
    }
}
