//! Names of agents: how a handle and an alias are made, and how a reference is read.

use std::collections::BTreeMap;

use crate::record::Slot;

/// Longest name before it is numbered, in characters.
const LONGEST: usize = 64;

/// Never given to an agent, since people and prompts call the parent so.
const RESERVED: &str = "main";

/// All names of one session, handles and aliases alike. A name stays taken while its session is there, so that it never
/// means another agent than before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Names {
    taken: BTreeMap<String, Slot>,
    /// The number to try next for a base, so that the ten-thousandth agent of a type is named as fast as the second.
    next: BTreeMap<String, u64>,
}

impl Names {
    /// Takes the first free name for what the caller would like to be called.
    pub(crate) fn allocate(&mut self, wish: &str, slot: Slot) -> String {
        let base = slug(wish).unwrap_or_else(|| "agent".to_owned());
        if base != RESERVED && !self.taken.contains_key(&base) {
            self.taken.insert(base.clone(), slot);
            return base;
        }
        let mut number = self.next.get(&base).copied().unwrap_or(2);
        let name = loop {
            let name = format!("{base}-{number}");
            number += 1;
            if !self.taken.contains_key(&name) {
                break name;
            }
        };
        self.next.insert(base, number);
        self.taken.insert(name.clone(), slot);
        name
    }

    /// Takes a name that an agent had before; a number is added where somebody else has it now.
    pub(crate) fn reclaim(&mut self, name: String, slot: Slot) -> String {
        if name == RESERVED || self.taken.contains_key(&name) || slug(&name).as_deref() != Some(name.as_str())
        {
            return self.allocate(&name, slot);
        }
        self.taken.insert(name.clone(), slot);
        name
    }

    /// Who is meant by a name: in any letter case, with or without `@`, also as it was before it was made a slug.
    pub(crate) fn find(&self, reference: &str) -> Option<Slot> {
        let name = reference.trim().trim_start_matches('@');
        let exact = self.taken.get(&name.to_lowercase());
        exact.or_else(|| self.taken.get(&slug(name)?)).copied()
    }
}

/// Lower case, every run of other characters than letters, digits, `_` and `-` one hyphen, none at the ends, cut to
/// 64. Nothing where nothing is left.
fn slug(text: &str) -> Option<String> {
    let mut slug = String::new();
    let mut gap = false;
    for character in text.chars().flat_map(char::to_lowercase) {
        if slug.len() > LONGEST {
            break;
        }
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') {
            if gap && !slug.is_empty() {
                slug.push('-');
            }
            gap = false;
            if character != '-' || !slug.is_empty() {
                slug.push(character);
            }
        } else {
            gap = true;
        }
    }
    slug.truncate(LONGEST);
    let kept = slug.trim_end_matches('-').len();
    slug.truncate(kept);
    (!slug.is_empty()).then_some(slug)
}

#[cfg(test)]
mod tests {
    use super::{Names, slug};
    use crate::record::Slot;

    #[test]
    fn a_slug_is_lower_case_and_has_hyphens_for_everything_else() {
        for (text, expected) in [
            ("Explore", Some("explore")),
            ("  Code Review!  (deep)", Some("code-review-deep")),
            ("--a--b--", Some("a--b")),
            ("snake_case", Some("snake_case")),
            ("Übersicht", Some("bersicht")),
            ("日本語", None),
            ("", None),
            ("---", None),
        ] {
            assert_eq!(slug(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_slug_is_cut_without_a_hyphen_at_its_end() {
        assert_eq!(slug(&"x".repeat(100)).map(|slug| slug.len()), Some(64));
        let text = format!("{} y", "x".repeat(63));
        assert_eq!(slug(&text), Some("x".repeat(63)));
    }

    #[test]
    fn names_are_numbered_from_2_and_main_is_nobodys() {
        let mut names = Names::default();
        let mut take = |wish: &str, slot: u64| names.allocate(wish, Slot(slot));
        assert_eq!(take("Explore", 1), "explore");
        assert_eq!(take("explore-2", 2), "explore-2");
        assert_eq!(take("explore", 3), "explore-3");
        assert_eq!(take("EXPLORE", 4), "explore-4");
        assert_eq!(take("main", 5), "main-2");
        assert_eq!(take("Main", 6), "main-3");
        assert_eq!(take("!!", 7), "agent");
        assert_eq!(take("agent", 8), "agent-2");
    }

    #[test]
    fn a_reference_may_be_in_any_case_with_an_at_sign_or_unslugged() {
        let mut names = Names::default();
        names.allocate("Fix the Login", Slot(1));
        for reference in ["fix-the-login", "@Fix-The-Login", " Fix the login "] {
            assert_eq!(names.find(reference), Some(Slot(1)), "{reference}");
        }
        assert_eq!(names.find("fix"), None);
        assert_eq!(names.find("@"), None);
        assert_eq!(names.find("日本"), None);
    }

    #[test]
    fn an_old_name_is_given_back_unless_it_is_taken() {
        let mut names = Names::default();
        names.allocate("explore", Slot(1));
        assert_eq!(names.reclaim("explore".into(), Slot(2)), "explore-2");
        assert_eq!(names.reclaim("explore-7".into(), Slot(3)), "explore-7");
        assert_eq!(names.reclaim("Not A Slug".into(), Slot(4)), "not-a-slug");
        assert_eq!(names.reclaim("main".into(), Slot(5)), "main-2");
    }
}
