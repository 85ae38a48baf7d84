--- Adjutant: delegate to agents from inside the editor. Everything here loads what it needs when it is called.
local M = {}

--- Sets options; calling it is not needed. See |adjutant-options|.
---@param options table?
function M.setup(options)
  require('adjutant.config').set(options)
end

--- What runs, in a few words, for a statusline; empty while nothing does. Never asks the server.
---@return string
function M.statusline()
  local loaded = package.loaded['adjutant.client']
  if not loaded then
    return ''
  end
  return require('adjutant.notices').summary(loaded.root())
end

--- Shows the roster of the current buffer's folder, and starts its server.
function M.fleet()
  require('adjutant.panel').show(require('adjutant.client').get())
end

--- Sends a prompt to the session; without one, opens a buffer to write it in.
---@param prompt string?
function M.prompt(prompt)
  local prompts, connection = require('adjutant.prompts'), require('adjutant.client').get()
  if prompt and prompt ~= '' then
    prompts.prompt(connection, prompt, {})
  else
    prompts.compose(connection, {})
  end
end

--- Starts an agent in the background.
---@param agent_type string
---@param prompt string
function M.delegate(agent_type, prompt)
  require('adjutant.prompts').delegate(require('adjutant.client').get(), agent_type, prompt, {})
end

--- Fills a buffer whose name begins with `adjutant://`.
---@param bufnr integer
---@param name string
function M.read(bufnr, name)
  local client = require('adjutant.client')
  local kind, id = name:match('^adjutant://(%a+)/(.+)$')
  if name:match('^adjutant://fleet') then
    require('adjutant.panel').attach(bufnr, client.get(client.root(bufnr)))
  elseif kind == 'agent' or kind == 'session' then
    require('adjutant.viewer').attach(bufnr, client.get(client.root(bufnr)), kind, id)
  else
    vim.notify(('adjutant: nothing is called %s'):format(name), vim.log.levels.WARN)
  end
end

return M
