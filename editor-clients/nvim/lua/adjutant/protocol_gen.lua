-- Generated from schemas/ by the contract test. Do not edit.
-- luacheck: no max line length
-- stylua: ignore start

local M = {}

--- The version of the contract that these types are of.
M.PROTOCOL_VERSION = 1

--- Argument of `abort`.
---@class adjutant.AbortArgs
---@field sessionId? string

--- Ends the events of an agent.
---@class adjutant.AgentCloseParams
---@field agentId string

--- Background runs have settled.
---@class adjutant.AgentCompletedParams
---@field seq integer Counts these notifications from 1, for one life of the server.
---@field completions adjutant.Completion[]
---@field partial boolean Others of the group still run.
---@field groupId? string

--- Agents by where they stand.
---@class adjutant.AgentCounts
---@field queued integer
---@field running integer Those that are stopping counted in.
---@field finished integer

--- One event of an agent that the client follows. A gap in `seq` means: open again.
---@class adjutant.AgentEventParams
---@field agentId string
---@field seq integer Counts this transcript's events from 1, for ever.
---@field event adjutant.SessionEvent

--- Follows an agent: one page of its transcript now, then each event.
---@class adjutant.AgentOpenParams
---@field agentId string
---@field fromSeq? integer Only entries from this seq on; absent: any. The page is the newest of them.
---@field limit? integer Entries in the page; absent: the server chooses.

--- Where a follower starts.
---@class adjutant.AgentOpenResult
---@field summary adjutant.AgentSummary
---@field page adjutant.TranscriptPage
---@field nextSeq integer The `seq` of the first event that follows. An event below it is in the page already.

--- Reads a result as a person does: the parent's model is still told of it.
---@class adjutant.AgentResultParams
---@field agentId string
---@field run? integer Absent: the last one.
---@field verbose? boolean Whether `transcript` is wanted too.

--- What an agent has to say.
---@class adjutant.AgentResultResult
---@field run integer
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" The state of an agent's current run. The first final state of a run is its last.
---@field text string
---@field usage adjutant.Usage Of this run.
---@field partial boolean The run has not ended, or did not end by itself.
---@field transcript? string The run's conversation as text, if it was asked for.

--- Continues a settled agent with a new prompt, as its next run.
---@class adjutant.AgentResumeParams
---@field prompt string
---@field agentId? string This, or `handle`.
---@field background? boolean False: it takes no place in the queue.
---@field handle? string
---@field sessionId? string Where `handle` is looked up; absent: the default session.
---@field wakeModel? boolean Whether its completion starts a turn of the parent's model, not only joins the next one.

--- A new run was taken on.
---@class adjutant.AgentResumeResult
---@field agentId string
---@field run integer
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" The state of an agent's current run. The first final state of a run is its last.

--- A person has seen this run's result.
---@class adjutant.AgentSeenParams
---@field agentId string
---@field run integer

--- Starts an agent. Answered at once; its result comes as a completion.
---@class adjutant.AgentSpawnParams
---@field type string The agent type's name.
---@field prompt string
---@field attachments? adjutant.Attachment[]
---@field background? boolean False: it takes no place in the queue.
---@field budget? adjutant.Budget What each of its runs may use. Where its type has a budget too, the smaller of each part binds.
---@field description? string A few words for the roster; absent: the start of the prompt.
---@field inheritContext? any Not available in this version: refused.
---@field isolated? boolean Only the built-in tools, and no agents of its own. Its type's own choice beats this one.
---@field isolation? "off"|"worktree" Where it works. Its type's own choice beats this one. A worktree that cannot be had refuses the spawn.
---@field maxTurns? integer
---@field model? string
---@field name? string A name to call it by.
---@field sessionId? string
---@field thinking? "off"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much a model may think before it answers.
---@field wakeModel? boolean Whether its completion starts a turn of the parent's model, not only joins the next one.

--- An agent was taken on.
---@class adjutant.AgentSpawnResult
---@field agentId string
---@field run integer
---@field handle string
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" The state of an agent's current run. The first final state of a run is its last.

--- Sends a message to an agent that has not ended.
---@class adjutant.AgentSteerParams
---@field message string
---@field agentId? string This, or `handle`.
---@field handle? string
---@field sessionId? string Where `handle` is looked up; absent: the default session.

--- Stops all agents of a session; without one, of all sessions of this server.
---@class adjutant.AgentStopAllParams
---@field sessionId? string

--- The agents that were asked to stop.
---@class adjutant.AgentStopAllResult
---@field stopped string[]

--- Stops an agent. Answered at once; the agent is `stopping` until nothing of it can act any more, at most 3 s.
---@class adjutant.AgentStopParams
---@field agentId? string This, or `handle`.
---@field handle? string
---@field scope? "one"|"subtree" How far a stop reaches.
---@field sessionId? string Where `handle` is looked up; absent: the default session.

