// The fleet as this window knows it: a snapshot, and the changes that follow it without a gap.

import { Buffer } from 'node:buffer';
import type { AgentSummary, FleetChangedParams, FleetListResult, Limits } from './protocol.gen';

/** Changes kept while a snapshot is on its way; past this the oldest go, and the snapshot after next makes up for it. */
const MAX_WAITING = 256;

export interface Fleet {
  /** Names one life of the server; absent before the first snapshot. */
  readonly epoch: string | undefined;
  readonly revision: number;
  readonly agents: ReadonlyMap<string, AgentSummary>;
  /** What the server's clock said in its last message, and this machine's when that came. */
  readonly clock: { readonly server: number; readonly local: number };
  readonly limits: Limits | undefined;
  /** False: something is missing, and only a new snapshot brings it. */
  readonly synced: boolean;
  /** Changes that arrived since the snapshot was asked for. */
  readonly waiting: readonly FleetChangedParams[];
}

export type FleetInput =
  | { readonly type: 'snapshot'; readonly list: FleetListResult; readonly now: number }
  | { readonly type: 'changed'; readonly change: FleetChangedParams; readonly now: number }
  /** The server is gone: what it said no longer holds. */
  | { readonly type: 'lost' };

export const EMPTY_FLEET: Fleet = {
  epoch: undefined,
  revision: 0,
  agents: new Map(),
  clock: { server: 0, local: 0 },
  limits: undefined,
  synced: false,
  waiting: [],
};

/** The fleet after `input`. Nothing is changed in place. */
export function reduce(fleet: Fleet, input: FleetInput): Fleet {
  switch (input.type) {
    case 'lost':
      return EMPTY_FLEET;
    case 'snapshot':
      return afterSnapshot(fleet, input.list, input.now);
    case 'changed':
      return afterChange(fleet, input.change, input.now);
  }
}

function afterSnapshot(fleet: Fleet, list: FleetListResult, now: number): Fleet {
  const known: Fleet = {
    epoch: list.epoch,
    revision: list.revision,
    agents: new Map(list.agents.map((agent) => [agent.agentId, agent])),
    clock: { server: list.serverNow, local: now },
    limits: list.limits,
    synced: true,
    waiting: [],
  };
  return fleet.waiting.reduce((state, change) => afterChange(state, change, now), known);
}

function afterChange(fleet: Fleet, change: FleetChangedParams, now: number): Fleet {
  if (!isChange(change)) return fleet;
  if (!fleet.synced) {
    return { ...fleet, waiting: [...fleet.waiting, change].slice(-MAX_WAITING) };
  }
  // A change of another life came after the snapshot was made, or before it: only the server can tell.
  if (change.epoch !== fleet.epoch) return { ...fleet, synced: false, waiting: [change] };
  if (change.revision <= fleet.revision) return fleet;
  if (change.baseRevision !== fleet.revision) return { ...fleet, synced: false, waiting: [change] };

  const agents = new Map(fleet.agents);
  for (const id of change.removed) agents.delete(id);
  for (const agent of change.upserted) agents.set(agent.agentId, agent);
  return { ...fleet, revision: change.revision, agents, clock: { server: change.serverNow, local: now } };
}

/** Whether a message has the shape that the fields used here need. */
function isChange(change: FleetChangedParams): boolean {
  return (
    typeof change === 'object' &&
    typeof change.epoch === 'string' &&
    Number.isFinite(change.revision) &&
    Number.isFinite(change.baseRevision) &&
    Array.isArray(change.upserted) &&
    Array.isArray(change.removed)
  );
}

/** The server's time, from this machine's: never before what the server itself said last. */
export function serverTime({ clock }: Fleet, now: number): number {
  return clock.server + Math.max(0, now - clock.local);
}

/** The agents as a tree, every one of them exactly once. */
export interface Tree {
  readonly roots: readonly AgentSummary[];
  /** By the parent's id, oldest first. */
  readonly children: ReadonlyMap<string, readonly AgentSummary[]>;
  /** The parent that an agent is shown under. */
  readonly parents: ReadonlyMap<string, AgentSummary>;
}

/** The tree of the fleet. Where no root leads to an agent, since parents form a loop, it is a root itself. */
export function treeOf(agents: Iterable<AgentSummary>): Tree {
  const ordered = [...agents].sort(byAge);
  const known = new Map(ordered.map((agent) => [agent.agentId, agent]));
  const named = new Map<string, AgentSummary[]>();
  const orphans: AgentSummary[] = [];
  for (const agent of ordered) {
    if (agent.parentId === undefined || !known.has(agent.parentId)) {
      orphans.push(agent);
      continue;
    }
    const siblings = named.get(agent.parentId);
    if (siblings) siblings.push(agent);
    else named.set(agent.parentId, [agent]);
  }

  const roots: AgentSummary[] = [];
  const children = new Map<string, AgentSummary[]>();
  const parents = new Map<string, AgentSummary>();
  const shown = new Set<string>();
  for (const root of [...orphans, ...ordered]) {
    if (shown.has(root.agentId)) continue;
    roots.push(root);
    shown.add(root.agentId);
    // By hand, since a chain of agents may be longer than a stack is deep.
    const open = [root];
    for (let parent = open.pop(); parent; parent = open.pop()) {
      const under = (named.get(parent.agentId) ?? []).filter((agent) => !shown.has(agent.agentId));
      if (under.length === 0) continue;
      children.set(parent.agentId, under);
      for (const agent of under) {
        shown.add(agent.agentId);
        parents.set(agent.agentId, parent);
        open.push(agent);
      }
    }
  }
  return { roots, children, parents };
}

function byAge(a: AgentSummary, b: AgentSummary): number {
  return a.createdAt - b.createdAt || Buffer.compare(Buffer.from(a.agentId), Buffer.from(b.agentId));
}

/** How many agents stand where. A status that is not known counts as ended. */
export interface Counts {
  readonly running: number;
  readonly queued: number;
  readonly ended: number;
  /** Results that no person has seen. */
  readonly unread: number;
  /** Decisions that wait for a person. */
  readonly attention: number;
}

export function countsOf(fleet: Fleet): Counts {
  let running = 0;
  let queued = 0;
  let unread = 0;
  let attention = 0;
  for (const agent of fleet.agents.values()) {
    if (agent.status === 'running' || agent.status === 'stopping') running += 1;
    else if (agent.status === 'queued') queued += 1;
    else if (agent.unread) unread += 1;
    attention += agent.attention;
  }
  return { running, queued, unread, attention, ended: fleet.agents.size - running - queued };
}

/** Whether the agent's run is over; true for a status that this client does not know. */
export function isEnded(agent: Pick<AgentSummary, 'status'>): boolean {
  return agent.status !== 'queued' && agent.status !== 'running' && agent.status !== 'stopping';
}

/** The agents that differ between two states, by id: added, changed or gone. */
export function differences(before: Fleet, after: Fleet): { changed: string[]; moved: boolean } {
  const changed: string[] = [];
  let moved = before.agents.size !== after.agents.size;
  for (const [id, agent] of after.agents) {
    const old = before.agents.get(id);
    if (old === agent) continue;
    changed.push(id);
    if (!old || old.parentId !== agent.parentId || old.createdAt !== agent.createdAt) moved = true;
  }
  return { changed, moved };
}
