// One transcript as this window knows it: a page of entries, then events in sequence. How it reads is in render.ts.

import { Buffer } from 'node:buffer';
import type { Card, Entry, Location, PartialMessage, SessionEvent, TextRef, TranscriptPage } from './protocol.gen';

/** Blocks kept in memory; past this the oldest go, and are read from the server again when asked for. */
export const MAX_BLOCKS = 4_000;
/** UTF-16 units of one block's text that are kept; a longer one loses its head, as a terminal does. */
export const MAX_TEXT = 256 * 1024;

export type Author = 'user' | 'parent' | 'host';
export type ToolOutcome = 'ok' | 'error' | 'denied' | 'cancelled';

/** A text whose bytes on the server's side are counted, so that a delta can be put in its place. */
interface Stream {
  text: string;
  bytes: number;
}

export type Block =
  | { kind: 'prompt'; key: string; text: string; ref?: TextRef; author: Author }
  | { kind: 'assistant'; key: string; text: string; ref?: TextRef; thinking: string; streaming: boolean }
  | { kind: 'steer'; key: string; text: string; author: Author; state: 'queued' | 'delivered' | 'withdrawn' | 'expired' }
  | {
      kind: 'tool';
      key: string;
      name: string;
      toolKind: string;
      title: string;
      locations: readonly Location[];
      outcome?: ToolOutcome;
      text: string;
      ref?: TextRef;
      card?: Card;
      agentId?: string;
    }
  | { kind: 'custom'; key: string; card: Card }
  | { kind: 'notice'; key: string; level: 'info' | 'warning' | 'error'; text: string }
  | { kind: 'end'; key: string; run: number; stopReason: string; error?: string; tokens: number; turns?: number };

/** What an event did. `gap`: something before it is missing, so the transcript has to be opened again. */
export type Applied = 'applied' | 'old' | 'gap';

export class Transcript {
  private blocks: Block[] = [];
  private byKey = new Map<string, Block>();
  private streams = new Map<string, { text: Stream; thinking: Stream }>();
  private next = 1;
  private older = false;
  private oldest: number | undefined;
  private turns = 0;
  /** Steering messages that are shown, and follow once more as messages. */
  private delivered: string[] = [];

  /** The blocks, oldest first. */
  get all(): readonly Block[] {
    return this.blocks;
  }

  /** The `seq` of the event that has to come next. */
  get nextSeq(): number {
    return this.next;
  }

  /** Whether the server has older entries. */
  get hasMore(): boolean {
    return this.older;
  }

  /** What to ask for to get the page before; absent where nothing is known. */
  get oldestSeq(): number | undefined {
    return this.oldest;
  }

  /** The block with this key. */
  find(key: string): Block | undefined {
    return this.byKey.get(key);
  }

  /** Starts again from a page; what was known before is dropped. */
  open(page: TranscriptPage, nextSeq: number): void {
    this.blocks = [];
    this.byKey.clear();
    this.streams.clear();
    this.turns = 0;
    this.delivered = [];
    this.next = nextSeq;
    this.older = page.hasMore;
    this.oldest = page.entries[0]?.seq;
    for (const entry of page.entries) this.put(blockOf(entry));
    if (page.partial) this.takePartial(page.partial);
    this.trim();
  }

  /** Puts an older page in front. A page that does not end before what is known is ignored. */
  prepend(page: TranscriptPage): void {
    const last = page.entries.at(-1);
    if (last && this.oldest !== undefined && last.seq >= this.oldest) return;
    const blocks: Block[] = [];
    for (const entry of page.entries) {
      const block = blockOf(entry);
      if (!block || this.byKey.has(block.key)) continue;
      this.byKey.set(block.key, block);
      blocks.push(block);
    }
    this.blocks = [...blocks, ...this.blocks];
    this.older = page.hasMore;
    this.oldest = page.entries[0]?.seq ?? this.oldest;
  }

  /** Takes one event. Events that are not known are passed over, but counted. */
  apply(seq: number, event: SessionEvent): Applied {
    if (seq < this.next) return 'old';
    if (seq > this.next) return 'gap';
    if (this.take(event) === 'gap') return 'gap';
    this.next = seq + 1;
    this.trim();
    return 'applied';
  }

