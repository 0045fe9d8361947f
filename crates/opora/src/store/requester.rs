//! The requester of a timer or an effect.
//!
//! It is stored in the body of the timer or effect, so that the result finds the dialogue and state that asked for it.

use std::hash::{BuildHasher, RandomState};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::store::Version;

/// The dialogue that asked for a timer or an effect, and the state that it was left in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Requester {
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub track: Box<str>,
    /// Empty if a guard asked, or the application outside of a turn.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub dialogue: Box<str>,
    /// The turn in which its state was entered. See [`Requester::is_bound`].
    pub entry: Version,
}

impl Requester {
    /// A requester whose dialogue has no open state after the turn. The name is empty if no dialogue asked.
    pub fn without_state(dialogue: &str) -> Self {
        Self { track: Box::default(), dialogue: dialogue.into(), entry: NEVER }
    }

    /// Whether a state waits for the result.
    pub fn is_bound(&self) -> bool {
        !self.dialogue.is_empty() && self.entry > Version::default()
    }
}

/// The stored body of a timer; also a part of the stored body of an effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WithRequester<Body> {
    pub by: Requester,
    pub body: Body,
}

/// The stored body of an effect.
#[derive(Debug, Serialize, Deserialize)]
struct EffectBody<Body> {
    by: Requester,
    key: String,
    /// No handler waits for a successful outcome.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unawaited: bool,
    body: Body,
}

/// The stored body of an effect, with a unique key. The key is in the body, because row ids change when an effect moves
/// to another store.
pub(crate) fn effect_body(by: Requester, unawaited: bool, body: &RawValue) -> Result<String, serde_json::Error> {
    // Seeded by the operating system. A clock or a counter could repeat itself.
    let random = RandomState::new();
    let key = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
    serde_json::to_string(&EffectBody { by, key, unawaited, body })
}

/// The key in an effect's body. None if no turn wrote the body.
pub(crate) fn effect_key(body: &str) -> Option<String> {
    serde_json::from_str::<EffectBody<IgnoredAny>>(body).ok().map(|body| body.key)
}

/// The same effect with the same key, but bound to no state. Its outcome counts as late.
#[cfg(feature = "redis")]
pub(crate) fn detach_from_state(body: &str) -> Result<String, serde_json::Error> {
    let Ok(EffectBody { by, key, unawaited, body: request }) = serde_json::from_str::<EffectBody<&RawValue>>(body)
    else {
        return Ok(body.to_owned());
    };
    serde_json::to_string(&EffectBody { by: Requester { entry: NEVER, ..by }, key, unawaited, body: request })
}

/// A version that no turn has.
const NEVER: Version = Version(-1);

/// The request in an effect's body, without its requester. A body without a requester is returned whole.
pub(crate) fn effect_request(body: &str) -> &str {
    serde_json::from_str::<WithRequester<&RawValue>>(body).map_or(body, |wrapped| wrapped.body.get())
}

/// The stored name of an alarm. No timer has such a name: timers of side tracks begin with the name of their track, and
/// a turn refuses a timer whose name begins with this prefix.
pub(crate) fn alarm_name(name: &str) -> String {
    format!("{ALARM_PREFIX}{name}")
}

/// The alarm that is stored under this name. None if the name is a timer's.
pub(crate) fn alarm_of(stored_name: &str) -> Option<&str> {
    stored_name.strip_prefix(ALARM_PREFIX)
}

const ALARM_PREFIX: &str = "/alarm/";

/// The stored body of a timer or an alarm without a requester.
pub(crate) fn unbound_timer_body(body: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(&WithRequester { by: Requester::default(), body })
}

/// The stored body of an outcome in the inbox.
#[derive(Debug, Deserialize)]
struct OutcomeBody<'a> {
    kind: Box<str>,
    /// The effect's stored body.
    #[serde(borrow)]
    effect_body: Option<&'a RawValue>,
    #[serde(borrow)]
    ok: Option<&'a RawValue>,
    failed: Option<String>,
}

/// The body of an outcome for the inbox: of an effect of this kind with this stored body.
pub(crate) fn outcome_body(kind: &str, effect_body: &str, outcome: Result<&Value, &String>) -> String {
    let effect_body = serde_json::from_str::<&RawValue>(effect_body).ok();
    json!({"kind": kind, "effect_body": effect_body, "ok": outcome.ok(), "failed": outcome.err()}).to_string()
}

