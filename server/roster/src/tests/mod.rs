//! Scripts: a line a step, with the effects and the roster after it, and what must hold after every one of them.

#![allow(clippy::needless_raw_string_hashes, reason = "`expect-test` writes them")]

mod accounting;
mod admission;

mod background;
mod crashes;
mod groups;
mod invariants;
mod lifecycle;
mod limits;
mod nesting;
mod permits;
mod races;
mod random;
mod render;
mod resume;
mod retrieval;
mod scale;
mod script;
mod steering;
mod stopping;

use expect_test::Expect;

/// Plays a script and compares everything that it makes visible.
fn check(script: &str, expect: &Expect) {
    expect.assert_eq(&script::play(script));
}
