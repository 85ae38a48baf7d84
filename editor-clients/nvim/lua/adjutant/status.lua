--- How an agent's state looks: a glyph, words and a colour, so that no state is told by colour alone. Pure.
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

local WORD_LIMIT = 40

---@class adjutant.StatusMark
---@field glyph string
---@field ascii string
---@field hl string
---@field failed boolean ended without what was asked for

---@type table<string, adjutant.StatusMark>
local MARKS = {
  queued = { glyph = '○', ascii = 'o', hl = 'AdjutantQueued', failed = false },
  running = { glyph = '●', ascii = '*', hl = 'AdjutantRunning', failed = false },
  stopping = { glyph = '◐', ascii = '~', hl = 'AdjutantWarning', failed = false },
  completed = { glyph = '✓', ascii = '+', hl = 'AdjutantOk', failed = false },
  steered = { glyph = '✓', ascii = '+', hl = 'AdjutantWarning', failed = false },
  aborted = { glyph = '!', ascii = '!', hl = 'AdjutantError', failed = true },
  stopped = { glyph = '■', ascii = '-', hl = 'AdjutantStopped', failed = true },
  error = { glyph = '✗', ascii = 'x', hl = 'AdjutantError', failed = true },
  interrupted = { glyph = '~', ascii = '~', hl = 'AdjutantWarning', failed = true },
}

---@type adjutant.StatusMark
local UNKNOWN = { glyph = '•', ascii = '.', hl = 'AdjutantStopped', failed = false }

local WAITS = {
  setup = 'starting',
  approval = 'needs approval',
  child = 'waiting for agents',
  retry = 'retrying',
  compaction = 'compacting',
}

local REASONS = {
  maxTurns = 'turn limit',
  wallClock = 'time limit',
  idle = 'idle limit',
  noProgress = 'no progress',
  tokens = 'token limit',
  cost = 'cost limit',
  repeatedCall = 'repeated call',
}

--- The mark of a status. One that this client does not know is shown as ended.
---@param status any
---@return adjutant.StatusMark
function M.of(status)
  return MARKS[value.str(status) or ''] or UNKNOWN
end

---@param status any
---@param ascii boolean?
---@return string
function M.glyph(status, ascii)
  local mark = M.of(status)
  return ascii and mark.ascii or mark.glyph
end

local ACTIVE = { queued = true, running = true, stopping = true }

--- Whether a run can still act.
---@param status any
---@return boolean
function M.is_active(status)
  return ACTIVE[status] == true
end

--- The state in words, with the reason of an end. Takes a summary or a completion.
---@param agent adjutant.AgentSummary
---@return string
function M.words(agent)
  local status = agent.status
  if status == 'queued' then
    local place = value.num(agent.queuePosition)
    return place and place > 0 and ('queued #%d'):format(place) or 'queued'
  elseif status == 'running' then
    return WAITS[value.str(agent.waitingOn) or ''] or 'running'
  end
  local word = text.clean(status, WORD_LIMIT)
  local reason = value.str(agent.reason)
  if M.is_active(status) or not reason or reason == '' then
    return word
  end
  return ('%s (%s)'):format(word, REASONS[reason] or text.clean(reason, WORD_LIMIT))
end

--- The colour of a state: one that waits for a person stands out.
---@param agent adjutant.AgentSummary
---@return string
function M.hl(agent)
  if agent.status == 'running' and agent.waitingOn == 'approval' then
    return 'AdjutantWaiting'
  end
  return M.of(agent.status).hl
end

return M
