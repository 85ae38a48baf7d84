--- A conversation as lines of text: pages and events are folded into blocks, blocks into edits of a list of lines.
--- Pure: no editor call, no clock.
local blocks = require('adjutant.blocks')
local text = require('adjutant.text')
local value = require('adjutant.value')

local M = {}

--- Past this the oldest blocks are dropped; they can be paged in again.
local MAX_BLOCKS, TRIM_TO = 2500, 2000

---@class adjutant.Transcript
---@field title string what its own messages are headed with
---@field glyphs adjutant.TranscriptGlyphs
---@field blocks adjutant.Block[]
---@field by_key table<string, adjutant.Block>
---@field next_seq number
---@field has_more boolean
---@field total number
---@field gone integer lines at the top of the screen whose blocks were dropped
---@field reloaded boolean everything was replaced since the last look
---@field running boolean
---@field turn integer
---@field run integer
---@field activity string? what happens now and has no block
---@field usage table?
---@field context number? percent of the context window in use
---@field queued table<string, boolean> prompts that wait

---@param title string what the model's messages are headed with
---@param glyphs adjutant.TranscriptGlyphs?
---@return adjutant.Transcript
function M.new(title, glyphs)
  return {
    title = title,
    glyphs = glyphs or blocks.glyphs.unicode,
    blocks = {},
    by_key = {},
    next_seq = 1,
    has_more = false,
    total = 0,
    gone = 0,
    reloaded = false,
    running = false,
    turn = 0,
    run = 0,
    queued = {},
  }
end

--- Tool calls stand close together; what follows them stands apart.
---@param before adjutant.Block?
---@param block adjutant.Block
local function lead(before, block)
  block.lead = before ~= nil and before.kind == 'tool' and block.kind ~= 'tool'
end

