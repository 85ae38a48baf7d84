// The roster in the side bar.

import * as vscode from 'vscode';
import type { FleetStore, FleetUpdate } from './fleet';
import type { AgentSummary } from './protocol.gen';
import { cost, descriptionOf, handleOf, stateOf, statsOf, tailOf, tokens } from './rows';
import type { Server } from './server';
import { countsOf, differences, isEnded, type Fleet } from './state';
import { clean, count, escapeMarkdown } from './text';

/** How often the times of running agents are drawn again, while the view is seen. Drawing a row takes away what is shown
 * of it under the pointer, so it is done no more often than it has to be. */
const TICK_MS = 10_000;
/** How long progress waits, so that what is gathered is drawn at once. A change of state waits for nothing. */
const PROGRESS_MS = 1_500;
/** Rows drawn again in one tick; more would be out of sight. */
const TICK_ROWS = 100;

/** Names rows to the editor, so that they can be marked. */
const MARK_SCHEME = 'adjutant-row';

/** An element of the tree is an agent's id: it stays the same while the agent changes. */
export class RosterView implements vscode.TreeDataProvider<string>, vscode.FileDecorationProvider, vscode.Disposable {
  private readonly event = new vscode.EventEmitter<string[] | undefined>();
  readonly onDidChangeTreeData = this.event.event;
  private readonly marks = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChangeFileDecorations = this.marks.event;
  private readonly decorations: vscode.Disposable;
  private readonly view: vscode.TreeView<string>;
  private readonly tick: NodeJS.Timeout;
  /** Rows with progress that is not drawn yet. */
  private readonly behind = new Set<string>();
  private progress: NodeJS.Timeout | undefined;

  constructor(
    private readonly fleet: FleetStore,
    private readonly server: Server,
  ) {
    this.view = vscode.window.createTreeView('adjutant.roster', {
      treeDataProvider: this,
      showCollapseAll: true,
      canSelectMany: true,
    });
    this.decorations = vscode.window.registerFileDecorationProvider(this);
    this.tick = setInterval(() => {
      this.drawTimes();
    }, TICK_MS);
    fleet.onChange((update) => {
      this.update(update);
    });
  }

  /** The agents that are selected, for commands of the keyboard and the palette. */
  get selection(): readonly string[] {
    return this.view.selection;
  }

  /** Shows an agent's row, where the view is open. */
  async reveal(agentId: string, select = true): Promise<void> {
    if (!this.view.visible || !this.fleet.get(agentId)) return;
    try {
      await this.view.reveal(agentId, { select });
    } catch {
      // The row went away in the meantime.
    }
  }

  getChildren(agentId?: string): string[] {
    const { roots, children } = this.fleet.tree;
    return (agentId === undefined ? roots : (children.get(agentId) ?? [])).map((agent) => agent.agentId);
  }

  getParent(agentId: string): string | undefined {
    return this.fleet.tree.parents.get(agentId)?.agentId;
  }

  getTreeItem(agentId: string): vscode.TreeItem {
    const agent = this.fleet.get(agentId);
    const item = new vscode.TreeItem(agent ? handleOf(agent) : agentId);
    item.id = agentId;
    if (!agent) return item;
    item.resourceUri = markUri(agentId);
    const hasChildren = this.fleet.tree.children.has(agentId);
    item.collapsibleState = hasChildren ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
    // The state first: a side bar is narrow, and its end is cut.
    const [state, ...tail] = tailOf(agent, this.fleet.serverNow);
    item.description = [state, descriptionOf(agent), ...tail].filter((part) => part).join(' · ');
    item.iconPath = iconOf(agent);
    item.contextValue = contextOf(agent, hasChildren);
    item.accessibilityInformation = { label: spoken(agent, this.fleet.serverNow), role: 'treeitem' };
    item.command = { command: 'adjutant.openTranscript', title: 'Open Transcript', arguments: [agentId] };
    return item;
  }

