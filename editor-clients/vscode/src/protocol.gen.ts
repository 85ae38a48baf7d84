// Generated from schemas/ by the contract test. Do not edit.
/* eslint-disable */

/** The version of the contract that these types are of. */
export const PROTOCOL_VERSION = 1;

/** Argument of `abort`. */
export interface AbortArgs {
  sessionId?: string;
}

/** Ends the events of an agent. */
export interface AgentCloseParams {
  agentId: string;
}

/** Background runs have settled. */
export interface AgentCompletedParams {
  /** Counts these notifications from 1, for one life of the server. */
  seq: number;
  completions: Completion[];
  /** Others of the group still run. */
  partial: boolean;
  groupId?: string;
}

/** Agents by where they stand. */
export interface AgentCounts {
  queued: number;
  /** Those that are stopping counted in. */
  running: number;
  finished: number;
}

/** One event of an agent that the client follows. A gap in `seq` means: open again. */
export interface AgentEventParams {
  agentId: string;
  /** Counts this transcript's events from 1, for ever. */
  seq: number;
  event: SessionEvent;
}

/** Follows an agent: one page of its transcript now, then each event. */
export interface AgentOpenParams {
  agentId: string;
  /** Only entries from this seq on; absent: any. The page is the newest of them. */
  fromSeq?: number;
  /** Entries in the page; absent: the server chooses. */
  limit?: number;
}

/** Where a follower starts. */
export interface AgentOpenResult {
  summary: AgentSummary;
  page: TranscriptPage;
  /** The `seq` of the first event that follows. An event below it is in the page already. */
  nextSeq: number;
}

/** Reads a result as a person does: the parent's model is still told of it. */
export interface AgentResultParams {
  agentId: string;
  /** Absent: the last one. */
  run?: number;
  /** Whether `transcript` is wanted too. */
  verbose?: boolean;
}

/** What an agent has to say. */
export interface AgentResultResult {
  run: number;
  /** The state of an agent's current run. The first final state of a run is its last. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
  text: string;
  /** Of this run. */
  usage: Usage;
  /** The run has not ended, or did not end by itself. */
  partial: boolean;
  /** The run's conversation as text, if it was asked for. */
  transcript?: string;
}

/** Continues a settled agent with a new prompt, as its next run. */
export interface AgentResumeParams {
  prompt: string;
  /** This, or `handle`. */
  agentId?: string;
  /** False: it takes no place in the queue. */
  background?: boolean;
  handle?: string;
  /** Where `handle` is looked up; absent: the default session. */
  sessionId?: string;
  /** Whether its completion starts a turn of the parent's model, not only joins the next one. */
  wakeModel?: boolean;
}

