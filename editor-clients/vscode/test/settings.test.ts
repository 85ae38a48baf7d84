// What the server is told of the settings, and where the server is found.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findServer } from '../src/binary';
import { SeenRuns } from '../src/seen';
import { pick, ServerSettings } from '../src/settings';
import { clean, escapeMarkdown } from '../src/text';

test('only what a person has set is sent; the nearer place counts more', () => {
  const settings = new ServerSettings();
  const sent = settings.of({
    default: { maxConcurrent: 10, limits: { idleMs: 300_000 }, permissions: { mode: 'ask', allow: [] } },
    global: { maxConcurrent: 20, permissions: { allow: ['bash(ls:*)'] }, server: { path: '/x' }, mcpServers: { 'a.b': { command: 'x' } } },
    workspace: { maxConcurrent: 30 },
    folder: undefined,
  });
  assert.deepEqual(sent, { maxConcurrent: 30, permissions: { allow: ['bash(ls:*)'] }, mcpServers: { 'a.b': { command: 'x' } } });
});

test('a setting that is taken out goes back to its default', () => {
  const settings = new ServerSettings();
  const layers = { default: { maxConcurrent: 10, log: { level: 'info' } } };
  assert.deepEqual(settings.of({ ...layers, global: { maxConcurrent: 20 } }), { maxConcurrent: 20 });
  assert.deepEqual(settings.of(layers), { maxConcurrent: 10 });
});

test('a request for a part of the section gets that part, or null', () => {
  const section = { limits: { idleMs: 5 }, model: 'a/b' };
  assert.deepEqual(pick(section, 'adjutant'), section);
  assert.equal(pick(section, 'adjutant.limits.idleMs'), 5);
  assert.equal(pick(section, 'adjutant.limits.tokens'), null);
  assert.equal(pick(section, 'adjutant.constructor'), null);
  assert.equal(pick(section, 'editor'), null);
});

test('a key cannot reach the prototype of every object', () => {
  const settings = new ServerSettings();
  settings.of({ global: JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}}}') });
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

const folder = mkdtempSync(join(tmpdir(), 'adjutant-'));
after(() => {
  rmSync(folder, { recursive: true });
});

function program(path: string): string {
  const file = join(folder, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '');
  chmodSync(file, 0o755);
  return file;
}

test('the server is looked for in the setting, then beside the extension, then on PATH', async () => {
  const search = { setting: '', extension: join(folder, 'ext'), home: folder, path: `relative:${join(folder, 'bin')}`, windows: false };
  assert.deepEqual(await findServer(search), { type: 'missing' });
  const onPath = program('bin/adjutant');
  assert.deepEqual(await findServer(search), { type: 'found', command: onPath, origin: 'path' });
  const bundled = program('ext/server/adjutant');
  assert.deepEqual(await findServer(search), { type: 'found', command: bundled, origin: 'bundled' });
  const own = program('own/server');
  assert.deepEqual(await findServer({ ...search, setting: ' ~/own/server ' }), { type: 'found', command: own, origin: 'setting' });
  assert.deepEqual(await findServer({ ...search, setting: 'adjutant' }), { type: 'found', command: onPath, origin: 'setting' });
});

test('a setting that names nothing that can be run is not passed over in silence', async () => {
  const search = { extension: folder, home: folder, path: join(folder, 'bin'), windows: false };
  for (const setting of ['/no/such/file', './adjutant', folder]) {
    assert.equal((await findServer({ ...search, setting })).type, 'badSetting', setting);
  }
});

test('each run is told once, also after a reload, and memory is bounded', () => {
  const seen = new SeenRuns([]);
  assert.ok(seen.add('a', 1));
  assert.ok(!seen.add('a', 1));
  assert.ok(seen.add('a', 2));
  assert.ok(!new SeenRuns(seen.all()).add('a', 2));
  for (let i = 0; i < 5_000; i += 1) seen.add(`b${i}`, 1);
  assert.ok(seen.all().length <= 1_024);
});

test('a text of others is one harmless line, and no markup', () => {
  assert.equal(clean(' a\r\n\t b\u001b[31m\u202ec\u00a0', 60), 'a b [31m c');
  assert.equal(clean('日本語です', 4), '日本語…');
  assert.equal(clean('a bcd', 3), 'a…');
  assert.equal(escapeMarkdown('[x](command:evil) $(icon) <b>'), '\\[x\\]\\(command:evil\\) \\$\\(icon\\) \\<b\\>');
});
