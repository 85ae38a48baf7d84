// A test double of the server: the wire contract over stdio, with agents that follow a script in place of a model.
//
// What a prompt says decides what its agent does: `slow` works until it is stopped or steered, `fail` ends with an error,
// `nest` starts two agents of its own, `gap` leaves out an event. `--scene` starts with a fleet in every state.
// A session prompt that says `crash` ends the process at once.

import { randomUUID } from 'node:crypto';
import {
  Methods,
  PROTOCOL_VERSION,
  type AgentSummary,
  type ClientRequests,
  type Completion,
  type Entry,
  type Limits,
  type ServerNotifications,
  type SessionEvent,
  type SessionInfo,
  type TranscriptPage,
  type Usage,
} from '../src/protocol.gen';
import { agent as newAgent, scene } from './scene';

const LIMITS: Limits = {
  maxConcurrent: 10,
  maxSubagentDepth: 2,
  wallClockMs: 0,
  idleMs: 300_000,
  noProgressTurns: 25,
  tokens: 0,
  costUsd: 0,
  descendants: 256,
  identicalCalls: 10,
};
const STEP_MS = Number(process.env['FAKE_STEP_MS'] ?? 120);
const SESSION = 'session-1';
const cwd = process.cwd();

class Failure extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

// ---- frames

function send(message: object): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
}

function notify<M extends keyof ServerNotifications>(method: M, params: ServerNotifications[M]): void {
  send({ method, params });
}

let input = Buffer.alloc(0);
process.stdin.on('data', (chunk: Buffer) => {
  input = Buffer.concat([input, chunk]);
  for (;;) {
    const head = input.indexOf('\r\n\r\n');
    const length = head < 0 ? undefined : /content-length: *(\d+)/i.exec(input.subarray(0, head).toString())?.[1];
    if (length === undefined || input.length < head + 4 + Number(length)) return;
    const end = head + 4 + Number(length);
    const message = JSON.parse(input.subarray(head + 4, end).toString()) as Message;
    input = input.subarray(end);
    void handle(message);
  }
});
process.stdin.on('end', () => process.exit(0));

interface Message {
  id?: number | string;
  method?: string;
  params?: unknown;
}

const cancelled = new Map<number | string, () => void>();

async function handle({ id, method, params }: Message): Promise<void> {
  if (method === undefined) return;
  if (method === 'exit') process.exit(0);
  if (method === '$/cancelRequest') cancelled.get((params as { id: number | string }).id)?.();
  if (method === 'initialized') publish();
  if (id === undefined) return;
  try {
    const run = requests[method];
    if (!run) throw new Failure(-32601, `${method} is not known`);
    send({ id, result: await run(params as never, id) });
  } catch (error) {
    const { code, message, hint } = error instanceof Failure ? error : new Failure(-32603, String(error));
    send({ id, error: { code, message, ...(hint ? { data: { kind: 'failed', hint } } : {}) } });
  }
}

// ---- transcripts

class Log {
  private seq = 0;
  private readonly entries: Entry[] = [];
  watched = false;
  run = 1;
  /** Events that are made and not sent. */
  skip = 0;

  constructor(private readonly tell: (seq: number, event: SessionEvent) => void) {}

  get nextSeq(): number {
    return this.seq + 1;
  }

  event(event: SessionEvent, entry?: (common: { entryId: string; seq: number; at: number; run: number }) => Entry): void {
    this.seq += 1;
    if (entry) this.entries.push(entry({ entryId: `e${this.seq}`, seq: this.seq, at: Date.now(), run: this.run }));
    if (this.skip > 0) this.skip -= 1;
    else if (this.watched) this.tell(this.seq, event);
  }

  page(before = Infinity, limit = 200): TranscriptPage {
    const all = this.entries.filter((entry) => entry.seq < before);
    const entries = all.slice(-limit);
    return { entries, asOfSeq: this.seq, hasMore: all.length > entries.length, total: this.entries.length };
  }

  prompt(text: string, author: 'user' | 'parent' | 'host'): void {
    this.event({ type: 'runStart', run: this.run, author });
    const entryId = `e${this.seq + 1}`;
    this.event({ type: 'messageEnd', entryId, role: 'user', text, author }, (common) => ({ ...common, entryId, kind: 'prompt', text, author }));
  }