/** A new run was taken on. */
export interface AgentResumeResult {
  agentId: string;
  run: number;
  /** The state of an agent's current run. The first final state of a run is its last. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
}

/** A person has seen this run's result. */
export interface AgentSeenParams {
  agentId: string;
  run: number;
}

/** Starts an agent. Answered at once; its result comes as a completion. */
export interface AgentSpawnParams {
  /** The agent type's name. */
  type: string;
  prompt: string;
  attachments?: Attachment[];
  /** False: it takes no place in the queue. */
  background?: boolean;
  /** What each of its runs may use. Where its type has a budget too, the smaller of each part binds. */
  budget?: Budget;
  /** A few words for the roster; absent: the start of the prompt. */
  description?: string;
  /** Not available in this version: refused. */
  inheritContext?: unknown;
  /** Only the built-in tools, and no agents of its own. Its type's own choice beats this one. */
  isolated?: boolean;
  /** Where it works. Its type's own choice beats this one. A worktree that cannot be had refuses the spawn. */
  isolation?: "off" | "worktree";
  maxTurns?: number;
  model?: string;
  /** A name to call it by. */
  name?: string;
  sessionId?: string;
  /** How much a model may think before it answers. */
  thinking?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Whether its completion starts a turn of the parent's model, not only joins the next one. */
  wakeModel?: boolean;
}

/** An agent was taken on. */
export interface AgentSpawnResult {
  agentId: string;
  run: number;
  handle: string;
  /** The state of an agent's current run. The first final state of a run is its last. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
}

/** Sends a message to an agent that has not ended. */
export interface AgentSteerParams {
  message: string;
  /** This, or `handle`. */
  agentId?: string;
  handle?: string;
  /** Where `handle` is looked up; absent: the default session. */
  sessionId?: string;
}

/** Stops all agents of a session; without one, of all sessions of this server. */
export interface AgentStopAllParams {
  sessionId?: string;
}

/** The agents that were asked to stop. */
export interface AgentStopAllResult {
  stopped: string[];
}

/** Stops an agent. Answered at once; the agent is `stopping` until nothing of it can act any more, at most 3 s. */
export interface AgentStopParams {
  /** This, or `handle`. */
  agentId?: string;
  handle?: string;
  /** How far a stop reaches. */
  scope?: "one" | "subtree";
  /** Where `handle` is looked up; absent: the default session. */
  sessionId?: string;
}

/** What a stop reached. Stopping an agent that has ended changes nothing and is no error. */
export interface AgentStopResult {
  stopped: StoppedAgent[];
}

/** One agent as a roster shows it: its current run, or its last. */
export interface AgentSummary {
  agentId: string;
  /** 1 for the spawn, one more for each resume. */
  run: number;
  /** The parent session at the root. */
  sessionId: string;
  /** Its short name, unique in its session. */
  handle: string;
  /** The agent type's name. */
  type: string;
  /** The agent type as people read it. */
  displayName: string;
  /** What it was asked to do; at most 120 characters. */
  description: string;
  /** A client shows a status that it does not know as ended. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
  isBackground: boolean;
  /** 1 under the parent session. */
  depth: number;
  cwd: string;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  /** Model requests of this run. */
  turns: number;
  /** Tool calls of this run. */
  toolUses: number;
  /** Of all its runs, its children's not counted in. */
  usage: Usage;
  subtree: SubtreeTotals;
  compactions: number;
  /** The model that it runs on, `provider/name`. */
  model: string;
  /** What tools may do without asking. Ordered from strict to permissive: the smaller of two is the stricter. */
  permissionMode: "plan" | "ask" | "auto-edit" | "auto";
  /** Short marks for people, such as `isolated`. */
  tags: string[];
  /** How many of its decisions wait for a person. */
  attention: number;
  resumable: boolean;
  /** No person has seen the result of its last run. */
  unread: boolean;
  /** The last 20, newest last. */
  files: TouchedFile[];
  filesTotal: number;
  /** What it does now, in words; at most 120 characters. */
  activity?: string;
  /** The name that a person gave it. */
  alias?: string;
  budget?: Budget;
  color?: string;
  /** Milliseconds since the Unix epoch. */
  completedAt?: number;
  /** How full its context window is, 0 to 100. */
  contextPercent?: number;
  /** Where the news of a background run stands on its way to the parent's model. */
  delivery?: "pending" | "held" | "delivered" | "consumed";
  /** Who ended a run. */
  endedBy?: "self" | "user" | "parent" | "limit" | "host";
  /** What went wrong; at most 500 characters. */
  error?: string;
  maxTurns?: number;
  /** The agent that started it; absent where the parent session did. */
  parentId?: string;
  /** Its place in the queue, from 1. */
  queuePosition?: number;
  /** Another server has its journal: every verb on it is refused. */
  readOnly?: boolean;
  /** Why a run ended, where its status alone does not say. */
  reason?: "maxTurns" | "wallClock" | "idle" | "noProgress" | "tokens" | "cost" | "repeatedCall" | "provider" | "setup" | "panic" | "lost" | "detached";
  /** The model that was asked for, where another had to do. */
  requestedModel?: string;
  /** The start of its result; at most 500 characters. */
  resultPreview?: string;
  /** Of the current or last run. */
  startedAt?: number;
  /** How much a model may think before it answers. */
  thinking?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  tool?: CurrentTool;
  /** The call that started it, where a model did. */
  toolCallId?: string;
  /** What a running agent waits for. */
  waitingOn?: "setup" | "model" | "tool" | "approval" | "child" | "retry" | "compaction";
  worktree?: WorktreeInfo;
}

/** Asks for an older page. */
export interface AgentTranscriptParams {
  agentId: string;
  /** Entries in the page, at most. */
  limit: number;
  /** Only entries before this seq; absent: any. The page is the newest of them. */
  before?: number;
}

/** Takes a steering message back, if it was not delivered. */
export interface AgentUnsteerParams {
  agentId: string;
  steerId: string;
}

/** A `$/progress` value on a prompt's `updatesToken`: how one of its agents is getting on. */
export interface AgentUpdate {
  /** The call in the parent's transcript. */
  toolCallId: string;
  agentId: string;
  run: number;
  summary: AgentSummary;
  /** The end of what it wrote last. */
  textTail?: string;
}

/** What a person sends along with a text. */
export type Attachment =
  /** A whole file, as the editor shows it where it is open. */
  | {
      type: "file";
      uri: string;
    }
  /** A part of a file. */
  | {
      type: "selection";
      uri: string;
      range: Range;
      /** The selected text; absent: the server reads it from the document. */
      text?: string;
    }
  /** A picture. */
  | {
      type: "image";
      mimeType: string;
      /** Base64. */
      data: string;
    }
  /** A problem that the editor shows. */
  | {
      type: "diagnostic";
      uri: string;
      /** A `Diagnostic` of the Language Server Protocol, as it is. */
      diagnostic: unknown;
    };

/** What a run may use; a part that is absent is not limited. */
export interface Budget {
  /** US dollars, more than 0. Requests whose price is unknown are not counted: they are not free, they cannot be measured. A limit of tokens binds there too. */
  costUsd?: number;
  /** Tokens that count towards [`Usage::total`]. */
  tokens?: number;
}

/** What a renderer makes of a tool's or an extension's details. Plain text: a client interprets no markup in it. */
export interface Card {
  /** A word that a client maps to a picture of its own; one that it does not know gets a default. */
  icon: string;
  title: string;
  lines: string[];
  actions: CardAction[];
}

/** Something that a person can do from a card. */
export interface CardAction {
  title: string;
  /** A command of the server. */
  command: string;
  /** The command's one argument object. */
  arguments?: unknown;
}

/** What a client can show: `capabilities.experimental.adjutant` of its `initialize`. What it does not declare it is not sent. */
export interface ClientCapability {
  /** The version it speaks. Another than the server's: it is served as a client that declared nothing, and told once. */
  protocolVersion: number;
  /** Shows what waits for a person. */
  attention?: boolean;
  /** Saves documents when asked. */
  documents?: boolean;
  /** Passes on the event bus. */
  events?: boolean;
  /** Has a roster: fleet changes and completions are sent. */
  fleet?: boolean;
  /** Offers the editor's own models. */
  modelHost?: boolean;
  /** Has viewers: events of the transcripts that it opened are sent. */
  viewer?: boolean;
}

/** News of one settled run. A client drops a key (`agentId`, `run`) that it has had. */
export interface Completion {
  agentId: string;
  run: number;
  sessionId: string;
  handle: string;
  /** The agent type's name. */
  type: string;
  description: string;
  /** Always a final one. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
  /** Who ended a run. */
  endedBy: "self" | "user" | "parent" | "limit" | "host";
  /** The start of its result; at most 500 characters. */
  resultPreview: string;
  /** Of this run. */
  usage: Usage;
  durationMs: number;
  toolUses: number;
  turns: number;
  error?: string;
  /** Why a run ended, where its status alone does not say. */
  reason?: "maxTurns" | "wallClock" | "idle" | "noProgress" | "tokens" | "cost" | "repeatedCall" | "provider" | "setup" | "panic" | "lost" | "detached";
  /** It settled in an earlier life of the server and is announced only now. */
  restored?: boolean;
  /** The path of its transcript file. */
  transcript?: string;
  worktree?: WorktreeInfo;
}

/** The tool call that runs now. */
export interface CurrentTool {
  /** What a tool does, in the words of the Agent Client Protocol. */
  kind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
  title: string;
  /** Milliseconds since the Unix epoch. */
  startedAt: number;
  range?: Range;
  uri?: string;
}

/** Argument of `delegate`. */
export interface DelegateArgs {
  description?: string;
  prompt?: string;
  sessionId?: string;
  /** The agent type's name. */
  type?: string;
}

/** Argument of `delegateSelection`. */
export interface DelegateSelectionArgs {
  /** What to do with the selection. */
  prompt?: string;
  range?: Range;
  sessionId?: string;
  /** The agent type's name. */
  type?: string;
  uri?: string;
}

/** Asks for the text of an `adjutant:` document. */
export interface DocumentParams {
  /** `adjutant://session/<id>`, `adjutant://agent/<id>`, `adjutant://fleet`, or the `uri` of a `TextRef`. */
  uri: string;
}

/** A document as it is now. */
export interface DocumentResult {
  text: string;
  /** The editor's word for its syntax, such as `markdown`. */
  languageId: string;
  /** Grows whenever the text changes. */
  revision: number;
}

/** The answer of a method that has nothing to say but that it was done. */
export type Empty = Record<string, never>;

/** One entry of a transcript. A client shows a kind that it does not know by its name, or not at all. */
export type Entry =
  /** The text that a run answers. */
  | {
      kind: "prompt";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
      promptId?: string;
      /** In place of `text` where that is over 32 KiB. */
      ref?: TextRef;
      text?: string;
    }
  /** A message that reached the model during a run. */
  | {
      kind: "steer";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      text: string;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
      steerId: string;
    }
  /** What the model wrote in one turn; its calls are entries of their own. */
  | {
      kind: "assistant";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      /** Why the model stopped, in its provider's sense: `stop`, `toolUse`, `length`, `refusal`, `error`, `aborted`. */
      stopReason: string;
      /** `provider/name`. */
      model: string;
      /** Of this turn. */
      usage: Usage;
      /** In place of `text` where that is over 32 KiB. */
      ref?: TextRef;
      text?: string;
      thinking?: string;
    }
  /** A tool call. */
  | {
      kind: "tool";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      toolCallId: string;
      name: string;
      /** What a tool does, in the words of the Agent Client Protocol. */
      toolKind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
      title: string;
      locations: Location[];
      /** The agent that this call started or speaks to. */
      agentId?: string;
      card?: Card;
      /** Absent while it runs. */
      outcome?: "ok" | "error" | "denied" | "cancelled";
      /** In place of `text` where that is over 32 KiB. */
      ref?: TextRef;
      text?: string;
    }
  /** A message that an extension put here, such as the news of a settled agent. */
  | {
      kind: "customMessage";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      customType: string;
      card: Card;
    }
  /** Something that a person should know and no model is told: a retry, a compaction, another model. */
  | {
      kind: "notice";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      /** How much a notice matters. */
      level: "info" | "warning" | "error";
      text: string;
    }
  /** A run ended here. */
  | {
      kind: "run";
      entryId: string;
      /** The last event that went into it; an entry that goes on, such as a running call, moves with it. */
      seq: number;
      /** Milliseconds since the Unix epoch. */
      at: number;
      /** The run it belongs to, counted from 1 in its transcript; 0 before the first. */
      run: number;
      /** Milliseconds since the Unix epoch. */
      startedAt: number;
      /** Why a session's run stopped. */
      stopReason: "endTurn" | "aborted" | "error" | "refusal" | "length" | "limit";
      turns: number;
      /** Of this run. */
      usage: Usage;
      error?: string;
      /** In a parent session. */
      runId?: string;
    };

/** Why a request was not answered with a result. */
export type ErrorCode = "unknownMethod" | "unknownAgent" | "unknownType" | "modelUnavailable" | "noCredentials" | "worktreeUnavailable" | "limitReached" | "unknownSession" | "parseError" | "invalidRequest" | "badParams" | "internal" | "notInitialized" | "cancelled" | "contentModified" | "failed" | "notRunning" | "conflict" | "untrusted" | "alreadyClosed";

/** `data` of an error. */
export interface ErrorData {
  kind: ErrorCode;
  /** What to do next. */
  hint?: string;
}

/** What changed in the fleet. Another `epoch`, or a `baseRevision` that is not the client's revision: list again. */
export interface FleetChangedParams {
  epoch: string;
  /** The revision that this change leads to. */
  revision: number;
  /** The revision that it starts from. */
  baseRevision: number;
  /** Milliseconds since the Unix epoch. */
  serverNow: number;
  /** New or changed agents, each whole. */
  upserted: AgentSummary[];
  removed: string[];
}

/** Asks for the whole fleet, a page at a time. */
export interface FleetListParams {
  /** `nextCursor` of the page before. All pages are of one revision; if it passed, the answer is "content modified": begin again without a cursor. */
  cursor?: string;
  limit?: number;
}

/** One page of the fleet. */
export interface FleetListResult {
  /** Names this life of the server; another one means that nothing known before holds. */
  epoch: string;
  revision: number;
  /** The server's clock, from which a client works out elapsed times. */
  serverNow: number;
  agents: AgentSummary[];
  limits: Limits;
  nextCursor?: string;
}

/** `initializationOptions`. */
export interface InitOptions {
  /** The model of new sessions, `provider/name`. */
  model?: string;
  /** The client's `adjutant` section; a dot in a key is nesting. */
  settings?: Record<string, unknown>;
  /** Whether the editor trusts the folders. Absent: the answer kept from before holds. */
  trusted?: boolean;
}

/** The limits in force. 0 means none. */
export interface Limits {
  /** Background agents of one session that run at one time. */
  maxConcurrent: number;
  /** How deep agents may start agents; the parent session is depth 0. */
  maxSubagentDepth: number;
  /** Of one run, in milliseconds. */
  wallClockMs: number;
  /** How long a model request may stay without a byte, in milliseconds. */
  idleMs: number;
  /** Turns in a row with nothing new. */
  noProgressTurns: number;
  /** Tokens of one run. */
  tokens: number;
  /** US dollars of one run. */
  costUsd: number;
  /** Agents that are queued, running or stopping under one root session. */
  descendants: number;
  /** The same call with the same result in a row. */
  identicalCalls: number;
}

/** A place that a tool call is about. */
export interface Location {
  uri: string;
  range?: Range;
}

/** Arguments of [`command::NewSession`]. */
export type NewSessionArgs = Record<string, never>;

/** A message that is not whole yet. */
export interface PartialMessage {
  entryId: string;
  text: string;
  /** Where `text` begins, in UTF-8 bytes; over 0 where the head of a long message is left out. The next delta's `offset` is this and the length of `text`. */
  textOffset: number;
  /** As `text`. */
  thinking: string;
  thinkingOffset: number;
}

/** Asks whether the server is well. */
export type PingParams = Record<string, never>;

/** How the server is. */
export interface PingResult {
  protocolVersion: number;
  serverVersion: string;
  uptimeMs: number;
  /** Parent sessions that are open. */
  sessions: number;
  agents: AgentCounts;
}

/** A place in a document, counted from 0. `character` counts in the position encoding agreed at `initialize`. */
export interface Position {
  line: number;
  character: number;
}

/** The name under which `$/progress` values arrive; made by whoever asked for them. */
export type ProgressToken = number | string;

/** Argument of `prompt`. */
export interface PromptArgs {
  range?: Range;
  sessionId?: string;
  text?: string;
  /** The document that is looked at, with `range` the selection in it. */
  uri?: string;
}

/** What a prompt came to. */
export interface PromptResult {
  runId: string;
  /** Why a session's run stopped. */
  stopReason: "endTurn" | "aborted" | "error" | "refusal" | "length" | "limit";
  /** Who took a prompt. */
  disposition: "forwarded" | "routed";
  /** Of this run. */
  usage: Usage;
  error?: string;
  /** Where it went, if `disposition` is `routed`. */
  routed?: RoutedPrompt;
  /** The last text of the run. */
  text?: string;
}

/** A part of a document; `end` is not in it. */
export interface Range {
  start: Position;
  end: Position;
}

/** Argument of `resume`. */
export interface ResumeArgs {
  agentId?: string;
  handle?: string;
  prompt?: string;
  sessionId?: string;
}

/** Arguments of [`command::ResumeSession`]. */
export interface ResumeSessionArgs {
  /** Absent: the newest of the folder that nobody has open. */
  sessionId?: string;
}

/** The agent that a prompt went to. */
export interface RoutedPrompt {
  agentId: string;
  /** What a routed prompt did. */
  action: "message" | "resume" | "reopen" | "start";
}

/** What the server offers: `capabilities.experimental.adjutant` of its answer to `initialize`. */
export interface ServerCapability {
  protocolVersion: number;
  serverVersion: string;
  /** Every method of this contract that this server knows, in either direction. */
  methods: string[];
  limits: Limits;
}

/** Ends the active run and its foreground agents; queued prompts and steers are not sent. */
export interface SessionAbortParams {
  sessionId?: string;
}

/** What an abort did. */
export interface SessionAbortResult {
  /** False: no run was active. */
  aborted: boolean;
  /** Background agents of the session, which go on. */
  backgroundRunning: number;
  /** What was not sent, so that a client can offer the texts again. */
  withdrawn: WithdrawnText[];
}

/** Closes a session: its run is aborted, its agents are stopped; what is on disk stays. */
export interface SessionCloseParams {
  sessionId: string;
}

/** One thing that happened in a transcript. A client ignores a type that it does not know. */
export type SessionEvent =
  /** A run begins: a prompt, a wake or a resume. */
  | {
      type: "runStart";
      /** Counts the runs of this transcript from 1. */
      run: number;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
      /** The prompt that it answers. */
      promptId?: string;
      /** In a parent session. */
      runId?: string;
    }
  /** A run is over. */
  | {
      type: "runEnd";
      run: number;
      /** Why a session's run stopped. */
      stopReason: "endTurn" | "aborted" | "error" | "refusal" | "length" | "limit";
      /** Of this run. */
      usage: Usage;
      error?: string;
      runId?: string;
    }
  /** A model request begins. */
  | {
      type: "turnStart";
      /** Counts the turns of this run from 1. */
      turn: number;
    }
  /** A model request and the calls it asked for are over. */
  | {
      type: "turnEnd";
      turn: number;
      /** Of this turn. */
      usage: Usage;
    }
  /** A message begins. A prompt or a steer follows whole, in `messageEnd`. */
  | {
      type: "messageStart";
      entryId: string;
      /** Whose message it is. */
      role: "assistant" | "user";
    }
  /** More text of the message. */
  | {
      type: "textDelta";
      entryId: string;
      /** Where it goes: the length, in UTF-8 bytes, of the text before it. At less than what the client has, it is known already; at more, something is missing: open again. */
      offset: number;
      text: string;
    }
  /** More thinking of the message; `offset` counts in the thinking alone. */
  | {
      type: "thinkingDelta";
      entryId: string;
      offset: number;
      text: string;
    }
  /** More of the arguments of a call that the model is writing. */
  | {
      type: "toolCallDelta";
      entryId: string;
      toolCallId: string;
      name: string;
      /** As `offset` of a text, in the arguments' JSON text. */
      offset: number;
      text: string;
    }
  /** The message is whole. It replaces what the deltas built. */
  | {
      type: "messageEnd";
      entryId: string;
      /** Whose message it is. */
      role: "assistant" | "user";
      /** Who wrote a message of role `user`. */
      author?: "user" | "parent" | "host";
      /** In place of `text` where that is over 32 KiB. */
      ref?: TextRef;
      text?: string;
      /** Of an assistant's message. */
      thinking?: string;
    }
  /** A tool call begins. */
  | {
      type: "toolStart";
      toolCallId: string;
      /** The tool's name, as its model calls it. */
      name: string;
      /** What a tool does, in the words of the Agent Client Protocol. */
      kind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
      title: string;
      locations: Location[];
      /** The agent that this call started or speaks to. */
      agentId?: string;
    }
  /** A tool call has something to show; each update replaces the one before. */
  | {
      type: "toolUpdate";
      toolCallId: string;
      card?: Card;
      text?: string;
    }
  /** A tool call is over. */
  | {
      type: "toolEnd";
      toolCallId: string;
      /** How a tool call ended. */
      outcome: "ok" | "error" | "denied" | "cancelled";
      card?: Card;
      /** In place of `text` where that is over 32 KiB. */
      ref?: TextRef;
      text?: string;
    }
  /** An extension put a message into the transcript. */
  | {
      type: "customMessage";
      entryId: string;
      customType: string;
      card: Card;
    }
  /** A prompt waits for the active run to end. */
  | {
      type: "promptQueued";
      promptId: string;
    }
  /** A prompt's run begins. */
  | {
      type: "promptStarted";
      promptId: string;
    }
  /** A queued prompt was taken back. */
  | {
      type: "promptWithdrawn";
      promptId: string;
    }
  /** A steering message waits for a turn boundary. */
  | {
      type: "steerQueued";
      steerId: string;
      text: string;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
    }
  /** The model has a steering message. */
  | {
      type: "steerDelivered";
      steerId: string;
      text: string;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
    }
  /** A steering message was taken back. */
  | {
      type: "steerWithdrawn";
      steerId: string;
      text: string;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
    }
  /** The run ended before a steering message could be delivered. */
  | {
      type: "steerExpired";
      steerId: string;
      text: string;
      /** Who wrote a message to a model. */
      author: "user" | "parent" | "host";
    }
  /** A model request failed and is made again. */
  | {
      type: "retry";
      /** The attempt that comes, from 2. */
      attempt: number;
      maxAttempts: number;
      /** How long the server waits before it. */
      delayMs: number;
      error: string;
    }
  /** The history is being shortened. */
  | {
      type: "compactionStart";
    }
  /** The history was shortened, or could not be. */
  | {
      type: "compactionEnd";
      error?: string;
      tokensAfter?: number;
      tokensBefore?: number;
    }
  /** Another model, or another thinking level, from here on. */
  | {
      type: "modelChanged";
      model: string;
      /** How much a model may think before it answers. */
      thinking?: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
    }
  /** What the transcript's owner has used so far. */
  | {
      type: "usage";
      usage: Usage;
      /** How full the context window is, 0 to 100. */
      contextPercent?: number;
    };

/** One event of a session that the client follows. A gap in `seq` means: subscribe again. */
export interface SessionEventParams {
  sessionId: string;
  /** Counts this transcript's events from 1, for ever. */
  seq: number;
  event: SessionEvent;
}

/** A session as it is now. */
export interface SessionInfo {
  sessionId: string;
  title: string;
  cwd: string;
  /** `provider/name`; empty where none is chosen or can be had. */
  model: string;
  /** How much a model may think before it answers. */
  thinking: "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** What tools may do without asking. Ordered from strict to permissive: the smaller of two is the stricter. */
  permissionMode: "plan" | "ask" | "auto-edit" | "auto";
  /** Whether it is on disk. False for an ephemeral one, and before its first prompt. */
  persisted: boolean;
  usage: Usage;
  entryCount: number;
  /** Whether a run is active. */
  running: boolean;
  /** The path of its session file. */
  file?: string;
}

/** Opens a session, or makes one. With nothing given it is the folder's default session. */
export interface SessionOpenParams {
  /** The folder it works in; absent: the first workspace folder. */
  cwd?: string;
  /** Nothing of it is written to disk. */
  ephemeral?: boolean;
  /** Not available in this version: refused. */
  fork?: unknown;
  /** `latest`, or the id of a session on disk. */
  resume?: string;
  /** The id for a new session, or of one that is open. */
  sessionId?: string;
}

/** Starts a run, or waits for the active one to end and starts one then. Answered when that run has ended. */
export interface SessionPromptParams {
  text: string;
  attachments?: Attachment[];
  /** Where a prompt comes from. */
  origin?: "user" | "command";
  /** The client's own name for this prompt; absent: the server makes one. */
  promptId?: string;
  sessionId?: string;
  /** Gets an `AgentUpdate` whenever one of the run's foreground agents gets on. */
  updatesToken?: ProgressToken;
  /** Gets the run's work-done progress; a cancel on it aborts the run. */
  workDoneToken?: ProgressToken;
}

/** Sends a message into the active run. */
export interface SessionSteerParams {
  text: string;
  sessionId?: string;
}

/** Follows a session: one page of its transcript now, then each event. */
export interface SessionSubscribeParams {
  sessionId: string;
  /** Only entries from this seq on; absent: any. The page is the newest of them. */
  fromSeq?: number;
  /** Entries in the page; absent: the server chooses. */
  limit?: number;
}

/** Where a follower starts. */
export interface SessionSubscribeResult {
  page: TranscriptPage;
  /** The `seq` of the first event that follows. An event below it is in the page already. */
  nextSeq: number;
}

/** Takes a steering message back, if it was not delivered. */
export interface SessionUnsteerParams {
  steerId: string;
}

/** Ends the events of a session. */
export interface SessionUnsubscribeParams {
  sessionId: string;
}

/** Argument of `showAgent`. */
export interface ShowAgentArgs {
  agentId?: string;
  handle?: string;
  sessionId?: string;
}

/** Argument of `showFleet`. */
export type ShowFleetArgs = Record<string, never>;

/** Argument of `showSession`. */
export interface ShowSessionArgs {
  sessionId?: string;
}

/** Argument of `steer`. */
export interface SteerArgs {
  agentId?: string;
  handle?: string;
  message?: string;
  sessionId?: string;
}

/** A steering message was taken. */
export interface SteerResult {
  steerId: string;
  /** When a steering message reaches the model. */
  delivered: "now" | "queued";
}

/** Argument of `stopAll`. */
export interface StopAllArgs {
  sessionId?: string;
}

/** Argument of `stop`. */
export interface StopArgs {
  agentId?: string;
  handle?: string;
  /** How far a stop reaches. */
  scope?: "one" | "subtree";
  sessionId?: string;
}

/** An agent and the status that a stop left it in. */
export interface StoppedAgent {
  agentId: string;
  /** The state of an agent's current run. The first final state of a run is its last. */
  status: "running" | "queued" | "stopping" | "completed" | "steered" | "aborted" | "stopped" | "error" | "interrupted";
}

/** An agent and everything under it. */
export interface SubtreeTotals {
  /** Agents under it, itself not counted. */
  agents: number;
  /** Those of them that have not ended. */
  running: number;
  /** Its own usage and theirs. */
  usage: Usage;
}

/** Argument of `summary`. */
export type SummaryArgs = Record<string, never>;

/** A text that is too large to send unasked. The whole of it is answered to `adjutant/document` with `uri`. */
export interface TextRef {
  /** Its length in UTF-8 bytes. */
  bytes: number;
  /** The entry whose text it is. */
  entryId: string;
  uri: string;
}

/** A file that an agent read or changed. */
export interface TouchedFile {
  uri: string;
  /** What was done to a file. */
  kind: "read" | "edit";
  /** Milliseconds since the Unix epoch. */
  at: number;
  ranges?: Range[];
}

/** A part of a transcript, oldest first; under 256 KiB. */
export interface TranscriptPage {
  entries: Entry[];
  /** The last event that this page knows of. */
  asOfSeq: number;
  /** Whether there are older entries: ask again with `before` = the `seq` of the first one here. */
  hasMore: boolean;
  /** Entries in the whole transcript. */
  total: number;
  /** The message that is being streamed; only in the newest page. */
  partial?: PartialMessage;
}

/** Whether a steering message was still there to take back. */
export interface UnsteerResult {
  /** False: it was delivered, or withdrawn, before. */
  withdrawn: boolean;
}

/** What model requests have used. */
export interface Usage {
  /** Prompt tokens that were neither read from nor written to a provider's cache. */
  input: number;
  /** Tokens that the model wrote, thinking included. */
  output: number;
  /** Prompt tokens read from a provider's cache. */
  cacheRead: number;
  /** Prompt tokens written to a provider's cache. */
  cacheWrite: number;
  /** `input + output + cacheWrite`. `cacheRead` is left out, since each request reads the whole prefix again. */
  total: number;
  /** US dollars; absent where the price of any part is unknown, never 0 for "unknown". */
  costUsd?: number;
}

/** A prompt or a steering message that was not sent. */
export interface WithdrawnText {
  text: string;
  promptId?: string;
  steerId?: string;
}

/** The working tree that an agent has for itself. */
export interface WorktreeInfo {
  /** Where a working tree stands. */
  state: "active" | "clean" | "saved" | "kept";
  /** The commit it began from. */
  base: string;
  repository: string;
  /** The verified branch that holds its work. */
  branch?: string;
  /** Why it was kept. */
  note?: string;
  path?: string;
}

/** Method names. */
export const Methods = {
  /** Asks whether the server is well, and what it runs. */
  ping: "adjutant/ping",
  /** Reads an `adjutant:` document, or a text that was sent by reference. */
  document: "adjutant/document",
  /** Opens, resumes or makes a parent session. */
  sessionOpen: "adjutant/session/open",
  /** Closes a session; what is on disk stays. */
  sessionClose: "adjutant/session/close",
  /** Runs a prompt, after the active run if there is one; answered when its run has ended. */
  sessionPrompt: "adjutant/session/prompt",
  /** Sends a message into the active run. */
  sessionSteer: "adjutant/session/steer",
  /** Takes a steering message back, if it was not delivered. */
  sessionUnsteer: "adjutant/session/unsteer",
  /** Ends the active run and its foreground agents, and hands back what was queued. */
  sessionAbort: "adjutant/session/abort",
  /** Follows a session: a page of its transcript, then its events. */
  sessionSubscribe: "adjutant/session/subscribe",
  /** Ends the events of a session. */
  sessionUnsubscribe: "adjutant/session/unsubscribe",
  /** One event of a session that the client follows. */
  sessionEvent: "adjutant/session/event",
  /** Lists all agents, a page at a time. */
  fleetList: "adjutant/fleet/list",
  /** Agents that are new, changed or gone. */
  fleetChanged: "adjutant/fleet/changed",
  /** Starts an agent; answered at once. */
  agentSpawn: "adjutant/agent/spawn",
  /** Sends a message to an agent that has not ended. */
  agentSteer: "adjutant/agent/steer",
  /** Takes a steering message back, if it was not delivered. */
  agentUnsteer: "adjutant/agent/unsteer",
  /** Stops an agent, with what is under it or alone; answered at once. */
  agentStop: "adjutant/agent/stop",
  /** Stops every agent of a session, or of the server. */
  agentStopAll: "adjutant/agent/stopAll",
  /** Continues a settled agent with a new prompt. */
  agentResume: "adjutant/agent/resume",
  /** Reads the result of a run as a person does. */
  agentResult: "adjutant/agent/result",
  /** Tells that a person has seen the result of a run. */
  agentSeen: "adjutant/agent/seen",
  /** Follows an agent: a page of its transcript, then its events. */
  agentOpen: "adjutant/agent/open",
  /** Ends the events of an agent. */
  agentClose: "adjutant/agent/close",
  /** Reads an older page of an agent's transcript. */
  agentTranscript: "adjutant/agent/transcript",
  /** One event of an agent that the client follows. */
  agentEvent: "adjutant/agent/event",
  /** Background runs have settled. */
  agentCompleted: "adjutant/agent/completed",
} as const;

/** Names of the server's commands. */
export const Commands = {
  /** Runs a prompt in the session. */
  prompt: "adjutant.server.prompt",
  /** Starts an agent. */
  delegate: "adjutant.server.delegate",
  /** Starts an agent on the selection. */
  delegateSelection: "adjutant.server.delegateSelection",
  /** Stops an agent. */
  stop: "adjutant.server.stop",
  /** Stops every agent. */
  stopAll: "adjutant.server.stopAll",
  /** Sends a message to an agent. */
  steer: "adjutant.server.steer",
  /** Continues a settled agent. */
  resume: "adjutant.server.resume",
  /** Ends the session's active run. */
  abort: "adjutant.server.abort",
  /** Starts a new session in the folder. */
  newSession: "adjutant.server.newSession",
  /** Opens a session from disk, the latest where none is named. */
  resumeSession: "adjutant.server.resumeSession",
  /** Opens the session's document. */
  showSession: "adjutant.server.showSession",
  /** Opens an agent's document. */
  showAgent: "adjutant.server.showAgent",
  /** Opens the fleet's document. */
  showFleet: "adjutant.server.showFleet",
  /** Says in one sentence what runs. */
  summary: "adjutant.server.summary",
} as const;

export interface ClientRequests {
  "adjutant/ping": { params: PingParams; result: PingResult };
  "adjutant/document": { params: DocumentParams; result: DocumentResult };
  "adjutant/session/open": { params: SessionOpenParams; result: SessionInfo };
  "adjutant/session/close": { params: SessionCloseParams; result: Empty };
  "adjutant/session/prompt": { params: SessionPromptParams; result: PromptResult };
  "adjutant/session/steer": { params: SessionSteerParams; result: SteerResult };
  "adjutant/session/unsteer": { params: SessionUnsteerParams; result: UnsteerResult };
  "adjutant/session/abort": { params: SessionAbortParams; result: SessionAbortResult };
  "adjutant/session/subscribe": { params: SessionSubscribeParams; result: SessionSubscribeResult };
  "adjutant/session/unsubscribe": { params: SessionUnsubscribeParams; result: Empty };
  "adjutant/fleet/list": { params: FleetListParams; result: FleetListResult };
  "adjutant/agent/spawn": { params: AgentSpawnParams; result: AgentSpawnResult };
  "adjutant/agent/steer": { params: AgentSteerParams; result: SteerResult };
  "adjutant/agent/unsteer": { params: AgentUnsteerParams; result: UnsteerResult };
  "adjutant/agent/stop": { params: AgentStopParams; result: AgentStopResult };
  "adjutant/agent/stopAll": { params: AgentStopAllParams; result: AgentStopAllResult };
  "adjutant/agent/resume": { params: AgentResumeParams; result: AgentResumeResult };
  "adjutant/agent/result": { params: AgentResultParams; result: AgentResultResult };
  "adjutant/agent/seen": { params: AgentSeenParams; result: Empty };
  "adjutant/agent/open": { params: AgentOpenParams; result: AgentOpenResult };
  "adjutant/agent/close": { params: AgentCloseParams; result: Empty };
  "adjutant/agent/transcript": { params: AgentTranscriptParams; result: TranscriptPage };
}

export interface ServerNotifications {
  "adjutant/session/event": SessionEventParams;
  "adjutant/fleet/changed": FleetChangedParams;
  "adjutant/agent/event": AgentEventParams;
  "adjutant/agent/completed": AgentCompletedParams;
}
