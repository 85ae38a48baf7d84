// A transcript as plain text. Every line of ours begins in the first column and every line of a model, a tool or a
// file is indented, so that no text can pass itself off as one of our headings; folding follows from the indentation.

import type { Location } from './protocol.gen';
import { tokens } from './rows';
import { clean, count, harmless } from './text';
import type { Block, Transcript } from './transcript';

/** Lines of a tool's output that are shown in place; the whole of it is one link away. */
export const OUTPUT_LINES = 24;
const INDENT = '  ';

/** What stands above the transcript. */
export interface Head {
  readonly title: string;
  readonly detail: string;
  /** Said in place of a transcript while there is none. */
  readonly status?: string | undefined;
}

/** A heading, for the outline. */
export interface Section {
  readonly line: number;
  /** The last line that belongs to it. */
  endLine: number;
  readonly kind: Block['kind'];
  readonly title: string;
}

/** A part of a line that leads somewhere. */
export interface Link {
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly target:
    | { readonly type: 'file'; readonly location: Location }
    | { readonly type: 'block'; readonly key: string }
    | { readonly type: 'document'; readonly uri: string }
    | { readonly type: 'agent'; readonly agentId: string }
    | { readonly type: 'earlier' };
}

export interface Rendered {
  readonly text: string;
  readonly sections: readonly Section[];
  readonly links: readonly Link[];
}

/** The transcript's text, its outline and its links. */
export function render(head: Head, transcript: Transcript): Rendered {
  const page = new Page();
  page.add(`◆ ${clean(head.title)}`);
  if (head.detail) page.add(`  ${clean(head.detail)}`);
  page.add('');
  if (head.status) page.add(head.status, '');
  if (transcript.hasMore) {
    page.link('↑ ', 'Earlier messages', { type: 'earlier' });
    page.add('');
  }
  for (const block of transcript.all) renderBlock(page, block);
  return page.done();
}

/** The whole text of one block, for the document behind a link. */
export function wholeText(block: Block): string {
  switch (block.kind) {
    case 'tool':
      return harmless([block.title, '', ...(block.card ? [block.card.title, ...block.card.lines, ''] : []), block.text].join('\n'));
    case 'custom':
      return harmless([block.card.title, '', ...block.card.lines].join('\n'));
    case 'end':
      return harmless(block.error ?? '');
    default:
      return harmless(block.text);
  }
}

class Page {
  private readonly lines: string[] = [];
  private readonly sections: Section[] = [];
  private readonly links: Link[] = [];

  add(...lines: string[]): void {
    this.lines.push(...lines);
  }

  /** A text of others, indented. */
  body(text: string, indent = INDENT): void {
    for (const line of harmless(text).trimEnd().split('\n')) this.lines.push(line === '' ? '' : indent + line);
  }

  heading(kind: Block['kind'], line: string, title: string): void {
    this.sections.push({ line: this.lines.length, endLine: this.lines.length, kind, title: clean(title) || line });
    this.lines.push(line);
  }

  link(before: string, text: string, target: Link['target'], after = ''): void {
    this.links.push({ line: this.lines.length, start: before.length, end: before.length + text.length, target });
    this.lines.push(before + text + after);
  }

  done(): Rendered {
    this.sections.forEach((section, index) => {
      const next = this.sections[index + 1]?.line ?? this.lines.length;
      let end = next - 1;
      while (end > section.line && this.lines[end] === '') end -= 1;
      section.endLine = end;
    });
    return { text: `${this.lines.join('\n')}\n`, sections: this.sections, links: this.links };
  }
}

const AUTHORS = { user: 'You', parent: 'Parent', host: 'Adjutant' } as const;

function renderBlock(page: Page, block: Block): void {
  switch (block.kind) {
    case 'prompt':
      page.heading('prompt', `▶ ${author(block.author)}`, block.text);
      textOf(page, block);
      break;
    case 'assistant':
      renderAssistant(page, block);
      break;
    case 'steer': {
      const note = { queued: ', waits for the next turn', delivered: '', withdrawn: ', taken back', expired: ', never delivered' };
      page.heading('steer', `↪ ${author(block.author)} · steering${note[block.state]}`, block.text);
      page.body(block.text);
      break;
    }
    case 'tool':
      renderTool(page, block);
      break;
    case 'custom':
      page.heading('custom', `✉ ${clean(block.card.title)}`, block.card.title);
      for (const line of block.card.lines) page.body(line);
      break;
    case 'notice':
      page.add(`${block.level === 'info' ? 'ℹ' : '⚠'} ${clean(block.text)}`);
      break;
    case 'end':
      renderEnd(page, block);
      break;
  }
  page.add('');
}

