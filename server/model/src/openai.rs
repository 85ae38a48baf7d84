//! OpenAI Chat Completions, which most other servers speak too.

pub(crate) mod body;
pub(crate) mod encode;
pub(crate) mod parse;

#[cfg(test)]
mod tests;
