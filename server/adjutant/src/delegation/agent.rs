//! The `Agent` tool: starts an agent or resumes one, in the foreground or in the background.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use project::agent_types::{AgentTypes, ListingStyle};
use project::settings::ToolDescriptionMode;
use protocol::Isolation;
use roster::{Launch, Origin, StopScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use session::{ToolCall, ToolCallTitle, ToolDefinition, ToolError, ToolOutput};
use vocab::{AgentStatus, Budget, EndedBy, ThinkingLevel, ToolKind, WaitingOn};

use super::text;
use super::{AGENT_TOOL, Delegation, GUIDELINES, RESULT_TOOL, SNIPPET, STEER_TOOL, parameters, read};
use crate::failure::Failure;
use crate::launch::{LaunchRequest, Launcher};
use crate::manager::Launched;
use crate::output_transcript;

/// How often a foreground call shows how its agent is doing.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// What a model calls `Agent` with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentParams {
    /// The task for the agent. It has not seen this conversation: say what it needs to know. With `resume`, the next
    /// message to it.
    pub prompt: String,
    /// What it does in three to five words, for the user.
    pub description: String,
    /// The type of agent.
    #[serde(default)]
    pub subagent_type: Option<String>,
    /// A memorable name; you can speak of the agent by it later.
    #[serde(default)]
    pub name: Option<String>,
    /// Another model than the type's or yours, as provider/id or a part of it.
    #[serde(default)]
    pub model: Option<String>,
    /// How much the agent may think before it answers.
    #[serde(default)]
    pub thinking: Option<ThinkingLevel>,
    /// Turns it may take before it is told to wrap up.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// What a run of it may use: `tokens`, `cost_usd` in US dollars. It is ended before the first request past that. The
    /// type's own budget binds too.
    #[serde(default)]
    pub budget: Option<BudgetParams>,
    /// False: wait here for its answer. True: go on, and be told when it has ended.
    #[serde(default)]
    pub run_in_background: Option<bool>,
    /// True: only the built-in tools, and no agents of its own.
    #[serde(default)]
    pub isolated: Option<bool>,
    /// `worktree`: in a git worktree of its own.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// The id or name of an agent that has ended, to go on with what it knows.
    #[serde(default)]
    pub resume: Option<String>,
}

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetParams {
    /// Tokens, those read from a cache left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// US dollars, more than 0. It cannot bind a model whose price is unknown.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cost_usd: Option<f64>,
}

impl From<BudgetParams> for Budget {
    fn from(params: BudgetParams) -> Self {
        Self { tokens: params.tokens, cost_usd: params.cost_usd }
    }
}

pub(super) fn tool(delegation: &Delegation) -> ToolDefinition {
    let types = delegation.context().types_for(delegation.agent.as_deref());
    ToolDefinition {
        name: AGENT_TOOL.into(),
        label: "Agent".into(),
        kind: ToolKind::Other,
        description: description(delegation, &types).into(),
        prompt_snippet: Some(SNIPPET.into()),
        prompt_guidelines: GUIDELINES.iter().map(|line| (*line).into()).collect(),
        parameters: schema(&types),
        sequential: false,
        execute: delegation.executes(|delegation, call| async move { delegation.run(call).await }),
        describe,
    }
}

fn describe(arguments: &Value) -> ToolCallTitle {
    let field = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let what = match (field("resume"), field("subagent_type")) {
        ("", "") => "Agent",
        ("", agent_type) => agent_type,
        (resumed, _) => resumed,
    };
    ToolCallTitle {
        title: text::one_line(&format!("{what}: {}", field("description")), 120),
        locations: Vec::new(),
    }
}

/// The schema, with the types of this moment named where the model chooses one.
fn schema(types: &AgentTypes) -> Value {
    let mut schema = parameters::<AgentParams>();
    let names: Vec<_> = types.enabled().map(|agent_type| agent_type.name.clone()).collect();
    schema["properties"]["subagent_type"]["description"] =
        format!("The type of agent, one of: {}. Not needed with `resume`.", names.join(", ")).into();
    schema
}

