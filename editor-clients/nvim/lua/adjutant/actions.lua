--- What a person can do with an agent, from the roster, a viewer or the command line: one function a verb.
local Connection = require('adjutant.connection')
local methods = require('adjutant.protocol_gen').methods
local scratch = require('adjutant.scratch')
local state = require('adjutant.state')
local status = require('adjutant.status')
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

--- Says something to the person.
---@param message string
---@param level integer?
function M.say(message, level)
  vim.notify('adjutant: ' .. message, level or vim.log.levels.INFO, { title = 'Adjutant' })
end

--- Says why something could not be done. What ends every request at once, such as the server's end, is said once.
---@param what string
---@param failure adjutant.Failure
function M.failed(what, failure)
  if failure.told then
    return
  end
  M.say(('%s: %s'):format(what, Connection.describe(failure)), vim.log.levels.ERROR)
end

---@param agent adjutant.AgentSummary
---@return string
local function name_of(agent)
  return '@' .. text.clean(agent.handle)
end

--- Asks for a text unless one is given; an empty answer does nothing.
---@param given string?
---@param prompt string
---@param use fun(answer: string)
local function with_text(given, prompt, use)
  if given and vim.trim(given) ~= '' then
    use(given)
    return
  end
  vim.ui.input({ prompt = prompt }, function(answer)
    if answer and vim.trim(answer) ~= '' then
      use(answer)
    end
  end)
end

--- Sends a message to an agent that has not ended.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
---@param message string? asked for where absent
function M.steer(connection, agent, message)
  if not state.is_active(agent) then
    M.say(('%s has ended; resume it instead (r)'):format(name_of(agent)), vim.log.levels.WARN)
    return
  end
  with_text(message, ('Steer %s: '):format(name_of(agent)), function(answer)
    connection:request(methods.agent_steer, { agentId = agent.agentId, message = answer }, function(failure, result)
      if failure then
        M.failed('steer', failure)
        return
      end
      local waits = (value.tbl(result) or {}).delivered == 'queued'
      local how = waits and 'has it once its run starts' or 'has it at its next turn'
      M.say(('%s %s'):format(name_of(agent), how))
    end)
  end)
end

--- Continues an agent that has ended.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
---@param prompt string? asked for where absent
function M.resume(connection, agent, prompt)
  if state.is_active(agent) then
    M.say(('%s still runs; steer it instead (s)'):format(name_of(agent)), vim.log.levels.WARN)
    return
  end
  if agent.resumable == false then
    M.say(('%s cannot be resumed'):format(name_of(agent)), vim.log.levels.WARN)
    return
  end
  with_text(prompt, ('Resume %s with: '):format(name_of(agent)), function(answer)
    connection:request(methods.agent_resume, { agentId = agent.agentId, prompt = answer }, function(failure, result)
      if failure then
        M.failed('resume', failure)
        return
      end
      local run = value.num((value.tbl(result) or {}).run)
      M.say(('%s: run %s is %s'):format(name_of(agent), run or '?', text.clean((result or {}).status)))
    end)
  end)
end

---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
---@param scope 'one'|'subtree'
local function stop(connection, agent, scope)
  connection:request(methods.agent_stop, { agentId = agent.agentId, scope = scope }, function(failure, result)
    if failure then
      M.failed('stop', failure)
      return
    end
    local count = #value.tables((value.tbl(result) or {}).stopped)
    if count == 0 then
      M.say(('%s had ended already'):format(name_of(agent)))
    elseif count > 1 then
      M.say(('%d agents are stopping'):format(count))
    end
  end)
end

--- Stops every agent of a session, or of the server.
---@param connection adjutant.Connection
---@param session_id string?
function M.stop_all(connection, session_id)
  connection:request(methods.agent_stop_all, { sessionId = session_id }, function(failure, result)
    if failure then
      M.failed('stop all', failure)
      return
    end
    local count = #value.strings((value.tbl(result) or {}).stopped)
    M.say(count == 0 and 'nothing was running' or ('stopping %d'):format(count))
  end)
end

