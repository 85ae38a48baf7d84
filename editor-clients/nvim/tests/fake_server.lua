--- An in-process server for tests: given as `cmd`, it answers like the real one, and does what a test tells it to.
---
--- Everything it sends and receives goes through JSON, so that a table of the wrong shape shows.
local methods = require('adjutant.protocol_gen').methods

local M = {}

---@class adjutant.FakeServer
---@field cmd fun(dispatchers: table): table
---@field received { method: string, params: any }[] requests and notifications, in order
---@field answers table<string, any|fun(params: table, reply: fun(result: any, fault: table?)): any> by method
---@field agents table<string, table>
---@field revision integer
---@field epoch string
---@field dispatchers table?
local Server = {}
Server.__index = Server

---@param data any
---@return any
local function through_json(data)
  return vim.json.decode(vim.json.encode(data), { luanil = { object = true } })
end

--- Milliseconds of the server's clock.
---@return integer
function M.now()
  local seconds, micros = vim.uv.gettimeofday()
  return seconds * 1000 + math.floor(micros / 1000)
end

local USAGE = { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, total = 0 }

--- A summary with every required field.
---@param id string
---@param fields table?
---@return table
function M.agent(id, fields)
  return vim.tbl_extend('force', {
    agentId = id,
    run = 1,
    sessionId = 's1',
    handle = id,
    type = 'Explore',
    displayName = 'Explore',
    description = 'Look at ' .. id,
    status = 'running',
    isBackground = true,
    depth = 1,
    cwd = '/',
    createdAt = M.now(),
    startedAt = M.now(),
    turns = 1,
    toolUses = 0,
    usage = USAGE,
    subtree = { agents = 0, running = 0, usage = USAGE },
    compactions = 0,
    model = 'acme/large',
    permissionMode = 'ask',
    tags = {},
    attention = 0,
    resumable = true,
    unread = false,
    files = {},
    filesTotal = 0,
  }, fields or {})
end

