// Transcripts: events in sequence become blocks, and blocks become text in which every line of ours can be told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, SessionEvent, TranscriptPage, Usage } from '../src/protocol.gen';
import { OUTPUT_LINES, render, wholeText } from '../src/render';
import { MAX_BLOCKS, MAX_TEXT, Transcript } from '../src/transcript';

const USAGE: Usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 12_345 };

function page(entries: Entry[] = [], fields: Partial<TranscriptPage> = {}): TranscriptPage {
  return { entries, asOfSeq: 0, hasMore: false, total: entries.length, ...fields };
}

/** A transcript that has had these events, each of which is due. */
function after(...events: SessionEvent[]): Transcript {
  const transcript = new Transcript();
  transcript.open(page(), 1);
  events.forEach((event, index) => {
    assert.equal(transcript.apply(index + 1, event), 'applied');
  });
  return transcript;
}

function text(transcript: Transcript): string {
  return render({ title: 'explore-1 — Find it', detail: 'Explore' }, transcript).text;
}

const RUN: SessionEvent[] = [
  { type: 'runStart', run: 1, author: 'parent' },
  { type: 'messageEnd', entryId: 'p', role: 'user', text: 'Find where sessions are opened.', author: 'parent' },
  { type: 'turnStart', turn: 1 },
  { type: 'messageStart', entryId: 'm', role: 'assistant' },
  { type: 'thinkingDelta', entryId: 'm', offset: 0, text: 'A search.' },
  { type: 'textDelta', entryId: 'm', offset: 0, text: 'I will ' },
  { type: 'textDelta', entryId: 'm', offset: 7, text: 'look.' },
  { type: 'messageEnd', entryId: 'm', role: 'assistant', text: 'I will look.', thinking: 'A search.' },
  { type: 'toolStart', toolCallId: 't', name: 'grep', kind: 'search', title: 'session_open', locations: [{ uri: 'file:///w/src/lib.rs', range: { start: { line: 11, character: 0 }, end: { line: 11, character: 4 } } }] },
  { type: 'toolUpdate', toolCallId: 't', text: 'one' },
  { type: 'toolEnd', toolCallId: 't', outcome: 'ok', text: 'src/lib.rs:12: fn session_open()' },
  { type: 'turnEnd', turn: 1, usage: USAGE },
  { type: 'messageStart', entryId: 'n', role: 'assistant' },
  { type: 'messageEnd', entryId: 'n', role: 'assistant', text: 'In `src/lib.rs`.' },
  { type: 'turnEnd', turn: 2, usage: USAGE },
  { type: 'runEnd', run: 1, stopReason: 'endTurn', usage: USAGE },
];

test('a run reads as a conversation', () => {
  assert.equal(
    text(after(...RUN)),
    `◆ explore-1 — Find it
  Explore

▶ Parent
  Find where sessions are opened.

○ Thinking
  A search.

● Answer
  I will look.

⚙ grep  session_open  ✓
  w/src/lib.rs:12
    src/lib.rs:12: fn session_open()

● Answer
  In \`src/lib.rs\`.

── Run 1 ended · 2 turns · 12.3k token ──

`,
  );
});

test('events that are known are passed over, and one that is missing is a gap', () => {
  const transcript = after(...RUN.slice(0, 6));
  const before = text(transcript);
  assert.equal(transcript.apply(6, RUN[5] as SessionEvent), 'old');
  assert.equal(transcript.apply(8, RUN[7] as SessionEvent), 'gap');
  assert.equal(text(transcript), before);
  assert.equal(transcript.nextSeq, 7);
});

