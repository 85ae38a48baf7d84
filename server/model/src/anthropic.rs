//! Anthropic Messages.

pub(crate) mod body;
pub(crate) mod encode;
pub(crate) mod parse;

#[cfg(test)]
mod tests;
