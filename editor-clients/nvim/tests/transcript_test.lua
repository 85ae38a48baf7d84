--- Pages and events as lines, and the edits that keep a screen equal to them.
local harness = require('harness')
local transcript = require('adjutant.transcript')

local eq, has = harness.eq, harness.has

local USAGE = { input = 1000, output = 234, cacheRead = 0, cacheWrite = 0, total = 1234 }

---@param entries table[]?
---@param fields table?
---@return adjutant.Transcript
local function loaded(entries, fields)
  local model = transcript.new('@scout')
  local page =
    vim.tbl_extend('force', { entries = entries or {}, hasMore = false, total = 0, asOfSeq = 0 }, fields or {})
  harness.ok(transcript.load(model, page, fields and fields.next or 1))
  return model
end

---@param model adjutant.Transcript
---@param events table[]
---@return string[] verdicts
local function play(model, events)
  return vim.tbl_map(function(event)
    return transcript.apply(model, model.next_seq, event)
  end, events)
end

---@param model adjutant.Transcript
---@return string
local function shown(model)
  return table.concat(transcript.lines(model), '\n')
end

--- A screen: the edits are applied to a list of lines.
---@return { lines: string[], update: fun(model: adjutant.Transcript) }
local function screen()
  local self = { lines = {} }
  function self.update(model)
    for _, edit in ipairs(transcript.edits(model)) do
      local after = vim.list_slice(self.lines, edit.last + 1)
      harness.ok(edit.last <= #self.lines, 'edit past the end')
      self.lines = vim.list_extend(vim.list_extend(vim.list_slice(self.lines, 1, edit.first), edit.lines), after)
    end
  end
  return self
end

---@param index integer
---@return table
local function note(index)
  return { kind = 'notice', entryId = 'n' .. index, seq = index, level = 'info', text = 'note ' .. index }
end

local T = {}

T['every kind of entry'] = function()
  local model = loaded({
    { kind = 'prompt', entryId = 'e1', seq = 1, run = 1, author = 'parent', text = 'Find it.' },
    {
      kind = 'assistant',
      entryId = 'e2',
      seq = 2,
      run = 1,
      thinking = 'Hm.',
      text = 'Looking.',
      model = 'acme/large',
      usage = USAGE,
    },
    {
      kind = 'tool',
      entryId = 'e3',
      seq = 3,
      run = 1,
      toolCallId = 't1',
      name = 'grep',
      toolKind = 'search',
      title = 'parse_line',
      outcome = 'ok',
      text = 'a.rs:1\nb.rs:2\n',
      locations = {},
    },
    { kind = 'steer', entryId = 'e4', seq = 4, run = 1, steerId = 's1', author = 'user', text = 'Faster.' },
    {
      kind = 'customMessage',
      entryId = 'e5',
      seq = 5,
      run = 1,
      customType = 'news',
      card = { icon = 'x', title = 'Agent done', lines = { 'one', 'two' }, actions = {} },
    },
    { kind = 'notice', entryId = 'e6', seq = 6, run = 1, level = 'warning', text = 'slow' },
    { kind = 'run', entryId = 'e7', seq = 7, run = 1, startedAt = 1, stopReason = 'endTurn', turns = 2, usage = USAGE },
    { kind = 'hologram', entryId = 'e8', seq = 8, run = 1 },
  })
  eq(
    shown(model),
    table.concat({
      '▌ Task',
      'Find it.',
      '',
      '▌ @scout · acme/large',
      '┊ Hm.',
      'Looking.',
      '',
      '  ✓ grep · parse_line',
      '  │ a.rs:1',
      '  │ b.rs:2',
      '',
      '▌ You · steer',
      'Faster.',
      '',
      '▌ Agent done',
      'one',
      'two',
      '',
      '┊ warning: slow',
      '',
      '── run 1 ended · 2 turns · 1.2k token ──',
      '',
      '┊ (hologram)',
      '',
    }, '\n')
  )
end

T['a run as it streams'] = function()
  local model, view = loaded(), screen()
  local verdicts = play(model, {
    { type = 'runStart', run = 1, author = 'parent' },
    { type = 'messageEnd', entryId = 'e1', role = 'user', author = 'parent', text = 'Go.' },
    { type = 'turnStart', turn = 1 },
    { type = 'messageStart', entryId = 'e2', role = 'assistant' },
    { type = 'thinkingDelta', entryId = 'e2', offset = 0, text = 'Let me' },
    { type = 'thinkingDelta', entryId = 'e2', offset = 6, text = ' see.' },
    { type = 'textDelta', entryId = 'e2', offset = 0, text = 'First ' },
    { type = 'textDelta', entryId = 'e2', offset = 6, text = 'line.\nSecond' },
  })
  view.update(model)
  play(model, {
    { type = 'textDelta', entryId = 'e2', offset = 18, text = ' line.' },
    { type = 'toolCallDelta', entryId = 'e2', toolCallId = 't1', name = 'bash', offset = 0, text = '{' },
    { type = 'messageEnd', entryId = 'e2', role = 'assistant', text = 'First line.\nSecond line.' },
    { type = 'toolStart', toolCallId = 't1', name = 'bash', kind = 'execute', title = 'cargo test', locations = {} },
    { type = 'toolUpdate', toolCallId = 't1', text = 'running' },
  })
  view.update(model)
  has(table.concat(view.lines, '\n'), '  ● bash · cargo test (running)\n  │ running')
  play(model, {
    { type = 'toolEnd', toolCallId = 't1', outcome = 'error', text = 'failed: 1' },
    { type = 'turnEnd', turn = 1, usage = USAGE },
    { type = 'runEnd', run = 1, stopReason = 'error', error = 'no model', usage = USAGE },
  })
  view.update(model)
  for _, verdict in ipairs(verdicts) do
    eq(verdict, 'applied')
  end
  eq(view.lines, transcript.lines(model))
  eq(
    shown(model),
    table.concat({
      '▌ Task',
      'Go.',
      '',
      '▌ @scout',
      '┊ Let me see.',
      'First line.',
      'Second line.',
      '',
      '  ✗ bash · cargo test (failed)',
      '  │ failed: 1',
      '',
      '── run 1 ended · error · 1 turn · 1.2k token ──',
      'no model',
      '',
    }, '\n')
  )
  eq(model.running, false)
end

T['seq: old is ignored, a gap is told'] = function()
  local model = loaded({}, { next = 5 })
  eq(transcript.apply(model, 4, { type = 'usage', usage = USAGE }), 'old')
  eq(transcript.apply(model, 6, { type = 'usage', usage = USAGE }), 'gap')
  eq(transcript.apply(model, 5, { type = 'usage', usage = USAGE }), 'applied')
  eq(transcript.apply(model, nil, {}), 'gap')
  eq(transcript.apply(model, 'x', {}), 'gap')
end

T['offsets: what is known is not repeated, what is missing is a gap'] = function()
  local model = loaded()
  play(model, { { type = 'messageStart', entryId = 'e', role = 'assistant' } })
  play(model, { { type = 'textDelta', entryId = 'e', offset = 0, text = 'abc' } })
  eq(play(model, { { type = 'textDelta', entryId = 'e', offset = 1, text = 'bcd' } }), { 'applied' })
  has(shown(model), 'abcd')
  eq(play(model, { { type = 'textDelta', entryId = 'e', offset = 9, text = 'z' } }), { 'gap' })
  eq(play(model, { { type = 'textDelta', entryId = 'unknown', offset = 3, text = 'z' } }), { 'gap' })
end

T['a message that is under way when it is opened'] = function()
  local partial = { entryId = 'e', text = 'world', textOffset = 6, thinking = '', thinkingOffset = 0 }
  local model = loaded({}, { partial = partial })
  eq(play(model, { { type = 'textDelta', entryId = 'e', offset = 11, text = '!' } }), { 'applied' })
  has(shown(model), 'world!')
  play(model, { { type = 'messageEnd', entryId = 'e', role = 'assistant', text = 'Hello world!' } })
  has(shown(model), 'Hello world!')
end

T['unknown events and nonsense count their seq and do nothing'] = function()
  local model = loaded()
  local before = shown(model)
  local verdicts = play(model, {
    { type = 'telepathy', text = 'x' },
    { type = 'textDelta' },
    { type = 'textDelta', entryId = {}, offset = 'x', text = 7 },
    { type = 'messageEnd' },
    { type = 'toolEnd', toolCallId = 'nobody' },
    { type = 'toolUpdate', toolCallId = {} },
    { type = 'customMessage', entryId = 'c', card = 'x' },
    { type = 'steerQueued' },
    { type = {} },
    {},
  })
  eq(model.next_seq, 11)
  for _, verdict in ipairs(verdicts) do
    eq(verdict, 'applied')
  end
  eq(transcript.apply(model, 11, 'garbage'), 'applied')
  eq(transcript.apply(model, 12, vim.NIL), 'applied')
  harness.ok(#shown(model) >= #before)
end

T['pages that cannot be read are refused'] = function()
  local model = transcript.new('x')
  for _, page in ipairs({ 'x', 7, vim.NIL }) do
    eq(transcript.load(model, page, 1), false)
  end
  eq(transcript.load(model, { entries = {} }, nil), false)
  eq(transcript.load(model, { entries = { vim.NIL, 7, {}, { entryId = 'e' } }, hasMore = 'x' }, 1), true)
end

T['a steer is shown once'] = function()
  local model = loaded()
  play(model, {
    { type = 'steerQueued', steerId = 's', text = 'Stop it.', author = 'user' },
  })
  has(shown(model), '▌ You · steer, waits')
  play(model, {
    { type = 'steerDelivered', steerId = 's', text = 'Stop it.', author = 'user' },
    { type = 'messageStart', entryId = 'e', role = 'user' },
    { type = 'messageEnd', entryId = 'e', role = 'user', author = 'user', text = 'Stop it.' },
  })
  local _, count = shown(model):gsub('Stop it%.', '')
  eq(count, 1)
  play(model, { { type = 'steerExpired', steerId = 's2', text = 'Late', author = 'user' } })
  has(shown(model), 'steer, came too late')
end

T['a large text stands by its reference'] = function()
  local ref = { bytes = 40960, entryId = 'e', uri = 'adjutant://text/e' }
  local model = loaded({ { kind = 'assistant', entryId = 'e', seq = 1, ref = ref } })
  has(shown(model), '… 40 KiB in all (<CR> opens it)')
end

T['long tool output is folded, and unfolds'] = function()
  local output = table.concat(vim.fn.range(1, 30), '\n')
  local model = loaded({ { kind = 'tool', entryId = 'e', seq = 1, toolCallId = 't', name = 'bash', text = output } })
  has(shown(model), '  │ 8\n  │ … 22 more lines (<Tab>)')
  local view = screen()
  view.update(model)
  transcript.toggle(transcript.block_at(model, 3))
  view.update(model)
  eq(view.lines, transcript.lines(model))
  has(shown(model), '  │ 30')
  -- What was unfolded stays so when the page is read again.
  transcript.load(model, { entries = { { kind = 'tool', entryId = 'e', toolCallId = 't', text = output } } }, 2)
  has(shown(model), '  │ 30')
end

T['older pages come before'] = function()
  local model, view = loaded({ note(3), note(4) }, { hasMore = true }), screen()
  view.update(model)
  eq(transcript.first_seq(model), 3)
  has(view.lines[1], 'earlier messages')
  eq(transcript.prepend(model, { entries = { note(1), note(2), note(3) }, hasMore = false }), 2)
  view.update(model)
  eq(view.lines, transcript.lines(model))
  eq(view.lines[1], '┊ note 1')
  eq(model.has_more, false)
end

T['memory is bounded'] = function()
  local model, view = loaded(), screen()
  for index = 1, 6000 do
    play(model, { { type = 'modelChanged', model = 'm' .. index } })
    if index % 500 == 0 then
      view.update(model)
      eq(view.lines, transcript.lines(model))
    end
  end
  harness.ok(#model.blocks <= 2501)
  eq(model.has_more, true)
  play(model, { { type = 'messageStart', entryId = 'e', role = 'assistant' } })
  local offset = 0
  for _ = 1, 20 do
    local str = ('x\n'):rep(500)
    play(model, { { type = 'textDelta', entryId = 'e', offset = offset, text = str } })
    offset = offset + #str
  end
  view.update(model)
  eq(view.lines, transcript.lines(model))
  has(shown(model), 'more lines are not shown')
end

T['a screen stays equal under random events'] = function()
  math.randomseed(7)
  for _ = 1, 60 do
    local model, view, lengths = loaded(), screen(), {}
    for step = 1, 120 do
      local id = 'e' .. math.random(4)
      local choice = math.random(7)
      local event
      if choice <= 3 then
        local str = ({ 'a', 'b\n', '\n\n', 'ccc\nd' })[math.random(4)]
        event = { type = 'textDelta', entryId = id, offset = lengths[id] or 0, text = str }
        lengths[id] = (lengths[id] or 0) + #str
      elseif choice == 4 then
        event = { type = 'thinkingDelta', entryId = id, offset = 0, text = 'hm' }
      elseif choice == 5 then
        event = { type = 'toolStart', toolCallId = id, name = 'x', kind = 'read', title = 't', locations = {} }
      elseif choice == 6 then
        event = { type = 'toolEnd', toolCallId = id, outcome = 'ok', text = ('l\n'):rep(math.random(20)) }
      else
        event = { type = 'messageEnd', entryId = id, role = 'assistant', text = 'whole\ntext ' .. step }
        lengths[id] = #event.text
      end
      eq(transcript.apply(model, model.next_seq, event), 'applied', vim.inspect(event))
      if math.random(3) == 1 then
        view.update(model)
        eq(view.lines, transcript.lines(model))
      end
    end
  end
end

T['plain glyphs'] = function()
  local model = transcript.new('@a', require('adjutant.blocks').glyphs.ascii)
  transcript.load(model, { entries = { { kind = 'prompt', entryId = 'e', author = 'user', text = 'x' } } }, 1)
  eq(transcript.lines(model)[1], '## You')
end

return T