  resolveTreeItem(item: vscode.TreeItem, agentId: string): vscode.TreeItem {
    const agent = this.fleet.get(agentId);
    if (agent) item.tooltip = tooltip(agent, this.fleet.serverNow);
    return item;
  }

  /** The mark at the end of a row: a decision that waits, or a result that nobody has read. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const agent = uri.scheme === MARK_SCHEME ? this.fleet.get(uri.query) : undefined;
    if (!agent) return undefined;
    if (agent.attention > 0) return new vscode.FileDecoration('!', 'Waits for you', new vscode.ThemeColor('list.warningForeground'));
    return isUnread(agent) ? new vscode.FileDecoration('●', 'Result not read') : undefined;
  }

  dispose(): void {
    clearInterval(this.tick);
    clearTimeout(this.progress);
    this.decorations.dispose();
    this.marks.dispose();
    this.view.dispose();
    this.event.dispose();
  }

  private update({ before, after }: FleetUpdate): void {
    const { changed, moved } = differences(before, after);
    if (moved) this.event.fire(undefined);
    else this.draw(changed, before, after);
    const marked = changed.filter((id) => markOf(before.agents.get(id)) !== markOf(after.agents.get(id)));
    if (marked.length > 0) this.marks.fire(marked.map(markUri));
    if (moved && before.agents.size > 0) void this.unfold(before, changed);
    const { running, queued } = countsOf(after);
    const tooltipText = `${count(running, 'agent')} running${queued ? `, ${queued} queued` : ''}`;
    this.view.badge = running > 0 ? { value: running, tooltip: tooltipText } : undefined;
    this.view.message = this.server.status === 'ready' && !after.synced && after.agents.size > 0 ? 'Bringing up to date …' : '';
  }

  private draw(changed: readonly string[], before: Fleet, after: Fleet): void {
    const now = changed.filter((id) => faceOf(before.agents.get(id)) !== faceOf(after.agents.get(id)));
    if (now.length > 0) this.event.fire(now);
    for (const id of now) this.behind.delete(id);
    const drawn = new Set(now);
    for (const id of changed) if (!drawn.has(id)) this.behind.add(id);
    if (this.behind.size === 0) return;
    this.progress ??= setTimeout(() => {
      this.progress = undefined;
      this.event.fire([...this.behind]);
      this.behind.clear();
    }, PROGRESS_MS);
  }

  /** Shows the first agents under one that had none: a row that was drawn without children stays closed by itself. */
  private async unfold(before: Fleet, changed: readonly string[]): Promise<void> {
    const { children, parents } = this.fleet.tree;
    for (const id of changed) {
      const parent = parents.get(id);
      if (!parent || before.agents.has(id) || !before.agents.has(parent.agentId)) continue;
      const isFirst = (children.get(parent.agentId) ?? []).every((child) => !before.agents.has(child.agentId));
      if (isFirst) await this.reveal(id, false);
    }
  }

  private drawTimes(): void {
    if (!this.view.visible) return;
    const running: string[] = [];
    for (const agent of this.fleet.now.agents.values()) {
      if (isEnded(agent) || agent.startedAt === undefined) continue;
      if (running.push(agent.agentId) >= TICK_ROWS) break;
    }
    if (running.length > 0) this.event.fire(running);
  }
}

function markUri(agentId: string): vscode.Uri {
  return vscode.Uri.from({ scheme: MARK_SCHEME, path: '/agent', query: agentId });
}

/** What of a row has to be right at every moment. */
function faceOf(agent: AgentSummary | undefined): string {
  return agent ? `${stateOf(agent)}/${agent.attention}/${agent.resumable}/${agent.unread}/${agent.readOnly ?? false}` : '';
}

function markOf(agent: AgentSummary | undefined): string {
  return agent ? `${agent.attention > 0}${isUnread(agent)}` : '';
}