---@param self adjutant.Transcript
---@param block adjutant.Block
---@return adjutant.Block
local function append(self, block)
  lead(self.blocks[#self.blocks], block)
  self.blocks[#self.blocks + 1] = block
  self.by_key[block.key] = block
  return block
end

---@param self adjutant.Transcript
local function head_block(self)
  local first = self.blocks[1]
  local has = first and first.kind == 'earlier'
  if self.has_more and not has then
    local block = blocks.new('earlier', 'earlier', {
      title = ('%s earlier messages (<CR> here, or P) %s'):format(self.glyphs.rule, self.glyphs.rule),
      title_hl = 'AdjutantRule',
    })
    table.insert(self.blocks, 1, block)
  elseif has and not self.has_more then
    self.gone = self.gone + first.drawn
    table.remove(self.blocks, 1)
  end
end

---@param self adjutant.Transcript
local function trim(self)
  if #self.blocks <= MAX_BLOCKS then
    return
  end
  local kept = {}
  local drop = #self.blocks - TRIM_TO
  for index, block in ipairs(self.blocks) do
    if index <= drop then
      self.gone = self.gone + block.drawn
      self.by_key[block.key] = nil
    else
      kept[#kept + 1] = block
    end
  end
  self.blocks, self.has_more = kept, true
  head_block(self)
end

--- Replaces everything by what an open or subscribe answered.
---@param self adjutant.Transcript
---@param page any
---@param next_seq any
---@return boolean ok false where the answer cannot be read
function M.load(self, page, next_seq)
  local data = value.tbl(page)
  local next_number = value.num(next_seq)
  if not data or not next_number then
    return false
  end
  for _, block in ipairs(self.blocks) do
    self.gone = self.gone + block.drawn
  end
  local before = self.by_key
  self.reloaded = true
  self.blocks, self.by_key, self.queued, self.activity = {}, {}, {}, nil
  self.next_seq, self.total = next_number, value.num(data.total) or 0
  self.has_more = value.bool(data.hasMore)
  for _, entry in ipairs(value.tables(data.entries)) do
    local block = blocks.of_entry(self, entry)
    if block and not self.by_key[block.key] then
      local known = before[block.key]
      block.expanded = known ~= nil and known.expanded
      append(self, block)
    end
  end
  local partial = value.tbl(data.partial)
  if partial and value.str(partial.entryId) then
    local block = append(self, blocks.message(self, partial.entryId, 'assistant'))
    block.thinking = value.str(partial.thinking) or ''
    block.thinking_len = (value.num(partial.thinkingOffset) or 0) + #block.thinking
    blocks.set_body(block, value.str(partial.text) or '')
    block.body_len = (value.num(partial.textOffset) or 0) + block.body_len
    -- Its head may be left out; then the whole text at its end must replace it.
    block.streamed, block.cut = true, (value.num(partial.textOffset) or 0) > 0
  end
  head_block(self)
  return true
end

--- The seq that an older page must end before.
---@param self adjutant.Transcript
---@return number?
function M.first_seq(self)
  for _, block in ipairs(self.blocks) do
    if block.seq then
      return block.seq
    end
  end
end

--- Puts an older page before what is there.
---@param self adjutant.Transcript
---@param page any
---@return integer count blocks that are new
function M.prepend(self, page)
  local data = value.tbl(page) or {}
  local older = {}
  for _, entry in ipairs(value.tables(data.entries)) do
    local block = blocks.of_entry(self, entry)
    if block and not self.by_key[block.key] then
      older[#older + 1] = block
      self.by_key[block.key] = block
    end
  end
  local first = self.blocks[1]
  local at = first and first.kind == 'earlier' and 2 or 1
  for index, block in ipairs(older) do
    lead(older[index - 1], block)
    table.insert(self.blocks, at + index - 1, block)
  end
  local after = self.blocks[at + #older]
  if after and #older > 0 then
    lead(older[#older], after)
    blocks.touch(after, 0)
  end
  self.has_more = value.bool(data.hasMore)
  head_block(self)
  return #older
end

---@param self adjutant.Transcript
---@param event table
---@param field 'body_len'|'thinking_len'
---@param add fun(block: adjutant.Block, delta: string)
---@return 'gap'?
local function delta(self, event, field, add)
  local id, str, offset = value.str(event.entryId), value.str(event.text), value.num(event.offset)
  if not id or not str or not offset then
    return nil
  end
  local block = self.by_key[blocks.message_key(id)]
  if not block then
    if offset > 0 then
      return 'gap'
    end
    block = append(self, blocks.message(self, id, 'assistant'))
  end
  local have = block[field]
  if offset > have then
    return 'gap'
  end
  local fresh = str:sub(have - offset + 1)
  if fresh ~= '' then
    block.streamed = true
    add(block, fresh)
  end
end

--- A steer's message is shown by its steer block already.
---@param self adjutant.Transcript
---@param entry_id string
---@param content string?
---@return boolean claimed
local function claim_steer(self, entry_id, content)
  for index = #self.blocks, math.max(1, #self.blocks - 50), -1 do
    local block = self.blocks[index]
    if block.kind == 'steer' and block.said and block.said == content then
      block.said = nil
      self.by_key[blocks.message_key(entry_id)] = block
      return true
    end
  end
  return false
end

---@param note string?
---@return fun(self: adjutant.Transcript, event: table)
local function steer_event(note)
  return function(self, event)
    local id = value.str(event.steerId)
    if not id then
      return
    end
    local fresh = blocks.steer(self, event, note)
    local block = self.by_key[fresh.key]
    if block then
      block.title, block.body = fresh.title, fresh.body
      blocks.touch(block, 0)
    else
      block = append(self, fresh)
    end
    block.said = note == nil and value.str(event.text) or nil
  end
end

---@param self adjutant.Transcript
---@param event table
local function message_end(self, event)
  local id = value.str(event.entryId)
  if not id then
    return
  end
  local content = value.str(event.text)
  local block = self.by_key[blocks.message_key(id)]
  if event.role == 'user' and claim_steer(self, id, content) then
    return
  end
  if not block then
    block = append(self, blocks.message(self, id, event.role))
  end
  if event.role == 'user' then
    block.title = blocks.author_title(self, event.author)
  end
  block.thinking = value.str(event.thinking) or block.thinking
  if content and not (block.streamed and not block.cut and block.body_len == #content) then
    blocks.set_body(block, content)
  end
  if not content and not block.streamed then
    block.ref = blocks.ref_of(event.ref)
  end
  blocks.touch(block, 0)
end

---@param self adjutant.Transcript
---@param key string
---@param level string
---@param message string
local function notice(self, key, level, message)
  append(self, blocks.notice(self, key, level, message))
end

--- What each event does; a type that is not here counts its seq and does nothing.
---@type table<string, fun(self: adjutant.Transcript, event: table, seq: number): 'gap'?>
local EVENTS = {
  runStart = function(self, event)
    self.running, self.turn, self.run, self.activity = true, 0, value.num(event.run) or self.run + 1, nil
  end,
  runEnd = function(self, event)
    self.running, self.activity = false, nil
    local ended = { run = event.run, stopReason = event.stopReason, error = event.error, usage = event.usage }
    ended.turns = self.turn
    local block = blocks.run(self, ended)
    if not self.by_key[block.key] then
      append(self, block)
    end
  end,
  turnStart = function(self, event)
    self.running, self.turn, self.activity = true, value.num(event.turn) or self.turn + 1, nil
  end,
  messageStart = function(self, event)
    local id = value.str(event.entryId)
    self.activity = nil
    if id and event.role ~= 'user' and not self.by_key[blocks.message_key(id)] then
      append(self, blocks.message(self, id, event.role))
    end
  end,
  textDelta = function(self, event)
    self.activity = nil
    return delta(self, event, 'body_len', function(block, str)
      blocks.extend_body(self, block, str)
    end)
  end,
  thinkingDelta = function(self, event)
    return delta(self, event, 'thinking_len', function(block, str)
      block.thinking = block.thinking .. str
      block.thinking_len = block.thinking_len + #str
      blocks.touch(block, 0)
    end)
  end,
  toolCallDelta = function(self, event)
    self.activity = 'calls ' .. text.clean(event.name)
  end,
  messageEnd = message_end,
  toolStart = function(self, event)
    self.activity = nil
    local block = blocks.tool(self, event, event.kind)
    if not self.by_key[block.key] then
      blocks.set_tool_title(self, append(self, block), nil)
    end
  end,
  toolUpdate = function(self, event)
    local block = self.by_key['t:' .. (value.str(event.toolCallId) or '')]
    if block then
      blocks.set_tool_output(block, event)
      blocks.touch(block, 0)
    end
  end,
  toolEnd = function(self, event)
    local block = self.by_key['t:' .. (value.str(event.toolCallId) or '')]
    if block then
      blocks.set_tool_output(block, event)
      blocks.set_tool_title(self, block, value.str(event.outcome) or 'ok')
    end
  end,
  customMessage = function(self, event)
    local id = value.str(event.entryId)
    if id and not self.by_key[blocks.message_key(id)] then
      append(self, blocks.card(self, blocks.message_key(id), event))
    end
  end,
  promptQueued = function(self, event)
    self.queued[value.str(event.promptId) or ''] = true
  end,
  promptStarted = function(self, event)
    self.queued[value.str(event.promptId) or ''] = nil
  end,
  promptWithdrawn = function(self, event)
    self.queued[value.str(event.promptId) or ''] = nil
  end,
  steerQueued = steer_event('waits'),
  steerDelivered = steer_event(nil),
  steerWithdrawn = steer_event('taken back'),
  steerExpired = steer_event('came too late'),
  retry = function(self, event, seq)
    local attempt, most = value.num(event.attempt) or 0, value.num(event.maxAttempts) or 0
    local wait = text.elapsed(value.num(event.delayMs) or 0)
    local message = ('attempt %d of %d in %s: %s'):format(attempt, most, wait, text.clean(event.error))
    notice(self, ('n:%d'):format(seq), 'warning', message)
  end,
  compactionStart = function(self)
    self.activity = 'shortens its history'
  end,
  compactionEnd = function(self, event, seq)
    self.activity = nil
    local failure = text.clean(event.error)
    local before, after = value.num(event.tokensBefore), value.num(event.tokensAfter)
    local message = 'history shortened'
    if failure ~= '' then
      message = 'history could not be shortened: ' .. failure
    elseif before and after then
      message = ('history shortened from %s to %s token'):format(text.count(before), text.count(after))
    end
    notice(self, ('n:%d'):format(seq), failure ~= '' and 'warning' or 'info', message)
  end,
  modelChanged = function(self, event, seq)
    notice(self, ('n:%d'):format(seq), 'info', 'model ' .. text.clean(event.model))
  end,
  usage = function(self, event)
    self.usage = value.tbl(event.usage) or self.usage
    self.context = value.num(event.contextPercent) or self.context
  end,
}

--- Folds one event in. `gap`: something is missing, open again. `old`: had already.
---@param self adjutant.Transcript
---@param seq any
---@param event any
---@return 'applied'|'old'|'gap'
function M.apply(self, seq, event)
  local number = value.num(seq)
  if not number then
    return 'gap'
  end
  if number < self.next_seq then
    return 'old'
  elseif number > self.next_seq then
    return 'gap'
  end
  self.next_seq = number + 1
  local data = value.tbl(event)
  local fold = data and value.str(data.type) and EVENTS[data.type]
  if fold and fold(self, data, number) == 'gap' then
    return 'gap'
  end
  trim(self)
  return 'applied'
end

---@class adjutant.Edit
---@field first integer first line replaced, from 0
---@field last integer line after the last one replaced
---@field lines string[]
---@field hls table<integer, string> highlight group by index into `lines`

---@param block adjutant.Block
---@param offset integer
---@param fresh { [1]: string, [2]: string? }[]
---@return adjutant.Edit
local function edit_of(block, offset, fresh)
  local edit =
    { first = offset + block.dirty, last = offset + math.max(block.drawn, block.dirty), lines = {}, hls = {} }
  for index, line in ipairs(fresh) do
    edit.lines[index] = line[1]
    edit.hls[index] = line[2]
  end
  return edit
end

--- The edits, in order, that bring the screen up to date; afterwards it is taken as drawn.
---@param self adjutant.Transcript
---@return adjutant.Edit[]
function M.edits(self)
  local edits = {}
  if self.gone > 0 then
    edits[1] = { first = 0, last = self.gone, lines = {}, hls = {} }
    self.gone = 0
  end
  local offset = 0
  for _, block in ipairs(self.blocks) do
    if block.dirty then
      block.dirty = math.min(block.dirty, block.drawn)
      local fresh = blocks.render(self, block, block.dirty)
      edits[#edits + 1] = edit_of(block, offset, fresh)
      block.drawn = block.dirty + #fresh
      block.dirty = nil
    end
    offset = offset + block.drawn
  end
  return edits
end

--- Forgets what was drawn: for a buffer that was emptied.
---@param self adjutant.Transcript
function M.undraw(self)
  self.gone = 0
  for _, block in ipairs(self.blocks) do
    block.drawn, block.dirty = 0, 0
  end
end

--- The block that shows a line, counted from 0.
---@param self adjutant.Transcript
---@param line integer
---@return adjutant.Block?
function M.block_at(self, line)
  local offset = 0
  for _, block in ipairs(self.blocks) do
    offset = offset + block.drawn
    if line < offset then
      return block
    end
  end
end

---@param block adjutant.Block
function M.toggle(block)
  if block.foldable then
    block.expanded = not block.expanded
    blocks.touch(block, 0)
  end
end

--- The whole as plain lines.
---@param self adjutant.Transcript
---@return string[]
function M.lines(self)
  local out = {}
  for _, block in ipairs(self.blocks) do
    for _, line in ipairs(blocks.render(self, block, 0)) do
      out[#out + 1] = line[1]
    end
  end
  return out
end

return M
