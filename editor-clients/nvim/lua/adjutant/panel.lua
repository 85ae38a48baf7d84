--- The roster's window: draws the fleet, keeps the cursor on its agent, and passes keys on.
local actions = require('adjutant.actions')
local client = require('adjutant.client')
local compose = require('adjutant.compose')
local config = require('adjutant.config')
local highlight = require('adjutant.highlight')
local keys = require('adjutant.keys')
local roster = require('adjutant.roster')
local scratch = require('adjutant.scratch')
local state = require('adjutant.state')
local throttle = require('adjutant.throttle')

local M = {}

local DRAW_MS = 100
--- Elapsed times move while something runs and the roster is shown.
local TICK_MS = 1000

local namespace = vim.api.nvim_create_namespace('adjutant_roster')

---@class adjutant.Panel
---@field bufnr integer
---@field connection adjutant.Connection
---@field package rows (string|false)[] agent id by line
---@field package lines adjutant.RosterLine[]
---@field package folded table<string, boolean> agents whose children are not shown
---@field package offs fun()[]
---@field package drawing adjutant.Throttle
---@field package ticker uv.uv_timer_t?
local Panel = {}
Panel.__index = Panel

local panels = {} ---@type table<integer, adjutant.Panel> by buffer

---@param window integer
---@return string?
function Panel:id_at(window)
  return self.rows[vim.api.nvim_win_get_cursor(window)[1]] or nil
end

--- The agent under the cursor.
---@return table?
function Panel:agent()
  local id = self:id_at(0)
  return id and self.connection.fleet.agents[id] or nil
end

function Panel:stop_ticker()
  if self.ticker and not self.ticker:is_closing() then
    self.ticker:stop()
    self.ticker:close()
  end
  self.ticker = nil
end

--- Runs the clock only while there is something to see move.
function Panel:clock()
  local counts = state.counts(self.connection.fleet.agents)
  local moving = counts.running + counts.queued > 0 and #vim.fn.win_findbuf(self.bufnr) > 0
  if moving and not self.ticker then
    self.ticker = vim.uv.new_timer()
    if self.ticker then
      self.ticker:start(TICK_MS, TICK_MS, function()
        self.drawing.call()
      end)
    end
  elseif not moving then
    self:stop_ticker()
  end
end

---@param lines adjutant.RosterLine[]
function Panel:write(lines)
  local texts, rows, same = {}, {}, #lines == #self.lines
  for index, line in ipairs(lines) do
    texts[index], rows[index] = line.text, line.agent_id or false
    same = same and self.lines[index].text == line.text
  end
  self.lines, self.rows = lines, rows
  if not same then
    scratch.write(self.bufnr, 0, -1, texts)
  end
end

--- Colours are put on the lines that are on the screen when they are drawn: a roster can have thousands.
local function provide_colours()
  vim.api.nvim_set_decoration_provider(namespace, {
    on_win = function(_, _, bufnr)
      return panels[bufnr] ~= nil
    end,
    on_line = function(_, _, bufnr, row)
      local panel = panels[bufnr]
      local line = panel and panel.lines[row + 1]
      for _, span in ipairs(line and line.spans or {}) do
        vim.api.nvim_buf_set_extmark(bufnr, namespace, row, span[1], {
          end_col = span[2],
          hl_group = span[3],
          ephemeral = true,
          strict = false,
        })
      end
    end,
  })
end

function Panel:draw()
  if not vim.api.nvim_buf_is_loaded(self.bufnr) then
    self:dispose()
    return
  end
  local windows = vim.fn.win_findbuf(self.bufnr)
  local on = {} ---@type table<integer, string?>
  for _, window in ipairs(windows) do
    on[window] = self:id_at(window)
  end
  local connection = self.connection
  local view = roster.view(connection.fleet, { folded = self.folded, ascii = config.get().icons == 'ascii' })
  self:write(roster.lines(view, connection:now()))
  local lines_of = {}
  for line, id in ipairs(self.rows) do
    if id and not lines_of[id] then
      lines_of[id] = line
    end
  end
  local count = vim.api.nvim_buf_line_count(self.bufnr)
  -- What does not fit is cut at the end.
  local header = ' ' .. roster.title(view):gsub('%%', '%%%%') .. '%<'
  for _, window in ipairs(windows) do
    local cursor = vim.api.nvim_win_get_cursor(window)
    local target = on[window] and lines_of[on[window]] or math.min(cursor[1], count)
    if target ~= cursor[1] then
      vim.api.nvim_win_set_cursor(window, { target, cursor[2] })
    end
    if vim.wo[window].winbar ~= header then
      vim.wo[window][0].winbar = header
    end
  end
  self:clock()
end

---@param run fun(connection: adjutant.Connection, agent: adjutant.AgentSummary)
---@return fun()
function Panel:on_agent(run)
  return function()
    local agent = self:agent()
    if agent then
      run(self.connection, agent)
    else
      actions.say('no agent on this line', vim.log.levels.WARN)
    end
  end
end

function Panel:fold()
  local id = self:id_at(0)
  if id then
    self.folded[id] = not self.folded[id] or nil
    self.drawing.call()
  end
end

