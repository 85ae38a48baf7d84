--- `:Adjutant`: parsing, completion, prompts with their answer, selections, and new agents.
local commands = require('adjutant.commands')
local fake = require('fake_server')
local harness = require('harness')
local methods = require('adjutant.protocol_gen').methods
local viewer = require('adjutant.viewer')

local eq, has, wait = harness.eq, harness.has, harness.wait

---@param line string
---@return string[]
local function complete(line)
  return vim.fn.getcompletion(line, 'cmdline')
end

---@param server adjutant.FakeServer
---@param method string
---@return table params
local function params_of(server, method)
  wait(function()
    return server:of(method)[1]
  end, method)
  return server:of(method)[1].params
end

local T = {}

T['completion: subcommands, types, handles'] = function()
  local server = harness.start()
  server.agents.scout = fake.agent('scout', { type = 'Mapper' })
  server.agents.done = fake.agent('done', { status = 'completed' })
  server.agents.odd = fake.agent('odd', { handle = 'two words' })
  harness.ready()
  eq(complete('Adjutant st'), { 'steer', 'stop', 'stopall' })
  eq(complete('Adjutant steer '), { 'scout' })
  eq(complete('Adjutant resume '), { 'done' })
  eq(complete('Adjutant open @s'), { '@scout' })
  eq(complete('Adjutant steer scout '), {})
  eq(complete('Adjutant delegate M'), { 'Mapper' })
  has(table.concat(complete('Adjutant delegate '), ' '), 'general-purpose')
  eq(complete('Adjutant nosuch '), {})
  eq(complete('Adjutant! f'), { 'fleet' })
end

T['a type is the first word only if it is one'] = function()
  harness.start()
  eq({ commands.parse_delegate('/', 'Explore find it') }, { 'Explore', 'find it' })
  eq({ commands.parse_delegate('/', '@custom find it') }, { 'custom', 'find it' })
  eq({ commands.parse_delegate('/', 'find it') }, { nil, 'find it' })
  eq({ commands.parse_delegate('/', 'Plan') }, { 'Plan', '' })
  eq({ commands.parse_delegate('/', '') }, { nil, '' })
end

T['types come from agent files'] = function()
  local server = harness.start()
  local root = vim.fn.tempname()
  vim.fn.mkdir(root .. '/.adjutant/agents', 'p')
  vim.fn.writefile({ '' }, root .. '/.adjutant/agents/reviewer.md')
  require('adjutant.config').set({
    cmd = server.cmd,
    root = function()
      return root
    end,
  })
  eq(complete('Adjutant delegate rev'), { 'reviewer' })
  eq({ commands.parse_delegate(root, 'reviewer go') }, { 'reviewer', 'go' })
end

T['an unknown subcommand says which there are'] = function()
  harness.start()
  vim.cmd('Adjutant dance')
  has(harness.told(), 'no subcommand dance; there are: abort, delegate')
end

T['verbs with a handle and a text'] = function()
  local server = harness.start()
  server.agents.a = fake.agent('a', { handle = 'scout' })
  server.agents.b = fake.agent('b', { status = 'stopped' })
  harness.ready()
  vim.cmd('Adjutant steer @scout look | there')
  eq(params_of(server, methods.agent_steer), { agentId = 'a', message = 'look | there' })
  vim.cmd('Adjutant resume b go on')
  eq(params_of(server, methods.agent_resume), { agentId = 'b', prompt = 'go on' })
  vim.cmd('Adjutant! stop scout')
  eq(params_of(server, methods.agent_stop), { agentId = 'a', scope = 'subtree' })
  vim.cmd('Adjutant! stopall')
  eq(params_of(server, methods.agent_stop_all), vim.empty_dict())
  vim.cmd('Adjutant stop nobody')
  has(harness.told(), 'no agent is called nobody')
  harness.answer(nil, function(items)
    return items[1]
  end)
  vim.cmd('Adjutant result')
  params_of(server, methods.agent_result)
end