/// The outcome of an effect.
#[derive(Clone, Debug)]
pub(crate) struct EffectOutcome {
    pub by: Requester,
    pub kind: Box<str>,
    /// No handler waits for a successful outcome.
    pub unawaited: bool,
    /// The request; null if it is unknown.
    pub request: Box<RawValue>,
    pub result: Result<Box<RawValue>, String>,
}

impl EffectOutcome {
    pub fn read(body: &str) -> Result<Self, serde_json::Error> {
        let OutcomeBody { kind, effect_body, ok, failed } = serde_json::from_str(body)?;
        let wrapped = effect_body.and_then(|body| serde_json::from_str::<EffectBody<&RawValue>>(body.get()).ok());
        let request = wrapped.as_ref().map(|wrapped| wrapped.body).or(effect_body).unwrap_or(RawValue::NULL).to_owned();
        let unawaited = wrapped.as_ref().is_some_and(|wrapped| wrapped.unawaited);
        let result = match failed {
            Some(reason) => Err(reason),
            None => Ok(ok.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
        };
        Ok(Self { by: wrapped.map(|wrapped| wrapped.by).unwrap_or_default(), kind, unawaited, request, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_has_its_requester() {
        let by = Requester { track: Box::default(), dialogue: "papers".into(), entry: Version(7) };
        let request = RawValue::from_string("5".to_owned()).unwrap();
        let body = effect_body(by.clone(), false, &request).unwrap();
        assert_eq!(effect_request(&body), "5");
        let done = format!(r#"{{"kind":"download","effect_body":{body},"ok":{{"bytes":3}},"failed":null}}"#);
        let outcome = EffectOutcome::read(&done).unwrap();
        assert_eq!(outcome.request.get(), "5");
        assert_eq!((outcome.by, &*outcome.kind, outcome.result.unwrap().get()), (by, "download", r#"{"bytes":3}"#));
    }

    #[test]
    fn every_effect_has_its_own_key_that_stays_in_its_body() {
        let by = Requester { track: Box::default(), dialogue: "papers".into(), entry: Version(7) };
        let request = RawValue::from_string("5".to_owned()).unwrap();
        let [one, other] = [(); 2].map(|()| effect_body(by.clone(), false, &request).unwrap());
        assert_ne!(effect_key(&one).unwrap(), effect_key(&other).unwrap());
        assert_eq!(effect_request(&one), "5");
        let late = detach_from_state(&one).unwrap();
        assert_eq!((effect_key(&late), effect_request(&late)), (effect_key(&one), "5"));
        let done = format!(r#"{{"kind":"download","effect_body":{late},"ok":null,"failed":null}}"#);
        assert_eq!(EffectOutcome::read(&done).unwrap().by, Requester { entry: NEVER, ..by });
    }

    #[test]
    fn an_unawaited_effect_stays_unawaited() {
        let request = RawValue::from_string("5".to_owned()).unwrap();
        let body = effect_body(Requester::without_state("papers"), true, &request).unwrap();
        let late = detach_from_state(&body).unwrap();
        let done = format!(r#"{{"kind":"mail","effect_body":{late},"ok":null,"failed":null}}"#);
        let outcome = EffectOutcome::read(&done).unwrap();
        assert!(outcome.unawaited && !outcome.by.is_bound());
    }

    #[test]
    fn a_body_without_a_requester_has_no_key() {
        for body in [r#"{"key":"x"}"#, "null"] {
            assert_eq!(effect_key(body), None);
            assert_eq!(detach_from_state(body).unwrap(), body);
        }
    }

    #[test]
    fn a_body_without_a_requester_is_read_whole() {
        assert_eq!(effect_request(r#"{"file_id":"x"}"#), r#"{"file_id":"x"}"#);
        let outcome = EffectOutcome::read(r#"{"kind":"mail","effect_body":{"to":1},"ok":null,"failed":"no"}"#).unwrap();
        assert_eq!(outcome.request.get(), r#"{"to":1}"#);
        assert_eq!((outcome.by, outcome.result.unwrap_err()), (Requester::default(), "no".to_owned()));
    }
}
