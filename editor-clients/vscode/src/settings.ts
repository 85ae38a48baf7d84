// What of the `adjutant` section the server is told: only what a person has set. A default sent along would overrule
// the person's own settings file, which counts less than the editor's.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Section = { readonly [key: string]: Json };

/** Keys of the section that are the extension's own business. */
const OWN_KEYS = new Set(['server', 'notifications', 'trace']);

/** One value at every place where it can be set, as the editor reports it; later ones count more. */
export interface Layers {
  readonly default?: unknown;
  readonly global?: unknown;
  readonly workspace?: unknown;
  readonly folder?: unknown;
}

/** The settings for the server, and which keys were sent before: a key that is taken out has to be set back. */
export class ServerSettings {
  private readonly sent = new Set<string>();

  /** What to send now, nested as its dots say. */
  of(layers: Layers): Section {
    const set = [layers.global, layers.workspace, layers.folder].map((layer) => flat(layer));
    const values = new Map(set.flatMap((layer) => [...layer]));
    const defaults = flat(layers.default);
    for (const key of this.sent) {
      const back = defaults.get(key);
      if (!values.has(key) && back !== undefined) values.set(key, back);
    }
    for (const key of values.keys()) this.sent.add(key);
    return nested(values);
  }
}

/** The part of a section that a request of the server names: `adjutant`, or one key under it. */
export function pick(section: Section, name: string | undefined): Json {
  const path = (name ?? 'adjutant').split('.');
  if (path.shift() !== 'adjutant') return null;
  let value: Json = section;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) return null;
    value = (value as Section)[key] ?? null;
  }
  return value;
}

/** The values under a section, by dotted key. A list, and a map that has names of a person's choice, is one value. */
function flat(section: unknown, prefix = '', into = new Map<string, Json>()): Map<string, Json> {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) return into;
  for (const [key, value] of Object.entries(section)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    if (OWN_KEYS.has(path.split('.')[0] ?? '')) continue;
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && path !== 'mcpServers') flat(value, path, into);
    else if (value !== undefined && value !== null) into.set(path, value as Json);
  }
  return into;
}

function nested(values: ReadonlyMap<string, Json>): Section {
  const root: Record<string, Json> = {};
  for (const [path, value] of values) {
    const keys = path.split('.');
    const last = keys.pop();
    if (last === undefined || [...keys, last].includes('__proto__')) continue;
    let at: Record<string, Json> = root;
    for (const key of keys) {
      const under = at[key];
      const next: Record<string, Json> = typeof under === 'object' && under !== null && !Array.isArray(under) ? { ...(under as Section) } : {};
      at[key] = next;
      at = next;
    }
    at[last] = value;
  }
  return root;
}
