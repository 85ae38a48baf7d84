--- The reducer: whatever is late, lost or sent twice, the view ends equal to the server's.
local harness = require('harness')
local state = require('adjutant.state')

local eq = harness.eq

---@param fleet adjutant.State
---@return table<string, any>
local function statuses(fleet)
  return vim.tbl_map(function(agent)
    return agent.status
  end, fleet.agents)
end

---@param fleet adjutant.State
---@param revision integer
---@param agents table[]
---@param epoch string?
---@return adjutant.State, 'list'?
local function list(fleet, revision, agents, epoch)
  return state.reduce(fleet, {
    kind = 'listed',
    epoch = epoch or 'e1',
    revision = revision,
    serverNow = 0,
    agents = agents,
    at = 0,
  })
end

---@param base integer
---@param revision integer
---@param upserted table[]
---@param removed string[]?
---@param epoch string?
---@return adjutant.Action
local function change(base, revision, upserted, removed, epoch)
  local params = { epoch = epoch or 'e1', baseRevision = base, revision = revision, upserted = upserted }
  params.removed, params.serverNow = removed or {}, 0
  return { kind = 'changed', params = params, at = 0 }
end

---@param id string
---@param status string
---@return table
local function agent(id, status)
  return { agentId = id, status = status }
end

---@return adjutant.State
local function live()
  return (list(state.reduce(state.new(), { kind = 'list' }), 1, { agent('a', 'running') }))
end

local T = {}

T['a change that follows on is applied'] = function()
  local fleet, effect = state.reduce(live(), change(1, 2, { agent('b', 'queued') }, { 'a' }))
  eq({ statuses(fleet), fleet.revision, effect }, { { b = 'queued' }, 2, nil })
end

T['an old change is ignored'] = function()
  local fleet = state.reduce(live(), change(1, 3, { agent('a', 'completed') }))
  local after, effect = state.reduce(fleet, change(1, 2, { agent('a', 'running') }))
  eq({ statuses(after), after.revision, effect }, { { a = 'completed' }, 3, nil })
end

T['a gap, another epoch and nonsense ask for a list'] = function()
  for _, action in ipairs({
    change(5, 6, {}),
    change(1, 2, {}, {}, 'e2'),
    { kind = 'changed', params = nil, at = 0 },
    { kind = 'changed', params = 'x', at = 0 },
    { kind = 'changed', params = { epoch = 'e1', revision = {}, baseRevision = 1 }, at = 0 },
  }) do
    local fleet, effect = state.reduce(live(), action)
    eq({ effect, statuses(fleet) }, { 'list', { a = 'running' } })
  end
end

T['changes that overtake the list are kept for it'] = function()
  local fleet = state.reduce(live(), { kind = 'list' })
  fleet = state.reduce(fleet, change(4, 5, { agent('a', 'stopping') }))
  fleet = state.reduce(fleet, change(5, 6, { agent('a', 'stopped') }))
  local effect
  fleet, effect = list(fleet, 5, { agent('a', 'stopping') })
  eq({ statuses(fleet), fleet.revision, effect, fleet.phase }, { { a = 'stopped' }, 6, nil, 'live' })
end

T['kept changes that do not follow on ask again'] = function()
  local fleet = state.reduce(live(), { kind = 'list' })
  fleet = state.reduce(fleet, change(8, 9, {}))
  local _, effect = list(fleet, 5, {})
  eq(effect, 'list')
end

