// What a person can do: the commands of the palette, the menus and the keyboard.

import * as vscode from 'vscode';
import { delegate, prompt } from './delegate';
import type { FleetStore } from './fleet';
import { Methods, type AgentSummary, type SessionAbortResult } from './protocol.gen';
import { descriptionOf, glyphOf, handleOf, rosterText, stateOf } from './rows';
import { explain, type Server } from './server';
import { countsOf, isEnded } from './state';
import { count } from './text';
import type { RosterView } from './tree';
import type { Viewer } from './viewer';

/** All that commands work with. */
export interface Parts {
  readonly server: Server;
  readonly fleet: FleetStore;
  readonly roster: RosterView;
  readonly viewer: Viewer;
  readonly log: vscode.LogOutputChannel;
  readonly memory: vscode.Memento;
}

/** What a command was called on: a row, a document, or nothing; or a key was pressed in the list, which does not say on
 * which row. */
type Target = string | vscode.Uri | { from: 'list' } | undefined;
type Verb = (parts: Parts, target: Target, selected?: unknown) => Promise<void>;

const COMMANDS: Record<string, Verb> = {
  prompt: async (parts) => prompt(parts),
  delegate: async (parts) => delegate(parts),
  abort: async (parts) => abort(parts),
  openSession: async ({ server, viewer }) => viewer.showSession(await server.request(Methods.sessionOpen, {})),
  openTranscript,
  showResult,
  steer,
  resume,
  stop: async (parts, target, selected) => stop(parts, target, selected, 'subtree'),
  stopOne: async (parts, target, selected) => stop(parts, target, selected, 'one'),
  stopAll,
  loadEarlier: async ({ viewer }, target) => {
    const uri = typeof target === 'string' ? vscode.Uri.parse(target) : vscode.window.activeTextEditor?.document.uri;
    if (uri) await viewer.earlier(uri);
  },
  copyRoster: async ({ fleet }) => vscode.env.clipboard.writeText(rosterText(fleet.tree, fleet.serverNow)),
  summary: ({ fleet, server }) => {
    void vscode.window.showInformationMessage(server.status === 'ready' ? sentence(fleet) : 'The Adjutant server is not running.');
    return Promise.resolve();
  },
  showAgents: async () => vscode.commands.executeCommand('adjutant.roster.focus'),
  restartServer: async ({ server }) => server.restart(),
  showLog: ({ log }) => {
    log.show();
    return Promise.resolve();
  },
};

/** Registers every command of the extension. An error in one is shown, never thrown at the editor. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const registered = Object.entries(COMMANDS).map(([name, verb]) =>
    vscode.commands.registerCommand(`adjutant.${name}`, async (target?: Target, selected?: unknown) => {
      try {
        await verb(parts, target, selected);
      } catch (error) {
        parts.log.warn(`${name}: ${String(error)}`);
        void vscode.window.showErrorMessage(explain(error));
      }
    }),
  );
  return vscode.Disposable.from(...registered);
}

async function openTranscript(parts: Parts, target: Target): Promise<void> {
  const agent = await choose(parts, target, 'Whose transcript?', () => true);
  if (!agent) return;
  await parts.viewer.showAgent(agent.agentId);
  await seen(parts, agent);
}

async function showResult(parts: Parts, target: Target): Promise<void> {
  const agent = await choose(parts, target, 'Whose result?', isEnded);
  if (!agent) return;
  await parts.viewer.showResult(agent);
  await seen(parts, agent);
}

async function steer(parts: Parts, target: Target): Promise<void> {
  const agent = await choose(parts, target, 'Steer which agent?', (one) => !isEnded(one) && one.status !== 'stopping');
  if (!agent) return;
  const message = await vscode.window.showInputBox({
    title: `Steer ${handleOf(agent)}`,
    prompt: descriptionOf(agent),
    placeHolder: 'What should it know, or do differently?',
    ignoreFocusOut: true,
  });
  if (!message?.trim()) return;
  const { delivered } = await parts.server.request(Methods.agentSteer, { agentId: agent.agentId, message });
  const when = delivered === 'now' ? 'at its next turn' : 'when its run starts';
  vscode.window.setStatusBarMessage(`${handleOf(agent)} gets the message ${when}.`, 5_000);
}

async function resume(parts: Parts, target: Target): Promise<void> {
  const agent = await choose(parts, target, 'Resume which agent?', (one) => isEnded(one) && one.resumable);
  if (!agent) return;
  const text = await vscode.window.showInputBox({
    title: `Resume ${handleOf(agent)}`,
    prompt: descriptionOf(agent),
    placeHolder: 'What should it do next?',
    ignoreFocusOut: true,
  });
  if (!text?.trim()) return;
  const { run } = await parts.server.request(Methods.agentResume, { agentId: agent.agentId, prompt: text });
  vscode.window.setStatusBarMessage(`${handleOf(agent)} continues with run ${run}.`, 5_000);
}

async function stop(parts: Parts, target: Target, selected: unknown, scope: 'one' | 'subtree'): Promise<void> {
  const rows = isKey(target) ? parts.roster.selection : selected;
  const several = Array.isArray(rows) ? rows.filter((id): id is string => typeof id === 'string') : [];
  const agents =
    several.length > 1
      ? several.flatMap((id) => parts.fleet.get(id) ?? []).filter((agent) => !isEnded(agent))
      : [await choose(parts, target, 'Stop which agent?', (one) => !isEnded(one))].filter((agent) => agent !== undefined);
  await Promise.all(agents.map((agent) => parts.server.request(Methods.agentStop, { agentId: agent.agentId, scope })));
}

async function stopAll({ server }: Parts): Promise<void> {
  const { stopped } = await server.request(Methods.agentStopAll, {});
  const said = stopped.length === 0 ? 'No agent was running.' : `${count(stopped.length, 'agent')} told to stop.`;
  vscode.window.setStatusBarMessage(said, 5_000);
}

async function abort({ server }: Parts): Promise<void> {
  const result = await server.request(Methods.sessionAbort, {});
  const texts = result.withdrawn.map((one) => one.text);
  if (texts.length === 0) {
    vscode.window.setStatusBarMessage(abortSentence(result), 5_000);
    return;
  }
  const copy = 'Copy Texts';
  const message = `${abortSentence(result)} ${count(texts.length, 'waiting message')} not sent.`;
  if ((await vscode.window.showInformationMessage(message, copy)) === copy) await vscode.env.clipboard.writeText(texts.join('\n\n'));
}

function abortSentence({ aborted, backgroundRunning }: SessionAbortResult): string {
  const run = aborted ? 'The run was ended.' : 'No run was active.';
  return backgroundRunning > 0 ? `${run} ${count(backgroundRunning, 'background agent')} still running.` : run;
}

/** Tells the server that a person has looked at a result, so that no other window shows it as new. */
export async function seen({ server, fleet, log }: Parts, { agentId, run }: Pick<AgentSummary, 'agentId' | 'run'>): Promise<void> {
  const agent = fleet.get(agentId);
  if (!agent?.unread || !isEnded(agent) || agent.readOnly) return;
  try {
    await server.request(Methods.agentSeen, { agentId, run });
  } catch (error) {
    log.debug(`The result could not be marked as seen: ${String(error)}`);
  }
}

