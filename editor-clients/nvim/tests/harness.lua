--- What the tests share: comparison, bounded waits, and an editor with nothing left over from the test before.
local M = {}

local here = debug.getinfo(1, 'S').source:match('^@(.*)/[^/]*$')

--- The client's folder, and the repository's.
M.client = vim.fs.normalize(vim.fn.fnamemodify(here .. '/..', ':p')):gsub('/$', '')
M.repository = vim.fs.normalize(vim.fn.fnamemodify(here .. '/../../..', ':p')):gsub('/$', '')

---@param actual any
---@param expected any
---@param what string?
function M.eq(actual, expected, what)
  if not vim.deep_equal(actual, expected) then
    local message = ('%s\nexpected: %s\nactual:   %s'):format(
      what or 'not equal',
      vim.inspect(expected),
      vim.inspect(actual)
    )
    error(message, 2)
  end
end

---@param condition any
---@param what string?
function M.ok(condition, what)
  if not condition then
    error(what or 'not true', 2)
  end
end

---@param text string
---@param part string
function M.has(text, part)
  if not text:find(part, 1, true) then
    error(('%s\nis not in:\n%s'):format(part, text), 2)
  end
end

--- Waits until a predicate holds.
---@param predicate fun(): any
---@param what string?
function M.wait(predicate, what)
  local done = vim.wait(3000, function()
    return predicate() and true or false
  end, 5)
  if not done then
    error('waited in vain: ' .. (what or '?'), 2)
  end
end

--- Lets everything that is scheduled, and every timer of up to `ms`, run.
---@param ms integer?
function M.settle(ms)
  vim.wait(ms or 250, function()
    return false
  end, 5)
end

---@param bufnr integer
---@return string
function M.text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n')
end

M.notices = {} ---@type { message: string, level: integer? }[]

--- A clean editor, and a server that is not started yet.
---@param options table?
---@return adjutant.FakeServer
function M.start(options)
  require('adjutant.client').stop_all()
  M.settle(30)
  vim.cmd('silent! only!')
  vim.cmd('silent! %bwipeout!')
  M.notices = {}
  vim.notify = function(message, level)
    table.insert(M.notices, { message = message, level = level })
  end
  local server = require('fake_server').new()
  require('adjutant.config').set(vim.tbl_extend('force', {
    cmd = server.cmd,
    root = function()
      return M.client
    end,
  }, options or {}))
  return server
end

---@return string
function M.told()
  return table.concat(
    vim.tbl_map(function(notice)
      return notice.message
    end, M.notices),
    '\n'
  )
end

--- Answers every question of a kind with a fixed value.
---@param input string?
---@param choose (fun(items: any[]): any)?
function M.answer(input, choose)
  vim.ui.input = function(_, done)
    done(input)
  end
  vim.ui.select = function(items, _, done)
    done(choose and choose(items) or nil)
  end
end

--- Presses keys in the current window.
---@param keys string
function M.press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

--- The connection, once it is ready.
---@return adjutant.Connection
function M.ready()
  local connection = require('adjutant.client').get()
  M.wait(function()
    return connection.status == 'ready' and connection.fleet.phase == 'live'
  end, 'ready')
  return connection
end

return M
