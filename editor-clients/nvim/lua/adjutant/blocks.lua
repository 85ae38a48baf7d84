--- The blocks of a conversation: a message, tool call, card, notice or end of a run, each a few lines of text. Pure.
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

--- Lines of one message; what follows is counted, not shown.
local MAX_BODY = 5000
local MAX_THINKING = 200
local FOLDED_LINES = 8

---@class adjutant.Block
---@field key string
---@field kind 'earlier'|'message'|'steer'|'tool'|'card'|'notice'|'run'
---@field seq number? of the entry; none while it is being written
---@field title string
---@field title_hl string highlight group of the title line
---@field thinking string
---@field thinking_len integer bytes had, counted from the message's start
---@field body string[] lines of the text
---@field body_len integer bytes had, counted from the message's start
---@field body_hl string?
---@field indent string put before each line of the body
---@field lead boolean? an empty line comes first
---@field foldable boolean
---@field expanded boolean
---@field hidden integer lines past the cap
---@field links { uri: string, range: table? }[] places that it is about
---@field agent_id string? agent that it is about
---@field ref table? { bytes, uri } where the text was too large to be sent
---@field head table[]? the rendered lines before the body
---@field streamed boolean? built from deltas
---@field cut boolean? the head of its text is missing
---@field said string? text of a delivered steer whose message has not come yet
---@field tool_name string?
---@field tool_title string?
---@field dirty integer? first line (from 0) that the screen does not have
---@field drawn integer lines on the screen

---@class adjutant.TranscriptGlyphs
---@field bar string before titles
---@field rule string for run ends
---@field pipe string before tool output
---@field thought string before thinking
---@field running string
---@field ok string
---@field failed string
---@field neutral string
---@field more string

---@type table<string, adjutant.TranscriptGlyphs>
M.glyphs = {
  unicode = {
    bar = '▌',
    rule = '──',
    pipe = '│',
    thought = '┊',
    running = '●',
    ok = '✓',
    failed = '✗',
    neutral = '■',
    more = '…',
  },
  ascii = {
    bar = '##',
    rule = '--',
    pipe = '|',
    thought = ':',
    running = '*',
    ok = '+',
    failed = 'x',
    neutral = '-',
    more = '...',
  },
}

---@param key string
---@param kind 'earlier'|'message'|'steer'|'tool'|'card'|'notice'|'run'
---@param fields table?
---@return adjutant.Block
function M.new(key, kind, fields)
  local block = {
    key = key,
    kind = kind,
    title = '',
    title_hl = 'AdjutantTitle',
    thinking = '',
    thinking_len = 0,
    body = {},
    body_len = 0,
    indent = '',
    foldable = false,
    expanded = false,
    hidden = 0,
    links = {},
    dirty = 0,
    drawn = 0,
  }
  for name, item in pairs(fields or {}) do
    block[name] = item
  end
  return block
end

--- Marks a block as changed from one of its lines on.
---@param block adjutant.Block
---@param line integer counted from 0
function M.touch(block, line)
  block.dirty = math.min(block.dirty or line, line)
  if line == 0 then
    block.head = nil
  end
end