  private take(event: SessionEvent): Applied {
    switch (event.type) {
      case 'messageStart':
        if (event.role === 'assistant') this.assistant(event.entryId).streaming = true;
        return 'applied';
      case 'textDelta':
        return this.delta(event.entryId, 'text', event.offset, event.text);
      case 'thinkingDelta':
        return this.delta(event.entryId, 'thinking', event.offset, event.text);
      case 'messageEnd':
        this.endMessage(event);
        return 'applied';
      case 'toolStart':
        this.put({
          kind: 'tool',
          key: event.toolCallId,
          name: event.name,
          toolKind: event.kind,
          title: event.title,
          locations: event.locations,
          text: '',
          ...present({ agentId: event.agentId }),
        });
        return 'applied';
      case 'toolUpdate':
      case 'toolEnd':
        this.updateTool(event);
        return 'applied';
      case 'customMessage':
        this.put({ kind: 'custom', key: event.entryId, card: event.card });
        return 'applied';
      case 'steerQueued':
      case 'steerDelivered':
      case 'steerWithdrawn':
      case 'steerExpired':
        this.steer(event);
        return 'applied';
      case 'turnEnd':
        this.turns += 1;
        return 'applied';
      default:
        this.takeRunEvent(event);
        return 'applied';
    }
  }

  private takeRunEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'runStart':
        this.turns = 0;
        return;
      case 'runEnd':
        for (const key of this.streams.keys()) this.settle(key);
        this.streams.clear();
        this.delivered = [];
        this.put({
          kind: 'end',
          key: `end:${event.run}`,
          run: event.run,
          stopReason: event.stopReason,
          tokens: event.usage.total,
          ...(this.turns > 0 ? { turns: this.turns } : {}),
          ...present({ error: event.error }),
        });
        return;
      case 'retry':
        this.notice('warning', `${event.error} Trying again in ${seconds(event.delayMs)} (${event.attempt} of ${event.maxAttempts}).`);
        return;
      case 'compactionStart':
        this.notice('info', 'The history is being shortened.');
        return;
      case 'compactionEnd':
        this.notice(event.error ? 'error' : 'info', compactionText(event));
        return;
      case 'modelChanged':
        this.notice('info', `Continues with ${event.model}${event.thinking ? `, thinking ${event.thinking}` : ''}.`);
        return;
    }
  }

  /** A prompt, a steering message or an answer is whole; it replaces what its deltas built. */
  private endMessage(event: Extract<SessionEvent, { type: 'messageEnd' }>): void {
    const text = event.text ?? '';
    const ref = present({ ref: event.ref });
    if (event.role === 'assistant') {
      this.streams.delete(event.entryId);
      const block = this.assistant(event.entryId);
      const thinking = event.thinking ?? block.thinking;
      if (text === '' && thinking === '' && !event.ref) {
        this.drop(event.entryId);
        return;
      }
      Object.assign(block, { text, thinking, streaming: false }, ref);
      return;
    }
    const shown = this.delivered.indexOf(text);
    if (shown >= 0) {
      this.delivered.splice(shown, 1);
      return;
    }
    this.put({ kind: 'prompt', key: event.entryId, text, author: event.author ?? 'user', ...ref });
  }

  private steer(event: { type: string; steerId: string; text: string; author: Author }): void {
    const states = { steerQueued: 'queued', steerDelivered: 'delivered', steerWithdrawn: 'withdrawn', steerExpired: 'expired' } as const;
    const state = states[event.type as keyof typeof states];
    const key = `steer:${event.steerId}`;
    const known = this.byKey.get(key);
    if (state !== 'delivered' && known?.kind === 'steer') {
      known.state = state;
      return;
    }
    if (state === 'delivered') {
      // It stands where the model got it, not where it was queued.
      this.drop(key);
      const last = this.blocks.at(-1);
      if (last?.kind === 'prompt' && last.text === event.text) this.drop(last.key);
      else this.delivered.push(event.text);
    }
    this.put({ kind: 'steer', key, text: event.text, author: event.author, state });
  }

  private updateTool(event: Extract<SessionEvent, { type: 'toolUpdate' | 'toolEnd' }>): void {
    const known = this.byKey.get(event.toolCallId);
    const block: Block = known ?? {
      kind: 'tool',
      key: event.toolCallId,
      // It began before the page that is known: what it says is shown all the same.
      name: 'tool',
      toolKind: 'other',
      title: 'call begun earlier',
      locations: [],
      text: '',
    };
    if (block.kind !== 'tool') return;
    if (!known) this.put(block);
    if (event.text !== undefined) block.text = tail(event.text);
    if (event.card) block.card = event.card;
    if (event.type !== 'toolEnd') return;
    block.outcome = event.outcome;
    if (event.ref) block.ref = event.ref;
  }

  private delta(entryId: string, part: 'text' | 'thinking', offset: number, text: string): Applied {
    const block = this.assistant(entryId);
    const stream = this.stream(entryId)[part];
    if (offset > stream.bytes) return 'gap';
    const fresh = withoutHead(text, stream.bytes - offset);
    stream.bytes += Buffer.byteLength(fresh);
    stream.text = tail(stream.text + fresh);
    block[part] = stream.text;
    block.streaming = true;
    return 'applied';
  }

  private takePartial(partial: PartialMessage): void {
    const block = this.assistant(partial.entryId);
    block.streaming = true;
    const streams = this.stream(partial.entryId);
    for (const [part, offset] of [['text', partial.textOffset], ['thinking', partial.thinkingOffset]] as const) {
      streams[part].text = tail(partial[part]);
      streams[part].bytes = offset + Buffer.byteLength(partial[part]);
      block[part] = streams[part].text;
    }
  }

  private stream(entryId: string): { text: Stream; thinking: Stream } {
    let streams = this.streams.get(entryId);
    if (!streams) {
      streams = { text: { text: '', bytes: 0 }, thinking: { text: '', bytes: 0 } };
      this.streams.set(entryId, streams);
    }
    return streams;
  }

  private assistant(entryId: string): Extract<Block, { kind: 'assistant' }> {
    const known = this.byKey.get(entryId);
    if (known?.kind === 'assistant') return known;
    const block: Block = { kind: 'assistant', key: entryId, text: '', thinking: '', streaming: false };
    this.put(block);
    return block;
  }

  private settle(entryId: string): void {
    const block = this.byKey.get(entryId);
    if (block?.kind !== 'assistant') return;
    block.streaming = false;
    if (block.text === '' && block.thinking === '') this.drop(entryId);
  }

  private notice(level: 'info' | 'warning' | 'error', text: string): void {
    this.put({ kind: 'notice', key: `notice:${this.next}`, level, text });
  }

  /** Adds a block, or puts it in the place of one with its key. */
  private put(block: Block | undefined): void {
    if (!block) return;
    if ('text' in block) block.text = tail(block.text);
    const known = this.byKey.get(block.key);
    if (known) this.blocks[this.blocks.lastIndexOf(known)] = block;
    else this.blocks.push(block);
    this.byKey.set(block.key, block);
  }

  private drop(key: string): void {
    const block = this.byKey.get(key);
    if (!block) return;
    this.byKey.delete(key);
    this.blocks.splice(this.blocks.lastIndexOf(block), 1);
  }

  private trim(): void {
    if (this.blocks.length <= MAX_BLOCKS) return;
    // A quarter at a time, so that trimming costs nothing on most events.
    for (const block of this.blocks.splice(0, this.blocks.length - (MAX_BLOCKS * 3) / 4)) {
      this.byKey.delete(block.key);
    }
    this.older = true;
    // Where the kept ones begin is no longer known: older pages come with the next opening.
    this.oldest = undefined;
  }
}

