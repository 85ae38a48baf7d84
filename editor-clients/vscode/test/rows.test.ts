// Rows are the golden texts of the contract, to the letter.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FleetListResult } from '../src/protocol.gen';
import { cost, elapsed, rosterText, tokens } from '../src/rows';
import { EMPTY_FLEET, reduce, serverTime, treeOf } from '../src/state';

const contract = join(process.cwd(), '../../tests/contract');
const fixtures = readdirSync(join(contract, 'fixtures/roster')).filter((name) => name.endsWith('.json'));

test('there are golden rows to compare with', () => {
  assert.ok(fixtures.length >= 6);
});

for (const name of fixtures) {
  test(`golden rows: ${name}`, () => {
    const { receivedAt, now, list } = JSON.parse(readFileSync(join(contract, 'fixtures/roster', name), 'utf8')) as {
      receivedAt: number;
      now: number;
      list: FleetListResult;
    };
    const fleet = reduce(EMPTY_FLEET, { type: 'snapshot', list, now: receivedAt });
    const golden = readFileSync(join(contract, 'golden', name.replace(/json$/, 'txt')), 'utf8');
    assert.equal(rosterText(treeOf(fleet.agents.values()), serverTime(fleet, now)), golden);
  });
}

test('numbers change their unit where the contract says', () => {
  const said: [number, string][] = [[0, ''], [1, '1 token'], [999, '999 token'], [1_000, '1.0k token'], [1_049, '1.0k token'], [1_050, '1.1k token'], [999_949, '999.9k token'], [999_950, '1.0M token'], [1_250_000, '1.3M token']];
  for (const [number, text] of said) assert.equal(tokens(number), text);
  const times: [number, string][] = [[0, '0.0s'], [59_999, '59.9s'], [60_000, '1m 00s'], [3_599_999, '59m 59s'], [3_600_000, '1h 00m'], [360_000_000, '100h 00m']];
  for (const [ms, text] of times) assert.equal(elapsed(ms), text);
  assert.deepEqual([undefined, 0, NaN, 0.00001, 0.1, 0.1234, 0.12344, 2].map(cost), ['', '', '', '<$0.0001', '~$0.10', '~$0.1234', '~$0.1234', '~$2.00']);
});