T['an agent that cannot be resumed is not asked to'] = function()
  local server = harness.start()
  server.agents.b = fake.agent('b', { status = 'stopped', resumable = false })
  harness.ready()
  vim.cmd('Adjutant resume b go on')
  harness.settle(50)
  eq(#server:of(methods.agent_resume), 0)
  has(harness.told(), 'cannot be resumed')
end

T['delegate starts an agent'] = function()
  local server = harness.start()
  vim.cmd('Adjutant delegate Explore find the parser')
  eq(params_of(server, methods.agent_spawn), { type = 'Explore', prompt = 'find the parser' })
  wait(function()
    return harness.told():find('@explore-1 (Explore) has started', 1, true)
  end)
end

T['a prompt streams into the session, and its answer ends it'] = function()
  local server = harness.start()
  local finish
  server.answers[methods.session_prompt] = function(_, reply)
    finish = reply
  end
  vim.cmd('Adjutant prompt What is this?')
  local params = params_of(server, methods.session_prompt)
  eq({ params.sessionId, params.text }, { 's1', 'What is this?' })
  harness.ok(type(params.workDoneToken) == 'string')
  local bufnr = vim.fn.bufnr('adjutant://session/s1')
  wait(function()
    return viewer.of(bufnr).phase == 'live'
  end)
  server:session_event(1, { type = 'runStart', run = 1, author = 'user' })
  server:session_event(2, { type = 'messageStart', entryId = 'e', role = 'assistant' })
  server:session_event(3, { type = 'textDelta', entryId = 'e', offset = 0, text = 'A parser.' })
  wait(function()
    return harness.text(bufnr):find('A parser.', 1, true)
  end)
  has(harness.text(bufnr), '● running')
  finish({ runId = 'r', stopReason = 'endTurn', disposition = 'forwarded', usage = { total = 1 } })
  harness.settle(50)
  eq(harness.told(), '')
  eq(#server:of(methods.session_open), 1)
end

T['what a prompt comes to is said where it is not an answer'] = function()
  for answer, part in pairs({
    [{ stopReason = 'error', error = 'no credentials' }] = 'the run failed: no credentials',
    [{ stopReason = 'limit' }] = 'the run ended: limit',
    [{ stopReason = 'endTurn', routed = { agentId = 'a', action = 'message' } }] = 'sent to an agent (message)',
    [vim.NIL] = 'the run ended',
  }) do
    local server = harness.start()
    server.answers[methods.session_prompt] = function(_, reply)
      reply(answer)
    end
    vim.cmd('Adjutant prompt x')
    wait(function()
      return harness.told():find(part, 1, true)
    end, part)
  end
end

T['a server that dies during a prompt is told of once'] = function()
  local server = harness.start()
  vim.cmd('Adjutant prompt one')
  params_of(server, methods.session_prompt)
  server:die(9)
  wait(function()
    return harness.told():find('exit code 9', 1, true)
  end)
  harness.settle(100)
  local _, count = harness.told():gsub('adjutant: ', '')
  eq(count, 1)
end

T['abort ends the run; with ! the newest prompt is cancelled'] = function()
  local server = harness.start()
  vim.cmd('Adjutant prompt one')
  vim.cmd('Adjutant prompt two')
  wait(function()
    return #server:of(methods.session_prompt) == 2
  end)
  vim.cmd('Adjutant! abort')
  wait(function()
    return #server:of('$/cancelRequest') == 1
  end)
  eq(server:of('$/cancelRequest')[1].params.id, server:of(methods.session_prompt)[2].id)
  wait(function()
    return harness.told():find('the prompt was cancelled', 1, true)
  end)
  vim.cmd('Adjutant abort')
  eq(params_of(server, methods.session_abort), { sessionId = 's1' })
  wait(function()
    return harness.told():find('the run is aborted; 1 background agent goes on; 1 not sent', 1, true)
  end)
  eq(vim.fn.histget('input', -1), 'later')
end

T['without text a buffer opens, and writing it sends'] = function()
  local server = harness.start()
  vim.cmd('Adjutant prompt')
  vim.cmd.stopinsert()
  eq(vim.api.nvim_buf_get_name(0), 'adjutant://compose/prompt')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Two', 'lines.' })
  vim.cmd.write()
  eq(params_of(server, methods.session_prompt).text, 'Two\nlines.')
  eq(vim.fn.bufnr('adjutant://compose/prompt'), -1)
end

T['an empty buffer is not sent, and a closed one is kept'] = function()
  local server = harness.start()
  vim.cmd('Adjutant delegate Plan')
  vim.cmd.stopinsert()
  vim.cmd.write()
  has(harness.told(), 'nothing to send')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Plan it.' })
  harness.press('q')
  vim.cmd('Adjutant delegate Plan')
  vim.cmd.stopinsert()
  eq(harness.text(0), 'Plan it.')
  harness.press('<C-s>')
  eq(params_of(server, methods.agent_spawn), { type = 'Plan', prompt = 'Plan it.' })
end

---@param lines string[]
---@param keys string
---@return table attachment
local function selected(lines, keys)
  local server = harness.start()
  harness.ready()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  vim.fn.cursor(1, 1)
  harness.press(keys)
  vim.cmd("'<,'>Adjutant prompt explain")
  return params_of(server, methods.session_prompt).attachments[1]
end

T['a selection by lines'] = function()
  local attachment = selected({ 'one', 'two', 'three' }, 'Vj<Esc>')
  eq(attachment.range, { start = { line = 0, character = 0 }, ['end'] = { line = 2, character = 0 } })
  eq(attachment.text, 'one\ntwo\n')
  eq(attachment.type, 'selection')
  has(attachment.uri, 'untitled:')
end

T['a selection by characters counts in the agreed encoding'] = function()
  local attachment = selected({ 'a🦀b日c', 'x' }, 'lvll<Esc>')
  -- utf-16: the crab is two units.
  eq(attachment.range, { start = { line = 0, character = 1 }, ['end'] = { line = 0, character = 5 } })
  eq(attachment.text, '🦀b日')
end

T['a selection to the last line'] = function()
  local attachment = selected({ 'one', 'two' }, 'Vj<Esc>')
  eq(attachment.range['end'], { line = 1, character = 3 })
  eq(attachment.text, 'one\ntwo')
end

T['a named file is given by its address'] = function()
  local server = harness.start()
  harness.ready()
  vim.cmd.edit(harness.client .. '/stylua.toml')
  local uri = vim.uri_from_bufnr(0)
  vim.cmd('1,2Adjutant delegate Explore why')
  local attachment = params_of(server, methods.agent_spawn).attachments[1]
  eq({ attachment.uri, attachment.range.start.line, attachment.range['end'].line }, { uri, 0, 2 })
end

T['the health check runs'] = function()
  local server = harness.start()
  harness.ready()
  vim.cmd('silent checkhealth adjutant')
  local shown = harness.text(0)
  has(shown, 'running, version 0.0-fake, protocol 1')
  has(shown, 'it has every method that this plugin knows')
  harness.ok(server.starts == 1)
end

return T