function isKey(target: Target): boolean {
  return typeof target === 'object' && 'from' in target;
}

/** The agent that is meant: the row or document that the command was called on, the transcript that is looked at, the
 * selected row; else a person is asked. So they are after a key in the list: an extension is told which row is selected,
 * but not which one the keyboard is at, and the wrong agent must not be stopped. */
async function choose(
  { fleet, viewer, roster }: Parts,
  target: Target,
  question: string,
  fits: (agent: AgentSummary) => boolean,
): Promise<AgentSummary | undefined> {
  if (typeof target === 'string') {
    const agent = fleet.get(target);
    if (!agent) throw new Error('This agent is no longer in the fleet.');
    return agent;
  }
  const subject = viewer.subjectOf(target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri);
  const row = roster.selection.length === 1 ? roster.selection[0] : undefined;
  for (const id of isKey(target) ? [] : [subject?.type === 'agent' ? subject.id : undefined, row]) {
    const agent = id === undefined ? undefined : fleet.get(id);
    if (agent && fits(agent)) return agent;
  }
  const agents = [...fleet.now.agents.values()].filter((agent) => fits(agent) && !agent.readOnly).reverse();
  if (agents.length === 0) {
    void vscode.window.showInformationMessage(fleet.now.agents.size === 0 ? 'There are no agents yet.' : 'No agent fits: none is in that state.');
    return undefined;
  }
  agents.sort((a, b) => Number(b.agentId === row) - Number(a.agentId === row));
  const picked = await vscode.window.showQuickPick(
    agents.map((agent) => ({
      label: `${glyphOf(agent)} ${handleOf(agent)}`,
      description: stateOf(agent),
      detail: descriptionOf(agent),
      agent,
    })),
    { title: question, matchOnDescription: true, matchOnDetail: true },
  );
  return picked && fleet.get(picked.agent.agentId);
}

/** The fleet in one sentence. */
export function sentence(fleet: FleetStore): string {
  const { running, queued, ended, unread, attention } = countsOf(fleet.now);
  if (running + queued + ended === 0) return 'There are no agents.';
  const parts = [
    running > 0 ? `${running} running` : '',
    queued > 0 ? `${queued} queued` : '',
    ended > 0 ? `${ended} finished${unread > 0 ? ` (${unread} not read)` : ''}` : '',
    attention > 0 ? `${count(attention, 'decision')} waiting for you` : '',
  ].filter((part) => part !== '');
  return `Agents: ${parts.join(', ')}.`;
}