--- What a stop reached. Stopping an agent that has ended changes nothing and is no error.
---@class adjutant.AgentStopResult
---@field stopped adjutant.StoppedAgent[]

--- One agent as a roster shows it: its current run, or its last.
---@class adjutant.AgentSummary
---@field agentId string
---@field run integer 1 for the spawn, one more for each resume.
---@field sessionId string The parent session at the root.
---@field handle string Its short name, unique in its session.
---@field type string The agent type's name.
---@field displayName string The agent type as people read it.
---@field description string What it was asked to do; at most 120 characters.
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" A client shows a status that it does not know as ended.
---@field isBackground boolean
---@field depth integer 1 under the parent session.
---@field cwd string
---@field createdAt integer Milliseconds since the Unix epoch.
---@field turns integer Model requests of this run.
---@field toolUses integer Tool calls of this run.
---@field usage adjutant.Usage Of all its runs, its children's not counted in.
---@field subtree adjutant.SubtreeTotals
---@field compactions integer
---@field model string The model that it runs on, `provider/name`.
---@field permissionMode "plan"|"ask"|"auto-edit"|"auto" What tools may do without asking. Ordered from strict to permissive: the smaller of two is the stricter.
---@field tags string[] Short marks for people, such as `isolated`.
---@field attention integer How many of its decisions wait for a person.
---@field resumable boolean
---@field unread boolean No person has seen the result of its last run.
---@field files adjutant.TouchedFile[] The last 20, newest last.
---@field filesTotal integer
---@field activity? string What it does now, in words; at most 120 characters.
---@field alias? string The name that a person gave it.
---@field budget? adjutant.Budget
---@field color? string
---@field completedAt? integer Milliseconds since the Unix epoch.
---@field contextPercent? number How full its context window is, 0 to 100.
---@field delivery? "pending"|"held"|"delivered"|"consumed" Where the news of a background run stands on its way to the parent's model.
---@field endedBy? "self"|"user"|"parent"|"limit"|"host" Who ended a run.
---@field error? string What went wrong; at most 500 characters.
---@field maxTurns? integer
---@field parentId? string The agent that started it; absent where the parent session did.
---@field queuePosition? integer Its place in the queue, from 1.
---@field readOnly? boolean Another server has its journal: every verb on it is refused.
---@field reason? "maxTurns"|"wallClock"|"idle"|"noProgress"|"tokens"|"cost"|"repeatedCall"|"provider"|"setup"|"panic"|"lost"|"detached" Why a run ended, where its status alone does not say.
---@field requestedModel? string The model that was asked for, where another had to do.
---@field resultPreview? string The start of its result; at most 500 characters.
---@field startedAt? integer Of the current or last run.
---@field thinking? "off"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much a model may think before it answers.
---@field tool? adjutant.CurrentTool
---@field toolCallId? string The call that started it, where a model did.
---@field waitingOn? "setup"|"model"|"tool"|"approval"|"child"|"retry"|"compaction" What a running agent waits for.
---@field worktree? adjutant.WorktreeInfo

--- Asks for an older page.
---@class adjutant.AgentTranscriptParams
---@field agentId string
---@field limit integer Entries in the page, at most.
---@field before? integer Only entries before this seq; absent: any. The page is the newest of them.

--- Takes a steering message back, if it was not delivered.
---@class adjutant.AgentUnsteerParams
---@field agentId string
---@field steerId string

--- A `$/progress` value on a prompt's `updatesToken`: how one of its agents is getting on.
---@class adjutant.AgentUpdate
---@field toolCallId string The call in the parent's transcript.
---@field agentId string
---@field run integer
---@field summary adjutant.AgentSummary
---@field textTail? string The end of what it wrote last.

--- A whole file, as the editor shows it where it is open.
---@class adjutant.Attachment.file
---@field type "file"
---@field uri string

--- A part of a file.
---@class adjutant.Attachment.selection
---@field type "selection"
---@field uri string
---@field range adjutant.Range
---@field text? string The selected text; absent: the server reads it from the document.

--- A picture.
---@class adjutant.Attachment.image
---@field type "image"
---@field mimeType string
---@field data string Base64.

--- A problem that the editor shows.
---@class adjutant.Attachment.diagnostic
---@field type "diagnostic"
---@field uri string
---@field diagnostic any A `Diagnostic` of the Language Server Protocol, as it is.

--- What a person sends along with a text.
---@alias adjutant.Attachment adjutant.Attachment.file|adjutant.Attachment.selection|adjutant.Attachment.image|adjutant.Attachment.diagnostic

--- What a run may use; a part that is absent is not limited.
---@class adjutant.Budget
---@field costUsd? number US dollars, more than 0. Requests whose price is unknown are not counted: they are not free, they cannot be measured. A limit of tokens binds there too.
---@field tokens? integer Tokens that count towards [`Usage::total`].

