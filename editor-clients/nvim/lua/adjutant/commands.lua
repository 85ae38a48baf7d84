--- `:Adjutant` and its subcommands: parsing and completion. What they do is elsewhere.
local actions = require('adjutant.actions')
local client = require('adjutant.client')
local config = require('adjutant.config')
local panel = require('adjutant.panel')
local prompts = require('adjutant.prompts')
local state = require('adjutant.state')
local text = require('adjutant.text')
local value = require('adjutant.value')
local viewer = require('adjutant.viewer')

local M = {}

--- Agent types that every server has.
local BUILT_IN = { 'general-purpose', 'Explore', 'Plan' }
--- Folders with agent files, below a root.
local TYPE_FOLDERS = { '.adjutant/agents', '.agents/agents', '.pi/agents' }

---@class adjutant.Call
---@field rest string what follows the subcommand
---@field bang boolean
---@field range integer[]? first and last line
---@field bufnr integer

---@class adjutant.Subcommand
---@field desc string
---@field run fun(connection: adjutant.Connection, call: adjutant.Call)
---@field complete (fun(root: string, lead: string, words: integer): string[])?

---@param root string
---@return string[]
local function agent_types(root)
  local names, seen = {}, {}
  local function add(name)
    if name and name ~= '' and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(BUILT_IN) do
    add(name)
  end
  for _, folder in ipairs(TYPE_FOLDERS) do
    local path = root .. '/' .. folder
    if vim.uv.fs_stat(path) then
      for name, kind in vim.fs.dir(path) do
        if kind ~= 'directory' then
          add(name:match('^([%w_.-]+)%.md$'))
        end
      end
    end
  end
  local connection = client.peek(root)
  for _, agent in pairs(connection and connection.fleet.agents or {}) do
    add((value.str(agent.type) or ''):match('^[%w_.-]+$'))
  end
  return names
end

