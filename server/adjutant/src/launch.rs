//! Preparing a launch: everything an agent needs is looked up and checked here, before it exists, whoever asks for it.
//!
//! The core gets a request in which nothing is left to look up, and the child a plan that later changes of files or
//! settings do not touch.

use std::fmt::Write as _;
use std::sync::Arc;

use model::ModelClient;
use project::agent_types::{AgentType, AgentTypes, Fallback, ToolSelection, agent_folders};
use project::settings::{JoinMode, Settings};
use project::{ChildPrompt, GitFacts, PlaceFacts};
use protocol::ErrorCode;
use roster::{Launch, Origin, SessionLimits, SpawnRequest};
use session::storage::SessionPaths;
use session::{Ledger, RunLimits, ToolPolicy, amount};
use vocab::{AgentId, Budget, EndReason, PermissionMode, SessionId, ThinkingLevel, ToolCallId};

use crate::child::ChildPlan;
use crate::delegation::text::one_line;
use crate::failure::Failure;
use crate::ids;
use crate::kept_plan::KeptPlan;
use crate::workspace::Workspace;

/// Characters of a description.
const DESCRIPTION: usize = 120;

/// What the agents of one session are launched with.
#[derive(Debug, Clone)]
pub(crate) struct LaunchContext {
    pub(crate) session: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) model: Arc<dyn ModelClient>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    /// In place of the settings' mode.
    pub(crate) mode: Option<PermissionMode>,
    /// The mode where nobody says one.
    pub(crate) default_mode: PermissionMode,
    /// The folder of the session's files, where it has one.
    pub(crate) files: Option<SessionPaths>,
    /// What the session and its agents spend.
    pub(crate) ledger: Ledger,
}

/// What somebody wants launched.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaunchRequest {
    pub(crate) agent_type: String,
    pub(crate) prompt: String,
    pub(crate) description: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// None: the definition's or the settings'.
    pub(crate) max_turns: Option<u32>,
    pub(crate) budget: Budget,
    /// None: the definition's or the settings'.
    pub(crate) background: Option<bool>,
    pub(crate) tool_call: Option<ToolCallId>,
    pub(crate) turn: Option<u64>,
}

/// A launch that can no longer fail for a reason that its caller could mend.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) request: SpawnRequest,
    pub(crate) plan: ChildPlan,
    /// What the caller should know: another type or model than the one asked for.
    pub(crate) notes: Vec<String>,
}

impl LaunchContext {
    /// The same session in a workspace whose settings have changed.
    pub(crate) fn with_workspace(&self, workspace: Arc<Workspace>) -> Self {
        // Asked for again by its name: its key or its limits may be other ones now. One that is gone serves on.
        let model = workspace.registry.resolve(&self.model.info().full_id());
        Self { model: model.unwrap_or_else(|_| Arc::clone(&self.model)), workspace, ..self.clone() }
    }

    /// The session's permission mode.
    pub(crate) fn mode(&self) -> PermissionMode {
        let settings = &self.workspace.settings;
        match self.mode {
            Some(mode) => settings.permissions.ceiling.map_or(mode, |ceiling| mode.min(ceiling)),
            None => settings.permission_mode(self.default_mode),
        }
    }

    /// The core's limits for this session.
    pub(crate) fn limits(&self) -> SessionLimits {
        let settings = &self.workspace.settings;
        SessionLimits {
            max_concurrent: settings.max_concurrent,
            max_depth: settings.max_subagent_depth.max(1),
            descendants: settings.limits.descendants,
            wall_clock_ms: settings.limits.wall_clock_ms,
            hold_ms: settings.delivery.hold_ms,
            join_ms: settings.delivery.join_ms,
            straggler_ms: settings.delivery.straggler_ms,
            join: settings.default_join_mode != JoinMode::Async,
        }
    }

    /// What the settings say of the session's spending, for its ledger.
    pub(crate) fn set_ledger(&self) {
        let settings = &self.workspace.settings;
        let limits = &settings.limits;
        self.ledger.set_limit(Budget {
            tokens: (limits.tokens > 0).then_some(limits.tokens),
            cost_usd: (limits.cost_usd > 0.0).then_some(limits.cost_usd),
        });
        self.ledger.set_reporting(settings.report_usage);
    }

    /// Refuses a launch once the session's limit is used up.
    pub(crate) fn check_spending(&self) -> Result<(), Failure> {
        let Some((reason, limit)) = self.ledger.exhausted() else { return Ok(()) };
        let key = if reason == EndReason::Cost { "limits.costUsd" } else { "limits.tokens" };
        let text = format!(
            "the session has used up its limit of {} ({key}); this refusal is final",
            amount(reason, &limit)
        );
        Err(Failure::new(ErrorCode::LimitReached, text).hint(format!("raise {key} to go on")))
    }

