//! JSON without a tree: raw pieces of an event read straight into place, and bodies written straight into bytes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use memchr::memchr;
use serde::de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ModelError;

/// An event that is not what its API says.
pub(crate) fn malformed(error: &serde_json::Error) -> ModelError {
    ModelError::Malformed { detail: format!("an event of the stream is not as expected: {error}") }
}

/// Appends a raw JSON string to `out`; anything else but a string appends nothing. Lone surrogates are replaced.
pub(crate) fn append_string(raw: &RawValue, out: &mut String) {
    let text = raw.get();
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return };
    if memchr(b'\\', inner.as_bytes()).is_none() {
        out.push_str(inner);
        return;
    }
    let before = out.len();
    if (&mut serde_json::Deserializer::from_str(text)).deserialize_bytes(Append(out)).is_err() {
        out.truncate(before);
    }
}

struct Append<'a>(&'a mut String);

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<(), E> {
        self.0.push_str(&String::from_utf8_lossy(bytes));
        Ok(())
    }
}

/// A short string of an event, borrowed where it has no escapes.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// A small number, or `None` for whatever else a server put there.
pub(crate) fn number(raw: Option<&RawValue>) -> Option<u32> {
    raw?.get().parse().ok()
}

/// The first element of a list, without a list being made; `None` for an empty list or null.
#[derive(Debug)]
pub(crate) struct First<T>(pub(crate) Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Take<T> {
            type Value = First<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(First(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_any(Take(PhantomData))
    }
}

/// Calls `take` with each element of a raw list, one after the other.
pub(crate) fn each<'de, T, F>(raw: &'de RawValue, take: F) -> Result<(), ModelError>
where
    T: Deserialize<'de>,
    F: FnMut(T) -> Result<(), ModelError>,
{
    struct Each<'f, T, F> {
        take: F,
        failed: &'f mut Option<ModelError>,
        of: PhantomData<T>,
    }
    impl<'de, T, F> Visitor<'de> for Each<'_, T, F>
    where
        T: Deserialize<'de>,
        F: FnMut(T) -> Result<(), ModelError>,
    {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(item) = list.next_element()? {
                if self.failed.is_none() {
                    *self.failed = (self.take)(item).err();
                }
            }
            Ok(())
        }
    }
    impl<'de, T, F> DeserializeSeed<'de> for Each<'_, T, F>
    where
        T: Deserialize<'de>,
        F: FnMut(T) -> Result<(), ModelError>,
    {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_seq(self)
        }
    }
    let mut failed = None;
    let visitor = Each { take, failed: &mut failed, of: PhantomData };
    visitor.deserialize(&mut serde_json::Deserializer::from_str(raw.get())).map_err(|e| malformed(&e))?;
    failed.map_or(Ok(()), Err)
}

/// Writes `text` as a JSON string.
pub(crate) fn put_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory has no way to fail.
    let _ = serde_json::to_writer(out, text);
}

/// Writes `,"name":` or, at the beginning of an object, `"name":`, and then `text` as a JSON string.
pub(crate) fn put_field(out: &mut Vec<u8>, name: &str, text: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    put_string(out, name);
    out.push(b':');
    put_string(out, text);
}

/// Far more tokens than any request has; sums of so many requests as there can be still fit.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// A count of tokens, whatever kind of number a provider writes; absurd ones are cut down.
pub(crate) fn tokens(value: &Value) -> Option<u64> {
    let count = value.as_u64().or_else(|| value.as_f64().map(|float| float.max(0.0) as u64))?;
    Some(count.min(MOST_TOKENS))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{append_string, each};

    fn appended(json: &str) -> String {
        let raw: &RawValue = serde_json::from_str(json).expect("valid");
        let mut out = String::from(">");
        append_string(raw, &mut out);
        out
    }

    #[test]
    fn strings_are_appended_whatever_their_escapes() {
        assert_eq!(appended(r#""plain ä""#), ">plain ä");
        assert_eq!(appended(r#""a\n\"b\"\u00e4\ud83d\ude00""#), ">a\n\"b\"ä😀");
        assert_eq!(appended(r#""lone \ud83d!""#), ">lone \u{fffd}\u{fffd}\u{fffd}!");
        assert_eq!(appended("12"), ">");
        assert_eq!(appended("[1]"), ">");
        assert_eq!(appended(r#""""#), ">");
    }

    #[test]
    fn each_visits_a_list_and_refuses_anything_else() {
        let raw: &RawValue = serde_json::from_str("[1, 2, 3]").expect("valid");
        let mut seen = Vec::new();
        each(raw, |n: u32| {
            seen.push(n);
            Ok(())
        })
        .expect("a list");
        assert_eq!(seen, [1, 2, 3]);
        let raw: &RawValue = serde_json::from_str("{}").expect("valid");
        assert!(each(raw, |_: u32| Ok(())).is_err());
    }
}
