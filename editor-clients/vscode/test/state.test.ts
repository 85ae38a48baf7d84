// The reducer: whatever order messages come in, after a snapshot the view is the server's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentSummary, FleetChangedParams, FleetListResult, Limits } from '../src/protocol.gen';
import { countsOf, differences, EMPTY_FLEET, isEnded, reduce, treeOf, type Fleet } from '../src/state';
import { agent } from './scene';

const LIMITS = {} as Limits;

/** A server that changes, and remembers every message it could have sent. */
class World {
  agents = new Map<string, AgentSummary>();
  revision = 0;
  log: FleetChangedParams[] = [];

  constructor(
    private readonly random: () => number,
    readonly epoch = 'one',
  ) {}

  step(): void {
    const base = this.revision;
    this.revision += 1 + Math.floor(this.random() * 3);
    const upserted: AgentSummary[] = [];
    const removed: string[] = [];
    for (let i = 0; i <= this.random() * 3; i += 1) {
      const id = `a${Math.floor(this.random() * 20)}`;
      if (this.random() < 0.15) {
        if (this.agents.delete(id)) removed.push(id);
        continue;
      }
      const status = (['queued', 'running', 'completed', 'error'] as const)[Math.floor(this.random() * 4)] ?? 'queued';
      const next = agent({ agentId: id, status, createdAt: id.length, turns: this.revision });
      this.agents.set(id, next);
      upserted.push(next);
    }
    const last = new Map(upserted.map((one) => [one.agentId, one]));
    this.log.push({
      epoch: this.epoch,
      revision: this.revision,
      baseRevision: base,
      serverNow: 1_000 + this.revision,
      upserted: [...last.values()].filter((one) => this.agents.has(one.agentId)),
      removed: removed.filter((id) => !this.agents.has(id)),
    });
  }

