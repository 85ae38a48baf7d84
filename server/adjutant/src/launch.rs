//! Preparing a launch: everything an agent needs is looked up and checked here, before it exists, whoever asks for it.
//!
//! The core gets a request in which nothing is left to look up, and the child a plan that later changes of files or
//! settings do not touch.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use model::ModelClient;
use project::agent_types::{
    AgentType, AgentTypes, Fallback, IsolationChoice, SubagentGrant, ToolSelection, agent_folders,
};
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
    /// Without tools of extensions and without agents of its own. None: the definition's.
    pub(crate) isolated: Option<bool>,
    /// In a git worktree of its own.
    pub(crate) worktree: bool,
    /// None: the definition's or the settings'.
    pub(crate) background: Option<bool>,
    pub(crate) tool_call: Option<ToolCallId>,
    pub(crate) turn: Option<u64>,
}

/// Who wants something launched.
#[derive(Debug, Clone)]
pub(crate) struct Launcher {
    pub(crate) origin: Origin,
    /// Whether the end of the run wakes the owner's model.
    pub(crate) wake_model: bool,
    /// The agent that owns what is launched; none where the session does.
    pub(crate) owner: Option<Arc<AgentOwner>>,
}

impl Launcher {
    /// A model, by a tool call.
    pub(crate) fn model(owner: Option<Arc<AgentOwner>>) -> Self {
        Self { origin: Origin::Model, wake_model: true, owner }
    }
}

/// An agent that may start agents itself: what it may start, and what they get from it.
#[derive(Debug)]
pub(crate) struct AgentOwner {
    pub(crate) agent: AgentId,
    pub(crate) depth: u32,
    /// The deepest agent of its branch.
    pub(crate) max_depth: u32,
    /// Which types it may start.
    pub(crate) grant: SubagentGrant,
    pub(crate) model: Arc<dyn ModelClient>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    /// What it starts runs in no wider mode than it does itself.
    pub(crate) mode: PermissionMode,
}

impl AgentOwner {
    /// Refuses at the limit of depth; whoever asks is told to do without.
    fn check_depth(&self) -> Result<(), Failure> {
        if self.depth < self.max_depth {
            return Ok(());
        }
        let text = format!(
            "this agent is at depth {} and agents may be nested {} deep; this refusal is final: do the work yourself",
            self.depth, self.max_depth
        );
        Err(Failure::new(ErrorCode::LimitReached, text))
    }

    fn may_start(&self, agent_type: &AgentType) -> bool {
        match &self.grant {
            SubagentGrant::None => false,
            SubagentGrant::All => true,
            SubagentGrant::Listed(names) => {
                names.iter().any(|name| name.trim().eq_ignore_ascii_case(&agent_type.name))
            }
        }
    }
}

/// A definition, a call and the settings, put together.
struct Merged {
    agent_type: Arc<AgentType>,
    model: Arc<dyn ModelClient>,
    requested_model: Option<String>,
    thinking: ThinkingLevel,
    /// 0: no limit.
    max_turns: u32,
    budget: Budget,
    background: bool,
    isolated: bool,
    mode: PermissionMode,
}

impl Merged {
    /// Short marks for people.
    fn tags(&self) -> Vec<String> {
        let thinking = (self.thinking != ThinkingLevel::Off)
            .then(|| format!("thinking {}", thinking_word(self.thinking)));
        let isolated = self.isolated.then(|| "isolated".to_owned());
        let turns = (self.max_turns > 0).then(|| format!("max {} turns", self.max_turns));
        [thinking, isolated, turns].into_iter().flatten().collect()
    }
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

    /// What the agents of an agent are launched with: what it has itself, in place of the session's.
    pub(crate) fn for_owner(&self, owner: &AgentOwner) -> Self {
        Self {
            model: Arc::clone(&owner.model),
            thinking: owner.thinking,
            system_prompt: Arc::clone(&owner.system_prompt),
            mode: Some(self.mode().min(owner.mode)),
            ..self.clone()
        }
    }

