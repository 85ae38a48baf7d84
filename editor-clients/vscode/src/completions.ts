// News of background agents that have ended, told once a run.

import * as vscode from 'vscode';
import type { Parts } from './commands';
import { Methods, type Completion } from './protocol.gen';
import { elapsed } from './rows';
import { SeenRuns } from './seen';
import { clean, count } from './text';

const MEMORY_KEY = 'adjutant.completions';
/** More news than this at once are one message. */
const MAX_MESSAGES = 2;

/** Shows completions as messages. Call it before the first start of the server. */
export function followCompletions(parts: Parts): void {
  const seen = new SeenRuns(parts.memory.get<string[]>(MEMORY_KEY, []));
  parts.server.on(Methods.agentCompleted, ({ completions }) => {
    const fresh = completions.filter(({ agentId, run }) => seen.add(agentId, run));
    if (fresh.length === 0) return;
    void parts.memory.update(MEMORY_KEY, seen.all());
    if (!vscode.workspace.getConfiguration('adjutant').get<boolean>('notifications.completions', true)) return;
    // Who stopped an agent knows that it ended.
    const news = fresh.filter((completion) => completion.endedBy !== 'user');
    if (news.length > MAX_MESSAGES) void tellMany(news);
    else for (const completion of news) void tell(completion);
  });
}

async function tell(completion: Completion): Promise<void> {
  const result = 'Show Result';
  const transcript = 'Open Transcript';
  const show = isBad(completion) ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  const choice = await show(message(completion), result, transcript);
  if (choice === result) await vscode.commands.executeCommand('adjutant.showResult', completion.agentId);
  if (choice === transcript) await vscode.commands.executeCommand('adjutant.openTranscript', completion.agentId);
}

async function tellMany(completions: readonly Completion[]): Promise<void> {
  const show = 'Show Agents';
  const bad = completions.filter(isBad).length;
  const text = `${count(completions.length, 'agent')} finished${bad > 0 ? `, ${bad} of them not well` : ''}: ${clean(completions.map(({ handle }) => handle).join(', '), 120)}`;
  if ((await vscode.window.showInformationMessage(text, show)) === show) await vscode.commands.executeCommand('adjutant.showAgents');
}

function isBad({ status }: Completion): boolean {
  return status !== 'completed' && status !== 'steered';
}

function message(completion: Completion): string {
  const verb = isBad(completion) ? clean(completion.status, 40) : 'finished';
  const said = clean(completion.error ?? firstWords(completion.resultPreview), 160);
  return `${clean(completion.handle, 40)} ${verb} after ${elapsed(completion.durationMs)}${said ? `: ${said}` : '.'}`;
}

/** The first paragraph of a Markdown text, without its marks. */
function firstWords(markdown: string): string {
  const paragraph = markdown.trim().split(/\n\s*\n/)[0] ?? '';
  return paragraph.replace(/^#+\s+/gm, '').replace(/[*`]+/g, '').replace(/:$/, '');
}