function blockOf(entry: Entry): Block | undefined {
  const key = entry.entryId;
  switch (entry.kind) {
    case 'prompt':
      return { kind: 'prompt', key, text: entry.text ?? '', author: entry.author, ...present({ ref: entry.ref }) };
    case 'steer':
      return { kind: 'steer', key: `steer:${entry.steerId}`, text: entry.text, author: entry.author, state: 'delivered' };
    case 'assistant':
      if (!entry.text && !entry.thinking && !entry.ref) return undefined;
      return {
        kind: 'assistant',
        key,
        text: entry.text ?? '',
        thinking: entry.thinking ?? '',
        streaming: false,
        ...present({ ref: entry.ref }),
      };
    case 'tool':
      return {
        kind: 'tool',
        key: entry.toolCallId,
        name: entry.name,
        toolKind: entry.toolKind,
        title: entry.title,
        locations: entry.locations,
        text: entry.text ?? '',
        ...present({ outcome: entry.outcome, ref: entry.ref, card: entry.card, agentId: entry.agentId }),
      };
    case 'customMessage':
      return { kind: 'custom', key, card: entry.card };
    case 'notice':
      return { kind: 'notice', key, level: entry.level, text: entry.text };
    case 'run':
      return {
        kind: 'end',
        key: `end:${entry.run}`,
        run: entry.run,
        stopReason: entry.stopReason,
        tokens: entry.usage.total,
        turns: entry.turns,
        ...present({ error: entry.error }),
      };
    default:
      return undefined;
  }
}

/** The fields of `fields` that have a value. */
function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function tail(text: string): string {
  return text.length <= MAX_TEXT ? text : `… ${text.slice(-MAX_TEXT)}`;
}

/** `text` without its first `bytes` bytes of UTF-8. */
function withoutHead(text: string, bytes: number): string {
  return bytes <= 0 ? text : Buffer.from(text).subarray(bytes).toString();
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function compactionText(event: Extract<SessionEvent, { type: 'compactionEnd' }>): string {
  if (event.error) return `The history could not be shortened: ${event.error}`;
  if (event.tokensBefore === undefined || event.tokensAfter === undefined) return 'The history was shortened.';
  return `The history was shortened from ${event.tokensBefore} to ${event.tokensAfter} tokens.`;
}