---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
---@return integer active agents below it that can still act
local function active_below(connection, agent)
  for _, node in ipairs(state.tree(connection.fleet.agents)) do
    if node.agent.agentId == agent.agentId then
      return node.active
    end
  end
  return 0
end

---@param count integer
---@return string
local function agents(count)
  return count == 1 and '1 agent' or ('%d agents'):format(count)
end

--- Stops one agent. Where others run under it, what else is to stop is asked, unless `scope` says it.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
---@param scope ('one'|'subtree')?
function M.stop(connection, agent, scope)
  local below = active_below(connection, agent)
  if scope or below == 0 then
    if not state.is_active(agent) and below == 0 then
      M.say(('%s had ended already'):format(name_of(agent)))
      return
    end
    stop(connection, agent, scope or 'one')
    return
  end
  vim.ui.select({ 'subtree', 'one' }, {
    prompt = ('Stop %s: %s below it still run'):format(name_of(agent), agents(below)),
    kind = 'adjutant_stop',
    format_item = function(item)
      return item == 'one' and ('%s only'):format(name_of(agent)) or ('%s and all below it'):format(name_of(agent))
    end,
  }, function(choice)
    if choice then
      stop(connection, agent, choice)
    end
  end)
end

--- Asks how far a stop is to reach: subtree, session, or everything that this server runs.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary? the one under the cursor
function M.stop_wide(connection, agent)
  local all, session = 0, 0
  for _, other in pairs(connection.fleet.agents) do
    if state.is_active(other) then
      all = all + 1
      session = session + ((agent and other.sessionId == agent.sessionId) and 1 or 0)
    end
  end
  if all == 0 then
    M.say('nothing is running')
    return
  end
  local choices = {}
  if agent then
    local subtree = active_below(connection, agent) + (state.is_active(agent) and 1 or 0)
    if subtree > 0 then
      choices[#choices + 1] = {
        label = ('%s and all below it (%s)'):format(name_of(agent), agents(subtree)),
        run = function()
          stop(connection, agent, 'subtree')
        end,
      }
    end
    if session < all and session > 0 then
      choices[#choices + 1] = {
        label = ('every agent of its session (%s)'):format(agents(session)),
        run = function()
          M.stop_all(connection, agent.sessionId)
        end,
      }
    end
  end
  choices[#choices + 1] = {
    label = ('every agent of this server (%s)'):format(agents(all)),
    run = function()
      M.stop_all(connection, nil)
    end,
  }
  vim.ui.select(choices, {
    prompt = 'Stop',
    kind = 'adjutant_stop',
    format_item = function(item)
      return item.label
    end,
  }, function(choice)
    if choice then
      choice.run()
    end
  end)
end

--- Tells the server that a person has seen a run's result, once.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
function M.seen(connection, agent)
  if state.is_active(agent) or agent.unread ~= true then
    return
  end
  local key = ('%s\0%s'):format(agent.agentId, agent.run)
  if connection.told_seen[key] then
    return
  end
  connection.told_seen[key] = true
  connection:request(methods.agent_seen, { agentId = agent.agentId, run = agent.run }, function() end)
end

--- Shows an agent's result in a buffer of its own.
---@param connection adjutant.Connection
---@param agent adjutant.AgentSummary
function M.result(connection, agent)
  connection:request(methods.agent_result, { agentId = agent.agentId }, function(failure, result)
    if failure then
      M.failed('result', failure)
      return
    end
    local data = value.tbl(result) or {}
    local run = value.num(data.run) or 1
    local header = text.join({
      name_of(agent),
      status.words(data),
      ('run %d'):format(run),
      text.tokens(data.usage),
      data.partial == true and 'partial' or '',
    })
    local lines = { '# ' .. header, '' }
    local description = text.clean(agent.description)
    if description ~= '' then
      vim.list_extend(lines, { '> ' .. description, '' })
    end
    local body = value.str(data.text) or ''
    vim.list_extend(lines, body == '' and { '(no output)' } or text.lines(body))
    scratch.show(connection, 'result/' .. agent.agentId, lines, 'markdown')
    local current = connection.fleet.agents[agent.agentId]
    if current and current.run == run then
      M.seen(connection, current)
    end
  end)
end

return M