--- What a renderer makes of a tool's or an extension's details. Plain text: a client interprets no markup in it.
---@class adjutant.Card
---@field icon string A word that a client maps to a picture of its own; one that it does not know gets a default.
---@field title string
---@field lines string[]
---@field actions adjutant.CardAction[]

--- Something that a person can do from a card.
---@class adjutant.CardAction
---@field title string
---@field command string A command of the server.
---@field arguments? any The command's one argument object.

--- What a client can show: `capabilities.experimental.adjutant` of its `initialize`. What it does not declare it is not sent.
---@class adjutant.ClientCapability
---@field protocolVersion integer The version it speaks. Another than the server's: it is served as a client that declared nothing, and told once.
---@field attention? boolean Shows what waits for a person.
---@field documents? boolean Saves documents when asked.
---@field events? boolean Passes on the event bus.
---@field fleet? boolean Has a roster: fleet changes and completions are sent.
---@field modelHost? boolean Offers the editor's own models.
---@field viewer? boolean Has viewers: events of the transcripts that it opened are sent.

--- News of one settled run. A client drops a key (`agentId`, `run`) that it has had.
---@class adjutant.Completion
---@field agentId string
---@field run integer
---@field sessionId string
---@field handle string
---@field type string The agent type's name.
---@field description string
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" Always a final one.
---@field endedBy "self"|"user"|"parent"|"limit"|"host" Who ended a run.
---@field resultPreview string The start of its result; at most 500 characters.
---@field usage adjutant.Usage Of this run.
---@field durationMs integer
---@field toolUses integer
---@field turns integer
---@field error? string
---@field reason? "maxTurns"|"wallClock"|"idle"|"noProgress"|"tokens"|"cost"|"repeatedCall"|"provider"|"setup"|"panic"|"lost"|"detached" Why a run ended, where its status alone does not say.
---@field restored? boolean It settled in an earlier life of the server and is announced only now.
---@field transcript? string The path of its transcript file.
---@field worktree? adjutant.WorktreeInfo

--- The tool call that runs now.
---@class adjutant.CurrentTool
---@field kind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"other" What a tool does, in the words of the Agent Client Protocol.
---@field title string
---@field startedAt integer Milliseconds since the Unix epoch.
---@field range? adjutant.Range
---@field uri? string

--- Argument of `delegate`.
---@class adjutant.DelegateArgs
---@field description? string
---@field prompt? string
---@field sessionId? string
---@field type? string The agent type's name.

--- Argument of `delegateSelection`.
---@class adjutant.DelegateSelectionArgs
---@field prompt? string What to do with the selection.
---@field range? adjutant.Range
---@field sessionId? string
---@field type? string The agent type's name.
---@field uri? string

--- Asks for the text of an `adjutant:` document.
---@class adjutant.DocumentParams
---@field uri string `adjutant://session/<id>`, `adjutant://agent/<id>`, `adjutant://fleet`, or the `uri` of a `TextRef`.

--- A document as it is now.
---@class adjutant.DocumentResult
---@field text string
---@field languageId string The editor's word for its syntax, such as `markdown`.
---@field revision integer Grows whenever the text changes.

--- The answer of a method that has nothing to say but that it was done.
---@class adjutant.Empty

--- The text that a run answers.
---@class adjutant.Entry.prompt
---@field kind "prompt"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field author "user"|"parent"|"host" Who wrote a message to a model.
---@field promptId? string
---@field ref? adjutant.TextRef In place of `text` where that is over 32 KiB.
---@field text? string

--- A message that reached the model during a run.
---@class adjutant.Entry.steer
---@field kind "steer"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field text string
---@field author "user"|"parent"|"host" Who wrote a message to a model.
---@field steerId string

--- What the model wrote in one turn; its calls are entries of their own.
---@class adjutant.Entry.assistant
---@field kind "assistant"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field stopReason string Why the model stopped, in its provider's sense: `stop`, `toolUse`, `length`, `refusal`, `error`, `aborted`.
---@field model string `provider/name`.
---@field usage adjutant.Usage Of this turn.
---@field ref? adjutant.TextRef In place of `text` where that is over 32 KiB.
---@field text? string
---@field thinking? string

--- A tool call.
---@class adjutant.Entry.tool
---@field kind "tool"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field toolCallId string
---@field name string
---@field toolKind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"other" What a tool does, in the words of the Agent Client Protocol.
---@field title string
---@field locations adjutant.Location[]
---@field agentId? string The agent that this call started or speaks to.
---@field card? adjutant.Card
---@field outcome? "ok"|"error"|"denied"|"cancelled" Absent while it runs.
---@field ref? adjutant.TextRef In place of `text` where that is over 32 KiB.
---@field text? string

--- A message that an extension put here, such as the news of a settled agent.
---@class adjutant.Entry.customMessage
---@field kind "customMessage"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field customType string
---@field card adjutant.Card

