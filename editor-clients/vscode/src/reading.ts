// What makes a transcript pleasant to read: it stays at its end while it grows, and has an outline, folds and links.

import * as vscode from 'vscode';
import type { Link, Section } from './render';
import { blockUri, VIEW_SCHEME, type Viewer } from './viewer';

/** A change of the visible lines this soon after a change of the text comes from the text, not from a person. */
const GROWTH_MS = 250;

/** Keeps each transcript at its end until a person scrolls up, and again from when they come back to the end. */
export class TailFollower implements vscode.Disposable {
  /** Documents that a person has scrolled up in. */
  private readonly held = new Set<string>();
  private readonly grown = new Map<string, number>();
  private readonly disposables: vscode.Disposable[];

  constructor() {
    this.disposables = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === VIEW_SCHEME) this.toEnd(document);
      }),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor, visibleRanges }) => {
        const { document } = textEditor;
        if (document.uri.scheme !== VIEW_SCHEME) return;
        const key = document.uri.toString();
        const atEnd = (visibleRanges.at(-1)?.end.line ?? 0) >= document.lineCount - 2;
        if (atEnd) this.held.delete(key);
        else if (Date.now() - (this.grown.get(key) ?? 0) > GROWTH_MS) this.held.add(key);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.held.delete(uri.toString());
        this.grown.delete(uri.toString());
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private toEnd(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    if (this.held.has(key)) return;
    this.grown.set(key, Date.now());
    const end = document.lineAt(document.lineCount - 1).range;
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document === document) editor.revealRange(end);
    }
  }
}

const SYMBOLS: Record<Section['kind'], vscode.SymbolKind> = {
  prompt: vscode.SymbolKind.Event,
  steer: vscode.SymbolKind.Event,
  assistant: vscode.SymbolKind.String,
  tool: vscode.SymbolKind.Function,
  custom: vscode.SymbolKind.Interface,
  notice: vscode.SymbolKind.Constant,
  end: vscode.SymbolKind.Namespace,
};

/** Outline, folds and links of transcripts. */
export function registerReading(viewer: Viewer): vscode.Disposable {
  const selector = { scheme: VIEW_SCHEME };
  return vscode.Disposable.from(
    vscode.languages.registerDocumentSymbolProvider(selector, {
      provideDocumentSymbols: (document) =>
        sections(viewer, document).map((section) => {
          const first = document.lineAt(section.line).range;
          const whole = first.union(document.lineAt(section.endLine).range);
          return new vscode.DocumentSymbol(section.title.slice(0, 80), '', SYMBOLS[section.kind], whole, first);
        }),
    }),
    vscode.languages.registerFoldingRangeProvider(selector, {
      provideFoldingRanges: (document) =>
        sections(viewer, document)
          .filter((section) => section.endLine > section.line)
          .map((section) => new vscode.FoldingRange(section.line, section.endLine)),
    }),
    vscode.languages.registerDocumentLinkProvider(selector, {
      provideDocumentLinks: (document) =>
        (viewer.renderedOf(document.uri)?.links ?? [])
          .filter((link) => link.line < document.lineCount)
          .flatMap((link) => documentLink(document.uri, link)),
    }),
  );
}

function sections(viewer: Viewer, document: vscode.TextDocument): readonly Section[] {
  // The text may be a drawing behind.
  return (viewer.renderedOf(document.uri)?.sections ?? []).filter((section) => section.endLine < document.lineCount);
}

function documentLink(uri: vscode.Uri, link: Link): vscode.DocumentLink[] {
  const target = targetOf(uri, link);
  return target ? [new vscode.DocumentLink(new vscode.Range(link.line, link.start, link.line, link.end), target)] : [];
}

/** Where a link leads. Texts of the server are data: only files and documents of ours are opened from them. */
function targetOf(uri: vscode.Uri, { target }: Link): vscode.Uri | undefined {
  switch (target.type) {
    case 'file': {
      const file = parse(target.location.uri, 'file');
      const line = target.location.range?.start.line;
      return line === undefined ? file : file?.with({ fragment: `L${line + 1}` });
    }
    case 'document':
      return parse(target.uri, 'adjutant');
    case 'block':
      return blockUri(uri, target.key);
    case 'agent':
      return command('adjutant.openTranscript', target.agentId);
    case 'earlier':
      return command('adjutant.loadEarlier', uri.toString());
  }
}

function parse(text: string, scheme: string): vscode.Uri | undefined {
  try {
    const uri = vscode.Uri.parse(text, true);
    return uri.scheme === scheme ? uri : undefined;
  } catch {
    return undefined;
  }
}

function command(name: string, argument: string): vscode.Uri {
  return vscode.Uri.parse(`command:${name}?${encodeURIComponent(JSON.stringify([argument]))}`);
}
