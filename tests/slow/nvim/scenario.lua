-- Delegates two agents, sees both rows change, opens one, steers it, stops the other, and receives the completion.
-- Runs inside Neovim: nvim --clean --headless -l scenario.lua, with the environment that tests/slow/nvim.rs sets.
local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local passed, failed = 0, 0
local notices = {}

vim.notify = function(message)
  notices[#notices + 1] = message
end
dofile(here .. '/init.lua')

local function text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
end

--- The roster line of an agent.
local function row(bufnr, handle)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)) do
    if line:find(handle, 1, true) then
      return line
    end
  end
end

local function wait(what, predicate)
  local found
  local ok = vim.wait(15000, function()
    found = predicate()
    return found and true or false
  end, 20)
  if not ok then
    error('waited in vain: ' .. what .. '\nnotices: ' .. vim.inspect(notices), 2)
  end
  return found
end

local function step(name, run)
  local ok, fault = xpcall(run, debug.traceback)
  if ok then
    passed = passed + 1
    print('ok ' .. name)
  else
    failed = failed + 1
    print('not ok ' .. name .. '\n' .. fault)
  end
end

local roster, viewer
local busy = '[[steps k=400 delay_ms=200 tokens=8 tok_ms=5 id=%d]]'

step('the roster opens', function()
  vim.cmd('Adjutant fleet')
  roster = vim.api.nvim_get_current_buf()
  wait('the empty roster', function()
    return text(roster):find('No agents yet', 1, true)
  end)
end)

step('two agents are delegated, and both rows change', function()
  vim.cmd('Adjutant delegate Explore ' .. busy:format(1))
  vim.cmd('Adjutant delegate Plan ' .. busy:format(2))
  for _, handle in ipairs({ 'explore', 'plan' }) do
    local first = wait(handle .. ' has a row', function()
      return row(roster, handle)
    end)
    wait(handle .. ' runs', function()
      return row(roster, handle):find('running', 1, true)
    end)
    wait(handle .. ' changes', function()
      local line = row(roster, handle)
      return line ~= first and line:find('%d+ turns') and line:find('%d+ tools')
    end)
  end
  assert(require('adjutant').statusline() ~= '', 'the statusline says what runs')
end)

step('one is opened, and its conversation streams', function()
  vim.cmd('Adjutant open explore')
  viewer = vim.api.nvim_get_current_buf()
  assert(viewer ~= roster, 'a buffer of its own')
  wait('text', function()
    return text(viewer):find('lorem ipsum', 1, true)
  end)
  local before = #text(viewer)
  wait('more text', function()
    return #text(viewer) > before
  end)
end)

step('it is steered', function()
  vim.cmd('Adjutant steer explore look under the mat')
  wait('the message in the conversation', function()
    return text(viewer):find('look under the mat', 1, true)
  end)
end)

step('the other is stopped', function()
  vim.cmd('Adjutant! stop plan')
  wait('its row', function()
    return row(roster, 'plan'):find('stopped', 1, true)
  end)
  assert(row(roster, 'explore'):find('running', 1, true), 'the first goes on')
end)

step('a completion is told once', function()
  vim.cmd('Adjutant delegate general-purpose [[steps k=2 delay_ms=50 tokens=5 id=3]]')
  local function told()
    return vim.tbl_filter(function(message)
      return message:find('general%-purpose') and (message:find('completed') or message:find('finished'))
    end, notices)
  end
  wait('the notice', function()
    return #told() > 0
  end)
  vim.wait(500)
  assert(#told() == 1, vim.inspect(notices))
  wait('its row', function()
    return row(roster, 'general-purpose'):find('completed', 1, true)
  end)
end)

step('its result is read', function()
  vim.cmd('Adjutant result general-purpose')
  wait('the result', function()
    return text(vim.api.nvim_get_current_buf()):find('child-done:3', 1, true)
  end)
end)

step('all are stopped', function()
  vim.cmd('Adjutant! stopall')
  wait('the last row', function()
    return row(roster, 'explore'):find('stopped', 1, true)
  end)
end)

print(('%d passed, %d failed'):format(passed, failed))
pcall(require('adjutant.client').stop_all)
vim.wait(1500, function()
  return #vim.lsp.get_clients() == 0
end, 20)
os.exit(failed == 0 and 0 or 1)