fn description(delegation: &Delegation, types: &AgentTypes) -> String {
    let context = delegation.context();
    if context.workspace.settings.tool_description_mode == ToolDescriptionMode::Compact {
        return format!(
            "Start an agent for a task of its own. Types:\n{}\nSeveral calls in one message run side by side. Background \
             is the default: you get an id, go on, and are told when it ends. Use run_in_background: false only if your \
             next step needs the answer. Never make up a pending agent's result.",
            types.listing(ListingStyle::Compact)
        );
    }
    format!(
        "Start an agent: a session of its own that works on one task with its own tools and reports back.\n\n\
         Types of agents:\n{types}\n\n\
         Types are defined by the user in ~/.config/adjutant/agents and, for a trusted workspace, in .adjutant/agents, \
         which beats the former.\n\n\
         Choose the type that fits the task. Do not delegate what one or two calls of your own tools would do: reading a \
         file that you know, or searching for one name.\n\n\
         - Keep `description` short: the user reads it in a list.\n\
         - For work side by side, make several calls in one message.\n\
         - The user does not see what an agent answers: tell them what matters of it.\n\
         - An agent that says it changed code may be wrong: look before you say it is done.\n\
         - Background is the default. You get an id at once and are told when the agent has ended, so do not poll, sleep or \
         ask for it meanwhile. Use `run_in_background: false` only if your very next step needs the answer.\n\
         - Never make up what a pending agent will find; say that it is still at work.\n\
         - `resume` goes on with an agent that has ended and knows its task; a new call starts from nothing.\n\
         - {STEER_TOOL} sends a running agent a message; {RESULT_TOOL} reads a full result.\n\
         - Say whether code is to be written or only looked into. Where a type says to use it proactively, do.\n\
         - Brief the agent like a colleague who has just come in: what you want, why, what you know already, and what form \
         the answer should have. Drawing conclusions stays with you.",
        types = types.listing(ListingStyle::Full),
    )
}

/// A parameter that is there: blank texts and nulls are not.
fn given<'a>(arguments: &'a Value, name: &str) -> Option<&'a Value> {
    arguments.get(name).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    })
}

impl Delegation {
    /// Refuses what this version does not have, never silently: a model that asked for it would count on it. With `resume`
    /// nothing but the prompt matters.
    fn check_unavailable(&self, arguments: &Value) -> Result<(), Failure> {
        if let Some(schedule) = given(arguments, "schedule") {
            return Err(self.refuse_schedule(arguments, schedule));
        }
        let resumes = given(arguments, "resume").is_some();
        if !resumes && given(arguments, "inherit_context").is_some_and(|value| *value == Value::Bool(true)) {
            let why =
                "this version cannot hand an agent your conversation; put what it needs into the prompt";
            return Err(Failure::bad_param("inherit_context", why));
        }
        Ok(())
    }

    fn refuse_schedule(&self, arguments: &Value, schedule: &Value) -> Failure {
        let is = |name: &str, wanted: bool| given(arguments, name) == Some(&Value::Bool(wanted));
        let why = if self.agent.is_some() {
            "an agent cannot schedule others"
        } else if given(arguments, "resume").is_some() {
            "cannot be combined with `resume`"
        } else if is("inherit_context", true) {
            "cannot be combined with `inherit_context`"
        } else if is("run_in_background", false) {
            "a scheduled agent runs in the background; leave `run_in_background` out"
        } else if !schedule.is_string() {
            "must be a text"
        } else {
            "this version has no schedules; start the agent now"
        };
        Failure::bad_param("schedule", why)
    }