--- Something that a person should know and no model is told: a retry, a compaction, another model.
---@class adjutant.Entry.notice
---@field kind "notice"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field level "info"|"warning"|"error" How much a notice matters.
---@field text string

--- A run ended here.
---@class adjutant.Entry.run
---@field kind "run"
---@field entryId string
---@field seq integer The last event that went into it; an entry that goes on, such as a running call, moves with it.
---@field at integer Milliseconds since the Unix epoch.
---@field run integer The run it belongs to, counted from 1 in its transcript; 0 before the first.
---@field startedAt integer Milliseconds since the Unix epoch.
---@field stopReason "endTurn"|"aborted"|"error"|"refusal"|"length"|"limit" Why a session's run stopped.
---@field turns integer
---@field usage adjutant.Usage Of this run.
---@field error? string
---@field runId? string In a parent session.

--- One entry of a transcript. A client shows a kind that it does not know by its name, or not at all.
---@alias adjutant.Entry adjutant.Entry.prompt|adjutant.Entry.steer|adjutant.Entry.assistant|adjutant.Entry.tool|adjutant.Entry.customMessage|adjutant.Entry.notice|adjutant.Entry.run

--- Why a request was not answered with a result.
---@alias adjutant.ErrorCode "unknownMethod"|"unknownAgent"|"unknownType"|"modelUnavailable"|"noCredentials"|"worktreeUnavailable"|"limitReached"|"unknownSession"|"parseError"|"invalidRequest"|"badParams"|"internal"|"notInitialized"|"cancelled"|"contentModified"|"failed"|"notRunning"|"conflict"|"untrusted"|"alreadyClosed"

--- `data` of an error.
---@class adjutant.ErrorData
---@field kind adjutant.ErrorCode
---@field hint? string What to do next.

--- What changed in the fleet. Another `epoch`, or a `baseRevision` that is not the client's revision: list again.
---@class adjutant.FleetChangedParams
---@field epoch string
---@field revision integer The revision that this change leads to.
---@field baseRevision integer The revision that it starts from.
---@field serverNow integer Milliseconds since the Unix epoch.
---@field upserted adjutant.AgentSummary[] New or changed agents, each whole.
---@field removed string[]

--- Asks for the whole fleet, a page at a time.
---@class adjutant.FleetListParams
---@field cursor? string `nextCursor` of the page before. All pages are of one revision; if it passed, the answer is "content modified": begin again without a cursor.
---@field limit? integer

--- One page of the fleet.
---@class adjutant.FleetListResult
---@field epoch string Names this life of the server; another one means that nothing known before holds.
---@field revision integer
---@field serverNow integer The server's clock, from which a client works out elapsed times.
---@field agents adjutant.AgentSummary[]
---@field limits adjutant.Limits
---@field nextCursor? string

--- `initializationOptions`.
---@class adjutant.InitOptions
---@field model? string The model of new sessions, `provider/name`.
---@field settings? table<string, any> The client's `adjutant` section; a dot in a key is nesting.
---@field trusted? boolean Whether the editor trusts the folders. Absent: the answer kept from before holds.

--- The limits in force. 0 means none.
---@class adjutant.Limits
---@field maxConcurrent integer Background agents of one session that run at one time.
---@field maxSubagentDepth integer How deep agents may start agents; the parent session is depth 0.
---@field wallClockMs integer Of one run, in milliseconds.
---@field idleMs integer How long a model request may stay without a byte, in milliseconds.
---@field noProgressTurns integer Turns in a row with nothing new.
---@field tokens integer Tokens of one run.
---@field costUsd number US dollars of one run.
---@field descendants integer Agents that are queued, running or stopping under one root session.
---@field identicalCalls integer The same call with the same result in a row.

--- A place that a tool call is about.
---@class adjutant.Location
---@field uri string
---@field range? adjutant.Range

--- Arguments of [`command::NewSession`].
---@class adjutant.NewSessionArgs

--- A message that is not whole yet.
---@class adjutant.PartialMessage
---@field entryId string
---@field text string
---@field textOffset integer Where `text` begins, in UTF-8 bytes; over 0 where the head of a long message is left out. The next delta's `offset` is this and the length of `text`.
---@field thinking string As `text`.
---@field thinkingOffset integer

--- Asks whether the server is well.
---@class adjutant.PingParams

--- How the server is.
---@class adjutant.PingResult
---@field protocolVersion integer
---@field serverVersion string
---@field uptimeMs integer
---@field sessions integer Parent sessions that are open.
---@field agents adjutant.AgentCounts

--- A place in a document, counted from 0. `character` counts in the position encoding agreed at `initialize`.
---@class adjutant.Position
---@field line integer
---@field character integer

--- The name under which `$/progress` values arrive; made by whoever asked for them.
---@alias adjutant.ProgressToken integer|string

