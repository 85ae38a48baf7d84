--- The roster as lines of text: a pure function of the fleet and the time. The text of a row is fixed by the client
--- contract; colours come on top.
local state = require('adjutant.state')
local status = require('adjutant.status')
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

local HANDLE_LIMIT, TEXT_LIMIT = 40, 60

---@class adjutant.RosterView
---@field nodes adjutant.Node[]
---@field counts adjutant.Counts
---@field phase adjutant.Phase
---@field message string?
---@field folded table<string, boolean> agents whose children are not shown
---@field ascii boolean

---@class adjutant.RosterLine
---@field text string
---@field spans { [1]: integer, [2]: integer, [3]: string }[] byte ranges and their highlight groups
---@field agent_id string?

---@param fleet adjutant.State
---@param options { folded: table<string, boolean>?, ascii: boolean? }?
---@return adjutant.RosterView
function M.view(fleet, options)
  options = options or {}
  return {
    nodes = state.tree(fleet.agents),
    counts = state.counts(fleet.agents),
    phase = fleet.phase,
    message = fleet.message,
    folded = options.folded or {},
    ascii = options.ascii == true,
  }
end

---@param agent adjutant.AgentSummary
---@return string
local function turns(agent)
  local count, most = value.num(agent.turns) or 0, value.num(agent.maxTurns) or 0
  if count == 0 then
    return ''
  end
  return most > 0 and ('%d/%d turns'):format(count, most) or text.counted(count, 'turn')
end

---@param agent adjutant.AgentSummary
---@param now number the server's time
---@return string
local function elapsed(agent, now)
  local started = value.num(agent.startedAt)
  local ended = state.is_active(agent) and now or value.num(agent.completedAt)
  return started and ended and text.elapsed(ended - started) or ''
end

---@param agent adjutant.AgentSummary
---@return string[]
local function stats(agent)
  local tools = value.num(agent.toolUses) or 0
  return {
    turns(agent),
    tools > 0 and text.counted(tools, 'tool') or '',
    text.tokens(agent.usage),
  }
end

---@param agent adjutant.AgentSummary
---@return string
---@return string hl
local function detail(agent)
  if state.is_active(agent) then
    return text.clean(agent.activity, TEXT_LIMIT), 'AdjutantActivity'
  elseif agent.status == 'error' then
    return text.clean(agent.error, TEXT_LIMIT), 'AdjutantError'
  end
  return '', 'AdjutantActivity'
end

