// Bundles the extension into dist/extension.js, or, with --tests, the tests of the pure modules
// and the fake server into out/.
import { rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { build } from 'esbuild';

const tests = process.argv.includes('--tests');
const common = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning', legalComments: 'none' };

if (tests) {
  rmSync('out', { recursive: true, force: true });
  const files = (await readdir('test')).filter((name) => name.endsWith('.test.ts') || name === 'fake-server.ts');
  await build({
    ...common,
    entryPoints: files.map((name) => `test/${name}`),
    outdir: 'out',
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    sourcemap: 'inline',
  });
} else {
  await build({
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    format: 'cjs',
    external: ['vscode'],
    minify: !process.argv.includes('--debug'),
    sourcemap: process.argv.includes('--debug') ? 'inline' : false,
  });
}
