//! Ids of recently sent messages with labels, for edits that follow soon. The store has all of them.

use std::collections::HashMap;

/// Labels by chat, in two generations: when the younger one is full, the older one is dropped. A generation is larger
/// than the number of unsettled rows, so a label that is not here is in the store.
#[derive(Debug)]
pub(super) struct Labels {
    young: HashMap<i64, Vec<(Box<str>, i64)>>,
    old: HashMap<i64, Vec<(Box<str>, i64)>>,
    count: usize,
    capacity: usize,
}

impl Labels {
    pub fn new(capacity: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), count: 0, capacity: capacity.max(1) }
    }

    pub fn get(&self, chat: i64, label: &str) -> Option<i64> {
        let found = |generation: &HashMap<i64, Vec<(Box<str>, i64)>>| {
            generation.get(&chat)?.iter().find(|(known, _)| **known == *label).map(|(_, message)| *message)
        };
        found(&self.young).or_else(|| found(&self.old))
    }

    pub fn put(&mut self, chat: i64, label: Box<str>, message: i64) {
        if self.count >= self.capacity {
            self.old = std::mem::take(&mut self.young);
            self.count = 0;
        }
        let labels = self.young.entry(chat).or_default();
        match labels.iter_mut().find(|(known, _)| *known == label) {
            Some((_, known)) => *known = message,
            None => {
                labels.push((label, message));
                self.count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_the_last_message_and_are_bounded() {
        let mut labels = Labels::new(10);
        labels.put(1, "menu".into(), 5);
        labels.put(1, "menu".into(), 6);
        assert_eq!((labels.get(1, "menu"), labels.get(1, "x"), labels.get(2, "menu")), (Some(6), None, None));
        for chat in 10..30 {
            labels.put(chat, "menu".into(), 1);
        }
        assert_eq!((labels.get(1, "menu"), labels.get(29, "menu")), (None, Some(1)));
        assert!(labels.young.len() + labels.old.len() <= 20);
    }
}