    /// The types that an owner may start now; all that are enabled where the session is the owner.
    pub(crate) fn types_for(&self, owner: Option<&AgentOwner>) -> AgentTypes {
        let types = self.agent_types();
        match owner {
            Some(owner) => types.retain(|agent_type| agent_type.enabled && owner.may_start(agent_type)),
            None => types,
        }
    }

    /// The types that can be launched now: files are read again, so that a new one works without a restart.
    pub(crate) fn agent_types(&self) -> AgentTypes {
        let workspace = &self.workspace;
        let folders = agent_folders(&workspace.dirs, &workspace.folder, workspace.trusted);
        // What is wrong with them is told when the workspace is read.
        AgentTypes::load(!workspace.settings.disable_default_agents, &folders).0
    }

    /// Resolves a launch. The first thing that is wrong refuses it; nothing has happened then.
    pub(crate) fn prepare(&self, asked: LaunchRequest, launcher: Launcher) -> Result<Prepared, Failure> {
        let Launcher { origin, wake_model, owner } = launcher;
        let owner = owner.as_deref();
        if let Some(owner) = owner {
            owner.check_depth()?;
        }
        if asked.prompt.trim().is_empty() {
            return Err(Failure::bad_param("prompt", "must not be empty"));
        }
        if let Some((field, fault)) = asked.budget.fault() {
            return Err(Failure::bad_param(&format!("budget.{field}"), fault));
        }
        self.check_spending()?;
        let mut notes = Vec::new();
        let merged = self.merge(&asked, owner, &mut notes)?;
        let agent = AgentId::new(ids::unique("a"));
        let plan = self.plan(&merged, owner, &agent)?;
        let description = match asked.description.as_deref().map(str::trim) {
            None | Some("") => one_line(&asked.prompt, 60),
            Some(text) => one_line(text, DESCRIPTION),
        };
        let agent_type = &merged.agent_type;
        let request = SpawnRequest {
            agent,
            session: self.session.clone(),
            parent: owner.map(|owner| owner.agent.clone()),
            agent_type: agent_type.name.clone(),
            display_name: agent_type.label().to_owned(),
            color: agent_type.color.clone(),
            description,
            name: asked.name.filter(|name| !name.trim().is_empty()),
            cwd: self.workspace.folder.display().to_string(),
            model: merged.model.info().full_id(),
            thinking: Some(merged.thinking),
            permission_mode: merged.mode,
            max_turns: (merged.max_turns > 0).then_some(merged.max_turns),
            budget: merged.budget,
            tags: merged.tags(),
            requested_model: merged.requested_model,
            on_disk: plan.file.is_some(),
            plan: self.files.as_ref().and_then(|files| KeptPlan::of(&plan).keep(files)),
            launch: Launch {
                prompt: asked.prompt,
                background: merged.background,
                wake_model,
                origin,
                tool_call: asked.tool_call,
                turn: asked.turn.filter(|_| merged.background),
            },
        };
        Ok(Prepared { request, plan, notes })
    }

    /// Puts the definition, the call and the settings together: what the definition says beats the call.
    fn merge(
        &self,
        asked: &LaunchRequest,
        owner: Option<&AgentOwner>,
        notes: &mut Vec<String>,
    ) -> Result<Merged, Failure> {
        let agent_type = match owner {
            Some(owner) => self.resolve_granted(&asked.agent_type, owner)?,
            None => self.resolve_type(&asked.agent_type, notes)?,
        };
        let (model, requested_model) = self.resolve_model(&agent_type, asked.model.as_deref(), notes)?;
        let settings = &self.workspace.settings;
        let budget = agent_type.budget.and(asked.budget);
        if budget.cost_usd.is_some() && model.info().price.is_none() {
            notes.push(format!(
                "Note: the price of {} is unknown, so a budget in US dollars does not limit this agent; one in tokens does.",
                model.info().full_id()
            ));
        }
        Self::check_isolation(&agent_type, asked.worktree)?;
        // An agent waits for what it starts unless it says otherwise.
        let by_default = owner.is_none() && settings.background_by_default;
        Ok(Merged {
            thinking: agent_type.thinking.or(asked.thinking).unwrap_or(self.thinking),
            max_turns: agent_type.max_turns.or(asked.max_turns).unwrap_or(settings.default_max_turns),
            background: agent_type.run_in_background.or(asked.background).unwrap_or(by_default),
            isolated: agent_type.isolated.or(asked.isolated).unwrap_or(false),
            mode: agent_type.permission_mode.map_or(self.mode(), |narrowed| narrowed.min(self.mode())),
            budget,
            agent_type,
            model,
            requested_model,
        })
    }

