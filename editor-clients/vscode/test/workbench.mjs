// The extension in the real workbench, from the palette to the picture.
//
//   node test/workbench.mjs [--server CMD] [--vsix FILE] [--folder DIR] [--shots DIR] [--quick TEXT] [--slow TEXT]
//
// Without --server it is the scripted double. With another one, --quick is a task that ends by itself and --slow one
// that runs until it is stopped; what only the double can do (a lost event, a crash on demand) is left out.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { alive, until, Workbench } from './driver.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { values: options } = parseArgs({
  options: {
    server: { type: 'string' },
    vsix: { type: 'string', default: join(root, 'dist/adjutant.vsix') },
    folder: { type: 'string' },
    shots: { type: 'string', default: join(root, 'out/shots') },
    quick: { type: 'string', default: 'Find where sessions are opened, gap' },
    slow: { type: 'string', default: 'Read every file, slow, nest' },
  },
});
const double = options.server === undefined;
const fake = `'${process.execPath}' '${join(root, 'out/fake-server.mjs')}'`;
for (const file of [options.vsix, ...(double ? [join(root, 'out/fake-server.mjs')] : [])]) {
  if (!existsSync(file)) {
    console.error(`${file} is missing. Run \`npm run package\` and \`npm test\` first.`);
    process.exit(2);
  }
}

let passed = 0;
let failed = 0;
const begun = Date.now();

/** One step of the scenario. After one that failed, the others are still tried. */
async function step(workbench, name, work) {
  const from = Date.now();
  try {
    await work();
    passed += 1;
    console.log(`ok    ${name} (${Date.now() - from} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${String(error.stack ?? error).replace(/^/gm, '      ')}`);
    await workbench.shot(`failed-${failed}`);
    await workbench.page.keyboard.press('Escape');
  }
}

