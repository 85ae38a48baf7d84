--- One server of one root: its process, its requests, and the fleet it reports.
---
--- Handlers only fold what arrived into plain data and tell listeners; these schedule whatever touches the editor.
local completions = require('adjutant.completions')
local config = require('adjutant.config')
local protocol = require('adjutant.protocol_gen')
local state = require('adjutant.state')
local value = require('adjutant.value')

local methods = protocol.methods

local M = {}

--- A request that needs neither a model nor a person is answered at once; past this it is taken as lost.
local REQUEST_MS = 15000
local START_MS = 15000
--- Lists in a row that failed, and the least time between two of them, so that a confused server is not flooded.
local LIST_ATTEMPTS = 5
local LIST_GAP_MS = 200
local LIST_PAGE = 500
--- 100 pages of 500 agents; a cursor that never ends is cut there.
local LIST_PAGES = 100
local MAX_WAITING = 64

---@class adjutant.Failure
---@field code integer JSON-RPC error code; 0 where the server gave none
---@field message string
---@field hint string? what to do next
---@field told boolean? the person has been told of the cause already

---@class adjutant.Pending
---@field id integer? JSON-RPC id, once it is sent
---@field method string
---@field done boolean
---@field finish fun(failure: adjutant.Failure?, result: any)

---@class adjutant.Connection
---@field root string
---@field client vim.lsp.Client?
---@field status 'starting'|'ready'|'unsupported'|'ended'
---@field fleet adjutant.State
---@field session_id string? the session that prompts of this editor go to
---@field server { version: string?, methods: table<string, boolean>, limits: table }
---@field seen adjutant.Completions
---@field prompts adjutant.Pending[] those that are not answered, oldest first
---@field told_seen table<string, boolean> runs whose result a person has seen, by agent and run
---@field notifier adjutant.Throttle? recounts for the statusline
---@field package _pending table<adjutant.Pending, boolean>
---@field package _waiting fun()[] what to do once the server is ready
---@field package _listeners table<string, table<fun(payload: any), boolean>>
---@field package _stopping boolean
---@field package _list { running: boolean, failures: integer, last: number, wanted: boolean }
local Connection = {}
Connection.__index = Connection

---@param root string
---@return adjutant.Connection
function M.new(root)
  return setmetatable({
    root = root,
    status = 'starting',
    fleet = state.new(),
    server = { methods = {}, limits = {} },
    seen = completions.new(),
    prompts = {},
    told_seen = {},
    _pending = {},
    _waiting = {},
    _listeners = {},
    _stopping = false,
    _list = { running = false, failures = 0, last = 0, wanted = false },
  }, Connection)
end

---@return number milliseconds since the Unix epoch
local function now_ms()
  local seconds, micros = vim.uv.gettimeofday()
  return seconds * 1000 + math.floor((micros or 0) / 1000)
end

--- The server's clock, as far as this client can tell.
---@return number
function Connection:now()
  return state.now(self.fleet, now_ms())
end

---@param event 'fleet'|'status'|'agent'|'session'|'completed'
---@param fn fun(payload: any)
---@return fun() off removes the listener
function Connection:on(event, fn)
  self._listeners[event] = self._listeners[event] or {}
  self._listeners[event][fn] = true
  return function()
    self._listeners[event][fn] = nil
  end
end

--- One listener's fault must not keep the news from the others.
---@param event string
---@param payload any
function Connection:emit(event, payload)
  for _, fn in ipairs(vim.tbl_keys(self._listeners[event] or {})) do
    local ok, fault = pcall(fn, payload)
    if not ok then
      vim.schedule(function()
        vim.notify(('adjutant: %s'):format(fault), vim.log.levels.ERROR)
      end)
    end
  end
end

---@param action adjutant.Action
function Connection:_reduce(action)
  local effect
  self.fleet, effect = state.reduce(self.fleet, action)
  self:emit('fleet', nil)
  if effect == 'list' then
    self:list()
  end
end

---@param raw any
---@return adjutant.Failure
local function failure_of(raw)
  local data = value.tbl(raw) or {}
  local more = value.tbl(data.data) or {}
  return {
    code = value.num(data.code) or 0,
    message = value.str(data.message) or 'the server gave no reason',
    hint = value.str(more.hint),
  }
end

---@param failure adjutant.Failure
---@return string
function M.describe(failure)
  return failure.hint and ('%s (%s)'):format(failure.message, failure.hint) or failure.message
end

---@param pending adjutant.Pending
---@param deadline_ms integer|false
function Connection:_arm(pending, deadline_ms)
  if not deadline_ms then
    return
  end
  vim.defer_fn(function()
    if not pending.done then
      self:cancel(pending, { code = 0, message = ('no answer to %s'):format(pending.method) })
    end
  end, deadline_ms)
end

---@param pending adjutant.Pending
---@param params table
function Connection:_send(pending, params)
  if pending.done then
    return
  end
  local ok, id = self.client:request(pending.method, params, function(raw, result)
    if raw then
      pending.finish(failure_of(raw))
    else
      pending.finish(nil, result)
    end
  end, 0)
  if ok then
    pending.id = id
  else
    pending.finish({ code = 0, message = 'the server is gone', hint = ':Adjutant restart' })
  end
