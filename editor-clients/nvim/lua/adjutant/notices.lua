--- What the editor tells a person unasked: completions, the counts of the statusline, and events for other plugins.
local config = require('adjutant.config')
local state = require('adjutant.state')
local status = require('adjutant.status')
local text = require('adjutant.text')
local throttle = require('adjutant.throttle')
local value = require('adjutant.value')

local M = {}

--- A group of completions is one message; past this many it counts the rest.
local MAX_LISTED = 8

local summaries = {} ---@type table<string, string> by root

---@param connection adjutant.Connection
---@return string
local function summarize(connection)
  if connection.status == 'ended' then
    return 'adjutant: server ended'
  elseif connection.status == 'unsupported' then
    return 'adjutant: wrong server'
  end
  local counts = state.counts(connection.fleet.agents)
  local parts = {}
  if counts.running > 0 then
    parts[#parts + 1] = ('%d running'):format(counts.running)
  end
  if counts.queued > 0 then
    parts[#parts + 1] = ('%d queued'):format(counts.queued)
  end
  if counts.waiting > 0 then
    parts[#parts + 1] = ('%d waiting for you'):format(counts.waiting)
  end
  return #parts > 0 and 'adjutant: ' .. table.concat(parts, ', ') or ''
end

--- The text for a statusline: empty while nothing runs. Cached; asks nobody.
---@param root string
---@return string
function M.summary(root)
  return summaries[root] or ''
end

--- Recounts, at most five times a second, and redraws status lines if the text is another.
---@param connection adjutant.Connection
function M.changed(connection)
  local root = connection.root
  connection.notifier = connection.notifier
    or throttle.new(200, function()
      local summary = summarize(connection)
      local before = summaries[root]
      summaries[root] = summary
      if summary ~= before then
        vim.cmd.redrawstatus({ bang = true })
      end
      vim.api.nvim_exec_autocmds('User', { pattern = 'AdjutantChanged', modeline = false, data = { root = root } })
    end)
  connection.notifier.call()
end

---@param completion adjutant.Completion
---@return string
local function line_of(completion)
  local duration = value.num(completion.durationMs)
  local glyph = status.glyph(completion.status, config.get().icons == 'ascii')
  return text.join({
    ('%s @%s %s'):format(glyph, text.clean(completion.handle, 40), status.words(completion)),
    text.clean(completion.description, 60),
    duration and text.elapsed(duration) or '',
    text.tokens(completion.usage),
    completion.restored == true and 'from before the restart' or '',
  })
end

--- One message for what arrived together; a warning where something failed.
---@param connection adjutant.Connection
---@param completions adjutant.Completion[] each new to this editor
function M.completed(connection, completions)
  local wanted = config.get().notify
  local lines, failed = {}, false
  for _, completion in ipairs(completions) do
    local bad = status.of(completion.status).failed
    failed = failed or bad
    if wanted == 'all' or (wanted == 'failures' and bad) then
      lines[#lines + 1] = line_of(completion)
      local detail = text.clean(bad and completion.error or completion.resultPreview)
      if detail ~= '' then
        lines[#lines] = lines[#lines] .. '\n  ' .. text.cut(detail, 120)
      end
    end
  end
  if #lines > MAX_LISTED then
    local rest = #lines - MAX_LISTED
    lines = vim.list_slice(lines, 1, MAX_LISTED)
    lines[#lines + 1] = ('and %d more'):format(rest)
  end
  if #lines > 0 then
    local level = failed and vim.log.levels.WARN or vim.log.levels.INFO
    vim.notify(table.concat(lines, '\n'), level, { title = 'Adjutant' })
  end
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'AdjutantCompleted',
    modeline = false,
    data = { root = connection.root, completions = completions },
  })
end

return M