    async fn run(&self, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
        let params: AgentParams = {
            let arguments = std::mem::take(&mut call.arguments);
            self.check_unavailable(&arguments)?;
            read(arguments, &[])?
        };
        if call.cancel.is_cancelled() {
            return Err(ToolError::new("The call was cancelled before the agent was started."));
        }
        let turn = self.turn();
        let (launched, background, mut notes) =
            match params.resume.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
                Some(reference) => self.resume(reference, &params, &call, turn).await?,
                None => self.start(params.clone(), &call, turn).await?,
            };
        if background {
            let context = self.context();
            let file = output_transcript::existing(context.files.as_ref(), &launched.agent, launched.run);
            notes.push(receipt(&launched, &params, file.as_deref()));
            return Ok(ToolOutput { details: details(&launched), ..ToolOutput::text(notes.join("\n")) });
        }
        let completion = self.wait(&launched, &call).await?;
        notes.push(text::inline_result(&completion, self.context().show_cost()));
        let mut details = details(&launched);
        details["status"] = json!(completion.status());
        Ok(ToolOutput { details, ..ToolOutput::text(notes.join("\n")) })
    }

    async fn start(
        &self,
        params: AgentParams,
        call: &ToolCall,
        turn: u64,
    ) -> Result<(Launched, bool, Vec<String>), ToolError> {
        let request = LaunchRequest {
            agent_type: params.subagent_type.unwrap_or_default(),
            prompt: params.prompt,
            description: Some(params.description),
            name: params.name,
            model: params.model,
            thinking: params.thinking,
            max_turns: params.max_turns,
            budget: params.budget.map(Budget::from).unwrap_or_default(),
            isolated: params.isolated,
            worktree: params.isolation == Some(Isolation::Worktree),
            background: params.run_in_background,
            tool_call: Some(call.id.clone()),
            turn: Some(turn),
        };
        let prepared = self.context().prepare(request, Launcher::model(self.agent.clone()))?;
        let background = prepared.request.launch.background;
        let notes = prepared.notes.clone();
        Ok((self.manager.spawn(prepared).await?, background, notes))
    }

    /// Goes on with an agent by its own definition; what only a new agent needs is ignored.
    async fn resume(
        &self,
        reference: &str,
        params: &AgentParams,
        call: &ToolCall,
        turn: u64,
    ) -> Result<(Launched, bool, Vec<String>), ToolError> {
        let agent = self.find(reference).await?;
        // An agent always waits for one that it goes on with.
        let by_default = self.context().workspace.settings.background_by_default;
        let background = self.agent.is_none() && params.run_in_background.unwrap_or(by_default);
        let launch = Launch {
            prompt: params.prompt.clone(),
            background,
            wake_model: true,
            origin: Origin::Model,
            tool_call: Some(call.id.clone()),
            turn: background.then_some(turn),
        };
        Ok((self.manager.resume(agent, launch).await?, background, Vec::new()))
    }

    /// Waits for a foreground run and shows how it is doing. The call's cancel stops the run; the call then still waits
    /// until it has unwound, since what it produced belongs to the model.
    async fn wait(&self, launched: &Launched, call: &ToolCall) -> Result<roster::Completion, ToolError> {
        let _waiting = call.context.waiting(WaitingOn::Child);
        let mut settled =
            std::pin::pin!(self.manager.wait(launched.agent.clone(), Some(launched.run), true).settled());
        let mut show = tokio::time::interval(SHOW_EVERY);
        show.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                completion = &mut settled => return Ok(completion?),
                () = call.cancel.cancelled(), if !stopping => {
                    stopping = true;
                    self.manager.stop(launched.agent.clone(), StopScope::Subtree, EndedBy::User).await?;
                }
                _ = show.tick() => self.show(launched, call).await,
            }
        }
    }

    async fn show(&self, launched: &Launched, call: &ToolCall) {
        let agent = launched.agent.clone();
        let Ok(Some(summary)) = self.manager.call(move |manager| manager.summary(&agent)).await else {
            return;
        };
        let mut line = text::count(summary.tool_uses, "tool use");
        if let Some(activity) = &summary.activity {
            let _ = write!(line, " · {activity}");
        }
        let details = json!({
            "agentId": launched.agent,
            "run": launched.run,
            "handle": launched.handle,
            "status": summary.status,
            "toolUses": summary.tool_uses,
            "turns": summary.turns,
            "tokens": summary.usage.total,
        });
        call.updates.send(ToolOutput { details, ..ToolOutput::text(line) });
    }
}

fn details(launched: &Launched) -> Value {
    json!({ "agentId": launched.agent, "run": launched.run, "handle": launched.handle, "status": launched.status })
}

fn receipt(launched: &Launched, params: &AgentParams, output_file: Option<&Path>) -> String {
    let state = match launched.status {
        AgentStatus::Queued => "Agent queued in the background: the limit of agents at one time is reached.",
        _ => "Agent started in the background.",
    };
    let mut receipt = format!(
        "{state}\nAgent id: {}\nName: {}\nDescription: {}",
        launched.agent,
        launched.handle,
        text::one_line(&params.description, 120)
    );
    if let Some(file) = output_file {
        let _ = write!(receipt, "\nOutput file: {}", file.display());
    }
    if let Some(position) = launched.queue_position {
        let _ = write!(receipt, "\nPosition in the queue: {position}");
    }
    let _ = write!(
        receipt,
        "\nYou will be told when it has ended. {RESULT_TOOL} with this id has its full result then; {STEER_TOOL} sends it a \
         message. Do not do its work yourself meanwhile."
    );
    receipt
}