end

--- Sends a request. `done` is called once, scheduled, with the answer, a failure, or the lack of either after the
--- deadline; never before this returns. A server that still starts gets it once it is ready.
---@param method string
---@param params table
---@param done fun(failure: adjutant.Failure?, result: any)
---@param opts { deadline_ms: integer|false }? false where a model or a person is waited for
---@return adjutant.Pending
function Connection:request(method, params, done, opts)
  local pending = { method = method, done = false }
  function pending.finish(failure, result)
    if pending.done then
      return
    end
    pending.done = true
    self._pending[pending] = nil
    vim.schedule(function()
      done(failure, result)
    end)
  end
  self._pending[pending] = true
  local deadline = REQUEST_MS ---@type integer|false
  if opts and opts.deadline_ms ~= nil then
    deadline = opts.deadline_ms
  end
  if self.status == 'ready' and next(self.server.methods) and not self.server.methods[method] then
    pending.finish({ code = 0, message = 'this server cannot do that', hint = 'update it' })
  elseif self.status == 'ready' then
    self:_arm(pending, deadline)
    self:_send(pending, params)
  elseif self.status == 'starting' and #self._waiting < MAX_WAITING then
    table.insert(self._waiting, function()
      self:_arm(pending, deadline)
      self:_send(pending, params)
    end)
  else
    local message = self.status == 'unsupported' and 'this server does not speak our protocol' or 'the server is gone'
    pending.finish({ code = 0, message = message, hint = ':Adjutant restart' })
  end
  return pending
end

--- Cancels a request. Neovim drops the server's answer to a cancelled one, so the caller is told here.
---@param pending adjutant.Pending
---@param failure adjutant.Failure?
function Connection:cancel(pending, failure)
  if pending.done then
    return
  end
  if pending.id and self.client and not self.client:is_stopped() then
    self.client:cancel_request(pending.id)
  end
  pending.finish(failure or { code = -32800, message = 'cancelled' })
end

--- The server may cancel a request by itself (its progress token was cancelled, say). Neovim tells only of the end.
---@param request_id integer
function Connection:request_ended(request_id)
  for pending in pairs(self._pending) do
    if pending.id == request_id then
      vim.schedule(function()
        pending.finish({ code = -32800, message = 'cancelled' })
      end)
      return
    end
  end
end

--- Asks for the whole fleet: at most one list at a time, and after failures no faster than the server can take.
function Connection:list()
  local list = self._list
  if list.running then
    list.wanted = true
    return
  end
  if self.status ~= 'ready' then
    return
  end
  list.running, list.wanted = true, false
  self:_reduce({ kind = 'list' })
  local wait = math.max(0, list.last + LIST_GAP_MS - now_ms()) + LIST_GAP_MS * list.failures
  if wait == 0 then
    self:_list_page({}, nil, nil)
  else
    vim.defer_fn(function()
      self:_list_page({}, nil, nil)
    end, wait)
  end
end

---@param message string
---@param retry boolean
function Connection:_list_failed(message, retry)
  local list = self._list
  list.running, list.last = false, now_ms()
  list.failures = list.failures + 1
  if self.status ~= 'ready' then
    return
  end
  if retry and list.failures < LIST_ATTEMPTS then
    self:list()
  else
    list.failures = 0
    self:_reduce({ kind = 'listFailed', message = message })
  end
end

---@param agents table[]
---@param cursor string?
---@param pages integer?
function Connection:_list_page(agents, cursor, pages)
  pages = (pages or 0) + 1
  self:request(methods.fleet_list, { cursor = cursor, limit = LIST_PAGE }, function(failure, result)
    if failure then
      -- Content modified: the fleet moved between two pages.
      self:_list_failed(M.describe(failure), failure.code == -32801)
      return
    end
    local page = value.tbl(result)
    if not page or not value.num(page.revision) then
      self:_list_failed('the server sent a list that cannot be read', false)
      return
    end
    vim.list_extend(agents, value.tables(page.agents))
    local next_cursor = value.str(page.nextCursor)
    if next_cursor and pages < LIST_PAGES then
      self:_list_page(agents, next_cursor, pages)
      return
    end
    local list = self._list
    list.running, list.last, list.failures = false, now_ms(), 0
    self.server.limits = value.tbl(page.limits) or self.server.limits
    self:_reduce({
      kind = 'listed',
      epoch = page.epoch,
      revision = page.revision,
      serverNow = page.serverNow,
      agents = agents,
      at = now_ms(),
    })
    if list.wanted then
      self:list()
    end
  end)
end

---@param message string
function Connection:_end(message)
  if self.status == 'ended' then
    return
  end
  self.status = 'ended'
  self._waiting = {}
  self._list.running = false
  self:_reduce({ kind = 'ended', message = message })
  for pending in pairs(self._pending) do
    pending.finish({ code = 0, message = message, hint = ':Adjutant restart', told = true })
  end
  self:emit('status', nil)
end