---@param wanted fun(agent: adjutant.AgentSummary): boolean
---@return fun(root: string, lead: string, words: integer): string[]
local function handles(wanted)
  return function(root, _, words)
    local connection = client.peek(root)
    local names = {}
    if words > 1 or not connection then
      return names
    end
    for _, node in ipairs(state.tree(connection.fleet.agents)) do
      if wanted(node.agent) then
        -- A name that is not one word could not be typed back.
        names[#names + 1] = (value.str(node.agent.handle) or ''):match('^%S+$')
      end
    end
    return names
  end
end

local function any()
  return true
end

---@param agent adjutant.AgentSummary
---@return boolean
local function resumable(agent)
  return not state.is_active(agent) and agent.resumable ~= false
end

--- Runs a verb on the agent that the arguments name; without a name, on the pane's own, else on the one chosen.
---@param wanted fun(agent: adjutant.AgentSummary): boolean
---@param verb fun(connection: adjutant.Connection, agent: adjutant.AgentSummary, rest: string, call: adjutant.Call)
---@return fun(connection: adjutant.Connection, call: adjutant.Call)
local function on_agent(wanted, verb)
  return function(connection, call)
    local name, rest = call.rest:match('^(%S+)%s*(.*)$')
    local agents = connection.fleet.agents
    if name then
      local agent = state.find(agents, name, connection.session_id)
      if agent then
        verb(connection, agent, rest, call)
      else
        actions.say(('no agent is called %s'):format(text.clean(name, 60)), vim.log.levels.ERROR)
      end
      return
    end
    local shown = viewer.of(call.bufnr)
    local here = shown and shown:agent()
    if here then
      verb(connection, here, '', call)
      return
    end
    local choices = {}
    for _, node in ipairs(state.tree(agents)) do
      if wanted(node.agent) then
        choices[#choices + 1] = node.agent
      end
    end
    if #choices == 0 then
      actions.say('there is no such agent now', vim.log.levels.WARN)
      return
    end
    vim.ui.select(choices, {
      prompt = 'Agent',
      kind = 'adjutant_agent',
      format_item = function(agent)
        return text.join({ '@' .. text.clean(agent.handle, 40), text.clean(agent.description, 60) })
      end,
    }, function(agent)
      if agent then
        verb(connection, agent, '', call)
      end
    end)
  end
end

---@param connection adjutant.Connection
---@param call adjutant.Call
---@return adjutant.Target
local function target_of(connection, call)
  if not call.range then
    return {}
  end
  return { attachments = { prompts.selection(connection, call.bufnr, call.range[1], call.range[2]) } }
end

--- The type and the task of a `delegate`: the first word is a type if it is known as one, or begins with `@`.
---@param root string
---@param rest string
---@return string? agent_type
---@return string task
function M.parse_delegate(root, rest)
  local first, after = rest:match('^(%S+)%s*(.*)$')
  if not first then
    return nil, ''
  elseif first:sub(1, 1) == '@' and #first > 1 then
    return first:sub(2), after
  elseif vim.tbl_contains(agent_types(root), first) then
    return first, after
  end
  return nil, rest
end

---@type table<string, adjutant.Subcommand>
M.subcommands = {
  prompt = {
    desc = 'Send a prompt to the session; without text, write it in a buffer',
    run = function(connection, call)
      local target = target_of(connection, call)
      if call.rest == '' then
        prompts.compose(connection, target)
      else
        prompts.prompt(connection, call.rest, target)
      end
    end,
  },
  delegate = {
    desc = 'Start an agent: [type] task',
    run = function(connection, call)
      local target = target_of(connection, call)
      local agent_type, task = M.parse_delegate(connection.root, call.rest)
      if task == '' then
        prompts.compose_delegate(connection, agent_type, target)
      else
        prompts.delegate(connection, agent_type or config.get().default_type, task, target)
      end
    end,
    complete = function(root, _, words)
      return words > 1 and {} or agent_types(root)
    end,
  },
  fleet = {
    desc = 'Show the roster; with ! close it',
    run = function(connection, call)
      if call.bang then
        panel.hide(connection)
      else
        panel.show(connection)
      end
    end,
  },
  session = {
    desc = 'Show the conversation of the session',
    run = function(connection)
      prompts.session(connection, function(id)
        viewer.show(connection, 'session', id)
      end)
    end,
  },
  open = {
    desc = "Show an agent's conversation",
    run = on_agent(any, function(connection, agent)
      viewer.show(connection, 'agent', agent.agentId)
    end),
    complete = handles(any),
  },
  stop = {
    desc = 'Stop an agent; with ! also all below it',
    run = on_agent(state.is_active, function(connection, agent, _, call)
      actions.stop(connection, agent, call.bang and 'subtree' or nil)
    end),
    complete = handles(state.is_active),
  },
  stopall = {
    desc = 'Stop every agent of this server; asks first, unless with !',
    run = function(connection, call)
      if call.bang then
        actions.stop_all(connection, nil)
      else
        actions.stop_wide(connection, nil)
      end
    end,
  },
  steer = {
    desc = 'Send a message to an agent that runs: handle [text]',
    run = on_agent(state.is_active, actions.steer),
    complete = handles(state.is_active),
  },
  resume = {
    desc = 'Continue an agent that has ended: handle [text]',
    run = on_agent(resumable, actions.resume),
    complete = handles(resumable),
  },
  result = {
    desc = "Show an agent's result",
    run = on_agent(any, actions.result),
    complete = handles(any),
  },
  abort = {
    desc = "End the session's run; with ! only take back the newest prompt",
    run = function(connection, call)
      if call.bang then
        prompts.cancel(connection)
      else
        prompts.abort(connection)
      end
    end,
  },
  restart = {
    desc = 'Start the server again',
    run = function(connection)
      client.restart(connection.root)
    end,
  },
}

---@return string[]
local function names()
  local list = vim.tbl_keys(M.subcommands)
  table.sort(list)
  return list
end

--- Runs `:Adjutant …`.
---@param args table as of `nvim_create_user_command`
function M.run(args)
  local name, rest = vim.trim(args.args):match('^(%S+)%s*(.*)$')
  if not name then
    name, rest = 'fleet', ''
  end
  local subcommand = M.subcommands[name]
  if not subcommand then
    local known = table.concat(names(), ', ')
    actions.say(('no subcommand %s; there are: %s'):format(text.clean(name, 40), known), vim.log.levels.ERROR)
    return
  end
  local bufnr = vim.api.nvim_get_current_buf()
  local root = client.root(bufnr)
  local known = client.peek(root)
  subcommand.run(known or client.get(root), {
    rest = rest,
    bang = args.bang,
    range = args.range > 0 and { args.line1, args.line2 } or nil,
    bufnr = bufnr,
  })
end

---@param candidates string[]
---@param lead string
---@return string[]
local function matching(candidates, lead)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate:lower(), lead:lower())
  end, candidates)
end

--- Completes `:Adjutant …`.
---@param lead string
---@param line string
---@param cursor integer
---@return string[]
function M.complete(lead, line, cursor)
  local before = line:sub(1, cursor)
  local rest = before:match('Adjutant!?%s+(.*)$') or ''
  local name, after = rest:match('^(%S+)%s+(.*)$')
  if not name then
    return matching(names(), lead)
  end
  local subcommand = M.subcommands[name]
  if not subcommand or not subcommand.complete then
    return {}
  end
  local words = #vim.split(after, '%s+', { trimempty = true }) + (after:match('%s$') and 1 or 0)
  local found = subcommand.complete(client.root(), lead, math.max(1, words))
  local at = lead:match('^@') or ''
  return matching(
    vim.tbl_map(function(candidate)
      return at .. candidate
    end, found),
    lead
  )
end

return M