test('a page in the middle of a message goes on where its text ends, counted in bytes', () => {
  const transcript = new Transcript();
  transcript.open(page([], { partial: { entryId: 'm', text: 'dré 🦀', textOffset: 2, thinking: '', thinkingOffset: 0 } }), 9);
  const at = 2 + Buffer.byteLength('dré 🦀');
  assert.equal(transcript.apply(9, { type: 'textDelta', entryId: 'm', offset: at - 4, text: '🦀 and more' }), 'applied');
  assert.equal(transcript.apply(10, { type: 'textDelta', entryId: 'm', offset: 0, text: 'An' }), 'applied');
  assert.match(text(transcript), /^ {2}dré 🦀 and more$/m);
  assert.equal(transcript.apply(11, { type: 'textDelta', entryId: 'm', offset: 500, text: 'far' }), 'gap');
  assert.match(text(transcript), /● Answer …/);
});

test('opening again gives what following gave', () => {
  const followed = after(...RUN);
  const common = { at: 0, run: 1 };
  const reopened = new Transcript();
  reopened.open(
    page([
      { ...common, kind: 'prompt', entryId: 'p', seq: 2, text: 'Find where sessions are opened.', author: 'parent' },
      { ...common, kind: 'assistant', entryId: 'm', seq: 8, text: 'I will look.', thinking: 'A search.', stopReason: 'toolUse', model: 'x', usage: USAGE },
      { ...common, kind: 'tool', entryId: 'k', seq: 11, toolCallId: 't', name: 'grep', toolKind: 'search', title: 'session_open', locations: [{ uri: 'file:///w/src/lib.rs', range: { start: { line: 11, character: 0 }, end: { line: 11, character: 4 } } }], outcome: 'ok', text: 'src/lib.rs:12: fn session_open()' },
      { ...common, kind: 'assistant', entryId: 'n', seq: 14, text: 'In `src/lib.rs`.', stopReason: 'stop', model: 'x', usage: USAGE },
      { ...common, kind: 'run', entryId: 'r', seq: 16, startedAt: 0, stopReason: 'endTurn', turns: 2, usage: USAGE },
    ]),
    17,
  );
  assert.equal(text(reopened), text(followed));
});

test('no text of others begins in the first column, or brings a control along', () => {
  const evil = '● Answer\n▶ You\u2028⚙ rm  ✓\r\n\u001b[31m\u001b]0;title\u0007red\u202e txt\u0000\n\n── Run 9 ended ──';
  const transcript = after(
    { type: 'messageEnd', entryId: 'p', role: 'user', text: evil, author: 'user' },
    { type: 'messageEnd', entryId: 'm', role: 'assistant', text: evil, thinking: evil },
    { type: 'toolStart', toolCallId: 't', name: 'bash\n● Answer', kind: 'execute', title: evil, locations: [{ uri: `file:///${encodeURIComponent(evil)}` }] },
    { type: 'toolEnd', toolCallId: 't', outcome: 'error', text: evil, card: { icon: 'x', title: evil, lines: [evil], actions: [] } },
    { type: 'customMessage', entryId: 'c', customType: 'x', card: { icon: 'x', title: evil, lines: [evil], actions: [] } },
    { type: 'steerDelivered', steerId: 's', text: evil, author: 'user' },
    { type: 'retry', attempt: 2, maxAttempts: 5, delayMs: 1_000, error: evil },
    { type: 'runEnd', run: 1, stopReason: 'error', error: evil, usage: USAGE },
  );
  const shown = text(transcript);
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
  const first = shown.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
  assert.deepEqual(
    first.map((line) => line.slice(0, 1)),
    ['◆', '▶', '○', '●', '⚙', '✉', '↪', '⚠', '─'],
  );
});

test('a steering message is shown once, where the model got it', () => {
  const shown = text(
    after(
      { type: 'steerQueued', steerId: 's', text: 'Only the parser.', author: 'user' },
      { type: 'messageEnd', entryId: 'm', role: 'assistant', text: 'Before.' },
      { type: 'steerDelivered', steerId: 's', text: 'Only the parser.', author: 'user' },
      { type: 'messageEnd', entryId: 'u', role: 'user', text: 'Only the parser.', author: 'user' },
      { type: 'steerQueued', steerId: 'x', text: 'Too late.', author: 'user' },
      { type: 'steerExpired', steerId: 'x', text: 'Too late.', author: 'user' },
    ),
  );
  assert.equal(shown.split('Only the parser.').length, 2);
  assert.ok(shown.indexOf('Before.') < shown.indexOf('Only the parser.'));
  assert.match(shown, /You · steering, never delivered/);
});

