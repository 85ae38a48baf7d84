--- `:checkhealth adjutant`.
local client = require('adjutant.client')
local config = require('adjutant.config')
local protocol = require('adjutant.protocol_gen')

local M = {}

local health = vim.health

--- A health check may wait, but not for ever.
local RUN_MS = 5000

---@param command string[]
---@return string? output
---@return string? fault
local function run(command)
  local ok, job = pcall(vim.system, command, { text = true, timeout = RUN_MS, stdin = false })
  if not ok then
    return nil, tostring(job)
  end
  local result = job:wait()
  if result.code ~= 0 then
    return nil, vim.trim(result.stderr or '') ~= '' and vim.trim(result.stderr) or ('exit code %d'):format(result.code)
  end
  return vim.trim(result.stdout or '')
end

local function check_editor()
  health.start('Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(('version %s'):format(tostring(vim.version())))
  else
    health.error('0.11 or newer is needed', { 'Update Neovim' })
  end
  if pcall(vim.treesitter.language.add, 'markdown') then
    health.ok('Markdown parser found: conversations are highlighted')
  else
    health.info('no Markdown parser: conversations are plain text')
  end
end

local function check_program()
  health.start('Server program')
  local cmd = config.get().cmd
  if type(cmd) == 'function' then
    health.info('the server runs inside this editor')
    return
  end
  local path = vim.fn.exepath(tostring(cmd[1]))
  if path == '' then
    health.error(('%s is not an executable'):format(vim.inspect(cmd[1])), {
      'Install Adjutant so that it is on $PATH',
      "Or name it: require('adjutant').setup({ cmd = { '/path/to/adjutant', '--stdio' } })",
    })
    return
  end
  local version, fault = run({ path, '--version' })
  if version then
    health.ok(('%s (%s)'):format(path, version))
  else
    health.warn(('%s does not tell its version: %s'):format(path, fault))
  end
end

local function check_git()
  health.start('git')
  local version, fault = run({ 'git', '--version' })
  if version then
    health.ok(version)
  else
    health.warn(('git cannot be run: %s'):format(fault), { 'Agents in a working tree of their own need it' })
  end
end

---@param connection adjutant.Connection
local function check_connection(connection)
  health.start(('Server of %s'):format(connection.root))
  if connection.status == 'ready' then
    health.ok(
      ('running, version %s, protocol %d'):format(connection.server.version or 'unknown', protocol.PROTOCOL_VERSION)
    )
  elseif connection.status == 'starting' then
    health.info('starting')
  elseif connection.status == 'unsupported' then
    health.error(('it does not speak protocol %d'):format(protocol.PROTOCOL_VERSION), {
      'Update the server, or this plugin, so that both are of one version',
    })
  else
    health.error(connection.fleet.message or 'it ended', { ':Adjutant restart starts it again' })
  end
  if connection.status ~= 'ready' then
    return
  end
  local missing = {}
  for _, method in pairs(protocol.methods) do
    if next(connection.server.methods) and not connection.server.methods[method] then
      missing[#missing + 1] = method
    end
  end
  table.sort(missing)
  if #missing == 0 then
    health.ok('it has every method that this plugin knows')
  else
    health.warn('it lacks: ' .. table.concat(missing, ', '), { 'Update the server' })
  end
  if connection.fleet.phase == 'live' then
    health.ok(('the roster is in step: %d agents'):format(vim.tbl_count(connection.fleet.agents)))
  else
    health.warn(('the roster is not in step (%s)'):format(connection.fleet.message or connection.fleet.phase))
  end
end

--- Checks editor, program and the servers that this editor has started.
function M.check()
  check_editor()
  check_program()
  check_git()
  local connections = client.all()
  if #connections == 0 then
    health.start('Servers')
    health.info('none started yet: the first :Adjutant command starts one')
  end
  for _, connection in ipairs(connections) do
    check_connection(connection)
  end
end

return M
