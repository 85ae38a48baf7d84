//! Sessions against a scripted model, in paused time.

mod aborting;
mod delivery;
mod driving;
mod extensions;
mod files;
mod limiting;
mod retrying;
mod script;
mod steering;
mod support;
mod tools;
mod watching;
