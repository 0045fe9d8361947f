//! Who asked: what a timer or an effect carries, so that what comes of it finds the dialogue that wanted it.

use std::hash::{BuildHasher, RandomState};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::store::Version;

/// The dialogue that asked, and the state that it was left in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asker {
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub slot: Box<str>,
    /// Empty if no dialogue asked: a guard, or the application outside of turns.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub dialogue: Box<str>,
    /// The turn in which its state was entered; see [`Asker::is_bound`].
    pub entry: Version,
}

impl Asker {
    /// A dialogue that has no state open after its turn; an empty name if no dialogue asked.
    pub fn without_state(dialogue: &str) -> Self {
        Self { slot: Box::default(), dialogue: dialogue.into(), entry: NEVER }
    }

    /// A state waits for what was asked for.
    pub fn is_bound(&self) -> bool {
        !self.dialogue.is_empty() && self.entry > Version::default()
    }
}

/// Whose handler runs: every wish remembers it, because one turn may run handlers of several dialogues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Speaker {
    /// Empty while no handler of a dialogue runs.
    pub dialogue: &'static str,
    pub slot: Box<str>,
    /// The place in the slot's stack of the state that the handler was given; none for an entry and the like.
    pub depth: Option<usize>,
}

/// The body of a timer in the store, and that of an effect as far as a timer has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wrapped<Body> {
    pub by: Asker,
    pub body: Body,
}

/// The body of an effect in the store.
#[derive(Debug, Serialize, Deserialize)]
struct Keyed<Body> {
    by: Asker,
    key: String,
    /// No handler waits for its success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unawaited: bool,
    body: Body,
}

/// The body of an effect, with a key that no other has. It lies in the body, so it goes wherever the effect goes: into
/// another store, whose numbers are others.
pub(crate) fn effect_body(by: Asker, unawaited: bool, body: &RawValue) -> Result<String, serde_json::Error> {
    // Seeded by the system; a clock or a count may begin anew.
    let random = RandomState::new();
    let key = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
    serde_json::to_string(&Keyed { by, key, unawaited, body })
}

/// The key of an effect's body; none if no turn has made it.
pub(crate) fn effect_key(body: &str) -> Option<String> {
    serde_json::from_str::<Keyed<IgnoredAny>>(body).ok().map(|keyed| keyed.key)
}

/// The body of the same effect, with the same key, whose outcome no state waits for: it comes as a late one.
#[cfg(feature = "redis")]
pub(crate) fn without_asking_state(body: &str) -> Result<String, serde_json::Error> {
    let Ok(Keyed { by, key, unawaited, body: wish }) = serde_json::from_str::<Keyed<&RawValue>>(body) else {
        return Ok(body.to_owned());
    };
    serde_json::to_string(&Keyed { by: Asker { entry: NEVER, ..by }, key, unawaited, body: wish })
}

/// No turn has this number.
const NEVER: Version = Version(-1);

/// What an effect's body asks for, without who asked. A body that was not wrapped is its own content.
pub(crate) fn wish(body: &str) -> &str {
    serde_json::from_str::<Wrapped<&RawValue>>(body).map_or(body, |wrapped| wrapped.body.get())
}

/// The name in the store of a conversation's alarm. Timers have other names: those of side dialogues begin with the
/// name of their slot, and a turn refuses a timer whose name begins so.
pub(crate) fn alarm_name(name: &str) -> String {
    format!("{ALARM}{name}")
}

/// The alarm that is stored under a name; none if that is a timer's.
pub(crate) fn alarm_of(stored_name: &str) -> Option<&str> {
    stored_name.strip_prefix(ALARM)
}

const ALARM: &str = "/alarm/";

/// The body of a timer or an alarm that no dialogue has set, or that belongs to none.
pub(crate) fn timer_of_nobody(body: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Wrapped { by: Asker::default(), body })
}

/// The body of an outcome in the inbox.
#[derive(Debug, Deserialize)]
struct Finished<'a> {
    kind: Box<str>,
    /// The effect's own body.
    #[serde(borrow, default)]
    asked: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ok: Option<&'a RawValue>,
    #[serde(default)]
    failed: Option<String>,
}

