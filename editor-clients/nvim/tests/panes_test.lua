--- Roster and viewers in a real editor: live rows, streaming with a gap, keys, and windows that come and go.
local client = require('adjutant.client')
local fake = require('fake_server')
local harness = require('harness')
local methods = require('adjutant.protocol_gen').methods
local panel = require('adjutant.panel')
local viewer = require('adjutant.viewer')

local eq, has, wait, text = harness.eq, harness.has, harness.wait, harness.text

---@param server adjutant.FakeServer
---@param agents table[]
---@return integer bufnr
local function roster(server, agents)
  for _, agent in ipairs(agents) do
    server.agents[agent.agentId] = agent
  end
  vim.cmd('Adjutant fleet')
  harness.ready()
  local bufnr = vim.api.nvim_get_current_buf()
  harness.settle(150)
  return bufnr
end

---@param bufnr integer
---@param part string
local function wait_text(bufnr, part)
  local found = vim.wait(3000, function()
    return text(bufnr):find(part, 1, true) ~= nil
  end, 5)
  if not found then
    has(text(bufnr), part)
  end
end

---@param server adjutant.FakeServer
---@param page table?
---@param next_seq integer?
local function serve(server, page, next_seq)
  server.answers[methods.agent_open] = function(params)
    return { summary = server.agents[params.agentId], page = page or fake.page(), nextSeq = next_seq or 1 }
  end
end

--- An agent's viewer that is live.
---@param server adjutant.FakeServer
---@param page table?
---@param next_seq integer?
---@return integer bufnr
---@return adjutant.Viewer
local function open(server, page, next_seq)
  serve(server, page, next_seq)
  server.agents.a = server.agents.a or fake.agent('a')
  local connection = harness.ready()
  local bufnr = viewer.show(connection, 'agent', 'a')
  wait(function()
    return viewer.of(bufnr).phase == 'live'
  end, 'viewer live')
  harness.settle(60)
  return bufnr, viewer.of(bufnr)
end

