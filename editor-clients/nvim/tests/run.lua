--- Runs the client's tests: nvim --clean --headless -l tests/run.lua [part of a file's name]
---
--- Each `*_test.lua` returns a table of functions by name. `slow/` holds those that need the built server.
local here = debug.getinfo(1, 'S').source:match('^@(.*)/[^/]*$') or '.'
local client = vim.fn.fnamemodify(here .. '/..', ':p'):gsub('/$', '')
vim.opt.runtimepath:prepend(client)
package.path = here .. '/?.lua;' .. package.path
vim.cmd.source(client .. '/plugin/adjutant.lua')
local only = _G.arg and _G.arg[1]
local passed, failed = 0, 0

---@param folder string
---@return string[]
local function files(folder)
  local found = {}
  if vim.uv.fs_stat(folder) then
    for name, kind in vim.fs.dir(folder) do
      if kind == 'file' and name:match('_test%.lua$') then
        found[#found + 1] = folder .. '/' .. name
      end
    end
  end
  table.sort(found)
  return found
end

---@param name string
---@param run fun()
local function test(name, run)
  local started = vim.uv.hrtime()
  local ok, fault = xpcall(run, debug.traceback)
  local ms = (vim.uv.hrtime() - started) / 1e6
  if ok then
    passed = passed + 1
    io.write(('ok %s (%.0f ms)\n'):format(name, ms))
  else
    failed = failed + 1
    io.write(('not ok %s\n  %s\n'):format(name, tostring(fault):gsub('\n', '\n  ')))
  end
end

local all = files(here)
-- The built server is named by whoever built it; without it these have nothing to run against.
if vim.env.ADJUTANT_SERVER then
  vim.list_extend(all, files(here .. '/slow'))
end
for _, path in ipairs(all) do
  local stem = path:match('([^/]*)_test%.lua$')
  if not only or stem:find(only, 1, true) then
    local cases = dofile(path)
    local names = vim.tbl_keys(cases)
    table.sort(names)
    for _, name in ipairs(names) do
      test(('%s: %s'):format(stem, name), cases[name])
    end
  end
end
io.write(('%d passed, %d failed\n'):format(passed, failed))
-- Every client must let go, or the editor waits for it.
pcall(require('adjutant.client').stop_all)
os.exit(failed == 0 and 0 or 1)