T['too many changes during a list ask again'] = function()
  local fleet = state.reduce(live(), { kind = 'list' })
  for revision = 2, 700 do
    fleet = state.reduce(fleet, change(revision - 1, revision, {}))
  end
  harness.ok(#fleet.held <= 512)
  local _, effect = list(fleet, 1, {})
  eq(effect, 'list')
end

T['a reducer changes nothing that it was given'] = function()
  local before = live()
  local copy = vim.deepcopy(before)
  state.reduce(before, change(1, 2, { agent('b', 'queued') }, { 'a' }))
  state.reduce(before, { kind = 'list' })
  state.reduce(before, { kind = 'ended', message = 'x' })
  eq(before, copy)
end

T['after the end nothing is left and nothing comes'] = function()
  local fleet = state.reduce(live(), { kind = 'ended', message = 'gone' })
  eq({ fleet.phase, fleet.agents, fleet.message }, { 'ended', {}, 'gone' })
  local after, effect = state.reduce(fleet, change(1, 2, { agent('b', 'running') }))
  eq({ after.agents, effect }, { {}, nil })
end

T['a failed list keeps what is shown, and the next change tries again'] = function()
  local fleet = state.reduce(live(), { kind = 'list' })
  fleet = state.reduce(fleet, { kind = 'listFailed', message = 'no' })
  eq({ fleet.phase, statuses(fleet) }, { 'stale', { a = 'running' } })
  local _, effect = state.reduce(fleet, change(1, 2, {}))
  eq(effect, 'list')
end

--- A server's log: each change with its revisions, and the agents after each.
---@param count integer
---@param random fun(n: integer): integer
---@return adjutant.Action[] log
---@return table<string, table>[] after
local function script(count, random)
  local words = { 'queued', 'running', 'stopping', 'completed', 'stopped', 'error' }
  local log, after, agents = {}, {}, {}
  for revision = 1, count do
    local id = ('a%d'):format(random(8))
    agents = vim.deepcopy(agents)
    if random(5) == 1 then
      agents[id] = nil
      log[revision] = change(revision - 1, revision, {}, { id })
    else
      agents[id] = agent(id, words[random(#words)])
      log[revision] = change(revision - 1, revision, { agents[id] })
    end
    after[revision] = agents
  end
  return log, after
end

T['shuffled, dropped and repeated changes end in the server state'] = function()
  math.randomseed(20261130)
  local random = math.random
  for _ = 1, 200 do
    local log, after = script(40, random)
    local played = {}
    for _, action in ipairs(log) do
      for _ = 1, random(4) - 1 do
        played[#played + 1] = action
      end
    end
    for index = #played, 2, -1 do
      if random(3) == 1 then
        local other = math.max(1, index - random(4))
        played[index], played[other] = played[other], played[index]
      end
    end
    local fleet = state.reduce(state.new(), { kind = 'list' })
    fleet = list(fleet, 0, {})
    for step, action in ipairs(played) do
      local effect
      fleet, effect = state.reduce(fleet, action)
      if effect == 'list' then
        fleet = state.reduce(fleet, { kind = 'list' })
      elseif fleet.phase == 'listing' and step % 3 == 0 then
        local revision = action.params.revision
        fleet, effect = list(fleet, revision, vim.tbl_values(after[revision]))
        if effect then
          fleet = state.reduce(fleet, { kind = 'list' })
        end
      end
    end
    fleet = state.reduce(fleet, { kind = 'list' })
    fleet = list(fleet, 40, vim.tbl_values(after[40]))
    eq(statuses(fleet), statuses({ agents = after[40] }))
    eq({ fleet.revision, fleet.phase }, { 40, 'live' })
  end
end

T['names: id, handle, alias; our session first, then the newest'] = function()
  local agents = {
    a = { agentId = 'a', handle = 'x', sessionId = 's1', createdAt = 1 },
    b = { agentId = 'b', handle = 'x', sessionId = 's2', createdAt = 2 },
    c = { agentId = 'c', handle = 'y', alias = 'Ann', sessionId = 's2', createdAt = 3 },
  }
  eq(state.find(agents, 'x').agentId, 'b')
  eq(state.find(agents, '@x', 's1').agentId, 'a')
  eq(state.find(agents, 'Ann').agentId, 'c')
  eq(state.find(agents, 'a').agentId, 'a')
  eq(state.find(agents, 'nobody'), nil)
end

T['the clock: what passed since the last message, never back'] = function()
  local fleet = list(state.new(), 1, {})
  fleet.server_now, fleet.received_at = 1000, 50
  eq({ state.now(fleet, 60), state.now(fleet, 10) }, { 1010, 1000 })
end

return T
