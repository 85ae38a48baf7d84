//! (placeholder until the demo lands)