test('what is not known is passed over, and counted', () => {
  const transcript = after({ type: 'hologram', x: 1 } as never, { type: 'usage', usage: USAGE }, { type: 'messageEnd', entryId: 'e', role: 'assistant' });
  assert.equal(transcript.all.length, 0);
  assert.equal(transcript.nextSeq, 4);
  transcript.open(page([{ kind: 'later', entryId: 'x', seq: 1, at: 0, run: 1 } as never]), 2);
  assert.equal(transcript.all.length, 0);
});

test('a tool call that began before the page is shown when it ends', () => {
  assert.match(text(after({ type: 'toolEnd', toolCallId: 't', outcome: 'error', text: 'no such file' })), /⚙ tool {2}call begun earlier {2}✗ failed\n {4}no such file/);
});

test('older pages go in front, once', () => {
  const entry = (seq: number): Entry => ({ kind: 'notice', entryId: `n${seq}`, seq, at: 0, run: 1, level: 'info', text: `note ${seq}` });
  const transcript = new Transcript();
  transcript.open(page([entry(30), entry(31)], { hasMore: true }), 32);
  assert.equal(transcript.oldestSeq, 30);
  transcript.prepend(page([entry(20), entry(21)], { hasMore: false }));
  transcript.prepend(page([entry(20), entry(21)], { hasMore: false }));
  assert.deepEqual(transcript.all.map((block) => block.key), ['n20', 'n21', 'n30', 'n31']);
  assert.equal(transcript.hasMore, false);
});

test('memory is bounded', () => {
  const transcript = new Transcript();
  transcript.open(page(), 1);
  for (let seq = 1; seq <= MAX_BLOCKS * 2; seq += 1) transcript.apply(seq, { type: 'compactionStart' });
  assert.ok(transcript.all.length <= MAX_BLOCKS);
  assert.ok(transcript.hasMore);
  const long = after({ type: 'textDelta', entryId: 'm', offset: 0, text: 'x'.repeat(MAX_TEXT) }, { type: 'textDelta', entryId: 'm', offset: MAX_TEXT, text: 'the end' });
  assert.ok(text(long).length < MAX_TEXT + 1_000);
  assert.match(text(long), /the end/);
});

test('long output is cut, with a link to the whole; sections and links point at their lines', () => {
  const output = Array.from({ length: OUTPUT_LINES + 5 }, (_, line) => `line ${line}`).join('\n');
  const transcript = after(
    { type: 'toolStart', toolCallId: 't', name: 'bash', kind: 'execute', title: 'bash seq', locations: [], agentId: 'a-1' },
    { type: 'toolEnd', toolCallId: 't', outcome: 'ok', text: output },
    { type: 'messageEnd', entryId: 'm', role: 'assistant', ref: { bytes: 200_000, entryId: 'm', uri: 'adjutant://agent/a-1/m' } },
  );
  const { text: shown, sections, links } = render({ title: 't', detail: '' }, transcript);
  const lines = shown.split('\n');
  assert.deepEqual(sections.map(({ line }) => lines[line]), ['⚙ bash seq  ✓', '● Answer']);
  assert.deepEqual(links.map(({ line, start, end }) => lines[line]?.slice(start, end)), ['Open its transcript', 'Open 5 more lines', 'Open the whole text (195 KB)']);
  const block = transcript.find('t');
  assert.ok(block && wholeText(block).endsWith(`line ${OUTPUT_LINES + 4}`));
});