--- Argument of `prompt`.
---@class adjutant.PromptArgs
---@field range? adjutant.Range
---@field sessionId? string
---@field text? string
---@field uri? string The document that is looked at, with `range` the selection in it.

--- What a prompt came to.
---@class adjutant.PromptResult
---@field runId string
---@field stopReason "endTurn"|"aborted"|"error"|"refusal"|"length"|"limit" Why a session's run stopped.
---@field disposition "forwarded"|"routed" Who took a prompt.
---@field usage adjutant.Usage Of this run.
---@field error? string
---@field routed? adjutant.RoutedPrompt Where it went, if `disposition` is `routed`.
---@field text? string The last text of the run.

--- A part of a document; `end` is not in it.
---@class adjutant.Range
---@field start adjutant.Position
---@field end adjutant.Position

--- Argument of `resume`.
---@class adjutant.ResumeArgs
---@field agentId? string
---@field handle? string
---@field prompt? string
---@field sessionId? string

--- Arguments of [`command::ResumeSession`].
---@class adjutant.ResumeSessionArgs
---@field sessionId? string Absent: the newest of the folder that nobody has open.

--- The agent that a prompt went to.
---@class adjutant.RoutedPrompt
---@field agentId string
---@field action "message"|"resume"|"reopen"|"start" What a routed prompt did.

--- What the server offers: `capabilities.experimental.adjutant` of its answer to `initialize`.
---@class adjutant.ServerCapability
---@field protocolVersion integer
---@field serverVersion string
---@field methods string[] Every method of this contract that this server knows, in either direction.
---@field limits adjutant.Limits

--- Ends the active run and its foreground agents; queued prompts and steers are not sent.
---@class adjutant.SessionAbortParams
---@field sessionId? string

--- What an abort did.
---@class adjutant.SessionAbortResult
---@field aborted boolean False: no run was active.
---@field backgroundRunning integer Background agents of the session, which go on.
---@field withdrawn adjutant.WithdrawnText[] What was not sent, so that a client can offer the texts again.

--- Closes a session: its run is aborted, its agents are stopped; what is on disk stays.
---@class adjutant.SessionCloseParams
---@field sessionId string

--- A run begins: a prompt, a wake or a resume.
---@class adjutant.SessionEvent.runStart
---@field type "runStart"
---@field run integer Counts the runs of this transcript from 1.
---@field author "user"|"parent"|"host" Who wrote a message to a model.
---@field promptId? string The prompt that it answers.
---@field runId? string In a parent session.

--- A run is over.
---@class adjutant.SessionEvent.runEnd
---@field type "runEnd"
---@field run integer
---@field stopReason "endTurn"|"aborted"|"error"|"refusal"|"length"|"limit" Why a session's run stopped.
---@field usage adjutant.Usage Of this run.
---@field error? string
---@field runId? string

--- A model request begins.
---@class adjutant.SessionEvent.turnStart
---@field type "turnStart"
---@field turn integer Counts the turns of this run from 1.

--- A model request and the calls it asked for are over.
---@class adjutant.SessionEvent.turnEnd
---@field type "turnEnd"
---@field turn integer
---@field usage adjutant.Usage Of this turn.

--- A message begins. A prompt or a steer follows whole, in `messageEnd`.
---@class adjutant.SessionEvent.messageStart
---@field type "messageStart"
---@field entryId string
---@field role "assistant"|"user" Whose message it is.

--- More text of the message.
---@class adjutant.SessionEvent.textDelta
---@field type "textDelta"
---@field entryId string
---@field offset integer Where it goes: the length, in UTF-8 bytes, of the text before it. At less than what the client has, it is known already; at more, something is missing: open again.
---@field text string

--- More thinking of the message; `offset` counts in the thinking alone.
---@class adjutant.SessionEvent.thinkingDelta
---@field type "thinkingDelta"
---@field entryId string
---@field offset integer
---@field text string

--- More of the arguments of a call that the model is writing.
---@class adjutant.SessionEvent.toolCallDelta
---@field type "toolCallDelta"
---@field entryId string
---@field toolCallId string
---@field name string
---@field offset integer As `offset` of a text, in the arguments' JSON text.
---@field text string

--- The message is whole. It replaces what the deltas built.
---@class adjutant.SessionEvent.messageEnd
---@field type "messageEnd"
---@field entryId string
---@field role "assistant"|"user" Whose message it is.
---@field author? "user"|"parent"|"host" Who wrote a message of role `user`.
---@field ref? adjutant.TextRef In place of `text` where that is over 32 KiB.
---@field text? string
---@field thinking? string Of an assistant's message.

--- A tool call begins.
---@class adjutant.SessionEvent.toolStart
---@field type "toolStart"
---@field toolCallId string
---@field name string The tool's name, as its model calls it.
---@field kind "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"other" What a tool does, in the words of the Agent Client Protocol.
---@field title string
---@field locations adjutant.Location[]
---@field agentId? string The agent that this call started or speaks to.

