// The manifest says the same as the server's settings and as the code.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

interface Schema {
  default?: unknown;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  oneOf?: { const?: string; enum?: string[] }[];
}
type Setting = Schema & { scope: string; enum?: string[]; enumDescriptions?: string[]; markdownDescription: string };

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  icon: string;
  contributes: {
    commands: { command: string; title: string; category: string; icon?: string }[];
    menus: Record<string, { command: string; group?: string; when?: string }[]>;
    keybindings: { command: string; when: string }[];
    viewsWelcome: { contents: string }[];
    configuration: { properties: Record<string, Setting> };
    grammars: { path: string }[];
    walkthroughs: { steps: { description: string; media: { markdown: string } }[] }[];
  };
};
const { commands, menus, keybindings, viewsWelcome, configuration, grammars, walkthroughs } = manifest.contributes;
const settings = configuration.properties;

/** What the server knows and this client has no use for. */
const LEFT_OUT = new Set(['editorModels']);
/** A repository must not decide these. */
const MACHINE = /^adjutant\.(server|permissions|mcpServers|extensions|sandbox)\b/;

test('every setting of the server can be set here, with its default and its bounds', () => {
  const schema = JSON.parse(readFileSync(join('../../schemas/settings.schema.json'), 'utf8')) as Schema;
  const walk = (path: string, { properties, ...leaf }: Schema, fallback: unknown): void => {
    if (properties) {
      for (const [key, under] of Object.entries(properties)) {
        walk(path === '' ? key : `${path}.${key}`, under, (leaf.default as Record<string, unknown> | undefined)?.[key] ?? under.default);
      }
      return;
    }
    if (LEFT_OUT.has(path)) return;
    const setting = settings[`adjutant.${path}`];
    assert.ok(setting, `${path} is missing`);
    assert.deepEqual([setting.minimum, setting.maximum], [leaf.minimum, leaf.maximum], path);
    const fixed = fallback ?? (path === 'permissions.mode' ? 'ask' : null);
    assert.deepEqual(setting.default, fixed, path);
    const words = leaf.oneOf?.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]));
    assert.deepEqual(setting.enum?.toSorted(), words?.sort(), path);
  };
  walk('', schema, undefined);
});

test('a repository cannot set what may be run', () => {
  for (const [key, setting] of Object.entries(settings)) {
    if (MACHINE.test(key)) assert.equal(setting.scope, 'machine', key);
    assert.ok(setting.markdownDescription, key);
  }
});

test('commands of the manifest are those of the code', () => {
  const code = readFileSync('src/commands.ts', 'utf8');
  const body = /const COMMANDS: Record<string, Verb> = \{\n(.*?)\n\};/s.exec(code)?.[1] ?? '';
  const verbs = [...body.matchAll(/^ {2}(\w+)[:,(]/gm)].map((match) => `adjutant.${match[1]}`);
  assert.ok(verbs.length > 10);
  assert.deepEqual(commands.map(({ command }) => command).sort(), verbs.sort());
  for (const { title, category } of commands) assert.ok(title && category === 'Adjutant');
});

test('menus, keys and links name commands that there are, and icons where they have no room for text', () => {
  const known = new Map(commands.map((one) => [one.command, one]));
  const links = [...viewsWelcome.map(({ contents }) => contents), ...walkthroughs.flatMap(({ steps }) => steps.map(({ description }) => description))];
  const named: { command: string; group?: string }[] = [
    ...Object.values(menus).flat(),
    ...keybindings,
    ...links.flatMap((text) => [...text.matchAll(/\(command:(adjutant\.\w+)/g)].map((match) => ({ command: match[1] ?? '' }))),
  ];
  for (const one of named) {
    const command = known.get(one.command);
    assert.ok(command, one.command);
    if (/^(inline|navigation)/.test(one.group ?? '')) assert.ok(command.icon, one.command);
  }
  for (const { when } of keybindings) assert.match(when, /focusedView == adjutant\.roster/, 'no key outside our own view');
});

test('files that the manifest names are there', () => {
  const files = [manifest.icon, ...grammars.map(({ path }) => path), ...walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.markdown))];
  for (const file of files) assert.ok(existsSync(file), file);
});
