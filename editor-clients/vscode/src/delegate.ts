// Asking for work: a prompt for the session, or a task for an agent.

import * as vscode from 'vscode';
import { WorkDoneProgress } from 'vscode-languageclient/node';
import type { Parts } from './commands';
import { Methods, type Attachment, type PromptResult } from './protocol.gen';
import { clean } from './text';

/** Agent types that every server has. Others are taken from the fleet, and from what was typed before. */
const BUILT_IN = [
  { label: 'general-purpose', description: 'open-ended research and work of many steps' },
  { label: 'Explore', description: 'finds things fast; only reads' },
  { label: 'Plan', description: 'thinks out a plan; only reads' },
];
const TYPES_KEY = 'adjutant.types';
const MAX_TYPES = 12;
let promptNumber = 0;

/** Asks for a prompt, sends it with the selection, and shows the session while it answers. */
export async function prompt(parts: Parts): Promise<void> {
  const { server, viewer } = parts;
  const selection = selected();
  const text = await vscode.window.showInputBox({
    title: 'Prompt Adjutant',
    placeHolder: 'What should be done?',
    ignoreFocusOut: true,
    ...(selection ? { prompt: selection.name } : {}),
  });
  if (!text?.trim()) return;
  const session = await server.request(Methods.sessionOpen, {});
  await viewer.showSession(session, true);
  await run(parts, session.sessionId, text, selection);
}

async function run(parts: Parts, sessionId: string, text: string, selection: Selected | undefined): Promise<void> {
  const connection = parts.server.connection;
  promptNumber += 1;
  const workDoneToken = `adjutant-prompt-${process.pid}-${promptNumber}`;
  const result = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: 'Adjutant' }, async (progress) => {
    const reports = connection?.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind !== 'end' && value.message) progress.report({ message: clean(value.message, 80) });
    });
    await vscode.commands.executeCommand('setContext', 'adjutant.prompting', true);
    try {
      return await parts.server.request(Methods.sessionPrompt, {
        sessionId,
        text,
        attachments: selection ? [selection.attachment] : [],
        origin: 'user',
        workDoneToken,
      });
    } finally {
      reports?.dispose();
      await vscode.commands.executeCommand('setContext', 'adjutant.prompting', false);
    }
  });
  const bad = outcome(result);
  if (bad !== undefined) void vscode.window.showWarningMessage(bad);
}

/** What to say of a run that did not end well; one that a person ended is known to them. */
function outcome(result: PromptResult): string | undefined {
  const why: Partial<Record<PromptResult['stopReason'], string>> = {
    error: 'The run failed',
    length: 'The answer was cut at the output limit of its model',
    refusal: 'The model refused',
    limit: 'A limit ended the run',
  };
  const said = why[result.stopReason];
  return said && (result.error ? `${said}: ${clean(result.error, 300)}` : `${said}.`);
}

/** Asks for a type and a task, and starts an agent on it. */
export async function delegate(parts: Parts): Promise<void> {
  const { server, roster } = parts;
  const type = await chooseType(parts);
  if (type === undefined) return;
  const selection = selected();
  const text = await vscode.window.showInputBox({
    title: `Delegate to ${type}`,
    placeHolder: 'What should it do? It sees this text, not the conversation.',
    ignoreFocusOut: true,
    ...(selection ? { prompt: selection.name } : {}),
  });
  if (!text?.trim()) return;
  const { agentId, handle, status } = await server.request(Methods.agentSpawn, {
    type,
    prompt: text,
    background: true,
    wakeModel: false,
    attachments: selection ? [selection.attachment] : [],
  });
  await remember(parts, type);
  vscode.window.setStatusBarMessage(`${clean(handle, 40)} is ${status === 'queued' ? 'queued' : 'at work'}.`, 5_000);
  await roster.reveal(agentId);
}

async function chooseType(parts: Parts): Promise<string | undefined> {
  const pick = vscode.window.createQuickPick();
  const known = typesKnown(parts);
  pick.title = 'Delegate to which type of agent?';
  pick.placeholder = 'Choose one, or type the name of one of your own';
  pick.matchOnDescription = true;
  pick.items = known;
  pick.onDidChangeValue((value) => {
    const typed = value.trim();
    const isNew = typed !== '' && !known.some(({ label }) => label.toLowerCase() === typed.toLowerCase());
    pick.items = isNew ? [...known, { label: typed, description: 'a type of your own' }] : known;
  });
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.label);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

function typesKnown({ fleet, memory }: Parts): vscode.QuickPickItem[] {
  const items = new Map<string, vscode.QuickPickItem>(BUILT_IN.map((item) => [item.label, item]));
  for (const type of memory.get<string[]>(TYPES_KEY, [])) {
    if (!items.has(type)) items.set(type, { label: type, description: 'used before' });
  }
  for (const agent of fleet.now.agents.values()) {
    const type = clean(agent.type, 60);
    if (type !== '' && !items.has(type)) items.set(type, { label: type, description: clean(agent.displayName, 60) });
  }
  return [...items.values()];
}

async function remember({ memory }: Parts, type: string): Promise<void> {
  if (BUILT_IN.some(({ label }) => label === type)) return;
  const types = memory.get<string[]>(TYPES_KEY, []).filter((one) => one !== type);
  await memory.update(TYPES_KEY, [type, ...types].slice(0, MAX_TYPES));
}

interface Selected {
  readonly attachment: Attachment;
  /** What a person is told that is sent along. */
  readonly name: string;
}

/** The selection of the active editor, where it holds anything and its document is one that the server knows. */
function selected(): Selected | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty || editor.document.uri.scheme !== 'file') return undefined;
  const { start, end } = editor.selection;
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const lines = last === start.line + 1 ? `line ${last}` : `lines ${start.line + 1}–${last}`;
  return {
    attachment: {
      type: 'selection',
      uri: editor.document.uri.toString(),
      range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
      text: editor.document.getText(editor.selection),
    },
    name: `With the selection: ${vscode.workspace.asRelativePath(editor.document.uri)}, ${lines}`,
  };
}
