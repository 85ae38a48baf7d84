--- A buffer that follows one conversation, an agent's or a session's, while it is shown.
local Connection = require('adjutant.connection')
local actions = require('adjutant.actions')
local blocks = require('adjutant.blocks')
local client = require('adjutant.client')
local config = require('adjutant.config')
local highlight = require('adjutant.highlight')
local methods = require('adjutant.protocol_gen').methods
local roster = require('adjutant.roster')
local scratch = require('adjutant.scratch')
local status = require('adjutant.status')
local text = require('adjutant.text')
local throttle = require('adjutant.throttle')
local transcript = require('adjutant.transcript')
local value = require('adjutant.value')
local viewer_keys = require('adjutant.viewer_keys')

local M = {}

local DRAW_MS = 33
--- Events kept while an open is under way; past this the page is asked for once more.
local MAX_HELD = 4096
local REOPEN_FIRST_MS, REOPEN_MOST_MS = 100, 5000
--- A conversation that held together this long has recovered from earlier gaps.
local CALM_MS = 2000

local namespace = vim.api.nvim_create_namespace('adjutant_viewer')

---@class adjutant.Viewer
---@field bufnr integer
---@field kind 'agent'|'session'
---@field id string
---@field connection adjutant.Connection
---@field model adjutant.Transcript
---@field phase 'idle'|'opening'|'live'|'failed'
---@field message string? why it failed
---@field limit integer entries asked for
---@field package generation integer of the latest open; answers to older ones are dropped
---@field package held table[]
---@field package overflow boolean
---@field package gaps integer
---@field package opened_at number
---@field package paging boolean
---@field package offs fun()[]
---@field package drawing adjutant.Throttle
local Viewer = {}
Viewer.__index = Viewer

local viewers = {} ---@type table<integer, adjutant.Viewer> by buffer

--- The agent of an agent's viewer, if it is still in the fleet.
---@return table?
function Viewer:agent()
  return self.kind == 'agent' and self.connection.fleet.agents[self.id] or nil
end

---@return boolean
function Viewer:shown()
  return vim.api.nvim_buf_is_valid(self.bufnr) and #vim.fn.win_findbuf(self.bufnr) > 0
end

function Viewer:invalidate()
  self.drawing.call()
end

--- Asks for the newest page and follows from there. An answer to an open before this one is dropped.
function Viewer:open()
  self.generation = self.generation + 1
  local generation = self.generation
  if self.phase ~= 'opening' then
    self.held, self.overflow = {}, false
  end
  self.phase, self.message = 'opening', nil
  local agent = self.kind == 'agent'
  local method = agent and methods.agent_open or methods.session_subscribe
  local params = { limit = self.limit }
  params[agent and 'agentId' or 'sessionId'] = self.id
  self.connection:request(method, params, function(failure, result)
    if generation ~= self.generation then
      return
    end
    local data = value.tbl(result)
    if failure or not data or not transcript.load(self.model, data.page, data.nextSeq) then
      self.phase = 'failed'
      self.message = failure and Connection.describe(failure) or 'the answer cannot be read'
    else
      self:opened()
    end
    self:invalidate()
  end)
  self:invalidate()
end

--- What came while the page was under way is newer than it, or in it already.
function Viewer:opened()
  self.phase, self.opened_at = 'live', vim.uv.now()
  local held, overflow = self.held, self.overflow
  self.held = {}
  for _, params in ipairs(held) do
    self:receive(params)
  end
  if overflow and self.phase == 'live' then
    self:reopen()
  end
  local agent = self:agent()
  if agent and self:shown() then
    actions.seen(self.connection, agent)
  end
end

--- Opens again after a gap: at once the first time, then ever later, since a gap that returns is the server's fault.
function Viewer:reopen()
  self.gaps = self.gaps + 1
  self.generation = self.generation + 1
  local generation = self.generation
  self.phase, self.held, self.overflow = 'opening', {}, false
  local wait = self.gaps == 1 and 0 or math.min(REOPEN_MOST_MS, REOPEN_FIRST_MS * 2 ^ (self.gaps - 2))
  vim.defer_fn(function()
    if generation == self.generation and viewers[self.bufnr] == self then
      self:open()
    end
  end, wait)
end

