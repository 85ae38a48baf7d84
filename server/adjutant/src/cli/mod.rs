//! The command line.

pub mod demo;
mod lsp_client;
mod run;
pub mod schema;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use vocab::PermissionMode;

/// Delegation for editors: hosts a parent model session, and runs the child agents that it delegates to.
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, about, after_help = AFTER_HELP)]
pub struct Cli {
    /// Serve an editor on stdin and stdout; the default where stdin is not a terminal.
    #[arg(long)]
    stdio: bool,
    /// Read models from this file in place of models.json of the configuration folder.
    #[arg(long, global = true, value_name = "FILE")]
    models: Option<PathBuf>,
    /// Offer the embedded offline model.
    #[arg(long, global = true, hide = true)]
    embedded_offline: bool,
    /// Some editors pass this; the server finds it in `initialize` too.
    #[arg(long, hide = true, value_name = "PID")]
    client_process_id: Option<u32>,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
All state is kept in the XDG directories; ADJUTANT_HOME moves it to one folder.
Try `adjutant demo` in a project: it needs no key and no network.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one prompt without an editor, and wait for the agents that it starts.
    Run(RunArgs),
    /// Show delegation at work on this folder, with the embedded offline model: no key, no network.
    Demo,
    /// Print the JSON schemas of the wire contract, or write them to a folder.
    Schema {
        /// The folder to write to.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// List the agent types of this folder.
    Agents {
        /// Read this folder's own agent files too.
        #[arg(long)]
        trust: bool,
    },
    /// List the models and say which can be used.
    Models,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
struct RunArgs {
    /// What to do.
    prompt: String,
    /// Print events as JSON, one a line.
    #[arg(long)]
    json: bool,
    /// The model, as provider/name or a part of it.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// What tools may do; nobody can be asked, so what would be asked is refused.
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<ModeArg>,
    /// Trust this folder: read its settings, agent files and context files.
    #[arg(long)]
    trust: bool,
}

/// [`PermissionMode`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    /// Reading only.
    Plan,
    /// Reading; the rest would be asked.
    Ask,
    /// Reading, and edits in the folder.
    AutoEdit,
    /// Everything that no rule denies.
    Auto,
}

impl From<ModeArg> for PermissionMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Plan => Self::Plan,
            ModeArg::Ask => Self::Ask,
            ModeArg::AutoEdit => Self::AutoEdit,
            ModeArg::Auto => Self::Auto,
        }
    }
}

/// Runs the program. An error is for a person.
pub fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os();
    // The guard of a command starts once for each command: nothing may run before it.
    #[cfg(target_os = "linux")]
    if arguments.nth(1).is_some_and(|first| first == "exec-guard") {
        return Ok(session::environment::exec_guard(arguments));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            error.print()?;
            return Ok(ExitCode::from(u8::from(error.use_stderr()) * 2));
        }
    };
    if let Some(file) = cli.models.as_ref().filter(|file| !file.is_file()) {
        anyhow::bail!("{} cannot be read: there is no such file", file.display());
    }
    let place = server::Place { models_file: cli.models, offline: cli.embedded_offline };
    match cli.command {
        Some(Command::Run(args)) => run::run(&place, args),
        Some(Command::Demo) => demo::start(),
        Some(Command::Schema { out }) => schema::schema(out.as_deref()),
        Some(Command::Agents { trust }) => server::agents(&place, trust),
        Some(Command::Models) => server::models(&place),
        None if cli.stdio || !std::io::IsTerminal::is_terminal(&std::io::stdin()) => {
            server::serve_stdio(&place)
        }
        None => {
            <Cli as clap::CommandFactory>::command().print_help()?;
            Ok(ExitCode::from(2))
        }
    }
}
