// Drives the real workbench: code-server with the extension, in headless Chromium, as a person would.
//
//   const workbench = await Workbench.open({ vsix, server, folder, shots });
//   await workbench.run('Adjutant: Delegate a Task…');
//   await workbench.close();

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const CACHE = join(process.env.ADJUTANT_TEST_CACHE ?? join(homedir(), '.cache/adjutant-tests'), 'code-server');
const WAIT_MS = Number(process.env.WORKBENCH_WAIT_MS ?? 30_000);

const SETTINGS = {
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.enableExperiments': false,
  'security.workspace.trust.enabled': false,
  'git.enabled': false,
  'chat.disableAIFeatures': true,
  'npm.fetchOnlinePackageInfo': false,
  'editor.accessibilitySupport': 'off',
};

export class Workbench {
  /** Messages that the window showed, in order. */
  seen = [];
  /** Hosts outside this machine that the window asked for. */
  outside = new Set();
  #stop = [];

  /** Opens a window on `folder` with the extension of `vsix`, which starts `server` (a command line).
   * `shots` is where pictures go; `settings` are added to the person's own. */
  static async open({ vsix, server, folder, shots, settings = {} }) {
    const workbench = new Workbench();
    try {
      await workbench.#start({ vsix, server, folder, shots, settings });
    } catch (error) {
      await workbench.close();
      throw error;
    }
    return workbench;
  }

  async #start({ vsix, server, folder, shots, settings }) {
    if (!existsSync(join(CACHE, '.installed'))) {
      const done = spawnSync(join(here, 'install-workbench.sh'), { stdio: ['ignore', 'inherit', 'inherit'] });
      if (done.status !== 0) throw new Error('The workbench could not be installed.');
    }
    const run = mkdtempSync(join(tmpdir(), 'adjutant-workbench-'));
    this.#stop.push(() => rmSync(run, { recursive: true, force: true, maxRetries: 5 }));
    this.folder = folder ? resolve(folder) : join(run, 'project');
    this.shots = shots && resolve(shots);
    this.pids = join(run, 'pids');
    mkdirSync(this.folder, { recursive: true });
    if (this.shots) mkdirSync(this.shots, { recursive: true });

    const program = join(run, 'server.sh');
    writeFileSync(program, `#!/bin/sh\necho $$ >> ${quoted(this.pids)}\nexec ${server} "$@"\n`, { mode: 0o755 });
    const own = { ...SETTINGS, 'adjutant.server.path': program, ...settings };
    // Settings that count for one machine only are read from the second file in a window that is served.
    for (const place of ['User', 'Machine']) {
      mkdirSync(join(run, 'ud', place), { recursive: true });
      writeFileSync(join(run, 'ud', place, 'settings.json'), JSON.stringify(own));
    }
    writeFileSync(join(run, 'config.yaml'), '');

