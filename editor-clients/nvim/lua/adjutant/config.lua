--- What the user can set, with the values that hold without any setup.
local M = {}

---@class adjutant.RosterConfig
---@field position 'right'|'left'|'bottom'|'top' side of the editor
---@field size integer columns (rows for top and bottom)

---@class adjutant.ViewerConfig
---@field open string Ex command that makes the window for a viewer: 'vsplit', 'split', 'tabnew', 'edit'
---@field page integer entries asked for at a time

---@class adjutant.Config
---@field cmd string[]|fun(dispatchers: table, config: table): table command line, or an in-process server
---@field settings table<string, any> the `adjutant` section of the server's settings
---@field model string? model of new sessions
---@field trusted boolean|fun(root: string): boolean?|nil whether a folder is trusted; nil: the server decides
---@field root (fun(bufnr: integer): string?)? folder that a buffer's server works in
---@field attach boolean whether files below the root are synchronised, so that agents see unsaved text
---@field default_type string agent type of `:Adjutant delegate` without one
---@field notify 'all'|'failures'|'none' which completions are announced
---@field icons 'unicode'|'ascii'
---@field roster adjutant.RosterConfig
---@field viewer adjutant.ViewerConfig

---@return adjutant.Config
local function defaults()
  return {
    cmd = { 'adjutant', '--stdio' },
    settings = {},
    model = nil,
    trusted = nil,
    root = nil,
    attach = true,
    default_type = 'general-purpose',
    notify = 'all',
    icons = 'unicode',
    roster = { position = 'right', size = 56 },
    viewer = { open = 'vsplit', page = 200 },
  }
end

---@param name string
---@param allowed string[]
---@return fun(value: any): boolean, string?
local function one_of(name, allowed)
  return function(value)
    return vim.tbl_contains(allowed, value), ('%s must be one of: %s'):format(name, table.concat(allowed, ', '))
  end
end

---@param low integer
---@param high integer
---@return fun(value: any): boolean, string?
local function between(low, high)
  return function(value)
    return type(value) == 'number' and value >= low and value <= high, ('a number from %d to %d'):format(low, high)
  end
end

--- Checks a configuration; the first fault is thrown with the option's name.
---@param config table
local function check(config)
  local validate = vim.validate
  validate('cmd', config.cmd, { 'table', 'function' })
  validate('settings', config.settings, 'table')
  validate('model', config.model, 'string', true)
  validate('trusted', config.trusted, { 'boolean', 'function' }, true)
  validate('root', config.root, 'function', true)
  validate('attach', config.attach, 'boolean')
  validate('default_type', config.default_type, 'string')
  validate('notify', config.notify, one_of('notify', { 'all', 'failures', 'none' }))
  validate('icons', config.icons, one_of('icons', { 'unicode', 'ascii' }))
  validate('roster', config.roster, 'table')
  validate('roster.position', config.roster.position, one_of('roster.position', { 'right', 'left', 'bottom', 'top' }))
  validate('roster.size', config.roster.size, between(5, 400))
  validate('viewer', config.viewer, 'table')
  validate('viewer.open', config.viewer.open, 'string')
  validate('viewer.page', config.viewer.page, between(1, 1000))
end

---@param given table
---@return string[] names that no option has
local function unknown(given)
  local known = defaults()
  local optional = { model = true, trusted = true, root = true }
  local names = {}
  for name in pairs(given) do
    if known[name] == nil and not optional[name] then
      names[#names + 1] = tostring(name)
    end
  end
  table.sort(names)
  return names
end

local current ---@type adjutant.Config?

--- Sets options; those left out keep their default. Faults are thrown, since a setup call is code.
---@param given table?
---@return adjutant.Config
function M.set(given)
  vim.validate('options', given, 'table', true)
  given = given or {}
  local strange = unknown(given)
  if #strange > 0 then
    error(('adjutant: no such option: %s (see :help adjutant-options)'):format(table.concat(strange, ', ')), 0)
  end
  local config = vim.tbl_deep_extend('force', defaults(), given)
  check(config)
  current = config
  return config
end

--- The options in force. Without a setup call they come from `vim.g.adjutant`, a table or a function that returns one.
---@return adjutant.Config
function M.get()
  if not current then
    local given = vim.g.adjutant
    if type(given) == 'function' then
      given = given()
    end
    local ok, fault = pcall(M.set, given)
    if not ok then
      M.set({})
      vim.notify(('adjutant: vim.g.adjutant is not used: %s'):format(fault), vim.log.levels.ERROR)
    end
  end
  return current --[[@as adjutant.Config]]
end

return M