function Panel:map()
  keys.map(self.bufnr, 'Roster', {
    {
      lhs = '<CR>',
      desc = 'open its conversation',
      run = self:on_agent(function(connection, agent)
        require('adjutant.viewer').show(connection, 'agent', agent.agentId)
      end),
    },
    { lhs = 's', desc = 'steer: send it a message', run = self:on_agent(actions.steer) },
    { lhs = 'x', desc = 'stop it', run = self:on_agent(actions.stop) },
    {
      lhs = 'X',
      desc = 'stop more: subtree, session, all',
      run = function()
        actions.stop_wide(self.connection, self:agent())
      end,
    },
    { lhs = 'r', desc = 'resume it with a new prompt', run = self:on_agent(actions.resume) },
    { lhs = 'p', desc = 'show its result', run = self:on_agent(actions.result) },
    {
      lhs = 'd',
      desc = 'delegate: start an agent',
      run = function()
        require('adjutant.prompts').compose_delegate(self.connection, nil, {})
      end,
    },
    {
      lhs = 'i',
      desc = 'write a prompt for the session',
      run = function()
        require('adjutant.prompts').compose(self.connection, {})
      end,
    },
    {
      lhs = '<Tab>',
      desc = 'fold or unfold what is below it',
      run = function()
        self:fold()
      end,
    },
    {
      lhs = 'R',
      desc = 'list again; start an ended server again',
      run = function()
        if self.connection.status == 'ended' then
          client.restart(self.connection.root)
        else
          self.connection:list()
        end
      end,
    },
    { lhs = 'q', desc = 'close the window', run = compose.close_window },
  })
end

---@param connection adjutant.Connection
function Panel:follow_connection(connection)
  for _, off in ipairs(self.offs) do
    off()
  end
  self.connection = connection
  self.offs = {
    connection:on('fleet', function()
      self.drawing.call()
    end),
    connection:on('status', function()
      self.drawing.call()
    end),
  }
  self.drawing.call()
end

function Panel:dispose()
  if panels[self.bufnr] ~= self then
    return
  end
  panels[self.bufnr] = nil
  self:stop_ticker()
  self.drawing.close()
  for _, off in ipairs(self.offs) do
    off()
  end
end

---@param panel adjutant.Panel
local function autocmds(panel)
  local group = vim.api.nvim_create_augroup(('adjutant_roster_%d'):format(panel.bufnr), { clear = true })
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = panel.bufnr,
    callback = function()
      panel.drawing.call()
    end,
  })
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = group,
    buffer = panel.bufnr,
    callback = function()
      panel:dispose()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
  vim.api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'AdjutantRestart',
    callback = function(args)
      if args.data.root == panel.connection.root then
        panel:follow_connection(client.get(args.data.root))
      end
    end,
  })
end

--- Makes a buffer the roster of a connection.
---@param bufnr integer
---@param connection adjutant.Connection
---@return adjutant.Panel
function M.attach(bufnr, connection)
  local old = panels[bufnr]
  if old then
    old:dispose()
  end
  highlight.define()
  provide_colours()
  local panel = setmetatable({ bufnr = bufnr, rows = {}, lines = {}, folded = {}, offs = {} }, Panel)
  panel.drawing = throttle.new(DRAW_MS, function()
    panel:draw()
  end)
  panels[bufnr] = panel
  scratch.own(bufnr, connection.root)
  vim.bo[bufnr].filetype = 'adjutant-roster'
  panel:follow_connection(connection)
  panel:map()
  autocmds(panel)
  return panel
end

local OPENERS = {
  right = 'botright %dvsplit',
  left = 'topleft %dvsplit',
  bottom = 'botright %dsplit',
  top = 'topleft %dsplit',
}

---@param window integer
---@param position string
local function dress(window, position)
  local options = vim.wo[window][0]
  options.wrap, options.linebreak, options.breakindent = true, true, true
  options.breakindentopt = 'shift:4'
  options.number, options.relativenumber, options.signcolumn = false, false, 'no'
  options.foldenable, options.spell, options.list, options.cursorline = false, false, false, true
  local side = position == 'right' or position == 'left'
  options.winfixwidth, options.winfixheight = side, not side
  vim.wo[window].winfixbuf = true
end

--- The name of a root's roster. The first folder has the plain one.
---@param connection adjutant.Connection
---@return string
local function name_of(connection)
  local plain = 'adjutant://fleet'
  local bufnr = scratch.find(plain)
  if not bufnr or vim.b[bufnr].adjutant_root == connection.root then
    return plain
  end
  return plain .. '?' .. connection.root
end

--- Shows the roster and puts the cursor there.
---@param connection adjutant.Connection
---@return integer bufnr
function M.show(connection)
  local name = name_of(connection)
  local bufnr = scratch.find(name)
  if not bufnr then
    bufnr = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(bufnr, name)
  end
  vim.b[bufnr].adjutant_root = connection.root
  local options = config.get().roster
  local window = scratch.reveal(bufnr, OPENERS[options.position]:format(options.size))
  dress(window, options.position)
  if not panels[bufnr] then
    M.attach(bufnr, connection)
  end
  panels[bufnr].drawing.call()
  return bufnr
end

--- Closes the roster's windows of a connection.
---@param connection adjutant.Connection
---@return boolean closed whether there was one
function M.hide(connection)
  local closed = false
  for bufnr, panel in pairs(panels) do
    if panel.connection == connection then
      for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
        closed = pcall(vim.api.nvim_win_close, window, false) or closed
      end
    end
  end
  return closed
end

---@param bufnr integer
---@return adjutant.Panel?
function M.of(bufnr)
  return panels[bufnr]
end

return M
