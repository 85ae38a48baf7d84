//! `get_subagent_result`: reads the result of an agent, waiting for it where that is asked.

use std::borrow::Cow;
use std::fmt::Write as _;

use roster::Completion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use session::{PageRequest, ToolCall, ToolDefinition, ToolError, ToolOutput};
use vocab::{AgentId, AgentStatus, ToolKind, WaitingOn};

use super::text;
use super::{Delegation, RESULT_TOOL, parameters, read, titled};
use crate::failure::Failure;
use crate::journal;
use crate::manager::RunState;
use crate::projection::documents;

/// Bytes of a conversation that `verbose` shows: its end.
const CONVERSATION_BYTES: usize = 16 << 10;
/// Bytes of one answer. A longer result is read in pieces.
const PAGE_BYTES: usize = 32 << 10;

/// What a model calls `get_subagent_result` with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultParams {
    /// The agent's id or name.
    pub agent_id: String,
    /// Wait until it has ended. Cancelling the wait does not stop the agent.
    #[serde(default)]
    pub wait: Option<bool>,
    /// Add the agent's conversation.
    #[serde(default)]
    pub verbose: Option<bool>,
    /// Where to begin in a long result: a number that an earlier answer named.
    #[serde(default)]
    pub offset: Option<u64>,
}

pub(super) fn tool(delegation: &Delegation) -> ToolDefinition {
    ToolDefinition {
        name: RESULT_TOOL.into(),
        label: "Agent result".into(),
        kind: ToolKind::Other,
        description: "Read an agent's full result by its id or name. Without `wait` it says how a running agent stands; with \
                      it, it waits until the agent has ended. You are told of ended agents anyway: use this for results that \
                      were cut in the notice, or when you can do nothing else before."
            .into(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: parameters::<ResultParams>(),
        sequential: false,
        execute: delegation.executes(|delegation, call| async move { delegation.result(call).await }),
        describe: |arguments| titled("Result of", arguments, ""),
    }
}

/// The piece of a text that begins at a byte, with where the rest begins. Two answers for one offset are the same.
fn page(text: &str, offset: u64) -> Result<String, Failure> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start > 0 && (start >= text.len() || !text.is_char_boundary(start)) {
        let why = format!("{offset} is no offset that an answer named; the text has {} bytes", text.len());
        return Err(Failure::bad_param("offset", why));
    }
    let end = text.floor_char_boundary(start.saturating_add(PAGE_BYTES));
    let rest = if end < text.len() {
        format!("\n[cut here: {} bytes follow; read on with offset {end}]", text.len() - end)
    } else {
        String::new()
    };
    Ok(format!("{}{rest}", &text[start..end]))
}

impl Delegation {
    async fn result(&self, mut call: ToolCall) -> Result<ToolOutput, ToolError> {
        let params: ResultParams = read(std::mem::take(&mut call.arguments), &[])?;
        let agent = self.find(&params.agent_id).await?;
        if params.wait == Some(true) {
            let _waiting = call.context.waiting(WaitingOn::Child);
            let ticket = self.manager.wait(agent.clone(), None, false);
            tokio::select! {
                settled = ticket.settled() => { settled?; }
                () = call.cancel.cancelled() => {
                    return Err(ToolError::new("The wait was cancelled. The agent runs on; you will be told when it has ended."));
                }
            }
        }
        let state = self.manager.read(agent.clone(), None, true).await?;
        let mut text = match &state.completion {
            Some(completion) => {
                let whole = self.whole(completion).await;
                text::fetched_result(&whole, self.context().show_cost())
            }
            None => self.live(&agent, &state).await?,
        };
        if params.verbose == Some(true) {
            text.push_str(&self.conversation(&agent).await?);
        }
        let text = page(&text, params.offset.unwrap_or(0))?;
        let details = json!({ "agentId": agent, "run": state.run, "status": state.status });
        Ok(ToolOutput { details, ..ToolOutput::text(text) })
    }

    /// The completion with its whole text, where only the beginning is in memory.
    async fn whole<'a>(&self, completion: &'a Completion) -> Cow<'a, Completion> {
        let files = self.context().files.clone().filter(|_| completion.text_cut);
        let file = files.and_then(|files| files.agent_file(completion.agent.as_str()).ok());
        let Some(file) = file else { return Cow::Borrowed(completion) };
        let mut whole = completion.clone();
        match journal::whole_text(file, completion.run).await {
            Some(text) => whole.outcome.text = text,
            None => whole.outcome.text.push_str("\n[the rest is not on disk any more]"),
        }
        Cow::Owned(whole)
    }

    async fn live(&self, agent: &AgentId, state: &RunState) -> Result<String, ToolError> {
        let id = agent.clone();
        let summary = self.manager.call(move |manager| Some((manager.summary(&id)?, manager.now()))).await?;
        let mut text = format!("Agent: {agent}\n");
        let waited_ms = summary.as_ref().map_or(0, |(summary, now)| now.ms_since(summary.created_at));
        if let Some((summary, _)) = summary {
            let _ =
                writeln!(text, "{} · {}\n{}", summary.agent_type, state.status.as_str(), summary.description);
            if let Some(activity) = summary.activity {
                let _ = writeln!(text, "Now: {activity}");
            }
        }
        match (state.status, state.queue_position) {
            (AgentStatus::Queued, Some(position)) => {
                let waited = text::seconds(waited_ms);
                let _ = write!(
                    text,
                    "\nIt is queued at position {position}, for {waited} now, and has not started."
                );
            }
            _ => text.push_str(
                "\nIt has no result yet. You will be told when it has ended; `wait` waits for it here.",
            ),
        }
        Ok(text)
    }

    async fn conversation(&self, agent: &AgentId) -> Result<String, ToolError> {
        let id = agent.clone();
        let page = PageRequest { limit: 200, shown_only: true, ..PageRequest::default() };
        let page =
            self.manager.call(move |manager| manager.agent_page(&id, page, false)).await??.page().await?;
        let lines = documents::conversation(&page.entries);
        if lines.is_empty() {
            return Ok(String::new());
        }
        let mut start = lines.len().saturating_sub(CONVERSATION_BYTES);
        while !lines.is_char_boundary(start) {
            start += 1;
        }
        let cut = if start > 0 || page.has_more { "[the beginning is left out]\n" } else { "" };
        Ok(format!("\n\n--- Conversation of the agent ---\n{cut}{}", text::escape(&lines[start..])))
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_BYTES, page};

    #[test]
    fn a_long_text_is_read_in_pieces_that_make_up_the_whole() {
        let text = "äb".repeat(PAGE_BYTES);
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let piece = page(&text, offset).unwrap();
            assert_eq!(piece, page(&text, offset).unwrap());
            let Some((shown, marker)) = piece.split_once("\n[cut here: ") else {
                whole.push_str(&piece);
                break;
            };
            whole.push_str(shown);
            let next = marker.rsplit_once("offset ").unwrap().1.trim_end_matches(']');
            offset = next.parse().unwrap();
        }
        assert!(whole == text);
    }

    #[test]
    fn an_offset_that_no_answer_named_is_refused() {
        assert_eq!(page("", 0).unwrap(), "");
        for offset in [1, 3, u64::MAX] {
            assert!(page("äb", offset).unwrap_err().message.starts_with("offset: "), "{offset}");
        }
    }
}
