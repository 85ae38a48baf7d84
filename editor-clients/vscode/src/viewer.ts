// Transcripts as read-only documents that grow: text, so that search, copy, folding, outline and screen readers work.

import * as vscode from 'vscode';
import type { FleetStore } from './fleet';
import { LiveTranscript, sessionDetail, type Subject } from './live';
import { Methods, type AgentSummary, type SessionInfo } from './protocol.gen';
import { render, wholeText, type Head, type Rendered } from './render';
import { descriptionOf, handleOf, stateOf } from './rows';
import { explain, type Server } from './server';
import { clean, escapeMarkdown, harmless } from './text';

export const VIEW_SCHEME = 'adjutant-view';
/** Documents of the server itself. */
const SERVER_SCHEME = 'adjutant';
/** Text of this length is drawn again ten times a second; a longer one in proportion more seldom. */
const SMALL_TEXT = 100_000;
const FASTEST_MS = 100;
const SLOWEST_MS = 2_000;

interface View {
  readonly uri: vscode.Uri;
  readonly live: LiveTranscript;
  rendered: Rendered;
  timer: NodeJS.Timeout | undefined;
  /** What the last drawing said above the transcript. */
  head: string;
}

export class Viewer implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly views = new Map<string, View>();
  private readonly sessions = new Map<string, SessionInfo>();
  private readonly event = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.event.event;
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly server: Server,
    private readonly fleet: FleetStore,
  ) {
    server.on(Methods.agentEvent, ({ agentId, seq, event }) => {
      this.byId('agent', agentId)?.live.take(seq, event);
    });
    server.on(Methods.sessionEvent, ({ sessionId, seq, event }) => {
      this.byId('session', sessionId)?.live.take(seq, event);
    });
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(VIEW_SCHEME, this),
      vscode.workspace.registerTextDocumentContentProvider(SERVER_SCHEME, {
        provideTextDocumentContent: async (uri) => (await server.request(Methods.document, { uri: uri.toString(true) })).text,
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.close(document.uri);
      }),
      server.onStatus((status) => {
        for (const { live } of this.views.values()) {
          if (status === 'ready') void live.open();
          else live.lost('The server is not running.');
        }
      }),
      fleet.onChange(() => {
        for (const view of this.views.values()) {
          if (this.headOf(view).detail !== view.head) this.changed(view);
        }
      }),
      this.event,
    ];
  }

  /** Shows an agent's transcript. */
  async showAgent(agentId: string, preserveFocus = false): Promise<void> {
    const agent = this.fleet.get(agentId);
    await this.show(uriOf({ type: 'agent', id: agentId }, agent ? handleOf(agent) : 'agent'), preserveFocus);
  }

  /** Shows a session's transcript. */
  async showSession(info: SessionInfo, preserveFocus = false): Promise<void> {
    this.sessions.set(info.sessionId, info);
    await this.show(uriOf({ type: 'session', id: info.sessionId }, 'session'), preserveFocus);
  }

  /** Shows the result of an agent's last run. */
  async showResult(agent: AgentSummary): Promise<void> {
    const name = `/${fileName(handleOf(agent))}-result-${agent.run}.md`;
    const uri = vscode.Uri.from({ scheme: VIEW_SCHEME, authority: 'result', path: name, query: agent.agentId });
    // One that was read while the agent still ran has to be read again.
    this.event.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  /** The subject of a document of ours. */
  subjectOf(uri: vscode.Uri | undefined): Subject | undefined {
    return uri?.scheme === VIEW_SCHEME ? subjectOf(uri) : undefined;
  }

  /** The drawing that a document shows. */
  renderedOf(uri: vscode.Uri): Rendered | undefined {
    return this.views.get(uri.toString())?.rendered;
  }

  /** Reads older entries into the document. */
  async earlier(uri: vscode.Uri): Promise<void> {
    await this.views.get(uri.toString())?.live.earlier();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const block = blockOf(uri);
    if (block) return this.blockText(block.of, block.key);
    if (uri.authority === 'result') return this.resultText(uri.query);
    const subject = subjectOf(uri);
    if (!subject) return 'There is no such transcript.\n';
    let view = this.views.get(uri.toString());
    if (!view) {
      view = this.follow(uri, subject);
      await view.live.open();
    }
    clearTimeout(view.timer);
    view.timer = undefined;
    const head = this.headOf(view);
    view.head = head.detail;
    view.rendered = render(head, view.live.transcript);
    return view.rendered.text;
  }

  dispose(): void {
    for (const view of [...this.views.values()]) this.close(view.uri);
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async show(uri: vscode.Uri, preserveFocus: boolean): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: true, preserveFocus });
    const end = new vscode.Position(document.lineCount, 0);
    editor.selection = new vscode.Selection(end, end);
    editor.revealRange(new vscode.Range(end, end));
  }

  private follow(uri: vscode.Uri, subject: Subject): View {
    const view: View = {
      uri,
      live: new LiveTranscript(
        subject,
        this.server,
        () => {
          this.changed(view);
        },
        explain,
      ),
      rendered: { text: '', sections: [], links: [] },
      timer: undefined,
      head: '',
    };
    this.views.set(uri.toString(), view);
    return view;
  }

  private close(uri: vscode.Uri): void {
    const view = this.views.get(uri.toString());
    if (!view) return;
    this.views.delete(uri.toString());
    clearTimeout(view.timer);
    view.live.close();
  }

  private byId(type: Subject['type'], id: string): View | undefined {
    for (const view of this.views.values()) {
      if (view.live.subject.type === type && view.live.subject.id === id) return view;
    }
    return undefined;
  }

  private changed(view: View): void {
    view.timer ??= setTimeout(
      () => {
        view.timer = undefined;
        this.event.fire(view.uri);
      },
      Math.min(SLOWEST_MS, Math.max(FASTEST_MS, (FASTEST_MS * view.rendered.text.length) / SMALL_TEXT)),
    );
  }

  private headOf(view: View): Head {
    const { subject, summary, trouble } = view.live;
    if (subject.type === 'session') {
      const info = this.sessions.get(subject.id);
      return { title: clean(info?.title, 60) || 'Session', detail: sessionDetail(info), status: trouble };
    }
    const agent = this.fleet.get(subject.id) ?? summary;
    if (!agent) return { title: 'Agent', detail: '', status: trouble };
    return {
      title: [handleOf(agent), descriptionOf(agent)].filter((part) => part !== '').join(' — '),
      detail: [clean(agent.displayName, 40), agent.model, stateOf(agent)].filter((part) => part !== '').join(' · '),
      status: trouble,
    };
  }

  private async resultText(agentId: string): Promise<string> {
    const { run, status, text, partial } = await this.server.request(Methods.agentResult, { agentId });
    const agent = this.fleet.get(agentId);
    const who = agent ? `# ${escapeMarkdown(handleOf(agent))}\n\n${escapeMarkdown(descriptionOf(agent))}\n\n` : '';
    const note = partial ? '> This run has not ended by itself: the result may be incomplete.\n\n' : '';
    return `${who}Run ${run}: ${clean(status, 40)}\n\n${note}${harmless(text).trim() || 'It wrote nothing.'}\n`;
  }

  private blockText(of: Subject, key: string): string {
    const block = this.byId(of.type, of.id)?.live.transcript.find(key);
    return block ? `${wholeText(block)}\n` : 'The transcript that this belongs to is closed. Open it again.\n';
  }
}

/** The document of a transcript. Its name is what the tab shows; the id, in the query, is what counts. */
function uriOf(subject: Subject, name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: VIEW_SCHEME, authority: subject.type, path: `/${fileName(name)}`, query: subject.id });
}

function fileName(name: string): string {
  return name.replace(/[^\p{L}\p{N}._-]+/gu, '-');
}

function subjectOf(uri: vscode.Uri): Subject | undefined {
  const type = uri.authority;
  return (type === 'agent' || type === 'session') && uri.query !== '' ? { type, id: uri.query } : undefined;
}

/** The document with the whole text of one block of the transcript in `uri`. */
export function blockUri(uri: vscode.Uri, key: string): vscode.Uri {
  return uri.with({ authority: `block-${uri.authority}`, path: `${uri.path}-output`, fragment: key });
}

function blockOf(uri: vscode.Uri): { of: Subject; key: string } | undefined {
  const of = /^block-(agent|session)$/.exec(uri.authority)?.[1] as Subject['type'] | undefined;
  return of && { of: { type: of, id: uri.query }, key: uri.fragment };
}
