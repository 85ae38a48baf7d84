// Where the server is looked for: the setting, then what the extension brings along, then PATH.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

export interface Search {
  /** The setting `adjutant.server.path`; empty where it is not set. */
  readonly setting: string;
  /** The extension's own folder. */
  readonly extension: string;
  readonly home: string;
  readonly path: string;
  readonly windows: boolean;
}

export type Found =
  | { readonly type: 'found'; readonly command: string; readonly origin: 'setting' | 'bundled' | 'path' }
  /** The setting names something that cannot be run. Nothing else is tried: it would not be what was asked for. */
  | { readonly type: 'badSetting'; readonly command: string }
  | { readonly type: 'missing' };

/** Looks for the server. Nothing is started. */
export async function findServer(search: Search): Promise<Found> {
  const name = search.windows ? 'adjutant.exe' : 'adjutant';
  const setting = search.setting.trim();
  if (setting !== '') {
    const command = withHome(setting, search.home);
    // A bare name in the setting is looked up as a shell would.
    const file = isAbsolute(command) ? await runnable(command) : await onPath(command, search.path);
    return file === undefined ? { type: 'badSetting', command } : { type: 'found', command: file, origin: 'setting' };
  }
  const bundled = await runnable(join(search.extension, 'server', name));
  if (bundled !== undefined) return { type: 'found', command: bundled, origin: 'bundled' };
  const installed = await onPath(name, search.path);
  return installed === undefined ? { type: 'missing' } : { type: 'found', command: installed, origin: 'path' };
}

function withHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') || path.startsWith('~\\') ? join(home, path.slice(1)) : path;
}

async function onPath(name: string, path: string): Promise<string | undefined> {
  if (name.includes('/') || name.includes('\\')) return undefined;
  for (const folder of path.split(delimiter)) {
    // A relative folder on PATH would let the opened folder decide what is run.
    const file = isAbsolute(folder) ? await runnable(join(folder, name)) : undefined;
    if (file !== undefined) return file;
  }
  return undefined;
}

async function runnable(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