    /// Whether costs are told.
    pub(crate) fn show_cost(&self) -> bool {
        self.workspace.settings.show_cost
    }

    /// Whether a run of this type leaves a transcript for people and other programs.
    pub(crate) fn wants_transcript(&self, agent_type: &AgentType) -> bool {
        agent_type.output_transcript.unwrap_or(self.workspace.settings.output_transcript)
    }

    /// The types that can be launched now: files are read again, so that a new one works without a restart.
    pub(crate) fn agent_types(&self) -> AgentTypes {
        let workspace = &self.workspace;
        let folders = agent_folders(&workspace.dirs, &workspace.folder, workspace.trusted);
        // What is wrong with them is told when the workspace is read.
        AgentTypes::load(!workspace.settings.disable_default_agents, &folders).0
    }

    /// Resolves a launch. The first thing that is wrong refuses it; nothing has happened then.
    pub(crate) fn prepare(
        &self,
        asked: LaunchRequest,
        origin: Origin,
        wake_model: bool,
    ) -> Result<Prepared, Failure> {
        if asked.prompt.trim().is_empty() {
            return Err(Failure::bad_param("prompt", "must not be empty"));
        }
        if let Some((field, fault)) = asked.budget.fault() {
            return Err(Failure::bad_param(&format!("budget.{field}"), fault));
        }
        self.check_spending()?;
        let mut notes = Vec::new();
        let agent_type = self.resolve_type(&asked.agent_type, &mut notes)?;
        let (model, requested_model) = self.resolve_model(&agent_type, asked.model.as_deref(), &mut notes)?;
        let settings = &self.workspace.settings;
        let budget = agent_type.budget.and(asked.budget);
        if budget.cost_usd.is_some() && model.info().price.is_none() {
            notes.push(format!(
                "Note: the price of {} is unknown, so a budget in US dollars does not limit this agent; one in tokens does.",
                model.info().full_id()
            ));
        }
        let thinking = agent_type.thinking.or(asked.thinking).unwrap_or(self.thinking);
        let max_turns = agent_type.max_turns.or(asked.max_turns).unwrap_or(settings.default_max_turns);
        let background =
            agent_type.run_in_background.or(asked.background).unwrap_or(settings.background_by_default);
        let mode = agent_type.permission_mode.map_or(self.mode(), |narrowed| narrowed.min(self.mode()));
        let description = match asked.description.as_deref().map(str::trim) {
            None | Some("") => one_line(&asked.prompt, 60),
            Some(text) => one_line(text, DESCRIPTION),
        };
        let agent = AgentId::new(ids::unique("a"));
        let file = self.files.as_ref().map(|files| files.agent_file(agent.as_str())).transpose();
        let file = file.map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))?;
        let mut tags = Vec::new();
        if thinking != ThinkingLevel::Off {
            tags.push(format!("thinking {}", thinking_word(thinking)));
        }
        if max_turns > 0 {
            tags.push(format!("max {max_turns} turns"));
        }
        let plan = ChildPlan {
            session: self.session.clone(),
            workspace: Arc::clone(&self.workspace),
            system_prompt: self.child_prompt(&agent_type),
            tool_policy: tool_policy(&agent_type),
            agent_type: Arc::clone(&agent_type),
            model: Arc::clone(&model),
            thinking,
            mode,
            rights: None,
            limits: run_limits(settings, max_turns, budget),
            file,
            files: self.files.clone(),
        };
        let request = SpawnRequest {
            agent,
            session: self.session.clone(),
            parent: None,
            agent_type: agent_type.name.clone(),
            display_name: agent_type.label().to_owned(),
            color: agent_type.color.clone(),
            description,
            name: asked.name.filter(|name| !name.trim().is_empty()),
            cwd: self.workspace.folder.display().to_string(),
            model: model.info().full_id(),
            requested_model,
            thinking: Some(thinking),
            permission_mode: mode,
            max_turns: (max_turns > 0).then_some(max_turns),
            budget,
            tags,
            on_disk: plan.file.is_some(),
            plan: self.files.as_ref().and_then(|files| KeptPlan::of(&plan).keep(files)),
            launch: Launch {
                prompt: asked.prompt,
                background,
                wake_model,
                origin,
                tool_call: asked.tool_call,
                turn: asked.turn.filter(|_| background),
            },
        };
        Ok(Prepared { request, plan, notes })
    }

    /// The plan of an agent of an earlier server, from what was kept of it. A model that cannot be had any more gives way
    /// to the session's.
    pub(crate) fn revive(&self, kept: KeptPlan, agent: &AgentId) -> Result<ChildPlan, Failure> {
        let file = self.files.as_ref().map(|files| files.agent_file(agent.as_str())).transpose();
        let file = file.map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))?;
        let model = self.workspace.registry.resolve(&kept.model).unwrap_or_else(|error| {
            tracing::warn!(%agent, %error, "another model goes on with an agent");
            Arc::clone(&self.model)
        });
        Ok(ChildPlan {
            session: self.session.clone(),
            workspace: Arc::clone(&self.workspace),
            system_prompt: kept.system_prompt,
            tool_policy: tool_policy(&kept.agent_type),
            agent_type: kept.agent_type,
            model,
            thinking: kept.thinking,
            mode: kept.mode,
            rights: None,
            limits: run_limits(&self.workspace.settings, kept.max_turns, kept.budget),
            file,
            files: self.files.clone(),
        })
    }

    /// Resolves a launch that a person asked for in the editor.
    pub(crate) fn prepare_for_person(
        &self,
        asked: LaunchRequest,
        wake_model: bool,
    ) -> Result<Prepared, Failure> {
        // A model is told of a stand-in by its receipt; a person would not notice.
        if let Some(asked) = self.agent_types().resolve(&asked.agent_type, &Fallback::Refuse).err() {
            return Err(Failure::new(ErrorCode::UnknownType, asked.to_string()));
        }
        let background = asked.background;
        let mut prepared = self.prepare(asked, Origin::Person, wake_model)?;
        // A person decides where the run happens; a definition only advises the model.
        prepared.request.launch.background = background.unwrap_or(true);
        Ok(prepared)
    }

    fn resolve_type(&self, requested: &str, notes: &mut Vec<String>) -> Result<Arc<AgentType>, Failure> {
        let resolved = self
            .agent_types()
            .resolve(requested, &self.workspace.settings.fallback())
            .map_err(|refusal| Failure::new(ErrorCode::UnknownType, refusal.to_string()))?;
        if let Some(asked) = resolved.substituted_for {
            let asked = one_line(&asked, 80);
            notes.push(format!(
                "Note: there is no agent type \"{asked}\"; \"{}\" runs in its place.",
                resolved.agent_type.name
            ));
        }
        Ok(resolved.agent_type)
    }

    /// A definition's model beats the call's. A definition's model that cannot be had gives way to the session's, with a
    /// note; a call's is refused.
    fn resolve_model(
        &self,
        agent_type: &AgentType,
        asked: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<(Arc<dyn ModelClient>, Option<String>), Failure> {
        let registry = &self.workspace.registry;
        let named = |text: &str| !text.trim().is_empty();
        if let Some(defined) = agent_type.model.as_deref().filter(|text| named(text)) {
            return Ok(match registry.resolve(defined) {
                Ok(client) => {
                    let full = client.info().full_id();
                    (client, (full != defined).then(|| defined.to_owned()))
                }
                Err(error) => {
                    notes.push(format!(
                        "Note: the model \"{defined}\" of agent type {} cannot be used ({error}); {} runs in its place.",
                        agent_type.name,
                        self.model.info().full_id()
                    ));
                    (Arc::clone(&self.model), Some(defined.to_owned()))
                }
            });
        }
        match asked.filter(|text| named(text)) {
            None => Ok((Arc::clone(&self.model), None)),
            Some(asked) => {
                let client = registry.resolve(asked.trim()).map_err(|error| Failure::from(&error))?;
                let full = client.info().full_id();
                Ok((client, (full != asked).then(|| asked.to_owned())))
            }
        }
    }

    fn child_prompt(&self, agent_type: &AgentType) -> Arc<str> {
        let place = PlaceFacts {
            cwd: &self.workspace.folder,
            platform: std::env::consts::OS,
            date: "",
            git: GitFacts::None,
        };
        ChildPrompt { agent_type, parent: Some(&self.system_prompt), place, worktree_base: None }
            .assemble()
            .into()
    }
}

/// The limits of one run.
pub(crate) fn run_limits(settings: &Settings, max_turns: u32, budget: Budget) -> RunLimits {
    RunLimits {
        max_turns,
        grace_turns: settings.grace_turns,
        budget,
        identical_calls: settings.limits.identical_calls,
        no_progress_turns: settings.limits.no_progress_turns,
    }
}

/// The tools that a definition leaves an agent.
fn tool_policy(agent_type: &AgentType) -> ToolPolicy {
    let allow = match &agent_type.tools {
        ToolSelection::All { .. } => None,
        ToolSelection::Listed(names) => Some(names.clone()),
    };
    ToolPolicy { allow, deny: agent_type.disallowed_tools.clone() }
}

fn thinking_word(level: ThinkingLevel) -> String {
    let mut word = String::new();
    let _ = write!(word, "{level:?}");
    word.to_lowercase()
}
