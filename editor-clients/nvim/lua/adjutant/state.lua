--- The fleet as this client knows it: one reducer from snapshot and deltas to a view. Pure: no editor call, no clock.
local status = require('adjutant.status')
local value = require('adjutant.value')

local M = {}

--- More deltas than this while a list is under way are dropped, and the list is asked for again.
local MAX_HELD = 512

---@alias adjutant.Phase
---| 'starting' # the server has not answered yet
---| 'listing' # a list was asked for; what is shown may be old
---| 'live' # in step with the server
---| 'stale' # the list failed; what is shown may be old
---| 'ended' # the server is gone

---@class adjutant.State
---@field phase adjutant.Phase
---@field epoch any the server's life that `revision` counts in
---@field revision number
---@field agents table<string, adjutant.AgentSummary> by agent id
---@field server_now number the server's clock in its last message
---@field received_at number this client's clock when that came
---@field held table[] deltas that came while a list was under way
---@field overflow boolean some of those were dropped
---@field message string? why the state is stale or ended

---@alias adjutant.Action
---| { kind: 'list' }
---| { kind: 'listed', epoch: any, revision: any, serverNow: any, agents: table, at: number }
---| { kind: 'listFailed', message: string }
---| { kind: 'changed', params: any, at: number }
---| { kind: 'ended', message: string }

---@return adjutant.State
function M.new()
  return {
    phase = 'starting',
    epoch = nil,
    revision = 0,
    agents = {},
    server_now = 0,
    received_at = 0,
    held = {},
    overflow = false,
  }
end

---@param state adjutant.State
---@param changes table<string, any>
---@return adjutant.State
local function with(state, changes)
  local copy = {}
  for key, item in pairs(state) do
    copy[key] = item
  end
  for key, item in pairs(changes) do
    copy[key] = item
  end
  return copy
end

--- The server's time now; a local clock that went back counts as standing still.
---@param state adjutant.State
---@param local_now number
---@return number
function M.now(state, local_now)
  return state.server_now + math.max(0, local_now - state.received_at)
end

--- Summaries without a usable id cannot be addressed by any command, so they are left out.
---@param agents table<string, adjutant.AgentSummary>
---@param list any
local function upsert(agents, list)
  for _, agent in ipairs(value.tables(list)) do
    local id = value.str(agent.agentId)
    if id and id ~= '' then
      agents[id] = agent
    end
  end
end

---@alias adjutant.Verdict 'applied'|'old'|'gap'

--- Applies one delta to a state that is in step.
---@param state adjutant.State
---@param params any
---@param at number
---@return adjutant.State
---@return adjutant.Verdict
local function apply(state, params, at)
  if type(params) ~= 'table' then
    return state, 'gap'
  end
  local revision, base = value.num(params.revision), value.num(params.baseRevision)
  if not revision or not base or params.epoch ~= state.epoch then
    return state, 'gap'
  end
  if revision <= state.revision then
    return state, 'old'
  end
  if base ~= state.revision then
    return state, 'gap'
  end
  local agents = {}
  for id, agent in pairs(state.agents) do
    agents[id] = agent
  end
  upsert(agents, params.upserted)
  for _, id in ipairs(value.strings(params.removed)) do
    agents[id] = nil
  end
  local server_now = value.num(params.serverNow)
  return with(state, {
    agents = agents,
    revision = revision,
    server_now = server_now or state.server_now,
    received_at = server_now and at or state.received_at,
  }),
    'applied'
end

---@param state adjutant.State
---@param action table
---@return adjutant.State
---@return 'list'?
local function listed(state, action)
  local agents = {}
  upsert(agents, action.agents)
  local next_state = with(state, {
    phase = 'live',
    epoch = action.epoch,
    revision = value.num(action.revision) or 0,
    agents = agents,
    server_now = value.num(action.serverNow) or state.server_now,
    received_at = action.at,
    held = {},
    overflow = false,
  })
  next_state.message = nil
  local again = state.overflow
  -- A notification may overtake the answer to the list, so what was held back can be older or newer than it.
  for _, params in ipairs(state.held) do
    local verdict
    next_state, verdict = apply(next_state, params, action.at)
    again = again or verdict == 'gap'
  end
  return next_state, again and 'list' or nil
end