async function work(workbench) {
  const { page } = workbench;
  const is = (name, body) => step(workbench, name, body);
  await is('the view opens, and says what to do while there are no agents', async () => {
    await workbench.showView();
    await page.locator('.pane-body', { hasText: 'No agent is at work' }).first().waitFor();
    await workbench.shot('empty');
  });
  await is('a task that is delegated by the palette gets a row, which changes, and ends', async () => {
    await workbench.delegate('Explore', options.quick);
    const first = await workbench.row(/explore/i);
    const last = await workbench.row(/explore.*completed/i, 60_000);
    assert.notEqual(first, last);
    assert.match((await workbench.spoken()).join('\n'), /completed/);
  });
  await is('its end is told once', async () => {
    await workbench.told(/finished after/);
    await page.waitForTimeout(800);
    assert.equal(workbench.seen.filter((text) => /finished after/.test(text)).length, 1);
    await workbench.shot('completed');
    await workbench.press('Show Result');
    await workbench.shows(/Run 1: completed/);
    await workbench.quiet();
  });
  await is('its transcript opens', async () => {
    await workbench.rowElement(/explore/i).click();
    await workbench.shows(/Run 1 ended/);
    await workbench.shot('transcript');
  });
  await is('a long task runs, and its transcript grows while it is looked at', async () => {
    await workbench.delegate('general-purpose', options.slow);
    await workbench.row(/general-purpose.*(running|waiting for agents)/);
    await workbench.rowElement('general-purpose').click();
    await workbench.tab(/general-purpose/);
    const before = await workbench.text();
    await until(async () => (await workbench.text()) !== before, 'the transcript to grow', () => workbench.text());
    await until(async () => (await workbench.page.locator('.activitybar .badge-content').allTextContents()).some((text) => Number(text) >= 1), 'a badge');
  });
  await is('it can be steered from its transcript', async () => {
    await workbench.run('Adjutant: Steer');
    await workbench.answer('Only the parser, please.', 'Steer general-purpose');
    await workbench.shows(/You · steering/);
    await workbench.shot('steered');
  });
  await is('it is stopped from its row, with all that is under it', async () => {
    await workbench.action('general-purpose', 'Stop');
    await workbench.row(/general-purpose.*stopped/, 10_000);
    await until(async () => !(await workbench.rows()).some((row) => /running|stopping|waiting/.test(row)), 'no agent to run', async () => (await workbench.rows()).join('\n'));
  });
  await is('a row is stopped by a key', async () => {
    await workbench.delegate('Plan', options.slow);
    await workbench.row(/plan.*(running|waiting for agents)/i);
    await workbench.rowElement(/plan/i).click();
    await workbench.tab(/plan/i);
    await workbench.run('Adjutant: Show Agents');
    await page.locator('.pane-body .monaco-list:focus-within').waitFor();
    await page.keyboard.press('Delete');
    await page.locator('.quick-input-widget', { hasText: 'Stop which agent?' }).locator('.monaco-list-row.focused', { hasText: /plan/i }).waitFor();
    await page.keyboard.press('Enter');
    await workbench.row(/plan.*stopped/i, 10_000);
  });
  await is('it is resumed, and stopped with all others', async () => {
    await workbench.action('general-purpose', 'Resume');
    await workbench.answer(options.slow, 'Resume general-purpose');
    await workbench.row(/general-purpose.*(running|waiting for agents)/);
    await workbench.run('Adjutant: Stop All Agents');
    await workbench.row(/general-purpose.*stopped/, 10_000);
  });
  await is('a type that there is not is refused with what there is', async () => {
    await workbench.delegate('no such type', 'Something');
    await workbench.told(/no such type|no agent type/i);
    await workbench.quiet();
  });
  await is('a prompt streams into the session', async () => {
    await workbench.run('Adjutant: Prompt');
    await workbench.answer('Where are sessions opened?', 'Prompt Adjutant');
    await workbench.shows(/▶ You\n {2}Where are sessions opened\?/);
    await workbench.shows(/Run 1 ended/, 60_000);
    await workbench.shot('session');
  });
  await is('the server that dies is missed, and started again on demand', async () => {
    const [pid] = workbench.serverPids().slice(-1);
    process.kill(pid, 'SIGKILL');
    await workbench.told(/ended unexpectedly/);
    await workbench.press('Restart Server');
    await until(() => workbench.serverPids().length >= 2, 'another server');
    await workbench.run('Adjutant: Say What Runs');
    await workbench.told(/There are no agents|Agents: /);
  });
}

async function picture(workbench) {
  await step(workbench, 'a row tells more under the pointer', async () => {
    await workbench.showView();
    await workbench.row(/docs-1/);
    assert.match(await workbench.tooltip('docs-1'), /aborted \(turn limit\).*Permissions/s);
    await workbench.shot('hover');
  });
  await step(workbench, 'a fleet in every state has a row for each agent', async () => {
    await workbench.row(/docs-1.*aborted \(turn limit\)/);
    assert.equal((await workbench.rows()).length, 8);
    await workbench.delegate('Explore', 'Find where sessions are opened');
    await workbench.row(/explore.*completed/, 30_000);
    await workbench.quiet();
    await workbench.page.locator('.pane-body .monaco-list-row[aria-label*="Find where sessions"]').first().click();
    await workbench.shows(/Run 1 ended/);
    await workbench.page.waitForTimeout(2_500);
    await workbench.shot('fleet');
  });
}

async function session(server, scenario) {
  const workbench = await Workbench.open({ ...options, server });
  let pids = [];
  try {
    await scenario(workbench);
    pids = workbench.serverPids();
    await step(workbench, 'nothing outside this machine was asked', async () => {
      assert.deepEqual([...workbench.outside], []);
    });
  } finally {
    await workbench.close();
  }
  await step(workbench, 'no server outlives its window', async () => {
    await until(() => !pids.some(alive), 'every server to end', () => pids.filter(alive).join(' '), 10_000);
  });
}

await session(options.server ?? fake, work);
if (double) await session(`${fake} --scene`, picture);
console.log(`${((Date.now() - begun) / 1_000).toFixed(1)} s`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