/// An outcome, read.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub by: Asker,
    pub kind: Box<str>,
    /// No handler waits for its success.
    pub unawaited: bool,
    /// What was asked for; null if that is unknown.
    pub asked: Box<RawValue>,
    pub result: Result<Box<RawValue>, String>,
}

impl Finish {
    pub fn read(body: &str) -> Result<Self, serde_json::Error> {
        let Finished { kind, asked, ok, failed } = serde_json::from_str(body)?;
        let wrapped = asked.and_then(|asked| serde_json::from_str::<Keyed<&RawValue>>(asked.get()).ok());
        let asked = wrapped.as_ref().map(|wrapped| wrapped.body).or(asked).unwrap_or(RawValue::NULL).to_owned();
        let unawaited = wrapped.as_ref().is_some_and(|wrapped| wrapped.unawaited);
        let result = match failed {
            Some(reason) => Err(reason),
            None => Ok(ok.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
        };
        Ok(Self { by: wrapped.map(|wrapped| wrapped.by).unwrap_or_default(), kind, unawaited, asked, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_knows_who_asked() {
        let by = Asker { slot: Box::default(), dialogue: "papers".into(), entry: Version(7) };
        let wish_of = RawValue::from_string("5".to_owned()).unwrap();
        let asked = effect_body(by.clone(), false, &wish_of).unwrap();
        assert_eq!(wish(&asked), "5");
        let done = format!(r#"{{"kind":"download","asked":{asked},"ok":{{"bytes":3}},"failed":null}}"#);
        let finish = Finish::read(&done).unwrap();
        assert_eq!(finish.asked.get(), "5");
        assert_eq!((finish.by, &*finish.kind, finish.result.unwrap().get()), (by, "download", r#"{"bytes":3}"#));
    }

    #[test]
    fn every_effect_has_a_key_of_its_own_that_stays_with_its_body() {
        let by = Asker { slot: Box::default(), dialogue: "papers".into(), entry: Version(7) };
        let wish_of = RawValue::from_string("5".to_owned()).unwrap();
        let [one, other] = [(); 2].map(|()| effect_body(by.clone(), false, &wish_of).unwrap());
        assert_ne!(effect_key(&one).unwrap(), effect_key(&other).unwrap());
        assert_eq!(wish(&one), "5");
        let late = without_asking_state(&one).unwrap();
        assert_eq!((effect_key(&late), wish(&late)), (effect_key(&one), "5"));
        let done = format!(r#"{{"kind":"download","asked":{late},"ok":null,"failed":null}}"#);
        assert_eq!(Finish::read(&done).unwrap().by, Asker { entry: NEVER, ..by });
    }

    #[test]
    fn an_effect_without_outcome_says_so_wherever_it_goes() {
        let wish_of = RawValue::from_string("5".to_owned()).unwrap();
        let body = effect_body(Asker::without_state("papers"), true, &wish_of).unwrap();
        let late = without_asking_state(&body).unwrap();
        let done = format!(r#"{{"kind":"mail","asked":{late},"ok":null,"failed":null}}"#);
        let finish = Finish::read(&done).unwrap();
        assert!(finish.unawaited && !finish.by.is_bound());
    }

    #[test]
    fn a_body_that_no_turn_has_made_has_no_key() {
        for body in [r#"{"key":"x"}"#, "null"] {
            assert_eq!(effect_key(body), None);
            assert_eq!(without_asking_state(body).unwrap(), body);
        }
    }

    #[test]
    fn what_nobody_wrapped_is_read_all_the_same() {
        assert_eq!(wish(r#"{"file_id":"x"}"#), r#"{"file_id":"x"}"#);
        let finish = Finish::read(r#"{"kind":"mail","asked":{"to":1},"ok":null,"failed":"no"}"#).unwrap();
        assert_eq!(finish.asked.get(), r#"{"to":1}"#);
        assert_eq!((finish.by, finish.result.unwrap_err()), (Asker::default(), "no".to_owned()));
    }
}
