//! Adjutant's server: the hub that joins the fleet, the sessions, the projects and the editor, and the command line.
//!
//! See `ARCHITECTURE.md` for the map.

mod attachments;
mod child;
mod clock;
mod delegation;
mod failure;
mod ids;
mod journal;
mod kept_plan;
mod launch;
mod lsp;
mod manager;
mod outbox;
mod output_transcript;
mod parent;
mod permission;
mod projection;
mod work_done;
mod workspace;

pub mod cli;

pub use clock::Clock;
pub use delegation::{AgentParams, ListParams, ResultParams, SteerParams, StopParams, tool_schemas};
pub use failure::Failure;
pub use lsp::{Ended, ServerConfig, serve};