--- A line that grows to the right.
---@param line adjutant.RosterLine
---@param str string
---@param hl string?
local function add(line, str, hl)
  local from = #line.text
  line.text = line.text .. str
  if hl and str ~= '' then
    line.spans[#line.spans + 1] = { from, #line.text, hl }
  end
end

---@param line adjutant.RosterLine
---@param str string left out where empty
---@param hl string
local function add_part(line, str, hl)
  if str ~= '' then
    add(line, ' · ', 'AdjutantDim')
    add(line, str, hl)
  end
end

--- A row without its time.
---@param node adjutant.Node
---@param ascii boolean
---@return adjutant.RosterLine
local function timeless(node, ascii)
  local agent = node.agent
  local line = { text = ('  '):rep(node.depth), spans = {}, agent_id = agent.agentId }
  add(line, status.glyph(agent.status, ascii), status.hl(agent))
  add(line, ' ')
  add(line, text.clean(agent.handle, HANDLE_LIMIT), 'AdjutantHandle')
  local description = text.clean(agent.description, TEXT_LIMIT)
  if description ~= '' then
    add(line, '  ' .. description)
  end
  add_part(line, status.words(agent), status.hl(agent))
  add_part(line, detail(agent))
  for _, stat in ipairs(stats(agent)) do
    add_part(line, stat, 'AdjutantStats')
  end
  return line
end

---@class adjutant.DrawnRow
---@field depth integer
---@field ascii boolean
---@field time string
---@field base adjutant.RosterLine without its time
---@field line adjutant.RosterLine

--- Summaries are replaced, never changed, so a row holds until its agent or depth is another; only its time moves. A
--- large fleet is drawn ten times a second, and nearly all of it is as it was.
---@type table<adjutant.AgentSummary, adjutant.DrawnRow>
local drawn = setmetatable({}, { __mode = 'k' })

---@param node adjutant.Node
---@param now number
---@param ascii boolean
---@return adjutant.RosterLine
local function row(node, now, ascii)
  local time = elapsed(node.agent, now)
  local known = drawn[node.agent]
  if not known or known.depth ~= node.depth or known.ascii ~= ascii then
    known = { depth = node.depth, ascii = ascii, base = timeless(node, ascii) }
    drawn[node.agent] = known
  end
  if known.time ~= time then
    local base = known.base
    known.time = time
    known.line = { text = base.text, spans = vim.list_slice(base.spans), agent_id = base.agent_id }
    add_part(known.line, time, 'AdjutantStats')
  end
  return known.line
end

---@param line adjutant.RosterLine
---@param count integer
---@return adjutant.RosterLine
local function with_hidden(line, count)
  local grown = { text = line.text, spans = vim.list_slice(line.spans), agent_id = line.agent_id }
  add(grown, (' · +%d below'):format(count), 'AdjutantWarning')
  return grown
end

--- One line an agent, in order.
---@param view adjutant.RosterView
---@param now number the server's time
---@return adjutant.RosterLine[]
function M.rows(view, now)
  local rows, folded_at, hidden = {}, nil, 0
  local function unfold()
    if hidden > 0 then
      rows[#rows] = with_hidden(rows[#rows], hidden)
    end
    folded_at, hidden = nil, 0
  end
  for _, node in ipairs(view.nodes) do
    if folded_at and node.depth > folded_at then
      hidden = hidden + 1
    else
      unfold()
      rows[#rows + 1] = row(node, now, view.ascii)
      if view.folded[node.agent.agentId] and node.children > 0 then
        folded_at = node.depth
      end
    end
  end
  unfold()
  return rows
end

---@param str string
---@param hl string
---@return adjutant.RosterLine
local function note(str, hl)
  return { text = str, spans = { { 0, #str, hl } } }
end

---@param view adjutant.RosterView
---@return adjutant.RosterLine[]
local function empty(view)
  if view.phase == 'starting' then
    return { note('Starting the server', 'AdjutantDim') }
  elseif view.phase == 'listing' then
    return { note('Asking for the fleet', 'AdjutantDim') }
  elseif view.phase ~= 'live' then
    return {}
  end
  return {
    note('No agents yet', 'AdjutantTitle'),
    { text = '', spans = {} },
    note('d  delegates a task to an agent', 'AdjutantDim'),
    note('i  writes a prompt; its model delegates by itself', 'AdjutantDim'),
    note('?  lists the keys', 'AdjutantDim'),
  }
end

---@param view adjutant.RosterView
---@return adjutant.RosterLine[]
local function trouble(view)
  if view.phase == 'ended' then
    return {
      note((text.clean(view.message):gsub('^%l', string.upper)), 'AdjutantError'),
      note('R  starts it again', 'AdjutantDim'),
    }
  elseif view.phase == 'stale' then
    return {
      note(('This may be old: %s'):format(text.clean(view.message)), 'AdjutantWarning'),
      note('R  asks again', 'AdjutantDim'),
    }
  end
  return {}
end

--- All that the roster's buffer shows.
---@param view adjutant.RosterView
---@param now number the server's time
---@return adjutant.RosterLine[]
function M.lines(view, now)
  local lines = trouble(view)
  vim.list_extend(lines, #view.nodes > 0 and M.rows(view, now) or empty(view))
  return lines
end

--- The roster's heading: how many agents there are in each state.
---@param view adjutant.RosterView
---@return string
function M.title(view)
  local counts = view.counts
  local function part(count, word)
    return count > 0 and ('%d %s'):format(count, word) or ''
  end
  local title = text.join({
    part(counts.running, 'running'),
    part(counts.queued, 'queued'),
    part(counts.waiting, 'waiting for you'),
    part(counts.finished, 'ended'),
  })
  return title ~= '' and title or 'Agents'
end

--- The heading of one agent's conversation.
---@param agent adjutant.AgentSummary
---@param now number the server's time
---@param ascii boolean?
---@return string
function M.header(agent, now, ascii)
  local parts = {
    ('%s @%s'):format(status.glyph(agent.status, ascii), text.clean(agent.handle, HANDLE_LIMIT)),
    text.clean(agent.displayName, HANDLE_LIMIT),
    status.words(agent),
  }
  vim.list_extend(parts, stats(agent))
  vim.list_extend(parts, { elapsed(agent, now), text.cost(agent.usage), text.clean(agent.model, HANDLE_LIMIT) })
  return text.join(parts)
end

return M