--- Folds one action into the state. The effect `list` asks the caller for a new snapshot.
---@param state adjutant.State
---@param action adjutant.Action
---@return adjutant.State
---@return 'list'?
function M.reduce(state, action)
  if action.kind == 'list' then
    return with(state, { phase = 'listing', held = {}, overflow = false })
  elseif action.kind == 'listed' then
    return listed(state, action)
  elseif action.kind == 'listFailed' then
    return with(state, { phase = 'stale', held = {}, overflow = false, message = action.message })
  elseif action.kind == 'ended' then
    -- The next server has another epoch, and until it has told, nothing is known to run.
    return with(state, { phase = 'ended', agents = {}, held = {}, overflow = false, message = action.message })
  elseif action.kind ~= 'changed' or state.phase == 'ended' or state.phase == 'starting' then
    return state
  elseif state.phase == 'listing' then
    if #state.held >= MAX_HELD then
      return with(state, { overflow = true })
    end
    local held = { unpack(state.held) }
    held[#held + 1] = action.params
    return with(state, { held = held })
  elseif state.phase == 'stale' then
    return state, 'list'
  end
  local next_state, verdict = apply(state, action.params, action.at)
  return next_state, verdict == 'gap' and 'list' or nil
end

--- Whether the agent's run can still act. A status that this client does not know counts as ended.
---@param agent adjutant.AgentSummary
---@return boolean
function M.is_active(agent)
  return status.is_active(agent.status)
end

---@param a table
---@param b table
---@return boolean
local function earlier(a, b)
  local at_a, at_b = value.num(a.createdAt) or 0, value.num(b.createdAt) or 0
  if at_a ~= at_b then
    return at_a < at_b
  end
  return a.agentId < b.agentId
end

---@class adjutant.Node
---@field agent adjutant.AgentSummary
---@field depth integer
---@field children integer all descendants that the client knows
---@field active integer those of them that can still act

---@param agents table<string, adjutant.AgentSummary>
---@return adjutant.AgentSummary[] ordered
---@return table<string, adjutant.AgentSummary[]> children by parent, in order
local function families(agents)
  local keyed = {}
  for id, agent in pairs(agents) do
    keyed[#keyed + 1] = { value.num(agent.createdAt) or 0, id, agent }
  end
  table.sort(keyed, function(a, b)
    if a[1] ~= b[1] then
      return a[1] < b[1]
    end
    return a[2] < b[2]
  end)
  local ordered, children = {}, {}
  for index, key in ipairs(keyed) do
    local agent = key[3]
    ordered[index] = agent
    local parent = value.str(agent.parentId)
    if parent and agents[parent] then
      children[parent] = children[parent] or {}
      table.insert(children[parent], agent)
    end
  end
  return ordered, children
end

--- Adds to each node what is below it. A node's parent always comes before it.
---@param nodes adjutant.Node[]
---@param parents table<integer, integer>
local function count_below(nodes, parents)
  for index = #nodes, 1, -1 do
    local parent = nodes[parents[index]]
    if parent then
      local node = nodes[index]
      parent.children = parent.children + node.children + 1
      parent.active = parent.active + node.active + (M.is_active(node.agent) and 1 or 0)
    end
  end
end

---@param agents table<string, adjutant.AgentSummary>
---@return adjutant.Node[]
local function grow(agents)
  local ordered, children = families(agents)
  local nodes, parents, seen = {}, {}, {}
  -- A stack of its own: how deep a fleet nests is for the server to say, and must not cost the interpreter's stack.
  local function plant(root)
    local stack = { { root, 0, 0 } }
    while #stack > 0 do
      local agent, depth, parent = unpack(table.remove(stack))
      if not seen[agent.agentId] then
        seen[agent.agentId] = true
        nodes[#nodes + 1] = { agent = agent, depth = depth, children = 0, active = 0 }
        local index = #nodes
        parents[index] = parent
        local own = children[agent.agentId] or {}
        for child = #own, 1, -1 do
          stack[#stack + 1] = { own[child], depth + 1, index }
        end
      end
    end
  end
  for _, agent in ipairs(ordered) do
    if not agents[value.str(agent.parentId) or ''] then
      plant(agent)
    end
  end
  for _, agent in ipairs(ordered) do
    plant(agent)
  end
  count_below(nodes, parents)
  return nodes
end

--- States are never changed in place, so a tree holds as long as its agents do.
local trees = setmetatable({}, { __mode = 'k' })

--- The fleet as a tree in reading order: each agent before its children, siblings from first to last created. An agent
--- whose parent is not known is at the top; those that no root leads to, a loop of parents, follow at the end.
---@param agents table<string, adjutant.AgentSummary>
---@return adjutant.Node[]
function M.tree(agents)
  local nodes = trees[agents]
  if not nodes then
    nodes = grow(agents)
    trees[agents] = nodes
  end
  return nodes
end

---@class adjutant.Counts
---@field running integer
---@field queued integer
---@field waiting integer running ones that wait for a person
---@field finished integer

---@param agents table<string, adjutant.AgentSummary>
---@return adjutant.Counts
function M.counts(agents)
  local counts = { running = 0, queued = 0, waiting = 0, finished = 0 }
  for _, agent in pairs(agents) do
    if agent.status == 'queued' then
      counts.queued = counts.queued + 1
    elseif M.is_active(agent) then
      counts.running = counts.running + 1
      if agent.waitingOn == 'approval' then
        counts.waiting = counts.waiting + 1
      end
    else
      counts.finished = counts.finished + 1
    end
  end
  return counts
end

--- The agent that a person means: by id, by handle or by alias, with or without `@`. A handle is unique only in its
--- session, so that of `session_id` wins, then the newest.
---@param agents table<string, adjutant.AgentSummary>
---@param name string
---@param session_id string?
---@return table?
function M.find(agents, name, session_id)
  name = name:gsub('^@', '')
  if agents[name] then
    return agents[name]
  end
  local best
  for _, agent in pairs(agents) do
    if agent.handle == name or agent.alias == name then
      local ours = session_id ~= nil and agent.sessionId == session_id
      local best_ours = best and session_id ~= nil and best.sessionId == session_id
      if not best or (ours and not best_ours) or (ours == best_ours and earlier(best, agent)) then
        best = agent
      end
    end
  end
  return best
end

return M
