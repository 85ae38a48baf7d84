--- Prompts to the parent session, and new agents that a person starts.
local actions = require('adjutant.actions')
local compose = require('adjutant.compose')
local config = require('adjutant.config')
local methods = require('adjutant.protocol_gen').methods
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

--- A larger selection goes without its text: the server reads it from the document.
local MAX_SELECTION = 256 * 1024

---@class adjutant.Target
---@field attachments table[]?

--- The session of this editor: that of the server's choice for the folder, asked once.
---@param connection adjutant.Connection
---@param use fun(session_id: string)
function M.session(connection, use)
  if connection.session_id then
    use(connection.session_id)
    return
  end
  connection:request(methods.session_open, vim.empty_dict(), function(failure, result)
    local id = value.str((value.tbl(result) or {}).sessionId)
    if failure or not id then
      actions.failed('session', failure or { code = 0, message = 'the answer cannot be read' })
      return
    end
    connection.session_id = id
    use(id)
  end)
end

--- Texts that an abort did not send go where the input prompt finds them again.
---@param withdrawn any
---@return integer count
local function keep_withdrawn(withdrawn)
  local count = 0
  for _, item in ipairs(value.tables(withdrawn)) do
    local said = value.str(item.text)
    if said then
      count = count + 1
      vim.fn.histadd('input', text.clean(said))
    end
  end
  return count
end