---@param entries table[]?
---@param fields table?
---@return table
function M.page(entries, fields)
  local page = { entries = entries or {}, asOfSeq = 0, hasMore = false, total = #(entries or {}) }
  return vim.tbl_extend('force', page, fields or {})
end

---@param server adjutant.FakeServer
---@return table<string, any>
local function default_answers(server)
  local function agent_of(params)
    return server.agents[params.agentId]
  end
  return {
    initialize = function()
      local names = vim.tbl_values(methods)
      return {
        capabilities = {
          textDocumentSync = { openClose = true, change = 2 },
          experimental = {
            adjutant = { protocolVersion = 1, serverVersion = '0.0-fake', methods = names, limits = {} },
          },
        },
      }
    end,
    shutdown = function()
      return vim.NIL
    end,
    [methods.fleet_list] = function()
      return {
        epoch = server.epoch,
        revision = server.revision,
        serverNow = M.now(),
        agents = vim.tbl_values(server.agents),
        limits = vim.empty_dict(),
      }
    end,
    [methods.session_open] = { sessionId = 's1', title = '', running = false },
    [methods.session_subscribe] = { page = M.page(), nextSeq = 1 },
    [methods.session_unsubscribe] = vim.empty_dict(),
    [methods.session_prompt] = function() end,
    [methods.session_abort] = { aborted = true, backgroundRunning = 1, withdrawn = { { text = 'later' } } },
    [methods.session_steer] = { steerId = 'st1', delivered = 'now' },
    [methods.agent_open] = function(params)
      return { summary = agent_of(params), page = M.page(), nextSeq = 1 }
    end,
    [methods.agent_close] = vim.empty_dict(),
    [methods.agent_seen] = vim.empty_dict(),
    [methods.agent_steer] = { steerId = 'st1', delivered = 'now' },
    [methods.agent_stop] = function(params)
      return { stopped = { { agentId = params.agentId, status = 'stopping' } } }
    end,
    [methods.agent_stop_all] = { stopped = { 'a', 'b' } },
    [methods.agent_resume] = function(params)
      return { agentId = params.agentId, run = 2, status = 'running' }
    end,
    [methods.agent_result] = { run = 1, status = 'completed', text = 'The answer.', usage = USAGE, partial = false },
    [methods.agent_spawn] = { agentId = 'new', run = 1, handle = 'explore-1', status = 'running' },
  }
end

---@return adjutant.FakeServer
function M.new()
  local server = setmetatable({ received = {}, agents = {}, revision = 1, epoch = 'e1', running = false }, Server)
  server.answers = default_answers(server)
  server.cmd = function(dispatchers)
    return server:start(dispatchers)
  end
  return server
end

--- The interface that Neovim wants of a `cmd` function. Callbacks come later, as from a process.
---@param dispatchers table
---@return table
function Server:start(dispatchers)
  self.dispatchers, self.running = dispatchers, true
  self.starts = (self.starts or 0) + 1
  local life = self.starts
  local next_id, open = 0, {}
  local function alive()
    return self.running and self.starts == life
  end

  local function request(method, params, callback, ended)
    if not alive() then
      return false
    end
    next_id = next_id + 1
    local id = next_id
    open[id] = true
    params = through_json(params)
    table.insert(self.received, { method = method, params = params, id = id })
    local function reply(result, fault)
      vim.schedule(function()
        if not open[id] then
          return
        end
        open[id] = nil
        if ended then
          ended(id)
        end
        -- Neovim drops the answer to a cancelled request.
        if not (fault and fault.code == -32800) then
          callback(fault and through_json(fault), result ~= nil and through_json(result) or nil)
        end
      end)
    end
    local answer = self.answers[method]
    if type(answer) == 'function' then
      local result, fault = answer(params, reply)
      if result ~= nil or fault ~= nil then
        reply(result, fault)
      end
    elseif answer ~= nil then
      reply(answer)
    else
      reply(nil, { code = -32601, message = 'unknown method ' .. method })
    end
    return true, id
  end

  local function notify(method, params)
    if not alive() then
      return false
    end
    table.insert(self.received, { method = method, params = params and through_json(params) })
    if method == 'exit' then
      self:die(0, life)
    end
    return true
  end

  return {
    request = request,
    notify = notify,
    is_closing = function()
      return not alive()
    end,
    terminate = function()
      self:die(0, life)
    end,
  }
end

--- Ends as a process would.
---@param code integer
---@param life integer?
function Server:die(code, life)
  if self.running and (not life or life == self.starts) then
    self.running = false
    local on_exit = self.dispatchers.on_exit
    vim.schedule(function()
      on_exit(code, 0)
    end)
  end
end

--- Sends a notification.
---@param method string
---@param params any
function Server:notify(method, params)
  local dispatchers = self.dispatchers
  local data = params ~= nil and through_json(params) or nil
  vim.schedule(function()
    dispatchers.notification(method, data)
  end)
end

--- Changes the fleet and tells.
---@param upserted table[]
---@param removed string[]?
function Server:change(upserted, removed)
  local base = self.revision
  self.revision = base + 1
  for _, agent in ipairs(upserted) do
    self.agents[agent.agentId] = agent
  end
  for _, id in ipairs(removed or {}) do
    self.agents[id] = nil
  end
  self:notify(methods.fleet_changed, {
    epoch = self.epoch,
    revision = self.revision,
    baseRevision = base,
    serverNow = M.now(),
    upserted = upserted,
    removed = removed or {},
  })
end

---@param id string
---@param seq integer
---@param event table
function Server:event(id, seq, event)
  self:notify(methods.agent_event, { agentId = id, seq = seq, event = event })
end

---@param seq integer
---@param event table
function Server:session_event(seq, event)
  self:notify(methods.session_event, { sessionId = 's1', seq = seq, event = event })
end

--- What was received of one method.
---@param method string
---@return { method: string, params: any }[]
function Server:of(method)
  return vim.tbl_filter(function(message)
    return message.method == method
  end, self.received)
end

return M
