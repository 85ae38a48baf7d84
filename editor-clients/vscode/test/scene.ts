// A fleet in every state, for a picture and for tests of what rows say.

import type { AgentSummary, Usage } from '../src/protocol.gen';

function usage(total: number): Usage {
  return { input: Math.round(total * 0.8), output: Math.round(total * 0.2), cacheRead: 0, cacheWrite: 0, total };
}

/** An agent that has just started; `fields` say what is different. */
export function agent(fields: Partial<AgentSummary> & Pick<AgentSummary, 'agentId'>): AgentSummary {
  return {
    run: 1,
    sessionId: 'session-1',
    handle: fields.agentId,
    type: 'Explore',
    displayName: 'Explore',
    description: '',
    status: 'running',
    isBackground: true,
    depth: 1,
    cwd: '/work',
    createdAt: 0,
    turns: 0,
    toolUses: 0,
    usage: usage(0),
    subtree: { agents: 0, running: 0, usage: usage(0) },
    compactions: 0,
    model: 'fake/scripted',
    permissionMode: 'ask',
    tags: [],
    attention: 0,
    resumable: false,
    unread: false,
    files: [],
    filesTotal: 0,
    ...fields,
  };
}

export function scene(now: number, sessionId: string, cwd: string): AgentSummary[] {
  const rows: (Partial<AgentSummary> & Pick<AgentSummary, 'agentId'>)[] = [
    { agentId: 'reviewer-1', type: 'general-purpose', displayName: 'Agent', description: 'Review the change to the parser', waitingOn: 'child', turns: 4, toolUses: 9, usage: usage(48_200), startedAt: now - 125_000 },
    { agentId: 'explore-1', parentId: 'reviewer-1', depth: 2, description: 'Find the callers of parse_line', waitingOn: 'tool', activity: 'grep parse_line', turns: 2, toolUses: 5, usage: usage(9_100), startedAt: now - 61_000 },
    { agentId: 'explore-2', parentId: 'reviewer-1', depth: 2, description: 'Check that the tests cover empty input', status: 'completed', endedBy: 'self', turns: 3, toolUses: 4, usage: usage(12_345), startedAt: now - 60_000, completedAt: now - 41_800, unread: true, resumable: true, resultPreview: 'Three tests cover it.' },
    { agentId: 'plan-1', type: 'Plan', displayName: 'Plan', description: 'Plan the move to the new session file', waitingOn: 'approval', attention: 1, activity: 'bash: cargo test -p session', turns: 6, maxTurns: 20, toolUses: 14, usage: usage(81_000), startedAt: now - 204_000 },
    { agentId: 'explore-3', description: 'Look for dead code in the adapters', status: 'queued', queuePosition: 1 },
    { agentId: 'explore-4', description: 'List all settings and where they are read', status: 'error', reason: 'provider', error: 'The provider refused five times: 529 overloaded.', turns: 1, usage: usage(900), startedAt: now - 90_000, completedAt: now - 29_000, resumable: true, unread: true },
    { agentId: 'docs-1', type: 'general-purpose', displayName: 'Agent', description: 'Update the manual', status: 'aborted', reason: 'maxTurns', endedBy: 'limit', turns: 25, maxTurns: 20, toolUses: 60, usage: usage(1_250_000), startedAt: now - 3_725_000, completedAt: now - 100_000, resumable: true },
    { agentId: 'explore-5', description: 'Measure the start time', status: 'interrupted', endedBy: 'host', turns: 2, toolUses: 2, usage: usage(3_000), startedAt: now - 9_000, completedAt: now - 4_000, resumable: true },
  ];
  return rows.map((row, index) => agent({ ...row, sessionId, cwd, createdAt: now - 300_000 + index }));
}