--- The lines before the body, kept until the block changes from its first line on.
---@param self adjutant.Transcript
---@param block adjutant.Block
---@return { [1]: string, [2]: string? }[]
local function head(self, block)
  if block.head then
    return block.head
  end
  local lines = {}
  if block.lead then
    lines[1] = { '' }
  end
  if block.title ~= '' then
    lines[#lines + 1] = { block.title, block.title_hl }
  end
  if block.thinking ~= '' then
    local thoughts = text.lines(block.thinking)
    for index, thought in ipairs(thoughts) do
      if index > MAX_THINKING then
        lines[#lines + 1] = { self.glyphs.thought .. ' ' .. self.glyphs.more, 'AdjutantThinking' }
        break
      end
      lines[#lines + 1] = { self.glyphs.thought .. ' ' .. thought, 'AdjutantThinking' }
    end
  end
  block.head = lines
  return lines
end

---@param count number
---@return string
local function bytes(count)
  return count >= 1024 and ('%.0f KiB'):format(count / 1024) or ('%d bytes'):format(count)
end

--- What a block looks like from its line `from` on.
---@param self adjutant.Transcript
---@param block adjutant.Block
---@param from integer
---@return { [1]: string, [2]: string? }[]
function M.render(self, block, from)
  local lines = head(self, block)
  local above = #lines
  local out = {}
  for index = from + 1, above do
    out[#out + 1] = lines[index]
  end
  local shown = #block.body
  -- A text that ends its last line is not followed by an empty one.
  if block.body[shown] == '' then
    shown = shown - 1
  end
  local folded = 0
  if block.foldable and not block.expanded and shown > FOLDED_LINES + 1 then
    shown, folded = FOLDED_LINES, shown - FOLDED_LINES
  end
  for index = math.max(1, from + 1 - above), shown do
    local line = block.body[index]
    out[#out + 1] = { line == '' and block.indent:gsub(' +$', '') or block.indent .. line, block.body_hl }
  end
  local function footer(str)
    out[#out + 1] = { block.indent .. str, 'AdjutantDim' }
  end
  if folded > 0 then
    footer(('%s %d more lines (<Tab>)'):format(self.glyphs.more, folded))
  end
  if block.hidden > 0 then
    footer(('%s %d more lines are not shown'):format(self.glyphs.more, block.hidden))
  end
  if block.ref then
    footer(('%s %s in all (<CR> opens it)'):format(self.glyphs.more, bytes(value.num(block.ref.bytes) or 0)))
  end
  if block.kind ~= 'earlier' and block.kind ~= 'tool' then
    out[#out + 1] = { '' }
  end
  return out
end

---@param block adjutant.Block
---@param content string
function M.set_body(block, content)
  local lines = text.lines(content)
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  block.hidden = math.max(0, #lines - MAX_BODY)
  for index = #lines, MAX_BODY + 1, -1 do
    lines[index] = nil
  end
  block.body, block.body_len = lines, #content
  M.touch(block, 0)
end

---@param self adjutant.Transcript
---@param block adjutant.Block
---@param delta string
function M.extend_body(self, block, delta)
  local above = #head(self, block)
  M.touch(block, above + math.max(0, #block.body - 1))
  block.body_len = block.body_len + #delta
  local pieces = text.lines(delta)
  for index, piece in ipairs(pieces) do
    if block.hidden > 0 then
      block.hidden = block.hidden + (index > 1 and 1 or 0)
    elseif index == 1 and #block.body > 0 then
      block.body[#block.body] = block.body[#block.body] .. piece
    elseif #block.body >= MAX_BODY then
      block.hidden = 1
    else
      block.body[#block.body + 1] = piece
    end
  end
end

---@param self adjutant.Transcript
---@param model string?
---@return string
local function own_title(self, model)
  local suffix = model and model ~= '' and ' · ' .. text.clean(model) or ''
  return ('%s %s%s'):format(self.glyphs.bar, self.title, suffix)
end

local AUTHORS = { user = 'You', parent = 'Task', host = 'Adjutant' }

---@param self adjutant.Transcript
---@param author any
---@param note string?
---@return string
function M.author_title(self, author, note)
  local name = AUTHORS[author] or 'Message'
  return ('%s %s%s'):format(self.glyphs.bar, name, note and ' · ' .. note or '')
end

---@param key string
---@return string
function M.message_key(key)
  return 'm:' .. key
end

---@param self adjutant.Transcript
---@param entry_id string
---@param role any
---@return adjutant.Block
function M.message(self, entry_id, role)
  local mine = role ~= 'user'
  return M.new(M.message_key(entry_id), 'message', {
    title = mine and own_title(self) or M.author_title(self, nil),
    title_hl = mine and 'AdjutantTitle' or 'AdjutantAuthor',
  })
end

---@param raw any
---@return { uri: string, range: table? }[]
local function links_of(raw)
  local links = {}
  for _, location in ipairs(value.tables(raw)) do
    if value.str(location.uri) then
      links[#links + 1] = { uri = location.uri, range = value.tbl(location.range) }
    end
  end
  return links
end

---@param raw any
---@return table?
function M.ref_of(raw)
  local ref = value.tbl(raw)
  return ref and value.str(ref.uri) and ref or nil
end

---@param self adjutant.Transcript
---@param outcome string?
---@return string glyph
---@return string word
---@return string hl
local function outcome_marks(self, outcome)
  local glyphs = self.glyphs
  if outcome == nil then
    return glyphs.running, 'running', 'AdjutantRunning'
  elseif outcome == 'ok' then
    return glyphs.ok, '', 'AdjutantTool'
  elseif outcome == 'cancelled' then
    return glyphs.neutral, 'cancelled', 'AdjutantDim'
  end
  return glyphs.failed, outcome == 'error' and 'failed' or text.clean(outcome), 'AdjutantError'
end

---@param self adjutant.Transcript
---@param block adjutant.Block
---@param outcome string?
function M.set_tool_title(self, block, outcome)
  local glyph, word, hl = outcome_marks(self, outcome)
  local parts = { glyph .. ' ' .. block.tool_name }
  if block.tool_title ~= '' and block.tool_title ~= block.tool_name then
    parts[#parts + 1] = block.tool_title
  end
  block.title = '  ' .. table.concat(parts, ' · ') .. (word ~= '' and (' (%s)'):format(word) or '')
  block.title_hl = hl
  M.touch(block, 0)
end

---@param card any
---@return string?
local function card_text(card)
  local data = value.tbl(card)
  if not data then
    return nil
  end
  return table.concat(value.strings(data.lines), '\n')
end

---@param self adjutant.Transcript
---@param source table an entry or a `toolStart`
---@param kind any
---@return adjutant.Block
function M.tool(self, source, kind)
  local block = M.new('t:' .. (value.str(source.toolCallId) or ''), 'tool', {
    foldable = true,
    indent = '  ' .. self.glyphs.pipe .. ' ',
    body_hl = 'AdjutantOutput',
    links = links_of(source.locations),
    agent_id = value.str(source.agentId),
  })
  block.tool_name = text.clean(source.name)
  if block.tool_name == '' then
    block.tool_name = text.clean(kind)
  end
  block.tool_title = text.clean(source.title)
  return block
end

---@param block adjutant.Block
---@param source table
function M.set_tool_output(block, source)
  local content = value.str(source.text) or card_text(source.card)
  if content then
    M.set_body(block, content)
  end
  block.ref = M.ref_of(source.ref) or block.ref
  block.agent_id = value.str(source.agentId) or block.agent_id
end

---@param self adjutant.Transcript
---@param source table
---@return string
local function run_title(self, source)
  local reason = text.clean(source.stopReason)
  local turns = value.num(source.turns) or 0
  local summary = text.join({
    ('run %d ended'):format(value.num(source.run) or 0),
    reason ~= 'endTurn' and reason or '',
    turns > 0 and text.counted(turns, 'turn') or '',
    text.tokens(source.usage),
    text.cost(source.usage),
  })
  return ('%s %s %s'):format(self.glyphs.rule, summary, self.glyphs.rule)
end

---@param self adjutant.Transcript
---@param source table a `run` entry or a `runEnd`
---@return adjutant.Block
function M.run(self, source)
  local failure = text.clean(source.error)
  local block = M.new(('r:%d'):format(value.num(source.run) or 0), 'run', {
    title = run_title(self, source),
    title_hl = failure ~= '' and 'AdjutantError' or 'AdjutantRule',
    body_hl = 'AdjutantError',
  })
  if failure ~= '' then
    M.set_body(block, failure)
  end
  return block
end

---@param self adjutant.Transcript
---@param key string
---@param level any
---@param message any
---@return adjutant.Block
function M.notice(self, key, level, message)
  local hl = level == 'error' and 'AdjutantError' or level == 'warning' and 'AdjutantWarning' or 'AdjutantDim'
  local word = (level == 'error' or level == 'warning') and level .. ': ' or ''
  return M.new(key, 'notice', {
    title = ('%s %s%s'):format(self.glyphs.thought, word, text.clean(message)),
    title_hl = hl,
  })
end

---@param self adjutant.Transcript
---@param key string
---@param source table
---@return adjutant.Block
function M.card(self, key, source)
  local card = value.tbl(source.card) or {}
  local title = text.clean(card.title)
  local block = M.new(key, 'card', {
    title = ('%s %s'):format(self.glyphs.bar, title ~= '' and title or text.clean(source.customType)),
    title_hl = 'AdjutantAuthor',
    foldable = true,
  })
  M.set_body(block, card_text(card) or '')
  return block
end

---@param self adjutant.Transcript
---@param source table an entry or an event with steerId, text, author
---@param note string?
---@return adjutant.Block
function M.steer(self, source, note)
  local label = 'steer' .. (note and ', ' .. note or '')
  local block = M.new('s:' .. (value.str(source.steerId) or ''), 'steer', {
    title = M.author_title(self, source.author, label),
    title_hl = 'AdjutantAuthor',
  })
  M.set_body(block, value.str(source.text) or '')
  return block
end

---@type table<string, fun(self: adjutant.Transcript, entry: table, id: string): adjutant.Block>
local ENTRIES = {
  prompt = function(self, entry, id)
    local block = M.message(self, id, 'user')
    block.title = M.author_title(self, entry.author)
    M.set_body(block, value.str(entry.text) or '')
    block.ref = M.ref_of(entry.ref)
    return block
  end,
  steer = function(self, entry)
    return M.steer(self, entry)
  end,
  assistant = function(self, entry, id)
    local block = M.message(self, id, 'assistant')
    block.title = own_title(self, value.str(entry.model))
    block.thinking = value.str(entry.thinking) or ''
    M.set_body(block, value.str(entry.text) or '')
    block.ref = M.ref_of(entry.ref)
    return block
  end,
  tool = function(self, entry)
    local block = M.tool(self, entry, entry.toolKind)
    M.set_tool_title(self, block, value.str(entry.outcome))
    M.set_tool_output(block, entry)
    return block
  end,
  customMessage = function(self, entry, id)
    return M.card(self, M.message_key(id), entry)
  end,
  notice = function(self, entry, id)
    return M.notice(self, M.message_key(id), entry.level, entry.text)
  end,
  run = function(self, entry)
    return M.run(self, entry)
  end,
}

--- An entry of a kind that this client does not know is named, so that nothing is hidden silently.
---@param self adjutant.Transcript
---@param entry table
---@return adjutant.Block?
function M.of_entry(self, entry)
  local id, kind = value.str(entry.entryId), value.str(entry.kind)
  if not id or not kind then
    return nil
  end
  local make = ENTRIES[kind]
  local block = make and make(self, entry, id) or M.notice(self, M.message_key(id), 'info', ('(%s)'):format(kind))
  block.seq = value.num(entry.seq)
  return block
end

return M