    const node = join(CACHE, 'bin/node');
    const entry = join(CACHE, 'node_modules/code-server/out/node/entry.js');
    const places = ['--config', join(run, 'config.yaml'), '--user-data-dir', join(run, 'ud'), '--extensions-dir', join(run, 'ext')];
    const env = { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":""}' };
    const installed = spawnSync(node, [entry, ...places, '--install-extension', resolve(vsix)], { env, encoding: 'utf8', timeout: 120_000 });
    if (installed.status !== 0) throw new Error(`The extension could not be installed:\n${installed.stdout}${installed.stderr}`);

    const port = await freePort();
    const flags = ['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust', '--disable-getting-started-override'];
    const code = spawn(node, [entry, ...places, ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.log = '';
    for (const stream of [code.stdout, code.stderr]) stream.on('data', (text) => (this.log = (this.log + text).slice(-20_000)));
    this.#stop.push(() => endGroup(code));
    await until(async () => this.log.includes('HTTP server listening'), 'code-server to listen', () => this.log);

    const { chromium } = createRequire(join(CACHE, 'package.json'))('playwright-core');
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    this.#stop.push(() => browser.close());
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    this.page = await context.newPage();
    this.page.setDefaultTimeout(WAIT_MS);
    this.page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol.startsWith('http') && url.hostname !== '127.0.0.1') this.outside.add(url.hostname);
    });
    await this.page.exposeFunction('adjutantToldOf', (text) => this.seen.push(text));
    await this.page.goto(`http://127.0.0.1:${port}/?folder=${encodeURI(this.folder)}`, { waitUntil: 'domcontentloaded' });
    await this.page.waitForSelector('.monaco-workbench', { timeout: 60_000 });
    await this.page.evaluate(() => {
      const told = new WeakSet();
      setInterval(() => {
        for (const one of document.querySelectorAll('.notification-list-item-message')) {
          if (!told.has(one)) window.adjutantToldOf(one.textContent);
          told.add(one);
        }
      }, 50);
    });
  }

  /** Opens the Adjutant view. */
  async showView() {
    await this.page.locator('.activitybar .action-label[aria-label^="Adjutant"]').first().click();
    await this.page.locator('.sidebar .composite.title', { hasText: /adjutant/i }).first().waitFor();
  }

  /** Runs a command by its title in the palette. A document that opens at that moment closes the palette: tried again. */
  async run(title) {
    const input = this.page.locator('.quick-input-widget input').first();
    for (let tries = 1; ; tries += 1) {
      try {
        await this.page.keyboard.press('F1');
        await input.fill(`>${title}`, { timeout: 3_000 });
        await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor({ timeout: 5_000 });
        break;
      } catch (error) {
        if (tries === 3) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
    await this.page.waitForTimeout(200);
    await this.page.keyboard.press('Enter');
  }

  /** Types into the box that a command has opened, where its title is `title`, and accepts. */
  async answer(text, title) {
    const box = this.page.locator('.quick-input-widget', { hasText: title ?? '' });
    await box.first().waitFor();
    await box.locator('input').first().fill(text);
    await this.page.waitForTimeout(200);
    await this.page.keyboard.press('Enter');
  }

  /** Delegates a task as a person does. */
  async delegate(type, task) {
    await this.run('Adjutant: Delegate a Task');
    await this.answer(type, 'which type');
    await this.answer(task, `Delegate to ${type}`);
  }

  /** The texts of the roster's rows, in order. */
  async rows() {
    return this.page.locator('.pane-body .monaco-list-row[aria-label]').evaluateAll((rows) => rows.map((row) => row.querySelector('.monaco-icon-label')?.textContent ?? row.textContent));
  }

  /** What a screen reader says of each row. */
  async spoken() {
    return this.page.locator('.pane-body .monaco-list-row[aria-label]').evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));
  }

  /** Waits until a row matches, and gives its text. */
  async row(pattern, ms = WAIT_MS) {
    let found;
    await until(async () => (found = (await this.rows()).find((row) => pattern.test(row))), `a row like ${pattern}`, async () => (await this.rows()).join('\n'), ms);
    return found;
  }

  /** The row that has this text. */
  rowElement(text) {
    return this.page.locator('.pane-body .monaco-list-row[aria-label]', { hasText: text }).first();
  }

  /** What a row says under the pointer. A row that is drawn at that moment says nothing: tried again. */
  async tooltip(text) {
    const hover = this.page.locator('.workbench-hover', { hasText: text }).first();
    for (let tries = 1; ; tries += 1) {
      await this.page.mouse.move(640, 600);
      await this.rowElement(text).hover();
      try {
        await hover.waitFor({ timeout: 3_000 });
        return await hover.textContent();
      } catch (error) {
        if (tries === 4) throw error;
      }
    }
  }

  /** Clicks an action beside a row. */
  async action(text, title) {
    const row = this.rowElement(text);
    await row.hover();
    await row.locator(`.action-label[aria-label*="${title}"]`).first().click();
  }

  /** The text of the active editor, as far as it is drawn. */
  async text() {
    const lines = await this.page.locator('.editor-group-container.active .view-lines .view-line').evaluateAll((all) =>
      all.map((line) => [Number.parseFloat(line.style.top), line.textContent.replaceAll('\u00a0', ' ')]),
    );
    return lines.sort((a, b) => a[0] - b[0]).map((line) => line[1]).join('\n');
  }

  /** Waits until the active editor shows text that matches. */
  async shows(pattern, ms = WAIT_MS) {
    await until(async () => pattern.test(await this.text()), `the editor to show ${pattern}`, () => this.text(), ms);
  }

  /** Waits until the active tab is one whose name matches. */
  async tab(pattern) {
    const name = () => this.page.locator('.editor-group-container.active .tab.active .label-name').first().textContent();
    await until(async () => pattern.test(await name()), `a tab like ${pattern}`, name);
  }

  /** Waits until a message was shown that matches, and gives it. */
  async told(pattern, ms = WAIT_MS) {
    await until(async () => this.seen.some((text) => pattern.test(text)), `a message like ${pattern}`, () => this.seen.join('\n'), ms);
    return this.seen.find((text) => pattern.test(text));
  }

  /** Clicks a button of a message. */
  async press(button) {
    await this.page.locator('.notifications-toasts .monaco-button, .notification-list-item .monaco-button', { hasText: button }).first().click();
  }

  /** Takes every message away. */
  async quiet() {
    await this.run('Notifications: Clear All Notifications');
  }

  /** The processes of the server that were started, as their ids. */
  serverPids() {
    return existsSync(this.pids) ? readFileSync(this.pids, 'utf8').trim().split('\n').map(Number) : [];
  }

  async shot(name) {
    if (this.shots) await this.page.screenshot({ path: join(this.shots, `${name}.png`) });
  }

  /** Ends everything that was started. */
  async close() {
    for (const stop of this.#stop.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        console.error(String(error));
      }
    }
  }
}

/** Waits until `check` holds; an error says what was there in place of it. */
export async function until(check, what, state = () => '', ms = WAIT_MS) {
  const end = Date.now() + ms;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`Waited ${ms} ms for ${what}. There was:\n${await state()}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Whether a process is there. */
export function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The name of a file by what it holds, to tell whether two runs used the same one. */
export function digest(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);
}

async function endGroup(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  process.kill(-child.pid, 'SIGTERM');
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), 5_000);
  await ended;
  clearTimeout(timer);
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