--- A tool call has something to show; each update replaces the one before.
---@class adjutant.SessionEvent.toolUpdate
---@field type "toolUpdate"
---@field toolCallId string
---@field card? adjutant.Card
---@field text? string

--- A tool call is over.
---@class adjutant.SessionEvent.toolEnd
---@field type "toolEnd"
---@field toolCallId string
---@field outcome "ok"|"error"|"denied"|"cancelled" How a tool call ended.
---@field card? adjutant.Card
---@field ref? adjutant.TextRef In place of `text` where that is over 32 KiB.
---@field text? string

--- An extension put a message into the transcript.
---@class adjutant.SessionEvent.customMessage
---@field type "customMessage"
---@field entryId string
---@field customType string
---@field card adjutant.Card

--- A prompt waits for the active run to end.
---@class adjutant.SessionEvent.promptQueued
---@field type "promptQueued"
---@field promptId string

--- A prompt's run begins.
---@class adjutant.SessionEvent.promptStarted
---@field type "promptStarted"
---@field promptId string

--- A queued prompt was taken back.
---@class adjutant.SessionEvent.promptWithdrawn
---@field type "promptWithdrawn"
---@field promptId string

--- A steering message waits for a turn boundary.
---@class adjutant.SessionEvent.steerQueued
---@field type "steerQueued"
---@field steerId string
---@field text string
---@field author "user"|"parent"|"host" Who wrote a message to a model.

--- The model has a steering message.
---@class adjutant.SessionEvent.steerDelivered
---@field type "steerDelivered"
---@field steerId string
---@field text string
---@field author "user"|"parent"|"host" Who wrote a message to a model.

--- A steering message was taken back.
---@class adjutant.SessionEvent.steerWithdrawn
---@field type "steerWithdrawn"
---@field steerId string
---@field text string
---@field author "user"|"parent"|"host" Who wrote a message to a model.

--- The run ended before a steering message could be delivered.
---@class adjutant.SessionEvent.steerExpired
---@field type "steerExpired"
---@field steerId string
---@field text string
---@field author "user"|"parent"|"host" Who wrote a message to a model.

--- A model request failed and is made again.
---@class adjutant.SessionEvent.retry
---@field type "retry"
---@field attempt integer The attempt that comes, from 2.
---@field maxAttempts integer
---@field delayMs integer How long the server waits before it.
---@field error string

--- The history is being shortened.
---@class adjutant.SessionEvent.compactionStart
---@field type "compactionStart"

--- The history was shortened, or could not be.
---@class adjutant.SessionEvent.compactionEnd
---@field type "compactionEnd"
---@field error? string
---@field tokensAfter? integer
---@field tokensBefore? integer

--- Another model, or another thinking level, from here on.
---@class adjutant.SessionEvent.modelChanged
---@field type "modelChanged"
---@field model string
---@field thinking? "off"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much a model may think before it answers.

--- What the transcript's owner has used so far.
---@class adjutant.SessionEvent.usage
---@field type "usage"
---@field usage adjutant.Usage
---@field contextPercent? number How full the context window is, 0 to 100.

--- One thing that happened in a transcript. A client ignores a type that it does not know.
---@alias adjutant.SessionEvent adjutant.SessionEvent.runStart|adjutant.SessionEvent.runEnd|adjutant.SessionEvent.turnStart|adjutant.SessionEvent.turnEnd|adjutant.SessionEvent.messageStart|adjutant.SessionEvent.textDelta|adjutant.SessionEvent.thinkingDelta|adjutant.SessionEvent.toolCallDelta|adjutant.SessionEvent.messageEnd|adjutant.SessionEvent.toolStart|adjutant.SessionEvent.toolUpdate|adjutant.SessionEvent.toolEnd|adjutant.SessionEvent.customMessage|adjutant.SessionEvent.promptQueued|adjutant.SessionEvent.promptStarted|adjutant.SessionEvent.promptWithdrawn|adjutant.SessionEvent.steerQueued|adjutant.SessionEvent.steerDelivered|adjutant.SessionEvent.steerWithdrawn|adjutant.SessionEvent.steerExpired|adjutant.SessionEvent.retry|adjutant.SessionEvent.compactionStart|adjutant.SessionEvent.compactionEnd|adjutant.SessionEvent.modelChanged|adjutant.SessionEvent.usage

--- One event of a session that the client follows. A gap in `seq` means: subscribe again.
---@class adjutant.SessionEventParams
---@field sessionId string
---@field seq integer Counts this transcript's events from 1, for ever.
---@field event adjutant.SessionEvent