function isUnread(agent: AgentSummary): boolean {
  return agent.unread && isEnded(agent);
}

const ICONS: Record<string, [icon: string, color: string]> = {
  queued: ['circle-outline', 'descriptionForeground'],
  running: ['loading~spin', 'charts.blue'],
  stopping: ['stop-circle', 'list.warningForeground'],
  completed: ['pass', 'testing.iconPassed'],
  steered: ['pass', 'testing.iconPassed'],
  aborted: ['warning', 'list.warningForeground'],
  stopped: ['debug-stop', 'descriptionForeground'],
  error: ['error', 'testing.iconFailed'],
  interrupted: ['debug-disconnect', 'list.warningForeground'],
};

function iconOf(agent: AgentSummary): vscode.ThemeIcon {
  const waits = agent.attention > 0 || (agent.status === 'running' && agent.waitingOn === 'approval');
  const [icon, color] = waits
    ? ['bell-dot', 'list.warningForeground']
    : Object.hasOwn(ICONS, agent.status)
      ? (ICONS[agent.status] ?? ['circle-filled', 'descriptionForeground'])
      : ['circle-filled', 'descriptionForeground'];
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}

/** What menus ask for. An agent that another server holds takes no verbs. */
function contextOf(agent: AgentSummary, hasChildren: boolean): string {
  const parts = ['agent'];
  if (agent.readOnly) parts.push('readOnly');
  else if (!isEnded(agent)) parts.push(agent.status === 'stopping' ? 'stopping' : 'live');
  else if (agent.resumable) parts.push('resumable');
  if (isEnded(agent)) parts.push('ended');
  if (hasChildren) parts.push('parent');
  return `${parts.join('.')}.`;
}

/** The row as a sentence. */
function spoken(agent: AgentSummary, serverNow: number): string {
  const stats = statsOf(agent, serverNow).join(', ');
  return [
    `${handleOf(agent)}, ${clean(agent.displayName, 40)}`,
    stateOf(agent),
    isUnread(agent) ? 'result not read' : '',
    descriptionOf(agent),
    clean(isEnded(agent) ? agent.error : agent.activity, 120),
    stats,
  ]
    .filter((part) => part !== '')
    .map((part) => part.replace(/[.…]$/, ''))
    .join('. ');
}

function tooltip(agent: AgentSummary, serverNow: number): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = false;
  const escape = (part: string | undefined): string => escapeMarkdown(clean(part));
  text.appendMarkdown(`**${escape(agent.handle)}** · ${escape(agent.displayName)} · ${escape(stateOf(agent))}\n\n`);
  if (agent.description) text.appendMarkdown(`${escape(agent.description)}\n\n`);
  const rows: [string, string][] = [
    ['Doing', isEnded(agent) ? '' : (agent.activity ?? '')],
    ['Model', agent.requestedModel ? `${agent.model} (asked for: ${agent.requestedModel})` : agent.model],
    ['Stats', statsOf(agent, serverNow).join(' · ')],
    ['Cost', vscode.workspace.getConfiguration('adjutant').get<boolean>('showCost', false) ? cost(agent.usage.costUsd) : ''],
    ['With its agents', agent.subtree.agents > 0 ? `${count(agent.subtree.agents, 'agent')} · ${tokens(agent.subtree.usage.total)}` : ''],
    ['Context', agent.contextPercent === undefined ? '' : `${Math.round(agent.contextPercent)} % full`],
    ['Permissions', agent.permissionMode],
    ['Folder', agent.cwd],
    ['Result', agent.resultPreview ?? ''],
    ['Error', agent.error ?? ''],
    ['Note', agent.readOnly ? 'Another window holds this agent; here it can only be read.' : ''],
  ];
  text.appendMarkdown('|  |  |\n|:--|:--|\n');
  for (const [name, value] of rows) {
    if (value !== '') text.appendMarkdown(`| ${name} | ${escape(clean(value, 300))} |\n`);
  }
  return text;
}