---@param from integer
---@param to integer
---@return table[]
local function notes(from, to)
  local entries = {}
  for seq = from, to do
    entries[#entries + 1] =
      { kind = 'notice', entryId = 'n' .. seq, seq = seq, level = 'info', text = ('note %d'):format(seq) }
  end
  return entries
end

local T = {}

T['roster: rows follow the server'] = function()
  local server = harness.start()
  local bufnr = roster(server, {})
  has(text(bufnr), 'No agents yet')
  server:change({ fake.agent('lead', { createdAt = 1, startedAt = nil }) })
  wait_text(bufnr, '● lead  Look at lead · running')
  server:change({ fake.agent('kid', { createdAt = 2, parentId = 'lead', waitingOn = 'approval' }) })
  wait_text(bufnr, '  ● kid  Look at kid · needs approval')
  server:change({ fake.agent('kid', { createdAt = 2, parentId = 'lead', status = 'error', error = 'no model' }) })
  wait_text(bufnr, '  ✗ kid  Look at kid · error · no model')
  server:change({}, { 'kid', 'lead' })
  wait_text(bufnr, 'No agents yet')
  eq(vim.bo[bufnr].modifiable, false)
end

T['roster: the cursor stays on its agent'] = function()
  local server = harness.start()
  local bufnr = roster(server, { fake.agent('b', { createdAt = 5 }), fake.agent('c', { createdAt = 6 }) })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  server:change({ fake.agent('a', { createdAt = 1 }) })
  wait_text(bufnr, '● a')
  eq(vim.api.nvim_win_get_cursor(0)[1], 3)
  server:change({}, { 'a', 'b' })
  wait(function()
    return vim.api.nvim_buf_line_count(bufnr) == 1
  end)
  eq(vim.api.nvim_win_get_cursor(0)[1], 1)
end

T['roster: keys stop, steer, resume, show a result'] = function()
  local server = harness.start()
  roster(
    server,
    { fake.agent('a', { createdAt = 1 }), fake.agent('z', { createdAt = 2, status = 'completed', unread = true }) }
  )
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  harness.answer('hurry up')
  harness.press('s')
  wait(function()
    return server:of(methods.agent_steer)[1]
  end)
  eq(server:of(methods.agent_steer)[1].params, { agentId = 'a', message = 'hurry up' })
  harness.press('x')
  wait(function()
    return server:of(methods.agent_stop)[1]
  end)
  eq(server:of(methods.agent_stop)[1].params, { agentId = 'a', scope = 'one' })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  harness.press('s')
  has(harness.told(), 'has ended; resume it instead')
  harness.press('r')
  wait(function()
    return server:of(methods.agent_resume)[1]
  end)
  eq(server:of(methods.agent_resume)[1].params, { agentId = 'z', prompt = 'hurry up' })
  harness.press('p')
  wait(function()
    return #server:of(methods.agent_seen) == 1
  end)
  has(text(0), 'The answer.')
  eq(server:of(methods.agent_seen)[1].params, { agentId = 'z', run = 1 })
end

T['roster: a stop asks where others run below, a wide stop always'] = function()
  local server = harness.start()
  roster(server, {
    fake.agent('a', { createdAt = 1 }),
    fake.agent('b', { createdAt = 2, parentId = 'a' }),
    fake.agent('c', { createdAt = 3, sessionId = 's2' }),
  })
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  local labels
  vim.ui.select = function(items, options, done)
    labels = vim.tbl_map(options.format_item, items)
    done(items[1])
  end
  harness.press('x')
  wait(function()
    return server:of(methods.agent_stop)[1]
  end)
  eq(labels, { '@a and all below it', '@a only' })
  eq(server:of(methods.agent_stop)[1].params.scope, 'subtree')
  vim.ui.select = function(items, options, done)
    labels = vim.tbl_map(options.format_item, items)
    done(items[3])
  end
  harness.press('X')
  wait(function()
    return server:of(methods.agent_stop_all)[1]
  end)
  eq(labels, {
    '@a and all below it (2 agents)',
    'every agent of its session (2 agents)',
    'every agent of this server (3 agents)',
  })
  eq(server:of(methods.agent_stop_all)[1].params, vim.empty_dict())
  wait(function()
    return harness.told():find('stopping 2', 1, true)
  end)
end

T['roster: help lists the keys and closes'] = function()
  local server = harness.start()
  roster(server, {})
  local window = vim.api.nvim_get_current_win()
  harness.press('?')
  has(text(0), 'steer: send it a message')
  harness.press('q')
  eq(vim.api.nvim_get_current_win(), window)
end

T['roster: closed, wiped and opened again'] = function()
  local server = harness.start()
  local bufnr = roster(server, { fake.agent('a') })
  harness.press('q')
  server:change({ fake.agent('b') })
  harness.settle(150)
  vim.cmd('Adjutant fleet')
  eq(vim.api.nvim_get_current_buf(), bufnr)
  wait_text(bufnr, '● b')
  vim.api.nvim_buf_delete(bufnr, { force = true })
  eq(panel.of(bufnr), nil)
  server:change({ fake.agent('c') })
  harness.settle(150)
  vim.cmd('Adjutant fleet')
  wait_text(vim.api.nvim_get_current_buf(), '● c')
  vim.cmd('Adjutant! fleet')
  eq(#vim.fn.win_findbuf(vim.fn.bufnr('adjutant://fleet')), 0)
  eq(harness.told(), '')
end

T['roster: a dead server is said, and R starts another'] = function()
  local server = harness.start()
  local bufnr = roster(server, { fake.agent('a') })
  server:die(1)
  wait_text(bufnr, 'The server ended (exit code 1)')
  harness.press('R')
  wait_text(bufnr, '● a')
end

T['roster: with no screen line to spare'] = function()
  local server = harness.start()
  roster(server, { fake.agent('a') })
  vim.cmd('silent! only')
  harness.press('q')
  harness.settle(50)
  eq(vim.api.nvim_buf_get_name(0), '')
end

T['viewer: what is streamed is shown, and the tail followed'] = function()
  local server = harness.start()
  local bufnr = open(server)
  server:event('a', 1, { type = 'messageStart', entryId = 'e', role = 'assistant' })
  server:event('a', 2, { type = 'textDelta', entryId = 'e', offset = 0, text = 'One' })
  wait_text(bufnr, 'One')
  server:event('a', 3, { type = 'textDelta', entryId = 'e', offset = 3, text = '\nTwo\nThree' })
  wait_text(bufnr, 'Three')
  eq(vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(bufnr))
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  server:event('a', 4, { type = 'textDelta', entryId = 'e', offset = 13, text = '\nFour' })
  wait_text(bufnr, 'Four')
  eq(vim.api.nvim_win_get_cursor(0)[1], 1, 'the cursor was moved up')
  eq(vim.bo[bufnr].modifiable, false)
end

T['viewer: a gap opens again, and nothing is lost or doubled'] = function()
  local server = harness.start()
  local bufnr = open(server)
  server:event('a', 1, { type = 'messageStart', entryId = 'e1', role = 'assistant' })
  server:event('a', 2, { type = 'textDelta', entryId = 'e1', offset = 0, text = 'first' })
  wait_text(bufnr, 'first')
  local entry = { kind = 'assistant', entryId = 'e1', seq = 4, text = 'first and whole', model = 'm' }
  serve(server, fake.page({ entry }), 6)
  server:event('a', 5, { type = 'modelChanged', model = 'lost before' })
  -- These come while the page is under way: one that it has, one that follows.
  server:event('a', 5, { type = 'modelChanged', model = 'in the page already' })
  server:event('a', 6, { type = 'modelChanged', model = 'after the page' })
  wait_text(bufnr, 'after the page')
  has(text(bufnr), 'first and whole')
  eq(#server:of(methods.agent_open), 2)
  eq(text(bufnr):find('in the page already', 1, true), nil)
end

T['viewer: a server that always leaves gaps is not flooded'] = function()
  local server = harness.start()
  local _, shown = open(server)
  for _ = 1, 50 do
    server:event('a', 99, { type = 'usage' })
    harness.settle(10)
  end
  harness.ok(#server:of(methods.agent_open) <= 5, #server:of(methods.agent_open))
  harness.ok(shown.gaps > 0)
end

T['viewer: earlier messages on demand, the cursor stays on its line'] = function()
  local server = harness.start()
  server.answers[methods.agent_transcript] = function(params)
    eq(params.before, 11)
    return fake.page(notes(1, 10))
  end
  local bufnr = open(server, fake.page(notes(11, 20), { hasMore = true, total = 20 }), 21)
  has(text(bufnr), 'earlier messages')
  vim.fn.search('note 15')
  local line = vim.api.nvim_get_current_line()
  harness.press('P')
  wait_text(bufnr, 'note 1\n')
  eq(vim.api.nvim_get_current_line(), line)
  eq(text(bufnr):find('earlier messages', 1, true), nil)
end

T['viewer: <CR> on the first line loads earlier messages'] = function()
  local server = harness.start()
  server.answers[methods.agent_transcript] = fake.page(notes(1, 2))
  local bufnr = open(server, fake.page(notes(3, 4), { hasMore = true }), 5)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  harness.press('<CR>')
  wait_text(bufnr, 'note 1')
end

T['viewer: <CR> leads to a place, an agent, a large text; no other address is opened'] = function()
  local server = harness.start()
  server.agents.kid = fake.agent('kid')
  server.answers[methods.document] = { text = 'all of it', languageId = 'markdown', revision = 1 }
  local uri = vim.uri_from_fname(harness.client .. '/stylua.toml')
  local function tool(id, fields)
    return vim.tbl_extend('force', { kind = 'tool', entryId = id, toolCallId = id, name = id, seq = 1 }, fields)
  end
  local range = { start = { line = 2, character = 0 }, ['end'] = { line = 2, character = 1 } }
  local bufnr = open(
    server,
    fake.page({
      tool('place', { locations = { { uri = uri, range = range } } }),
      tool('child', { agentId = 'kid' }),
      tool('large', { ref = { bytes = 99999, entryId = 'large', uri = 'adjutant://text/large' } }),
      tool('web', { locations = { { uri = 'https://example.org/' } } }),
    }),
    2
  )
  local window = vim.api.nvim_get_current_win()
  local function follow(name)
    vim.api.nvim_set_current_win(window)
    eq(vim.api.nvim_get_current_buf(), bufnr)
    vim.fn.cursor(1, 1)
    vim.fn.search(name)
    harness.press('<CR>')
    harness.settle(80)
  end
  follow('place')
  eq({ vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] }, { harness.client .. '/stylua.toml', 3 })
  follow('child')
  eq(vim.api.nvim_buf_get_name(0), 'adjutant://agent/kid')
  follow('large')
  eq(text(0), 'all of it')
  follow('web')
  eq(vim.api.nvim_get_current_win(), window)
  has(harness.told(), 'not a file')
end

T['viewer: stop and steer from it'] = function()
  local server = harness.start()
  open(server)
  harness.answer('look here')
  harness.press('s')
  harness.press('x')
  wait(function()
    return server:of(methods.agent_steer)[1] and server:of(methods.agent_stop)[1]
  end)
  eq(server:of(methods.agent_steer)[1].params.message, 'look here')
end

T['viewer: hidden it lets go, shown again it opens again'] = function()
  local server = harness.start()
  vim.cmd('enew')
  local bufnr = open(server)
  harness.press('q')
  wait(function()
    return #server:of(methods.agent_close) == 1
  end)
  server:event('a', 1, { type = 'modelChanged', model = 'unseen' })
  serve(server, fake.page(notes(1, 3)), 4)
  vim.cmd('Adjutant open a')
  eq(vim.api.nvim_get_current_buf(), bufnr)
  wait_text(bufnr, 'note 3')
  server:event('a', 4, { type = 'modelChanged', model = 'seen' })
  wait_text(bufnr, 'seen')
  eq(#server:of(methods.agent_open), 2)
end

T['viewer: moved to another window it stays open'] = function()
  local server = harness.start()
  local bufnr, shown = open(server)
  vim.cmd('split')
  vim.cmd('close')
  harness.settle(50)
  eq({ #server:of(methods.agent_close), shown.phase }, { 0, 'live' })
  vim.cmd('tab split')
  eq(vim.api.nvim_get_current_buf(), bufnr)
end

T['viewer: wiped while events come, then opened again'] = function()
  local server = harness.start()
  local bufnr = open(server)
  for seq = 1, 20 do
    server:event('a', seq, { type = 'modelChanged', model = 'm' .. seq })
    if seq == 10 then
      vim.api.nvim_buf_delete(bufnr, { force = true })
    end
  end
  harness.settle(100)
  eq(viewer.of(bufnr), nil)
  eq(#server:of(methods.agent_close), 1)
  bufnr = open(server, fake.page(notes(1, 2)), 3)
  has(text(bufnr), 'note 2')
  eq(harness.told(), '')
end

T['viewer: unloaded, then edited by its name'] = function()
  local server = harness.start()
  local bufnr = open(server)
  vim.cmd('bdelete! ' .. bufnr)
  serve(server, fake.page(notes(1, 2)), 3)
  vim.cmd.edit('adjutant://agent/a')
  wait_text(vim.api.nvim_get_current_buf(), 'note 2')
  vim.cmd.edit()
  wait_text(vim.api.nvim_get_current_buf(), 'note 2')
end

T['viewer: an agent that is gone, and an answer that cannot be read'] = function()
  local server = harness.start()
  server.answers[methods.agent_open] = function()
    return nil, { code = -32010, message = 'unknown agent', data = { kind = 'unknownAgent', hint = 'list again' } }
  end
  local connection = harness.ready()
  local bufnr = viewer.show(connection, 'agent', 'nobody')
  wait_text(bufnr, 'cannot be opened: unknown agent (list again)')
  server.answers[methods.agent_open] = { page = 'x' }
  harness.press('R')
  wait_text(bufnr, 'the answer cannot be read')
  serve(server, fake.page(notes(1, 1)), 2)
  harness.press('R')
  wait_text(bufnr, 'note 1')
end

T['viewer: nonsense in the stream'] = function()
  local server = harness.start()
  local bufnr, shown = open(server)
  for seq, event in ipairs({ 'x', 7, vim.NIL, {}, { type = 'later' }, { type = 'textDelta', text = {} } }) do
    server:notify(methods.agent_event, { agentId = 'a', seq = seq, event = event })
  end
  server:event('a', 7, { type = 'modelChanged', model = '\27[2J\nmodel' })
  wait_text(bufnr, '┊ model [2J model')
  eq(shown.phase, 'live')
end

T['viewer: a restart follows to the new server'] = function()
  local server = harness.start()
  local bufnr = open(server)
  server:die(9)
  wait_text(bufnr, 'the server ended')
  serve(server, fake.page(notes(1, 1)), 2)
  client.restart(harness.client)
  wait_text(bufnr, 'note 1')
  server:event('a', 2, { type = 'modelChanged', model = 'again' })
  wait_text(bufnr, 'again')
end

T['viewer: a fast stream keeps the editor free'] = function()
  local server = harness.start()
  local bufnr = open(server)
  server:event('a', 1, { type = 'messageStart', entryId = 'e', role = 'assistant' })
  local offset = 0
  for seq = 2, 5001 do
    local word = seq % 20 == 0 and 'word\n' or 'word '
    server:event('a', seq, { type = 'textDelta', entryId = 'e', offset = offset, text = word })
    offset = offset + #word
  end
  local started, longest, last = vim.uv.now(), 0, vim.uv.now()
  vim.wait(5000, function()
    vim.uv.update_time()
    longest, last = math.max(longest, vim.uv.now() - last), vim.uv.now()
    return viewer.of(bufnr).model.next_seq == 5002
  end, 1)
  harness.settle(60)
  eq(viewer.of(bufnr).model.next_seq, 5002)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  eq(vim.list_slice(lines, 1, #lines - 1), require('adjutant.transcript').lines(viewer.of(bufnr).model))
  harness.ok(vim.uv.now() - started < 5000)
end

return T