  async answer(text: string, thinking = ''): Promise<void> {
    const entryId = `a${this.seq + 1}`;
    this.event({ type: 'messageStart', entryId, role: 'assistant' });
    if (thinking) this.event({ type: 'thinkingDelta', entryId, offset: 0, text: thinking });
    let offset = 0;
    for (const part of text.split(/(?<=\s)/)) {
      this.event({ type: 'textDelta', entryId, offset, text: part });
      offset += Buffer.byteLength(part);
      await wait(STEP_MS / 10);
    }
    this.event({ type: 'messageEnd', entryId, role: 'assistant', text, ...(thinking ? { thinking } : {}) }, (common) => ({
      ...common,
      entryId,
      kind: 'assistant',
      text,
      ...(thinking ? { thinking } : {}),
      stopReason: 'stop',
      model: 'fake/scripted',
      usage: usage(1),
    }));
  }

  async tool(name: string, kind: 'read' | 'search' | 'execute', title: string, text: string, file?: string): Promise<void> {
    const toolCallId = `t${this.seq + 1}`;
    const locations = file ? [{ uri: `file://${cwd}/${file}`, range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } } }] : [];
    this.event({ type: 'toolStart', toolCallId, name, kind, title, locations }, (common) => ({ ...common, kind: 'tool', toolCallId, name, toolKind: kind, title, locations }));
    const entry = this.entries.at(-1);
    await wait(STEP_MS);
    if (entry?.kind === 'tool') Object.assign(entry, { outcome: 'ok', text });
    this.event({ type: 'toolEnd', toolCallId, outcome: 'ok', text });
  }

  end(stopReason: 'endTurn' | 'aborted' | 'error', error?: string): void {
    const fault = error ? { error } : {};
    this.event({ type: 'runEnd', run: this.run, stopReason, usage: usage(3), ...fault }, (common) => ({
      ...common,
      kind: 'run',
      startedAt: Date.now() - 1_000,
      stopReason,
      turns: 3,
      usage: usage(3),
      ...fault,
    }));
  }
}