    fn plan(
        &self,
        merged: &Merged,
        owner: Option<&AgentOwner>,
        agent: &AgentId,
    ) -> Result<ChildPlan, Failure> {
        let settings = &self.workspace.settings;
        let (agent_type, model) = (Arc::clone(&merged.agent_type), Arc::clone(&merged.model));
        Ok(ChildPlan {
            session: self.session.clone(),
            workspace: Arc::clone(&self.workspace),
            system_prompt: self.child_prompt(&agent_type),
            tool_policy: tool_policy(&agent_type),
            depth: owner.map_or(1, |owner| owner.depth.saturating_add(1)),
            max_depth: owner.map_or(settings.max_subagent_depth.max(1), |owner| owner.max_depth),
            isolated: merged.isolated,
            agent_type,
            model,
            thinking: merged.thinking,
            mode: merged.mode,
            rights: None,
            limits: run_limits(settings, merged.max_turns, merged.budget),
            file: self.file_of(agent)?,
            files: self.files.clone(),
        })
    }

    /// Where an agent's transcript is kept; nowhere in an ephemeral session.
    fn file_of(&self, agent: &AgentId) -> Result<Option<PathBuf>, Failure> {
        let file = self.files.as_ref().map(|files| files.agent_file(agent.as_str())).transpose();
        file.map_err(|error| Failure::new(ErrorCode::Failed, error.to_string()))
    }

    /// The plan of an agent of an earlier server, from what was kept of it. A model that cannot be had any more gives way
    /// to the session's.
    pub(crate) fn revive(&self, kept: KeptPlan, agent: &AgentId, depth: u32) -> Result<ChildPlan, Failure> {
        let file = self.file_of(agent)?;
        let model = self.workspace.registry.resolve(&kept.model).unwrap_or_else(|error| {
            tracing::warn!(%agent, %error, "another model goes on with an agent");
            Arc::clone(&self.model)
        });
        Ok(ChildPlan {
            session: self.session.clone(),
            workspace: Arc::clone(&self.workspace),
            system_prompt: kept.system_prompt,
            tool_policy: tool_policy(&kept.agent_type),
            depth,
            max_depth: kept.max_depth,
            isolated: kept.isolated,
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
        let launcher = Launcher { origin: Origin::Person, wake_model, owner: None };
        let mut prepared = self.prepare(asked, launcher)?;
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

    /// The type that an agent asked for: nothing stands in for it, and it must be one that the agent may start.
    fn resolve_granted(&self, requested: &str, owner: &AgentOwner) -> Result<Arc<AgentType>, Failure> {
        let types = self.agent_types();
        let found = types.resolve(requested, &Fallback::Refuse).ok().map(|resolved| resolved.agent_type);
        found.filter(|agent_type| owner.may_start(agent_type)).ok_or_else(|| {
            let allowed = self.types_for(Some(owner));
            let names: Vec<_> = allowed.enabled().map(|agent_type| agent_type.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let asked = one_line(requested, 80);
            let text = format!("this agent may not start \"{asked}\"; it may start: {names}");
            Failure::new(ErrorCode::UnknownType, text)
        })
    }

    /// Refuses a worktree that cannot be had: in its place the agent would change files that somebody wanted kept apart. A
    /// definition's own choice beats the call's.
    fn check_isolation(agent_type: &AgentType, asked: bool) -> Result<(), Failure> {
        let wanted = match agent_type.isolation {
            Some(IsolationChoice::Off) => false,
            Some(IsolationChoice::Worktree) => true,
            None => asked,
        };
        if !wanted {
            return Ok(());
        }
        let text =
            "a git worktree was asked for and cannot be had: this version has none; nothing was started";
        Err(Failure::new(ErrorCode::WorktreeUnavailable, text)
            .hint("ask without `isolation` to run in place"))
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