---@param params table
function Viewer:receive(params)
  if self.phase == 'opening' then
    if #self.held < MAX_HELD then
      self.held[#self.held + 1] = params
    else
      self.overflow = true
    end
    return
  elseif self.phase ~= 'live' then
    return
  end
  local verdict = transcript.apply(self.model, params.seq, params.event)
  if verdict == 'gap' then
    self:reopen()
  elseif verdict == 'applied' then
    if self.gaps > 0 and vim.uv.now() - self.opened_at > CALM_MS then
      self.gaps = 0
    end
    self:invalidate()
  end
end

--- Opens again because a person asked.
function Viewer:refresh()
  self.gaps = 0
  self:open()
end

--- Ends the subscription; the text stays.
function Viewer:close()
  self.generation = self.generation + 1
  if self.phase == 'live' or self.phase == 'opening' then
    local agent = self.kind == 'agent'
    local method = agent and methods.agent_close or methods.session_unsubscribe
    if self.connection.status == 'ready' then
      self.connection:request(method, { [agent and 'agentId' or 'sessionId'] = self.id }, function() end)
    end
  end
  self.phase = 'idle'
end

function Viewer:dispose()
  if viewers[self.bufnr] ~= self then
    return
  end
  viewers[self.bufnr] = nil
  self:close()
  self.drawing.close()
  for _, off in ipairs(self.offs) do
    off()
  end
end

--- Loads the page before the first entry.
function Viewer:earlier()
  if self.phase ~= 'live' or self.paging or not self.model.has_more then
    return
  end
  if self.kind == 'session' then
    -- A session is paged by asking for a longer newest page.
    local before = #self.model.blocks
    self.limit = self.limit + config.get().viewer.page
    self.paged_from = before
    self:open()
    return
  end
  self.paging = true
  local generation = self.generation
  self.connection:request(methods.agent_transcript, {
    agentId = self.id,
    before = transcript.first_seq(self.model),
    limit = config.get().viewer.page,
  }, function(failure, result)
    self.paging = false
    if failure then
      actions.failed('earlier messages', failure)
    elseif generation == self.generation and self.phase == 'live' then
      transcript.prepend(self.model, result)
      self:invalidate()
    end
  end)
end

--- The last line of the buffer: what happens now, or how it ended.
---@return string
---@return string hl
function Viewer:foot()
  local agent, model = self:agent(), self.model
  if self.connection.status == 'ended' then
    return 'the server ended · :Adjutant restart', 'AdjutantError'
  elseif self.phase == 'failed' then
    return ('cannot be opened: %s · R tries again'):format(text.clean(self.message)), 'AdjutantError'
  elseif self.phase == 'opening' and #model.blocks == 0 then
    return 'opening' .. model.glyphs.more, 'AdjutantDim'
  end
  if agent then
    local activity = text.clean(agent.activity)
    local glyph = status.glyph(agent.status, config.get().icons == 'ascii')
    return text.join({
      ('%s %s'):format(glyph, status.words(agent)),
      activity ~= '' and activity or model.activity or '',
    }),
      status.hl(agent)
  end
  local queued = vim.tbl_count(model.queued)
  local suffix = queued > 0 and (' · %d queued'):format(queued) or ''
  if model.running then
    return ('%s running%s%s'):format(model.glyphs.running, model.activity and ' · ' .. model.activity or '', suffix),
      'AdjutantRunning'
  end
  return 'i writes a prompt · ? shows the keys' .. suffix, 'AdjutantDim'
end

---@return string
function Viewer:header()
  local agent = self:agent()
  local title
  if agent then
    title = roster.header(agent, self.connection:now(), config.get().icons == 'ascii')
  else
    local usage, context = self.model.usage, self.model.context
    title = text.join({
      self.kind == 'session' and 'Session' or self.model.title,
      text.tokens(usage),
      text.cost(usage),
      context and ('%d%% of context'):format(context) or '',
    })
  end
  return ' ' .. title:gsub('%%', '%%%%') .. '%<'
end

---@param edits adjutant.Edit[]
function Viewer:write(edits)
  local bufnr = self.bufnr
  vim.bo[bufnr].modifiable = true
  local ok, fault = pcall(function()
    for _, edit in ipairs(edits) do
      if edit.last > edit.first then
        vim.api.nvim_buf_clear_namespace(bufnr, namespace, edit.first, edit.last)
      end
      vim.api.nvim_buf_set_lines(bufnr, edit.first, edit.last, false, edit.lines)
      for index, hl in pairs(edit.hls) do
        local row = edit.first + index - 1
        vim.api.nvim_buf_set_extmark(bufnr, namespace, row, 0, {
          end_col = #edit.lines[index],
          hl_group = hl,
          priority = 200,
        })
      end
    end
    local last = vim.api.nvim_buf_line_count(bufnr) - 1
    local foot, hl = self:foot()
    vim.api.nvim_buf_clear_namespace(bufnr, namespace, last, last + 1)
    vim.api.nvim_buf_set_lines(bufnr, last, last + 1, false, { foot })
    vim.api.nvim_buf_set_extmark(bufnr, namespace, last, 0, { end_col = #foot, hl_group = hl, priority = 200 })
  end)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].modified = false
  if not ok then
    error(fault, 0)
  end
end

--- Brings the buffer up to date. A window whose cursor is on the last line stays there.
function Viewer:draw()
  local bufnr = self.bufnr
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    self:dispose()
    return
  end
  local last = vim.api.nvim_buf_line_count(bufnr)
  local rewritten = self.model.reloaded
  self.model.reloaded = false
  local following, views = {}, {}
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    if vim.api.nvim_win_get_cursor(window)[1] >= last then
      following[#following + 1] = window
    elseif rewritten then
      views[window] = vim.api.nvim_win_call(window, vim.fn.winsaveview)
    end
  end
  self:write(transcript.edits(self.model))
  local count = vim.api.nvim_buf_line_count(bufnr)
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { count, 0 })
  end
  for window, view in pairs(views) do
    vim.api.nvim_win_call(window, function()
      vim.fn.winrestview(view)
    end)
  end
  local header = self:header()
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    if vim.wo[window].winbar ~= header then
      vim.wo[window][0].winbar = header
    end
  end
end

--- Follows another connection: the same folder's server, started again.
---@param connection adjutant.Connection
function Viewer:follow_connection(connection)
  for _, off in ipairs(self.offs) do
    off()
  end
  self.connection = connection
  local field = self.kind == 'agent' and 'agentId' or 'sessionId'
  self.offs = {
    connection:on(self.kind, function(params)
      if params[field] == self.id then
        self:receive(params)
      end
    end),
    connection:on('fleet', function()
      if self.kind == 'agent' then
        self:invalidate()
      end
    end),
    connection:on('status', function()
      if connection.status == 'ended' then
        self.generation = self.generation + 1
        self.phase = 'idle'
      end
      self:invalidate()
    end),
  }
end

---@param viewer adjutant.Viewer
local function autocmds(viewer)
  local group = vim.api.nvim_create_augroup(('adjutant_viewer_%d'):format(viewer.bufnr), { clear = true })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = viewer.bufnr, callback = callback })
  end
  on('BufWinEnter', function()
    if viewer.phase == 'idle' and viewer.connection.status ~= 'ended' then
      viewer:open()
    end
    viewer:invalidate()
  end)
  on('BufHidden', function()
    -- Another window may show it still once this event is over.
    vim.schedule(function()
      if not viewer:shown() then
        viewer:close()
      end
    end)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function()
    viewer:dispose()
    pcall(vim.api.nvim_del_augroup_by_id, group)
  end)
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'AdjutantRestart',
    callback = function(args)
      if args.data.root == viewer.connection.root then
        viewer:follow_connection(client.get(args.data.root))
        viewer.phase = 'idle'
        if viewer:shown() then
          viewer:open()
        end
      end
    end,
  })