  list(): FleetListResult {
    return { epoch: this.epoch, revision: this.revision, serverNow: 1_000 + this.revision, agents: [...this.agents.values()], limits: LIMITS };
  }
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

function view(fleet: Fleet): unknown {
  return Object.fromEntries([...fleet.agents].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function changed(fleet: Fleet, change: FleetChangedParams): Fleet {
  return reduce(fleet, { type: 'changed', change, now: 0 });
}

test('changes in order keep the view equal to the server', () => {
  const world = new World(seeded(1));
  let fleet = reduce(EMPTY_FLEET, { type: 'snapshot', list: world.list(), now: 0 });
  for (let i = 0; i < 300; i += 1) {
    world.step();
    const change = world.log.at(-1);
    assert.ok(change);
    fleet = changed(fleet, change);
    assert.ok(fleet.synced);
    assert.deepEqual(view(fleet), Object.fromEntries([...world.agents].sort(([a], [b]) => (a < b ? -1 : 1))));
  }
});

test('dropped, repeated and shuffled changes end in the server’s list after one snapshot', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seeded(seed);
    const world = new World(random);
    let fleet = reduce(EMPTY_FLEET, { type: 'snapshot', list: world.list(), now: 0 });
    for (let i = 0; i < 40; i += 1) {
      world.step();
      const roll = random();
      const change = roll < 0.2 ? world.log[Math.floor(random() * world.log.length)] : roll < 0.4 ? undefined : world.log.at(-1);
      if (change) fleet = changed(fleet, change);
    }
    // What is still on the way, in any order, before and after the snapshot.
    const late = world.log.slice(-10).sort(() => random() - 0.5);
    for (const change of late.slice(0, 5)) fleet = changed(fleet, change);
    if (!fleet.synced || fleet.revision !== world.revision) fleet = reduce(fleet, { type: 'snapshot', list: world.list(), now: 0 });
    for (const change of late.slice(5)) fleet = changed(fleet, change);
    assert.ok(fleet.synced, `seed ${seed}`);
    assert.deepEqual(view(fleet), view(reduce(EMPTY_FLEET, { type: 'snapshot', list: world.list(), now: 0 })), `seed ${seed}`);
  }
});

test('changes that overtake the snapshot are kept and follow it', () => {
  const world = new World(seeded(7));
  world.step();
  const list = world.list();
  world.step();
  world.step();
  let fleet = EMPTY_FLEET;
  for (const change of world.log) fleet = changed(fleet, change);
  assert.equal(fleet.synced, false);
  assert.equal(fleet.agents.size, 0);
  fleet = reduce(fleet, { type: 'snapshot', list, now: 0 });
  assert.ok(fleet.synced);
  assert.equal(fleet.revision, world.revision);
  assert.deepEqual(view(fleet), view(reduce(EMPTY_FLEET, { type: 'snapshot', list: world.list(), now: 0 })));
});

test('another life of the server asks for a new list, and nothing of the old one is left', () => {
  const old = new World(seeded(3));
  for (let i = 0; i < 5; i += 1) old.step();
  const next = new World(seeded(4), 'two');
  next.step();
  const change = next.log.at(-1);
  assert.ok(change);
  let fleet = reduce(EMPTY_FLEET, { type: 'snapshot', list: old.list(), now: 0 });
  fleet = changed(fleet, change);
  assert.equal(fleet.synced, false);
  fleet = reduce(fleet, { type: 'snapshot', list: next.list(), now: 0 });
  assert.ok(fleet.synced);
  assert.equal(fleet.epoch, 'two');
  assert.equal(fleet.agents.size, next.agents.size);
  assert.deepEqual(reduce(fleet, { type: 'lost' }), EMPTY_FLEET);
});

test('nonsense in place of a change does nothing', () => {
  const fleet = reduce(EMPTY_FLEET, { type: 'snapshot', list: new World(seeded(1)).list(), now: 0 });
  for (const nonsense of [{}, { epoch: 1 }, { epoch: 'one', revision: 'x', baseRevision: 0, upserted: [], removed: [] }, { epoch: 'one', revision: 9, baseRevision: 0, upserted: 3, removed: [] }]) {
    assert.equal(changed(fleet, nonsense as never), fleet);
  }
});

test('what waits is bounded', () => {
  let fleet = EMPTY_FLEET;
  for (let i = 0; i < 5_000; i += 1) {
    fleet = changed(fleet, { epoch: 'one', revision: i + 1, baseRevision: i, serverNow: 0, upserted: [], removed: [] });
  }
  assert.ok(fleet.waiting.length <= 256);
});

test('a status of a later version counts as ended', () => {
  const later = agent({ agentId: 'x', status: 'hibernated' as never });
  assert.ok(isEnded(later));
  const list: FleetListResult = { epoch: 'one', revision: 1, serverNow: 0, agents: [later, agent({ agentId: 'y' })], limits: LIMITS };
  assert.deepEqual(countsOf(reduce(EMPTY_FLEET, { type: 'snapshot', list, now: 0 })), { running: 1, queued: 0, ended: 1, unread: 0, attention: 0 });
});

test('ten thousand agents in one chain are each shown once', () => {
  const chain = Array.from({ length: 10_000 }, (_, i) => agent({ agentId: `a${i}`, createdAt: i, ...(i > 0 ? { parentId: `a${i - 1}` } : {}) }));
  const tree = treeOf(chain);
  assert.equal(tree.roots.length, 1);
  assert.equal(tree.parents.size, 9_999);
});

test('differences name what has to be drawn again', () => {
  const list = (agents: AgentSummary[], revision: number): Fleet =>
    reduce(EMPTY_FLEET, { type: 'snapshot', list: { epoch: 'one', revision, serverNow: 0, agents, limits: LIMITS }, now: 0 });
  const a = agent({ agentId: 'a' });
  const b = agent({ agentId: 'b' });
  const before = list([a, b], 1);
  assert.deepEqual(differences(before, list([a, { ...b, turns: 2 }], 2)), { changed: ['b'], moved: false });
  assert.deepEqual(differences(before, list([a], 2)), { changed: [], moved: true });
  assert.deepEqual(differences(before, list([a, { ...b, parentId: 'a' }], 2)), { changed: ['b'], moved: true });
});