--- A session as it is now.
---@class adjutant.SessionInfo
---@field sessionId string
---@field title string
---@field cwd string
---@field model string `provider/name`; empty where none is chosen or can be had.
---@field thinking "off"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" How much a model may think before it answers.
---@field permissionMode "plan"|"ask"|"auto-edit"|"auto" What tools may do without asking. Ordered from strict to permissive: the smaller of two is the stricter.
---@field persisted boolean Whether it is on disk. False for an ephemeral one, and before its first prompt.
---@field usage adjutant.Usage
---@field entryCount integer
---@field running boolean Whether a run is active.
---@field file? string The path of its session file.

--- Opens a session, or makes one. With nothing given it is the folder's default session.
---@class adjutant.SessionOpenParams
---@field cwd? string The folder it works in; absent: the first workspace folder.
---@field ephemeral? boolean Nothing of it is written to disk.
---@field fork? any Not available in this version: refused.
---@field resume? string `latest`, or the id of a session on disk.
---@field sessionId? string The id for a new session, or of one that is open.

--- Starts a run, or waits for the active one to end and starts one then. Answered when that run has ended.
---@class adjutant.SessionPromptParams
---@field text string
---@field attachments? adjutant.Attachment[]
---@field origin? "user"|"command" Where a prompt comes from.
---@field promptId? string The client's own name for this prompt; absent: the server makes one.
---@field sessionId? string
---@field updatesToken? adjutant.ProgressToken Gets an `AgentUpdate` whenever one of the run's foreground agents gets on.
---@field workDoneToken? adjutant.ProgressToken Gets the run's work-done progress; a cancel on it aborts the run.

--- Sends a message into the active run.
---@class adjutant.SessionSteerParams
---@field text string
---@field sessionId? string

--- Follows a session: one page of its transcript now, then each event.
---@class adjutant.SessionSubscribeParams
---@field sessionId string
---@field fromSeq? integer Only entries from this seq on; absent: any. The page is the newest of them.
---@field limit? integer Entries in the page; absent: the server chooses.

--- Where a follower starts.
---@class adjutant.SessionSubscribeResult
---@field page adjutant.TranscriptPage
---@field nextSeq integer The `seq` of the first event that follows. An event below it is in the page already.

--- Takes a steering message back, if it was not delivered.
---@class adjutant.SessionUnsteerParams
---@field steerId string

--- Ends the events of a session.
---@class adjutant.SessionUnsubscribeParams
---@field sessionId string

--- Argument of `showAgent`.
---@class adjutant.ShowAgentArgs
---@field agentId? string
---@field handle? string
---@field sessionId? string

--- Argument of `showFleet`.
---@class adjutant.ShowFleetArgs

--- Argument of `showSession`.
---@class adjutant.ShowSessionArgs
---@field sessionId? string

--- Argument of `steer`.
---@class adjutant.SteerArgs
---@field agentId? string
---@field handle? string
---@field message? string
---@field sessionId? string

--- A steering message was taken.
---@class adjutant.SteerResult
---@field steerId string
---@field delivered "now"|"queued" When a steering message reaches the model.

--- Argument of `stopAll`.
---@class adjutant.StopAllArgs
---@field sessionId? string

--- Argument of `stop`.
---@class adjutant.StopArgs
---@field agentId? string
---@field handle? string
---@field scope? "one"|"subtree" How far a stop reaches.
---@field sessionId? string

--- An agent and the status that a stop left it in.
---@class adjutant.StoppedAgent
---@field agentId string
---@field status "running"|"queued"|"stopping"|"completed"|"steered"|"aborted"|"stopped"|"error"|"interrupted" The state of an agent's current run. The first final state of a run is its last.

--- An agent and everything under it.
---@class adjutant.SubtreeTotals
---@field agents integer Agents under it, itself not counted.
---@field running integer Those of them that have not ended.
---@field usage adjutant.Usage Its own usage and theirs.

--- Argument of `summary`.
---@class adjutant.SummaryArgs

--- A text that is too large to send unasked. The whole of it is answered to `adjutant/document` with `uri`.
---@class adjutant.TextRef
---@field bytes integer Its length in UTF-8 bytes.
---@field entryId string The entry whose text it is.
---@field uri string

--- A file that an agent read or changed.
---@class adjutant.TouchedFile
---@field uri string
---@field kind "read"|"edit" What was done to a file.
---@field at integer Milliseconds since the Unix epoch.
---@field ranges? adjutant.Range[]

--- A part of a transcript, oldest first; under 256 KiB.
---@class adjutant.TranscriptPage
---@field entries adjutant.Entry[]
---@field asOfSeq integer The last event that this page knows of.
---@field hasMore boolean Whether there are older entries: ask again with `before` = the `seq` of the first one here.
---@field total integer Entries in the whole transcript.
---@field partial? adjutant.PartialMessage The message that is being streamed; only in the newest page.