end

--- Makes a buffer the viewer of a conversation, or empties and refills the one that it is.
---@param bufnr integer
---@param connection adjutant.Connection
---@param kind 'agent'|'session'
---@param id string
---@return adjutant.Viewer
function M.attach(bufnr, connection, kind, id)
  local old = viewers[bufnr]
  if old then
    old:dispose()
  end
  highlight.define()
  local glyphs = blocks.glyphs[config.get().icons]
  local agent = connection.fleet.agents[id]
  local title = kind == 'agent' and '@' .. text.clean(agent and agent.handle or id) or 'Assistant'
  local viewer = setmetatable({
    bufnr = bufnr,
    kind = kind,
    id = id,
    model = transcript.new(title, glyphs),
    phase = 'idle',
    limit = config.get().viewer.page,
    generation = 0,
    held = {},
    overflow = false,
    gaps = 0,
    opened_at = 0,
    paging = false,
    offs = {},
  }, Viewer)
  viewer.drawing = throttle.new(DRAW_MS, function()
    viewer:draw()
  end)
  viewers[bufnr] = viewer
  scratch.own(bufnr, connection.root)
  scratch.write(bufnr, 0, -1, { '' })
  vim.bo[bufnr].filetype = 'adjutant'
  -- Highlighting is a comfort: without the parser the text is plain.
  pcall(vim.treesitter.start, bufnr, 'markdown')
  viewer:follow_connection(connection)
  viewer_keys.map(viewer, function(agent_id)
    M.show(viewer.connection, 'agent', agent_id)
  end)
  autocmds(viewer)
  viewer:open()
  return viewer
end

---@param window integer
local function dress(window)
  local options = vim.wo[window][0]
  options.wrap, options.linebreak, options.breakindent = true, true, true
  options.number, options.relativenumber, options.signcolumn = false, false, 'no'
  options.foldenable, options.spell, options.list = false, false, false
end

--- Shows a conversation, in the window that has it or in a new one.
---@param connection adjutant.Connection
---@param kind 'agent'|'session'
---@param id string
---@param open string? how the window is made
---@return integer bufnr
function M.show(connection, kind, id, open)
  local name = ('adjutant://%s/%s'):format(kind, id)
  local bufnr = scratch.find(name)
  if not bufnr then
    bufnr = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(bufnr, name)
  end
  vim.b[bufnr].adjutant_root = connection.root
  local window = scratch.reveal(bufnr, open)
  dress(window)
  if not viewers[bufnr] then
    M.attach(bufnr, connection, kind, id)
  end
  local last = vim.api.nvim_buf_line_count(bufnr)
  vim.api.nvim_win_set_cursor(window, { last, 0 })
  return bufnr
end

--- The viewer that a buffer is.
---@param bufnr integer
---@return adjutant.Viewer?
function M.of(bufnr)
  return viewers[bufnr]
end

return M
