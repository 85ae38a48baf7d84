--- Numbers, durations and foreign text, by the client contract.
local text = require('adjutant.text')

local eq = require('harness').eq

local T = {}

T['counts change their unit where the rules say'] = function()
  local cases = { [0] = '0', [1] = '1', [999] = '999', [1000] = '1.0k', [1049] = '1.0k', [1050] = '1.1k' }
  cases[12345], cases[999949], cases[999950], cases[1250000] = '12.3k', '999.9k', '1.0M', '1.3M'
  cases[123400000] = '123.4M'
  for count, expected in pairs(cases) do
    eq(text.count(count), expected)
  end
  eq(text.tokens({ total = 0 }), '')
  eq(text.tokens(nil), '')
  eq(text.tokens({ total = 950 }), '950 token')
end

T['durations are cut, not rounded'] = function()
  local cases = { [0] = '0.0s', [59999] = '59.9s', [60000] = '1m 00s', [3599999] = '59m 59s', [3600000] = '1h 00m' }
  cases[-5], cases[360000000] = '0.0s', '100h 00m'
  for ms, expected in pairs(cases) do
    eq(text.elapsed(ms), expected)
  end
end

T['money'] = function()
  local cases = { { 0, '' }, { 0.00001, '<$0.0001' }, { 0.0042, '~$0.0042' }, { 0.25, '~$0.25' }, { 0.1, '~$0.10' } }
  vim.list_extend(cases, { { 1, '~$1.00' }, { 12.345, '~$12.35' }, { 0 / 0, '' } })
  for _, case in ipairs(cases) do
    eq(text.cost({ costUsd = case[1] }), case[2])
  end
  eq(text.cost({}), '')
end

T['foreign text becomes one line that does nothing'] = function()
  eq(text.clean(' a\r\n\t b\27[31m\226\128\174c\194\160', 60), 'a b [31m c')
  eq(text.clean('abc', 3), 'abc')
  eq(text.clean('abcd', 3), 'ab…')
  eq(text.clean('a bcd', 3), 'a…')
  eq(text.clean('日本語です', 4), '日本語…')
  eq(text.clean('\226\128\168\n', 4), '')
  eq(text.clean(nil), '')
  eq(text.clean(vim.NIL), '')
end

T['lines keep tabs and drop orders to the terminal'] = function()
  eq(text.lines('a\r\n\tb\27[2J\0c\226\128\174d'), { 'a', '\tb[2Jcd' })
end

return T