--- Whether a steering message was still there to take back.
---@class adjutant.UnsteerResult
---@field withdrawn boolean False: it was delivered, or withdrawn, before.

--- What model requests have used.
---@class adjutant.Usage
---@field input integer Prompt tokens that were neither read from nor written to a provider's cache.
---@field output integer Tokens that the model wrote, thinking included.
---@field cacheRead integer Prompt tokens read from a provider's cache.
---@field cacheWrite integer Prompt tokens written to a provider's cache.
---@field total integer `input + output + cacheWrite`. `cacheRead` is left out, since each request reads the whole prefix again.
---@field costUsd? number US dollars; absent where the price of any part is unknown, never 0 for "unknown".

--- A prompt or a steering message that was not sent.
---@class adjutant.WithdrawnText
---@field text string
---@field promptId? string
---@field steerId? string

--- The working tree that an agent has for itself.
---@class adjutant.WorktreeInfo
---@field state "active"|"clean"|"saved"|"kept" Where a working tree stands.
---@field base string The commit it began from.
---@field repository string
---@field branch? string The verified branch that holds its work.
---@field note? string Why it was kept.
---@field path? string

--- Method names.
M.methods = {
  --- Asks whether the server is well, and what it runs.
  ping = "adjutant/ping",
  --- Reads an `adjutant:` document, or a text that was sent by reference.
  document = "adjutant/document",
  --- Opens, resumes or makes a parent session.
  session_open = "adjutant/session/open",
  --- Closes a session; what is on disk stays.
  session_close = "adjutant/session/close",
  --- Runs a prompt, after the active run if there is one; answered when its run has ended.
  session_prompt = "adjutant/session/prompt",
  --- Sends a message into the active run.
  session_steer = "adjutant/session/steer",
  --- Takes a steering message back, if it was not delivered.
  session_unsteer = "adjutant/session/unsteer",
  --- Ends the active run and its foreground agents, and hands back what was queued.
  session_abort = "adjutant/session/abort",
  --- Follows a session: a page of its transcript, then its events.
  session_subscribe = "adjutant/session/subscribe",
  --- Ends the events of a session.
  session_unsubscribe = "adjutant/session/unsubscribe",
  --- One event of a session that the client follows.
  session_event = "adjutant/session/event",
  --- Lists all agents, a page at a time.
  fleet_list = "adjutant/fleet/list",
  --- Agents that are new, changed or gone.
  fleet_changed = "adjutant/fleet/changed",
  --- Starts an agent; answered at once.
  agent_spawn = "adjutant/agent/spawn",
  --- Sends a message to an agent that has not ended.
  agent_steer = "adjutant/agent/steer",
  --- Takes a steering message back, if it was not delivered.
  agent_unsteer = "adjutant/agent/unsteer",
  --- Stops an agent, with what is under it or alone; answered at once.
  agent_stop = "adjutant/agent/stop",
  --- Stops every agent of a session, or of the server.
  agent_stop_all = "adjutant/agent/stopAll",
  --- Continues a settled agent with a new prompt.
  agent_resume = "adjutant/agent/resume",
  --- Reads the result of a run as a person does.
  agent_result = "adjutant/agent/result",
  --- Tells that a person has seen the result of a run.
  agent_seen = "adjutant/agent/seen",
  --- Follows an agent: a page of its transcript, then its events.
  agent_open = "adjutant/agent/open",
  --- Ends the events of an agent.
  agent_close = "adjutant/agent/close",
  --- Reads an older page of an agent's transcript.
  agent_transcript = "adjutant/agent/transcript",
  --- One event of an agent that the client follows.
  agent_event = "adjutant/agent/event",
  --- Background runs have settled.
  agent_completed = "adjutant/agent/completed",
}

--- Names of the server's commands.
M.commands = {
  --- Runs a prompt in the session.
  prompt = "adjutant.server.prompt",
  --- Starts an agent.
  delegate = "adjutant.server.delegate",
  --- Starts an agent on the selection.
  delegate_selection = "adjutant.server.delegateSelection",
  --- Stops an agent.
  stop = "adjutant.server.stop",
  --- Stops every agent.
  stop_all = "adjutant.server.stopAll",
  --- Sends a message to an agent.
  steer = "adjutant.server.steer",
  --- Continues a settled agent.
  resume = "adjutant.server.resume",
  --- Ends the session's active run.
  abort = "adjutant.server.abort",
  --- Starts a new session in the folder.
  new_session = "adjutant.server.newSession",
  --- Opens a session from disk, the latest where none is named.
  resume_session = "adjutant.server.resumeSession",
  --- Opens the session's document.
  show_session = "adjutant.server.showSession",
  --- Opens an agent's document.
  show_agent = "adjutant.server.showAgent",
  --- Opens the fleet's document.
  show_fleet = "adjutant.server.showFleet",
  --- Says in one sentence what runs.
  summary = "adjutant.server.summary",
}

return M
