//! How much a model is asked to think, in the words of its API.

use std::collections::BTreeMap;

use vocab::ThinkingLevel;

const LEVELS: [ThinkingLevel; 7] = [
    ThinkingLevel::Off,
    ThinkingLevel::Minimal,
    ThinkingLevel::Low,
    ThinkingLevel::Medium,
    ThinkingLevel::High,
    ThinkingLevel::Xhigh,
    ThinkingLevel::Max,
];

/// What a model calls each level; a level mapped to `None` is not known to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Levels(pub(crate) BTreeMap<ThinkingLevel, Option<String>>);

impl Levels {
    /// Whether the model knows the level. The two highest must be named to be known.
    fn knows(&self, level: ThinkingLevel) -> bool {
        match self.0.get(&level) {
            Some(name) => name.is_some(),
            None => level < ThinkingLevel::Xhigh,
        }
    }

    /// The level itself, else the next higher one that the model knows, else the next lower.
    pub(crate) fn clamp(&self, level: ThinkingLevel) -> ThinkingLevel {
        let higher = LEVELS.into_iter().find(|known| *known >= level && self.knows(*known));
        let lower = || LEVELS.into_iter().rev().find(|known| *known < level && self.knows(*known));
        higher.or_else(lower).unwrap_or(ThinkingLevel::Off)
    }

    /// The model's own word for a level, where its entry gives one.
    pub(crate) fn named(&self, level: ThinkingLevel) -> Option<&str> {
        self.0.get(&level)?.as_deref()
    }

    /// The word for a level in APIs that take an effort; none for a thinking that is off and has no word for it.
    pub(crate) fn effort(&self, level: ThinkingLevel) -> Option<&str> {
        self.named(level).or(match level {
            ThinkingLevel::Off => None,
            ThinkingLevel::Minimal => Some("minimal"),
            ThinkingLevel::Low => Some("low"),
            ThinkingLevel::Medium => Some("medium"),
            ThinkingLevel::High => Some("high"),
            ThinkingLevel::Xhigh => Some("xhigh"),
            ThinkingLevel::Max => Some("max"),
        })
    }
}

/// Tokens that a model may think for, in APIs that take a number; 0 for none.
pub(crate) fn budget(level: ThinkingLevel) -> u32 {
    match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1_024,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 16_384,
    }
}

#[cfg(test)]
mod tests {
    use vocab::ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};

    use super::Levels;

    #[test]
    fn a_level_goes_to_the_nearest_known_one_upwards_first() {
        let plain = Levels::default();
        assert_eq!(plain.clamp(Off), Off);
        assert_eq!(plain.clamp(Max), High);
        let some = Levels([(Off, None), (Minimal, None), (Xhigh, Some("xhigh".into()))].into());
        assert_eq!(some.clamp(Off), Low, "one that cannot be turned off");
        assert_eq!(some.clamp(Max), Xhigh);
        assert_eq!(some.effort(Medium), Some("medium"));
        assert_eq!(plain.effort(Off), None);
        assert_eq!(Levels([(Off, Some("none".into()))].into()).effort(Off), Some("none"));
    }
}
