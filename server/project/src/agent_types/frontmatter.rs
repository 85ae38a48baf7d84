//! Splitting an agent file into its YAML and its body, and reading the YAML as plain fields with their lines.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

/// A YAML value, as far as frontmatter has any use for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Field>),
    Map,
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub key: String,
    pub value: Field,
    /// In the file, counted from 1.
    pub line: usize,
}

/// The two parts of a file.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<'a> {
    /// Absent where the file does not begin with `---`.
    pub yaml: Option<&'a str>,
    pub body: &'a str,
}

/// What is wrong with the frontmatter.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub line: Option<usize>,
    pub message: String,
}

const FENCE: &str = "---";
/// The YAML begins on the line below the fence.
const LINES_BEFORE_YAML: usize = 1;
/// Longest text of the reader's own that is passed on.
const MESSAGE_LIMIT: usize = 300;

/// Splits at the fences: lines that are exactly `---`, but for blanks at the end. Anything longer is text.
pub(super) fn split(text: &str) -> Result<Parts<'_>, Fault> {
    let Some(after) = fence_end(text) else { return Ok(Parts { yaml: None, body: text.trim() }) };
    let start = after;
    let mut at = start;
    while at < text.len() {
        if let Some(length) = fence_end(&text[at..]) {
            return Ok(Parts { yaml: Some(&text[start..at]), body: text[at + length..].trim() });
        }
        at += text[at..].find('\n').map_or(text.len() - at, |end| end + 1);
    }
    Err(Fault {
        line: Some(1),
        message: "the frontmatter is not closed; put a line of exactly `---` below it".into(),
    })
}

/// The length of the fence line that the text begins with.
fn fence_end(text: &str) -> Option<usize> {
    let line = text.split_inclusive('\n').next()?;
    (line.trim_end() == FENCE).then_some(line.len())
}

/// Reads the YAML of a file. Keys are unique, aliases and sizes are bounded, `<<` is refused, and only `true` and
/// `false` are booleans.
pub(super) fn parse(yaml: &str) -> Result<Vec<Entry>, Fault> {
    match serde_saphyr::from_str_with_options::<Root>(yaml, options()) {
        Ok(Root::Entries(entries)) => Ok(entries),
        Ok(Root::Other) => {
            Err(Fault { line: Some(1), message: "the frontmatter must be `key: value` lines".into() })
        }
        Err(error) => {
            let line = error.location().map(|place| place.line() as usize + LINES_BEFORE_YAML);
            let text = error.without_snippet().to_string();
            let first = text.lines().next().unwrap_or_default();
            let message = first.chars().take(MESSAGE_LIMIT).collect::<String>();
            Err(Fault { line, message: format!("not valid YAML: {message}") })
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000,
            max_replay_stack_depth: 4,
            max_alias_expansions_per_anchor: 100,
        },
        budget: serde_saphyr::budget! {
            max_events: 20_000,
            max_nodes: 10_000,
            max_depth: 16,
            max_documents: 1,
            max_aliases: 100,
            max_anchors: 100,
        },
    }
}

enum Root {
    Entries(Vec<Entry>),
    Other,
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RootVisitor)
    }
}

struct RootVisitor;

impl<'de> Visitor<'de> for RootVisitor {
    type Value = Root;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`key: value` lines")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Root, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Spanned<Field>>()? {
            let line = value.referenced.line() as usize + LINES_BEFORE_YAML;
            entries.push(Entry { key, value: value.value, line });
        }
        Ok(Root::Entries(entries))
    }

    fn visit_unit<E>(self) -> Result<Root, E> {
        Ok(Root::Entries(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<Root, E> {
        Ok(Root::Entries(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Root, A::Error> {
        while seq.next_element::<Field>()?.is_some() {}
        Ok(Root::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Root, E> {
        Ok(Root::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Root, E> {
        Ok(Root::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Root, E> {
        Ok(Root::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Root, E> {
        Ok(Root::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Root, E> {
        Ok(Root::Other)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Field, E> {
        Ok(Field::Null)
    }

    fn visit_none<E>(self) -> Result<Field, E> {
        Ok(Field::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        Field::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Field, E> {
        Ok(Field::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Field, E> {
        Ok(Field::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Field, E> {
        Ok(Field::Number(value as f64))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Field, E> {
        Ok(Field::Number(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Field, E> {
        Ok(Field::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Field, E> {
        Ok(Field::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Field, E> {
        Ok(Field::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Field, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Field::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Field, A::Error> {
        while map.next_entry::<Field, Field>()?.is_some() {}
        Ok(Field::Map)
    }
}