function usage(turns: number): Usage {
  return { input: 1_200 * turns, output: 150 * turns, cacheRead: 800 * turns, cacheWrite: 0, total: 1_350 * turns };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// ---- the fleet

const epoch = randomUUID();
let revision = 0;
let published = 0;
const agents = new Map<string, AgentSummary>();
const logs = new Map<string, Log>();
const stops = new Map<string, () => void>();
const dirty = new Set<string>();
let completionSeq = 0;

function change(agentId: string, fields: Partial<AgentSummary>): void {
  const agent = agents.get(agentId);
  if (!agent) return;
  agents.set(agentId, { ...agent, ...fields });
  revision += 1;
  dirty.add(agentId);
}

function publish(): void {
  if (revision === published) return;
  const upserted = [...dirty].flatMap((id) => agents.get(id) ?? []);
  dirty.clear();
  notify(Methods.fleetChanged, { epoch, revision, baseRevision: published, serverNow: Date.now(), upserted, removed: [] });
  published = revision;
}
setInterval(publish, 50);

function logOf(agentId: string): Log {
  let log = logs.get(agentId);
  if (!log) {
    log = new Log((seq, event) => {
      notify(Methods.agentEvent, { agentId, seq, event });
    });
    logs.set(agentId, log);
  }
  return log;
}

function spawn(type: string, prompt: string, parentId?: string): AgentSummary {
  const number = [...agents.values()].filter((agent) => agent.type === type).length + 1;
  const parent = parentId === undefined ? undefined : agents.get(parentId);
  const agent = newAgent({
    agentId: randomUUID(),
    handle: `${type.toLowerCase()}-${number}`,
    type,
    displayName: type,
    description: prompt.slice(0, 120),
    waitingOn: 'model',
    ...(parent ? { parentId: parent.agentId } : {}),
    depth: (parent?.depth ?? 0) + 1,
    cwd,
    createdAt: Date.now(),
    startedAt: Date.now(),
  });
  agents.set(agent.agentId, agent);
  change(agent.agentId, {});
  void work(agent.agentId, prompt, parent ? 'parent' : 'user');
  return agent;
}

async function work(agentId: string, prompt: string, author: 'user' | 'parent'): Promise<void> {
  const log = logOf(agentId);
  let stopped = false;
  stops.set(agentId, () => (stopped = true));
  log.prompt(prompt, author);
  const turn = (turns: number, activity: string): void => {
    change(agentId, { turns, toolUses: turns - 1, usage: usage(turns), activity, waitingOn: 'tool' });
  };
  turn(1, 'grep session_open');
  await log.answer('I will look for the place where sessions are opened.\n\n', 'The question is about one function; a search finds it.');
  if (/gap/.test(prompt)) log.skip = 1;
  await log.tool('grep', 'search', 'session_open', Array.from({ length: 40 }, (_, line) => `src/lib.rs:${line + 1}: fn session_open_${line}()`).join('\n'));
  turn(2, 'reading src/lib.rs');
  await log.tool('read', 'read', 'src/lib.rs', 'pub fn session_open(path: &Path) -> Result<Session> {\n    Session::open(path)\n}', 'src/lib.rs');
  if (/nest/.test(prompt)) {
    for (const text of ['Read the tests slowly: slow', 'Read the manual']) spawn('Explore', text, agentId);
    change(agentId, { waitingOn: 'child' });
  }
  for (let turns = 3; /slow/.test(prompt) && !stopped; turns += 1) {
    turn(turns, `step ${turns} of a long task`);
    await wait(STEP_MS * 3);
  }
  if (stopped) {
    log.end('aborted');
    settle(agentId, 'stopped', 'It was stopped.');
  } else if (/fail/.test(prompt)) {
    log.end('error', 'The provider refused five times: 529 overloaded.');
    settle(agentId, 'error', '', 'The provider refused five times: 529 overloaded.');
  } else {
    turn(3, 'writing its answer');
    const text = 'Sessions are opened in **`src/lib.rs`**:\n\n- `session_open` checks the path\n- `Session::open` takes the lock\n\n```rust\npub fn session_open(path: &Path) -> Result<Session>\n```\n';
    await log.answer(text);
    log.end('endTurn');
    settle(agentId, 'completed', text);
  }
}

function settle(agentId: string, status: 'completed' | 'stopped' | 'error', resultPreview: string, error?: string): void {
  const endedBy = status === 'stopped' ? 'user' : 'self';
  const fault = error ? { error, reason: 'provider' as const } : {};
  change(agentId, { status, endedBy, completedAt: Date.now(), resultPreview, resumable: true, unread: true, ...fault });
  publish();
  const agent = agents.get(agentId);
  if (!agent) return;
  const completion: Completion = {
    agentId,
    run: agent.run,
    sessionId: SESSION,
    handle: agent.handle,
    type: agent.type,
    description: agent.description,
    status,
    endedBy,
    resultPreview,
    usage: agent.usage,
    durationMs: Date.now() - (agent.startedAt ?? 0),
    toolUses: agent.toolUses,
    turns: agent.turns,
    ...fault,
  };
  completionSeq += 1;
  notify(Methods.agentCompleted, { seq: completionSeq, completions: [completion], partial: false });
  // As after a crash: the same news once more. A client shows it once.
  completionSeq += 1;
  notify(Methods.agentCompleted, { seq: completionSeq, completions: [completion], partial: false });
}

function known(agentId: string | undefined): AgentSummary {
  const agent = agents.get(agentId ?? '');
  if (!agent) throw new Failure(-32010, 'There is no such agent.', 'List the fleet again.');
  return agent;
}

function stop(agentId: string): { agentId: string; status: AgentSummary['status'] }[] {
  const agent = known(agentId);
  const under = [...agents.values()].filter((one) => one.parentId === agentId).flatMap((one) => stop(one.agentId));
  if (agent.completedAt === undefined) {
    change(agentId, { status: 'stopping' });
    stops.get(agentId)?.();
    if (!stops.has(agentId)) setTimeout(() => {
        settle(agentId, 'stopped', '');
      }, STEP_MS);
  }
  return [{ agentId, status: agents.get(agentId)?.status ?? 'stopped' }, ...under];
}

// ---- requests

const session = new Log((seq, event) => {
  notify(Methods.sessionEvent, { sessionId: SESSION, seq, event });
});
const info: SessionInfo = {
  sessionId: SESSION,
  title: 'Where are sessions opened?',
  cwd,
  model: 'fake/scripted',
  thinking: 'off',
  permissionMode: 'ask',
  persisted: true,
  usage: usage(1),
  entryCount: 0,
  running: false,
};

type Vendor = { [M in keyof ClientRequests]?: (params: ClientRequests[M]['params'], id: number | string) => ClientRequests[M]['result'] | Promise<ClientRequests[M]['result']> };

const vendor: Vendor = {
  [Methods.ping]: () => ({ protocolVersion: PROTOCOL_VERSION, serverVersion: 'fake', uptimeMs: 1, sessions: 1, agents: { queued: 0, running: 0, finished: 0 } }),
  [Methods.document]: ({ uri }) => ({ text: `The document ${uri}\n`, languageId: 'markdown', revision: 1 }),
  [Methods.fleetList]: ({ cursor, limit = 500 }) => {
    const from = Number(cursor ?? 0);
    const all = [...agents.values()];
    const next = from + limit < all.length ? { nextCursor: String(from + limit) } : {};
    return { epoch, revision: published, serverNow: Date.now(), agents: all.slice(from, from + limit), limits: LIMITS, ...next };
  },
  [Methods.agentSpawn]: ({ type, prompt }) => {
    if (!/^[\w-]+$/.test(type)) throw new Failure(-32012, `There is no agent type “${type}”.`, 'Known types: general-purpose, Explore, Plan.');
    const { agentId, run, handle, status } = spawn(type, prompt);
    return { agentId, run, handle, status };
  },
  [Methods.agentSteer]: ({ agentId, message }) => {
    const { agentId: id } = known(agentId);
    const steerId = randomUUID();
    const log = logOf(id);
    log.event({ type: 'steerQueued', steerId, text: message, author: 'user' });
    setTimeout(() => {
      log.event({ type: 'steerDelivered', steerId, text: message, author: 'user' }, (common) => ({ ...common, kind: 'steer', text: message, author: 'user', steerId }));
    }, STEP_MS * 2);
    return { steerId, delivered: 'now' };
  },
  [Methods.agentStop]: ({ agentId }) => ({ stopped: stop(known(agentId).agentId) }),
  [Methods.agentStopAll]: () => {
    const live = [...agents.values()].filter((agent) => agent.completedAt === undefined);
    return { stopped: [...new Set(live.flatMap((agent) => stop(agent.agentId).map((one) => one.agentId)))] };
  },
  [Methods.agentResume]: ({ agentId, prompt }) => {
    const agent = known(agentId);
    const run = agent.run + 1;
    const { agentId: id, sessionId, handle, type, displayName, description, createdAt, depth } = agent;
    agents.set(id, newAgent({ agentId: id, sessionId, handle, type, displayName, description, createdAt, depth, cwd }));
    change(agent.agentId, { run, status: 'running', startedAt: Date.now(), unread: false, resumable: false });
    logOf(agent.agentId).run = run;
    void work(agent.agentId, prompt, 'user');
    return { agentId: agent.agentId, run, status: 'running' };
  },
  [Methods.agentResult]: ({ agentId }) => {
    const agent = known(agentId);
    return { run: agent.run, status: agent.status, text: agent.resultPreview ?? '', usage: agent.usage, partial: agent.status !== 'completed' };
  },
  [Methods.agentSeen]: ({ agentId }) => {
    change(known(agentId).agentId, { unread: false });
    return {};
  },
  [Methods.agentOpen]: ({ agentId, limit }) => {
    const log = logOf(known(agentId).agentId);
    log.watched = true;
    return { summary: known(agentId), page: log.page(Infinity, limit), nextSeq: log.nextSeq };
  },
  [Methods.agentClose]: ({ agentId }) => {
    logOf(agentId).watched = false;
    return {};
  },
  [Methods.agentTranscript]: ({ agentId, before, limit }) => logOf(known(agentId).agentId).page(before, limit),
  [Methods.sessionOpen]: () => info,
  [Methods.sessionSubscribe]: ({ limit }) => {
    session.watched = true;
    return { page: session.page(Infinity, limit), nextSeq: session.nextSeq };
  },
  [Methods.sessionUnsubscribe]: () => {
    session.watched = false;
    return {};
  },
  [Methods.sessionAbort]: () => ({ aborted: false, backgroundRunning: [...agents.values()].filter((agent) => agent.completedAt === undefined).length, withdrawn: [] }),
  [Methods.sessionPrompt]: async ({ text, workDoneToken }) => {
    if (/crash/.test(text)) process.exit(1);
    const progress = (value: object): void => {
      if (workDoneToken !== undefined) send({ method: '$/progress', params: { token: workDoneToken, value } });
    };
    progress({ kind: 'begin', title: 'Adjutant', cancellable: true });
    session.prompt(text, 'user');
    progress({ kind: 'report', message: 'asks the model' });
    await session.answer('Two agents look at it; you are told when they have ended.');
    session.end('endTurn');
    progress({ kind: 'end' });
    return { runId: randomUUID(), stopReason: 'endTurn', disposition: 'forwarded', text: 'Two agents look at it.', usage: usage(1) };
  },
};

const requests: Record<string, ((params: never, id: number | string) => unknown) | undefined> = {
  ...(vendor as Record<string, (params: never, id: number | string) => unknown>),
  initialize: () => ({
    capabilities: {
      textDocumentSync: { openClose: true, change: 2, save: true },
      experimental: { adjutant: { protocolVersion: PROTOCOL_VERSION, serverVersion: 'fake', methods: [...Object.keys(vendor), Methods.fleetChanged, Methods.agentEvent, Methods.sessionEvent, Methods.agentCompleted], limits: LIMITS } },
    },
    serverInfo: { name: 'adjutant', version: 'fake' },
  }),
  shutdown: () => null,
};

if (process.argv.includes('--scene')) {
  for (const agent of scene(Date.now(), SESSION, cwd)) {
    agents.set(agent.agentId, agent);
    revision += 1;
    dirty.add(agent.agentId);
  }
}