function author(name: string): string {
  return AUTHORS[name as keyof typeof AUTHORS] ?? 'Adjutant';
}

function textOf(page: Page, block: Extract<Block, { kind: 'prompt' | 'assistant' }>): void {
  if (block.text) page.body(block.text);
  if (block.ref) page.link(INDENT, `Open the whole text (${size(block.ref.bytes)})`, { type: 'document', uri: block.ref.uri });
}

function renderAssistant(page: Page, block: Extract<Block, { kind: 'assistant' }>): void {
  if (block.thinking) {
    page.heading('assistant', '○ Thinking', block.thinking);
    page.body(block.thinking);
    if (block.text || block.ref) page.add('');
  }
  if (block.text || block.ref || !block.thinking) {
    page.heading('assistant', block.streaming ? '● Answer …' : '● Answer', block.text);
    textOf(page, block);
  }
}

const OUTCOMES: Record<string, string> = { ok: '✓', error: '✗ failed', denied: '✗ not permitted', cancelled: '■ cancelled' };

function renderTool(page: Page, block: Extract<Block, { kind: 'tool' }>): void {
  const outcome = block.outcome === undefined ? '…' : (OUTCOMES[block.outcome] ?? '✓');
  // A title that says the tool's name itself needs it no second time.
  const title = clean(block.title);
  const name = clean(block.name);
  const said = title.toLowerCase().startsWith(name.toLowerCase()) ? title : `${name}  ${title}`;
  page.heading('tool', `⚙ ${said}  ${outcome}`, said);
  for (const location of block.locations) {
    page.link(INDENT, place(location), { type: 'file', location });
  }
  if (block.agentId) page.link(INDENT, 'Open its transcript', { type: 'agent', agentId: block.agentId });
  const lines = outputLines(block);
  page.body(lines.slice(0, OUTPUT_LINES).join('\n'), '    ');
  if (block.ref) {
    page.link('    ', `Open the whole output (${size(block.ref.bytes)})`, { type: 'document', uri: block.ref.uri });
  } else if (lines.length > OUTPUT_LINES) {
    page.link('    ', `Open ${count(lines.length - OUTPUT_LINES, 'more line')}`, { type: 'block', key: block.key });
  }
}

function outputLines(block: Extract<Block, { kind: 'tool' }>): string[] {
  const text = harmless(block.text).trimEnd();
  const card = block.card ? [block.card.title, ...block.card.lines].map((line) => clean(line)).filter((line) => line !== '') : [];
  return [...card, ...(text === '' || (card.length > 0 && block.outcome === 'ok') ? [] : text.split('\n'))];
}

const STOPS: Record<string, string> = {
  endTurn: 'ended',
  aborted: 'was stopped',
  error: 'failed',
  length: 'ended at the output limit of its model',
  refusal: 'ended: the model refused',
  limit: 'ended by a limit',
};

function renderEnd(page: Page, block: Extract<Block, { kind: 'end' }>): void {
  const parts = [`Run ${block.run} ${STOPS[block.stopReason] ?? 'ended'}`];
  if (block.turns) parts.push(count(block.turns, 'turn'));
  if (block.tokens) parts.push(tokens(block.tokens));
  page.heading('end', `── ${parts.join(' · ')} ──`, parts[0] ?? '');
  if (block.error) page.body(block.error);
}

/** A location as a person reads it: the end of its path, and its line. */
function place(location: Location): string {
  let path = location.uri;
  try {
    path = decodeURIComponent(new URL(location.uri).pathname);
  } catch {
    // Not a URI that can be read: shown as it is.
  }
  const short = path.split('/').slice(-3).join('/');
  return clean(location.range ? `${short}:${location.range.start.line + 1}` : short) || 'Open';
}

function size(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${(bytes / 1024 / 1024).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} KB`;
}