--- Ends the session's run. Background agents go on, and their number is told.
---@param connection adjutant.Connection
---@param session_id string?
function M.abort(connection, session_id)
  session_id = session_id or connection.session_id
  local params = session_id and { sessionId = session_id } or vim.empty_dict()
  connection:request(methods.session_abort, params, function(failure, result)
    if failure then
      actions.failed('abort', failure)
      return
    end
    local data = value.tbl(result) or {}
    local parts = { data.aborted == true and 'the run is aborted' or 'no run was active' }
    local background = value.num(data.backgroundRunning) or 0
    if background > 0 then
      parts[#parts + 1] = ('%d background agent%s on'):format(background, background == 1 and ' goes' or 's go')
    end
    local kept = keep_withdrawn(data.withdrawn)
    if kept > 0 then
      parts[#parts + 1] = ('%d not sent (kept in the input history)'):format(kept)
    end
    actions.say(table.concat(parts, '; '))
  end)
end

--- Takes back the newest prompt that has not been answered: one that waits is withdrawn, one that runs is aborted.
---@param connection adjutant.Connection
function M.cancel(connection)
  local newest = connection.prompts[#connection.prompts]
  if newest then
    connection:cancel(newest)
  else
    actions.say('no prompt is under way')
  end
end

---@param connection adjutant.Connection
---@param session_id string
function M.steer(connection, session_id)
  vim.ui.input({ prompt = 'Steer the session: ' }, function(answer)
    if not answer or vim.trim(answer) == '' then
      return
    end
    connection:request(methods.session_steer, { sessionId = session_id, text = answer }, function(failure)
      if failure then
        actions.failed('steer', failure)
      end
    end)
  end)
end

local tokens = 0

---@return string
local function new_token()
  tokens = tokens + 1
  return ('adjutant-prompt-%d-%d'):format(vim.uv.os_getpid(), tokens)
end

---@param failure adjutant.Failure?
---@param result any
local function answered(failure, result)
  if failure then
    if failure.code == -32800 then
      actions.say('the prompt was cancelled')
    else
      actions.failed('prompt', failure)
    end
    return
  end
  local data = value.tbl(result) or {}
  local routed = value.tbl(data.routed)
  if data.stopReason == 'error' then
    actions.say('the run failed: ' .. text.clean(data.error), vim.log.levels.ERROR)
  elseif routed then
    actions.say(('sent to an agent (%s)'):format(text.clean(routed.action)))
  elseif data.stopReason ~= 'endTurn' then
    actions.say(('the run ended: %s'):format(text.clean(data.stopReason)), vim.log.levels.WARN)
  end
end

---@param connection adjutant.Connection
---@param session_id string
---@param prompt string
---@param target adjutant.Target
local function send(connection, session_id, prompt, target)
  local pending
  local params = {
    sessionId = session_id,
    text = prompt,
    attachments = target.attachments,
    workDoneToken = new_token(),
  }
  pending = connection:request(methods.session_prompt, params, function(failure, result)
    for index, candidate in ipairs(connection.prompts) do
      if candidate == pending then
        table.remove(connection.prompts, index)
        break
      end
    end
    answered(failure, result)
  end, { deadline_ms = false })
  table.insert(connection.prompts, pending)
end

--- Sends a prompt and shows the session, where the answer streams.
---@param connection adjutant.Connection
---@param prompt string
---@param target adjutant.Target
function M.prompt(connection, prompt, target)
  M.session(connection, function(session_id)
    require('adjutant.viewer').show(connection, 'session', session_id)
    send(connection, session_id, prompt, target)
  end)
end

--- Writes a prompt in a buffer first.
---@param connection adjutant.Connection
---@param target adjutant.Target
function M.compose(connection, target)
  compose.open(connection, {
    name = 'prompt',
    title = target.attachments and 'Prompt, with the selection' or 'Prompt',
    send = function(prompt)
      M.prompt(connection, prompt, target)
    end,
  })
end

--- Starts an agent in the background.
---@param connection adjutant.Connection
---@param agent_type string
---@param prompt string
---@param target adjutant.Target
function M.delegate(connection, agent_type, prompt, target)
  connection:request(methods.agent_spawn, {
    sessionId = connection.session_id,
    type = agent_type,
    prompt = prompt,
    attachments = target.attachments,
  }, function(failure, result)
    if failure then
      actions.failed('delegate', failure)
      return
    end
    local data = value.tbl(result) or {}
    local how = data.status == 'queued' and 'is queued' or 'has started'
    actions.say(('@%s (%s) %s · :Adjutant fleet shows it'):format(text.clean(data.handle), agent_type, how))
  end)
end

--- Writes the task of a new agent in a buffer first.
---@param connection adjutant.Connection
---@param agent_type string?
---@param target adjutant.Target
function M.compose_delegate(connection, agent_type, target)
  agent_type = agent_type or config.get().default_type
  compose.open(connection, {
    name = 'delegate',
    title = ('Task for %s%s'):format(agent_type, target.attachments and ', with the selection' or ''),
    send = function(prompt)
      M.delegate(connection, agent_type, prompt, target)
    end,
  })
end

---@param bufnr integer
---@param row integer from 0
---@param byte integer
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return { line: integer, character: integer }
local function position(bufnr, row, byte, encoding)
  local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  return { line = row, character = vim.str_utfindex(line, encoding, math.min(byte, #line), false) }
end

--- The attachment of a command's range. A charwise visual selection is taken to the character, all else by lines.
---@param connection adjutant.Connection
---@param bufnr integer
---@param first integer from 1
---@param last integer
---@return table attachment
function M.selection(connection, bufnr, first, last)
  local encoding = connection.client and connection.client.offset_encoding or 'utf-16'
  local start_byte, end_row, end_byte = 0, last, 0
  local from, to = vim.api.nvim_buf_get_mark(bufnr, '<'), vim.api.nvim_buf_get_mark(bufnr, '>')
  local exact = vim.fn.visualmode() == 'v' and from[1] == first and to[1] == last
  if exact then
    local line = vim.api.nvim_buf_get_lines(bufnr, last - 1, last, false)[1] or ''
    start_byte = from[2]
    -- The mark names the last character; the range ends after it.
    local index = math.min(to[2], math.max(0, #line - 1))
    end_row = last - 1
    end_byte = #line == 0 and 0 or index + vim.str_utf_end(line, index + 1) + 1
  elseif last >= vim.api.nvim_buf_line_count(bufnr) then
    end_row = last - 1
    end_byte = #(vim.api.nvim_buf_get_lines(bufnr, last - 1, last, false)[1] or '')
  end
  local chosen = vim.api.nvim_buf_get_text(bufnr, first - 1, start_byte, end_row, end_byte, {})
  local content = table.concat(chosen, '\n')
  local name = vim.api.nvim_buf_get_name(bufnr)
  local named = name ~= '' and vim.bo[bufnr].buftype == ''
  return {
    type = 'selection',
    uri = named and vim.uri_from_bufnr(bufnr) or ('untitled:buffer-%d'):format(bufnr),
    range = {
      start = position(bufnr, first - 1, start_byte, encoding),
      ['end'] = position(bufnr, end_row, end_byte, encoding),
    },
    text = (#content <= MAX_SELECTION or not named) and content or nil,
  }
end

return M
