--- The keys of a viewer's buffer, and what its lines lead to.
local actions = require('adjutant.actions')
local compose = require('adjutant.compose')
local keys = require('adjutant.keys')
local methods = require('adjutant.protocol_gen').methods
local prompts = require('adjutant.prompts')
local scratch = require('adjutant.scratch')
local text = require('adjutant.text')
local transcript = require('adjutant.transcript')
local value = require('adjutant.value')

local M = {}

---@param viewer adjutant.Viewer
---@return adjutant.Block?
local function block_of(viewer)
  return transcript.block_at(viewer.model, vim.api.nvim_win_get_cursor(0)[1] - 1)
end

--- Opens a place. Only files: what a model wrote must not make the editor fetch or run something.
---@param link { uri: string, range: table? }
local function jump(link)
  if not link.uri:match('^file:') then
    actions.say('not a file: ' .. text.clean(link.uri, 200), vim.log.levels.WARN)
    return
  end
  local ok, path = pcall(vim.uri_to_fname, link.uri)
  if not ok then
    return
  end
  local bufnr = vim.fn.bufadd(path)
  vim.bo[bufnr].buflisted = true
  scratch.reveal(bufnr, 'split')
  local start = value.tbl(link.range) and value.tbl(link.range.start)
  local line = start and value.num(start.line)
  if line then
    pcall(vim.api.nvim_win_set_cursor, 0, { math.floor(line) + 1, 0 })
    vim.cmd.normal({ 'zz', bang = true })
  end
end

---@param viewer adjutant.Viewer
---@param ref table
local function show_ref(viewer, ref)
  viewer.connection:request(methods.document, { uri = ref.uri }, function(failure, result)
    local data = value.tbl(result)
    if failure or not data then
      actions.failed('text', failure or { code = 0, message = 'the answer cannot be read' })
      return
    end
    local name = 'text/' .. text.clean(ref.uri:gsub('^%a+://', ''))
    local language = value.str(data.languageId) or ''
    local filetype = language:match('^[%w_-]+$') or 'text'
    scratch.show(viewer.connection, name, text.lines(value.str(data.text) or ''), filetype)
  end)
end

---@param viewer adjutant.Viewer
---@param block adjutant.Block
local function toggle(viewer, block)
  transcript.toggle(block)
  viewer:invalidate()
end

---@param viewer adjutant.Viewer
---@param show_agent fun(id: string)
local function follow(viewer, show_agent)
  local block = block_of(viewer)
  if not block then
    return
  elseif block.kind == 'earlier' then
    viewer:earlier()
  elseif block.ref then
    show_ref(viewer, block.ref)
  elseif block.agent_id then
    show_agent(block.agent_id)
  elseif block.links[1] then
    jump(block.links[1])
  else
    toggle(viewer, block)
  end
end

---@param viewer adjutant.Viewer
---@param verb fun(connection: adjutant.Connection, agent: adjutant.AgentSummary)
---@return fun()
local function on_agent(viewer, verb)
  return function()
    local agent = viewer:agent()
    if agent then
      verb(viewer.connection, agent)
    else
      actions.say('this agent is not in the fleet', vim.log.levels.WARN)
    end
  end
end

---@param viewer adjutant.Viewer
---@return adjutant.Key[]
local function agent_keys(viewer)
  return {
    { lhs = 's', desc = 'steer: send it a message', run = on_agent(viewer, actions.steer) },
    { lhs = 'x', desc = 'stop it', run = on_agent(viewer, actions.stop) },
    { lhs = 'X', desc = 'stop more: subtree, session, all', run = on_agent(viewer, actions.stop_wide) },
    { lhs = 'r', desc = 'resume it with a new prompt', run = on_agent(viewer, actions.resume) },
    { lhs = 'p', desc = 'show its result', run = on_agent(viewer, actions.result) },
  }
end

---@param viewer adjutant.Viewer
---@return adjutant.Key[]
local function session_keys(viewer)
  return {
    {
      lhs = 'i',
      desc = 'write a prompt',
      run = function()
        prompts.compose(viewer.connection, {})
      end,
    },
    {
      lhs = 's',
      desc = 'steer: send a message into the run',
      run = function()
        prompts.steer(viewer.connection, viewer.id)
      end,
    },
    {
      lhs = 'x',
      desc = 'abort the run (background agents go on)',
      run = function()
        prompts.abort(viewer.connection, viewer.id)
      end,
    },
  }
end

--- Maps the keys of a viewer's buffer.
---@param viewer adjutant.Viewer
---@param show_agent fun(id: string)
function M.map(viewer, show_agent)
  local agent = viewer.kind == 'agent'
  local list = agent and agent_keys(viewer) or session_keys(viewer)
  vim.list_extend(list, {
    {
      lhs = '<CR>',
      desc = 'open what the line is about',
      run = function()
        follow(viewer, show_agent)
      end,
    },
    {
      lhs = '<Tab>',
      desc = 'show more or less of a tool call',
      run = function()
        local block = block_of(viewer)
        if block then
          toggle(viewer, block)
        end
      end,
    },
    {
      lhs = 'P',
      desc = 'load earlier messages',
      run = function()
        viewer:earlier()
      end,
    },
    {
      lhs = 'R',
      desc = 'read again',
      run = function()
        viewer:refresh()
      end,
    },
    { lhs = 'q', desc = 'close the window', run = compose.close_window },
  })
  keys.map(viewer.bufnr, agent and 'Agent' or 'Session', list)
end

return M
