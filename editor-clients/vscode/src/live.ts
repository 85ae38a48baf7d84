// One transcript that is followed: opened, kept in step with its events, opened again after a gap.

import { Methods, type AgentSummary, type SessionEvent, type SessionInfo, type TranscriptPage } from './protocol.gen';
import type { Server } from './server';
import { Transcript } from './transcript';

/** Entries of a page. */
const PAGE = 200;
/** Events kept while a page is on its way; past this the page is asked for again. */
const MAX_EARLY = 4_096;
const FIRST_DELAY_MS = 200;
const LAST_DELAY_MS = 5_000;

/** Whose transcript it is. */
export interface Subject {
  readonly type: 'agent' | 'session';
  readonly id: string;
}

export class LiveTranscript {
  readonly transcript = new Transcript();
  /** The agent as it was when the transcript was opened. */
  summary: AgentSummary | undefined;
  /** Why there is nothing to show, for a person. */
  trouble: string | undefined = 'Opening …';
  private early: [seq: number, event: SessionEvent][] | undefined = [];
  private limit = PAGE;
  private opened = false;
  private closed = false;
  private timer: NodeJS.Timeout | undefined;
  private delayMs = 0;

  constructor(
    readonly subject: Subject,
    private readonly server: Server,
    /** Called with each change of what there is to show. */
    private readonly changed: () => void,
    private readonly explain: (error: unknown) => string,
  ) {}

  /** Opens the transcript, or opens it again. Never fails: what went wrong is shown. */
  async open(): Promise<void> {
    clearTimeout(this.timer);
    if (this.closed) return;
    const early: [number, SessionEvent][] = [];
    this.early = early;
    let failed: string | undefined;
    try {
      const { page, nextSeq } = await this.ask();
      // A later opening has taken over, or nobody looks any more.
      if (this.early !== early || this.closed) return;
      this.transcript.open(page, nextSeq);
      this.opened = true;
    } catch (error) {
      if (this.early !== early || this.closed) return;
      failed = this.explain(error);
    }
    this.early = undefined;
    this.trouble = failed;
    if (failed === undefined) {
      for (const [seq, event] of early) this.take(seq, event);
    }
    this.changed();
  }

  /** Takes an event of the server. */
  take(seq: number, event: SessionEvent): void {
    if (this.closed) return;
    if (this.early) {
      if (this.early.length < MAX_EARLY) this.early.push([seq, event]);
      return;
    }
    if (this.trouble !== undefined) return;
    switch (this.transcript.apply(seq, event)) {
      case 'applied':
        this.delayMs = 0;
        this.changed();
        return;
      case 'gap':
        this.openSoon();
        return;
      case 'old':
        return;
    }
  }

  /** Reads the page before what is known. */
  async earlier(): Promise<void> {
    const before = this.transcript.oldestSeq;
    if (!this.transcript.hasMore || this.early) return;
    if (this.subject.type === 'agent' && before !== undefined) {
      this.transcript.prepend(await this.server.request(Methods.agentTranscript, { agentId: this.subject.id, before, limit: PAGE }));
      this.changed();
      return;
    }
    this.limit *= 2;
    await this.open();
  }

  /** The server has gone; the next one is asked when it is there. */
  lost(message: string): void {
    clearTimeout(this.timer);
    this.early = undefined;
    this.opened = false;
    this.trouble = message;
    this.changed();
  }

  /** Nobody looks any more. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    if (!this.opened) return;
    const done =
      this.subject.type === 'agent'
        ? this.server.request(Methods.agentClose, { agentId: this.subject.id })
        : this.server.request(Methods.sessionUnsubscribe, { sessionId: this.subject.id });
    done.catch(() => {
      // A server that is gone sends no events either.
    });
  }

  private async ask(): Promise<{ page: TranscriptPage; nextSeq: number }> {
    if (this.subject.type === 'session') {
      return this.server.request(Methods.sessionSubscribe, { sessionId: this.subject.id, limit: this.limit });
    }
    const answer = await this.server.request(Methods.agentOpen, { agentId: this.subject.id, limit: this.limit });
    this.summary = answer.summary;
    return answer;
  }

  /** The first gap is mended at once; one after the other, more and more slowly. */
  private openSoon(): void {
    this.early = [];
    const delay = this.delayMs;
    this.delayMs = Math.min(Math.max(FIRST_DELAY_MS, delay * 2), LAST_DELAY_MS);
    this.timer = setTimeout(() => void this.open(), delay);
  }
}

/** What stands above a session's transcript. */
export function sessionDetail(info: SessionInfo | undefined): string {
  if (!info) return '';
  return [info.model || 'no model', `permissions: ${info.permissionMode}`, info.cwd.split(/[\\/]/).filter(Boolean).at(-1) ?? info.cwd].join(' · ');
}