---@param client vim.lsp.Client
---@param result any
function Connection:_initialized(client, result)
  self.client = client
  local ours = vim.tbl_get(value.tbl(result) or {}, 'capabilities', 'experimental', 'adjutant')
  if not value.tbl(ours) or ours.protocolVersion ~= protocol.PROTOCOL_VERSION then
    self.status = 'unsupported'
    self:_reduce({
      kind = 'ended',
      message = ('this server does not speak protocol version %d'):format(protocol.PROTOCOL_VERSION),
    })
    for pending in pairs(self._pending) do
      pending.finish({ code = 0, message = 'this server does not speak our protocol', told = true })
    end
    self:emit('status', nil)
    vim.schedule(function()
      vim.notify(
        'adjutant: the server does not speak protocol version 1; update it or this plugin (:checkhealth adjutant)',
        vim.log.levels.ERROR
      )
    end)
    return
  end
  self.status = 'ready'
  self.server.version = value.str(ours.serverVersion)
  self.server.limits = value.tbl(ours.limits) or {}
  for _, name in ipairs(value.strings(ours.methods)) do
    self.server.methods[name] = true
  end
  self:emit('status', nil)
  self:list()
  local waiting = self._waiting
  self._waiting = {}
  for _, go in ipairs(waiting) do
    go()
  end
end

---@param code integer
---@param signal integer
function Connection:_exited(code, signal)
  local asked = self._stopping
  local how = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
  vim.schedule(function()
    local message = asked and 'the server was stopped' or ('the server ended (%s)'):format(how)
    self:_end(message)
    if not asked then
      vim.notify(
        ('adjutant: %s; agents that ran are interrupted. :Adjutant restart starts it again'):format(message),
        vim.log.levels.ERROR
      )
    end
  end)
end

---@return table<string, function>
function Connection:_handlers()
  return {
    [methods.fleet_changed] = function(_, params)
      self:_reduce({ kind = 'changed', params = params, at = now_ms() })
    end,
    [methods.agent_completed] = function(_, params)
      local fresh = self.seen:fresh(params)
      if #fresh > 0 then
        self:emit('completed', fresh)
      end
    end,
    [methods.agent_event] = function(_, params)
      if value.tbl(params) then
        self:emit('agent', params)
      end
    end,
    [methods.session_event] = function(_, params)
      if value.tbl(params) then
        self:emit('session', params)
      end
    end,
  }
end

---@return table
function Connection:_init_options()
  local options = config.get()
  local trusted = options.trusted
  if type(trusted) == 'function' then
    trusted = trusted(self.root)
  end
  local init = { trusted = trusted, model = options.model }
  -- An empty Lua table would be sent as an array.
  init.settings = next(options.settings) and options.settings or nil
  return next(init) and init or vim.empty_dict()
end

--- The configuration that `vim.lsp.start` gets.
---@return vim.lsp.ClientConfig
function Connection:_client_config()
  local options = config.get()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = vim.tbl_deep_extend('force', capabilities.experimental or {}, {
    adjutant = { protocolVersion = protocol.PROTOCOL_VERSION, fleet = true, viewer = true },
  })
  return {
    name = 'adjutant',
    cmd = options.cmd,
    cmd_cwd = self.root,
    root_dir = self.root,
    capabilities = capabilities,
    init_options = self:_init_options(),
    settings = next(options.settings) and { adjutant = options.settings } or {},
    handlers = self:_handlers(),
    on_init = function(client, result)
      self:_initialized(client, result)
    end,
    on_exit = function(code, signal)
      self:_exited(code, signal)
    end,
  }
end

--- Starts the server. Failures end the connection with a message that says what to do.
function Connection:start()
  local cmd = config.get().cmd
  if type(cmd) == 'table' and vim.fn.executable(tostring(cmd[1])) == 0 then
    self:_end(('%s is not an executable'):format(vim.inspect(cmd[1])))
    vim.notify(
      ('adjutant: cannot start %s: no such program. Install it or set `cmd` (:help adjutant-install)'):format(
        vim.inspect(cmd[1])
      ),
      vim.log.levels.ERROR
    )
    return
  end
  local ok, id = pcall(vim.lsp.start, self:_client_config(), {
    attach = false,
    silent = true,
    reuse_client = function()
      return false
    end,
  })
  local client = ok and id and vim.lsp.get_client_by_id(id) or nil
  if not client then
    self:_end('the server did not start')
    vim.notify('adjutant: the server did not start (:checkhealth adjutant)', vim.log.levels.ERROR)
    return
  end
  self.client = client
  vim.defer_fn(function()
    if self.status == 'starting' then
      self:stop()
      self:_end('the server did not answer')
      vim.notify('adjutant: the server did not answer in time. :Adjutant restart', vim.log.levels.ERROR)
    end
  end, START_MS)
end

--- Ends the server: orderly, and by force where it does not go.
function Connection:stop()
  self._stopping = true
  local client = self.client
  if not client or client:is_stopped() then
    self:_end('the server was stopped')
    return
  end
  client:stop()
  vim.defer_fn(function()
    if not client:is_stopped() then
      client:stop(true)
    end
  end, 3000)
end

return M
