// What a roster row says. The rules are those of the client contract, and the golden texts hold every client to them.

import type { AgentSummary } from './protocol.gen';
import { isEnded, type Tree } from './state';
import { clean, count } from './text';

const HANDLE_LIMIT = 40;
const WORD_LIMIT = 40;
const TEXT_LIMIT = 60;

const GLYPHS: Record<string, string> = {
  queued: '○',
  running: '●',
  stopping: '◐',
  completed: '✓',
  steered: '✓',
  aborted: '!',
  stopped: '■',
  error: '✗',
  interrupted: '~',
};

const WAITS: Record<string, string> = {
  setup: 'starting',
  approval: 'needs approval',
  child: 'waiting for agents',
  retry: 'retrying',
  compaction: 'compacting',
};

const REASONS: Record<string, string> = {
  maxTurns: 'turn limit',
  wallClock: 'time limit',
  idle: 'idle limit',
  noProgress: 'no progress',
  tokens: 'token limit',
  cost: 'cost limit',
  repeatedCall: 'repeated call',
};

/** The sign of a status; never the only one. */
export function glyphOf(agent: AgentSummary): string {
  return own(GLYPHS, agent.status) ?? '•';
}

/** The handle, as a row shows it. */
export function handleOf(agent: AgentSummary): string {
  return clean(agent.handle, HANDLE_LIMIT);
}

/** What the agent was asked to do, as a row shows it. */
export function descriptionOf(agent: AgentSummary): string {
  return clean(agent.description, TEXT_LIMIT);
}

/** The state in words, with the reason of an end. */
export function stateOf(agent: AgentSummary): string {
  if (agent.status === 'queued') return agent.queuePosition ? `queued #${agent.queuePosition}` : 'queued';
  if (agent.status === 'running') return own(WAITS, agent.waitingOn ?? '') ?? 'running';
  const word = clean(agent.status, WORD_LIMIT);
  if (!isEnded(agent) || !agent.reason) return word;
  return `${word} (${own(REASONS, agent.reason) ?? clean(agent.reason, WORD_LIMIT)})`;
}

/** What it does now, or what went wrong. */
export function detailOf(agent: AgentSummary): string {
  if (!isEnded(agent)) return clean(agent.activity, TEXT_LIMIT);
  return agent.status === 'error' ? clean(agent.error, TEXT_LIMIT) : '';
}

/** Turns, tools, tokens and elapsed time, without those that are nothing. */
export function statsOf(agent: AgentSummary, serverNow: number): string[] {
  const end = isEnded(agent) ? agent.completedAt : serverNow;
  return [
    turns(agent),
    agent.toolUses ? count(agent.toolUses, 'tool') : '',
    tokens(agent.usage.total),
    agent.startedAt === undefined || end === undefined ? '' : elapsed(Math.max(0, end - agent.startedAt)),
  ].filter((part) => part !== '');
}

/** One row: a line without its indentation and its end. */
export function row(agent: AgentSummary, serverNow: number): string {
  const description = descriptionOf(agent);
  const head = `${glyphOf(agent)} ${handleOf(agent)}${description ? `  ${description}` : ''}`;
  return [head, ...tailOf(agent, serverNow)].join(' · ');
}

/** What follows the description in a row. */
export function tailOf(agent: AgentSummary, serverNow: number): string[] {
  return [stateOf(agent), detailOf(agent), ...statsOf(agent, serverNow)].filter((part) => part !== '');
}

/** The whole roster as text, each line ended by a newline. */
export function rosterText(tree: Tree, serverNow: number): string {
  const draw = (agents: readonly AgentSummary[], depth: number): string =>
    agents
      .map((agent) => `${'  '.repeat(depth)}${row(agent, serverNow)}\n${draw(tree.children.get(agent.agentId) ?? [], depth + 1)}`)
      .join('');
  return draw(tree.roots, 0);
}

/** Tokens as people read them, `''` for none: `950 token`, `12.3k token`, `1.2M token`. */
export function tokens(number: number): string {
  if (!number) return '';
  const tenths = (value: number): string => `${Math.floor(value / 10)}.${value % 10}`;
  if (number < 1_000) return `${number} token`;
  if (number < 999_950) return `${tenths(Math.floor((number + 50) / 100))}k token`;
  return `${tenths(Math.floor((number + 50_000) / 100_000))}M token`;
}

/** A duration in milliseconds, cut and not rounded: `4.2s`, `1m 05s`, `2h 03m`. */
export function elapsed(ms: number): string {
  const two = (number: number): string => String(number).padStart(2, '0');
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}.${Math.floor(ms / 100) % 10}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3_600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}

/** Dollars as people read them, `''` for none or an unknown price. */
export function cost(usd: number | undefined): string {
  if (usd === undefined || !(usd > 0)) return '';
  if (usd < 0.0001) return '<$0.0001';
  if (usd >= 1) return `~$${usd.toFixed(2)}`;
  return `~$${usd.toFixed(4).replace(/0{1,2}$/, '')}`;
}

function turns(agent: AgentSummary): string {
  if (!agent.turns) return '';
  return agent.maxTurns ? `${agent.turns}/${agent.maxTurns} turns` : count(agent.turns, 'turn');
}

/** A word's text, where the table itself has it. */
function own(table: Record<string, string>, word: string): string | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
