// Where the extension begins: it makes its parts, ties them together, and starts the server.

import * as vscode from 'vscode';
import { registerCommands, seen, type Parts } from './commands';
import { followCompletions } from './completions';
import { FleetStore } from './fleet';
import { registerReading, TailFollower } from './reading';
import { Server } from './server';
import { countsOf, isEnded } from './state';
import { StatusEntry } from './status';
import { RosterView } from './tree';
import { Viewer } from './viewer';

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Adjutant', { log: true });
  server = new Server(context.extensionUri, log);
  const fleet = new FleetStore(server, log);
  const parts: Parts = {
    server,
    fleet,
    roster: new RosterView(fleet, server),
    viewer: new Viewer(server, fleet),
    log,
    memory: context.workspaceState,
  };
  followCompletions(parts);
  followContext(parts, context.subscriptions);
  followSettings(parts, context.subscriptions);
  context.subscriptions.push(
    log,
    parts.roster,
    parts.viewer,
    new TailFollower(),
    new StatusEntry(server, fleet),
    registerReading(parts.viewer),
    registerCommands(parts),
    fleet,
    server,
  );
  void server.start();
}

/** Ends the server: its agents become interrupted, and can be resumed in the next window. */
export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** What the menus ask: whether anything runs, and the state of the agent whose transcript is looked at. */
function followContext(parts: Parts, disposables: { dispose(): unknown }[]): void {
  const { fleet, viewer } = parts;
  const known = new Map<string, unknown>();
  const set = (key: string, value: unknown): void => {
    if (known.get(key) === value) return;
    known.set(key, value);
    void vscode.commands.executeCommand('setContext', key, value);
  };
  const update = (): void => {
    const { running, queued } = countsOf(fleet.now);
    set('adjutant.busy', running + queued > 0);
    const subject = viewer.subjectOf(vscode.window.activeTextEditor?.document.uri);
    const agent = subject?.type === 'agent' ? fleet.get(subject.id) : undefined;
    set('adjutant.viewing', !agent ? (subject?.type ?? '') : agent.readOnly ? 'readOnly' : !isEnded(agent) ? 'live' : agent.resumable ? 'resumable' : 'ended');
  };
  disposables.push(
    fleet.onChange((change) => {
      update();
      // A run that ends while its transcript is looked at has been seen.
      const subject = viewer.subjectOf(vscode.window.activeTextEditor?.document.uri);
      const agent = subject?.type === 'agent' && vscode.window.state.focused ? fleet.get(subject.id) : undefined;
      if (agent?.unread && agent !== change.before.agents.get(agent.agentId)) void seen(parts, agent);
    }),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
  update();
}

/** A new path or a newly trusted or opened folder needs another server; other settings are taken live. */
function followSettings({ server: adjutant, fleet }: Parts, disposables: { dispose(): unknown }[]): void {
  const restart = async (why: string): Promise<void> => {
    const { running, queued } = countsOf(fleet.now);
    const button = 'Restart Server';
    if (running + queued > 0 && (await vscode.window.showInformationMessage(`${why} Agents that run are interrupted by a restart.`, button)) !== button) return;
    await adjutant.restart();
  };
  disposables.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('adjutant.server.path')) void restart('The path of the server has changed.');
      else if (change.affectsConfiguration('adjutant')) void adjutant.sendSettings();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void restart('The folder is trusted now, which the server is told when it starts.');
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (adjutant.status === 'noFolder') void adjutant.start();
    }),
  );
}
