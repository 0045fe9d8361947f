//! The words by which an order is found: its number, phone, name and address.

use std::collections::BTreeSet;

use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};

use super::Order;
use super::tables::word;
use crate::domain::Transaction;

/// Longer words are cut. Nobody types more of one.
const MAX_WORD: usize = 40;
const MAX_WORDS: usize = 60;
/// The last digits of a phone, by which people name it.
const LAST_DIGITS: usize = 4;
/// Words of nearly every address.
const USUAL: [&str; 14] =
    ["ул", "улица", "г", "город", "д", "дом", "кв", "квартира", "пр", "корп", "к", "стр", "st", "apt"];

/// A name in small letters, with `ё` as `е`.
pub fn search_name(text: &str) -> String {
    text.to_lowercase().replace('ё', "е").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An address without case and punctuation: the same place has the same key.
pub fn address_key(address: &str) -> String {
    let words: Vec<String> = split(address).filter(|word| !USUAL.contains(&word.as_str())).collect();
    words.join(" ")
}

/// The words of a text, in small letters.
pub fn split(text: &str) -> impl Iterator<Item = String> {
    let text = search_name(text);
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(MAX_WORD).collect())
        .collect();
    words.into_iter()
}

/// The words of a search: a phone is one word, in whatever way it is written.
pub fn searched(text: &str) -> Vec<String> {
    let is_phone = text.chars().all(|letter| letter.is_ascii_digit() || "+ ()-".contains(letter));
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if is_phone && digits.len() > LAST_DIGITS && (text.len() > digits.len() || digits.len() >= 10) {
        return vec![national(&digits).to_owned()];
    }
    let unusual = split(text).filter(|word| !USUAL.contains(&word.as_str()));
    let mut words: Vec<String> = unusual.collect::<BTreeSet<_>>().into_iter().collect();
    if words.is_empty() {
        words = split(text).collect();
    }
    words.truncate(MAX_WORDS);
    words
}

/// A Russian number without its country code.
fn national(digits: &str) -> &str {
    let rest = digits.strip_prefix(['7', '8']);
    rest.filter(|_| digits.len() > 10).unwrap_or(digits)
}

/// All words of an order.
pub fn of_order(order: &Order) -> BTreeSet<String> {
    let about = &order.about;
    let digits: String = about.phone.chars().filter(char::is_ascii_digit).collect();
    let national = national(&digits).to_owned();
    let last: String = national.chars().skip(national.chars().count().saturating_sub(LAST_DIGITS)).collect();
    let address = split(&about.address).filter(|word| !USUAL.contains(&word.as_str()));
    let all = [order.number.to_string(), national, last].into_iter().chain(split(&about.client_name)).chain(address);
    all.filter(|word| !word.is_empty()).take(MAX_WORDS).collect()
}

/// Whether every word of a search begins a word of the order, as it is shown.
pub fn has_all(order: &Order, wanted: &[String]) -> bool {
    let words = of_order(order);
    wanted.iter().all(|one| words.iter().any(|word| word.starts_with(one.as_str())))
}

/// Replaces the words of an order by those of its fields.
pub async fn replace(db: &Transaction<'_, '_>, order: &Order) -> Result<(), WriteError> {
    word::Entity::delete_many().filter(word::Column::OrderId.eq(order.id)).exec(db).await?;
    let rows = of_order(order).into_iter().map(|word| word::ActiveModel { word: Set(word), order_id: Set(order.id) });
    word::Entity::insert_many(rows).exec_without_returning(db).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_is_one_word_however_it_is_written() {
        for typed in ["+7 (999) 123-45-67", "8 999 123 45 67", "89991234567", "9991234567"] {
            assert_eq!(searched(typed), ["9991234567"], "{typed}");
        }
        assert_eq!(searched("4567"), ["4567"]);
        assert_eq!(searched("ул. Ленина, 5"), ["5", "ленина"]);
    }

    #[test]
    fn the_same_place_has_the_same_key() {
        assert_eq!(address_key("ул. Королёва, д. 5, кв. 12"), address_key("Улица Королева 5 квартира 12"));
    }
}
