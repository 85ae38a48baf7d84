--- The server's life: handshake, the roster in step, requests, death, restart, and nonsense from it.
local client = require('adjutant.client')
local config = require('adjutant.config')
local fake = require('fake_server')
local harness = require('harness')
local methods = require('adjutant.protocol_gen').methods

local eq, has, wait = harness.eq, harness.has, harness.wait

---@param connection adjutant.Connection
---@param id string
---@return string?
local function status_of(connection, id)
  local agent = connection.fleet.agents[id]
  return agent and agent.status
end

local T = {}

T['the handshake declares what this client shows'] = function()
  local server = harness.start({ settings = { maxConcurrent = 2 }, trusted = true, model = 'acme/large' })
  local connection = harness.ready()
  local params = server:of('initialize')[1].params
  eq(params.capabilities.experimental.adjutant, { protocolVersion = 1, fleet = true, viewer = true })
  eq(params.initializationOptions, { settings = { maxConcurrent = 2 }, trusted = true, model = 'acme/large' })
  eq(params.workspaceFolders[1].uri, vim.uri_from_fname(harness.client))
  eq(connection.server.version, '0.0-fake')
  local order = vim.tbl_map(function(message)
    return message.method
  end, server.received)
  harness.ok(vim.fn.index(order, methods.fleet_list) > vim.fn.index(order, 'initialized'), 'list after initialized')
end

T['with no options nothing is sent, and objects stay objects'] = function()
  local server = harness.start()
  harness.ready()
  local params = server:of('initialize')[1].params
  eq(params.initializationOptions, vim.empty_dict())
  harness.ok(not vim.islist(params.initializationOptions) or vim.tbl_isempty(params.initializationOptions))
  eq(#server:of('workspace/didChangeConfiguration'), 0)
end

T['one server a root'] = function()
  local server = harness.start()
  harness.eq(client.get(), client.get())
  harness.ready()
  eq(server.starts, 1)
end

T['changes arrive; a lost one asks for the list again'] = function()
  local server = harness.start()
  server.agents.a = fake.agent('a')
  local connection = harness.ready()
  server:change({ fake.agent('b', { status = 'queued' }) })
  wait(function()
    return status_of(connection, 'b') == 'queued'
  end)
  local lists = #server:of(methods.fleet_list)
  server.revision = server.revision + 1
  server.agents.a = fake.agent('a', { status = 'completed' })
  server:change({})
  wait(function()
    return status_of(connection, 'a') == 'completed'
  end)
  eq(#server:of(methods.fleet_list), lists + 1)
end

T['pages are followed, and begun again when the fleet moves'] = function()
  local server = harness.start()
  local calls = 0
  server.answers[methods.fleet_list] = function(params)
    calls = calls + 1
    if calls == 2 then
      return nil, { code = -32801, message = 'content modified' }
    end
    local page = { epoch = 'e1', revision = 7, serverNow = fake.now(), limits = vim.empty_dict() }
    page.agents = { fake.agent(params.cursor and 'second' or 'first') }
    page.nextCursor = not params.cursor and 'more' or nil
    return page
  end
  local connection = harness.ready()
  eq(calls, 4)
  eq({ status_of(connection, 'first'), status_of(connection, 'second') }, { 'running', 'running' })
end

T['a list that always fails is not asked for for ever'] = function()
  local server = harness.start()
  server.answers[methods.fleet_list] = function()
    return nil, { code = -32801, message = 'content modified' }
  end
  local connection = client.get()
  wait(function()
    return connection.fleet.phase == 'stale'
  end)
  eq(#server:of(methods.fleet_list), 5)
end

T['a list that cannot be read'] = function()
  local server = harness.start()
  server.answers[methods.fleet_list] = { 'nonsense' }
  local connection = client.get()
  wait(function()
    return connection.fleet.phase == 'stale'
  end)
end

T['requests before the server is ready wait for it'] = function()
  local server = harness.start()
  local answer
  client.get():request(methods.ping, vim.empty_dict(), function(failure, result)
    answer = failure or result
  end)
  server.answers[methods.ping] = { uptimeMs = 5 }
  wait(function()
    return answer
  end)
  eq(answer, { uptimeMs = 5 })
end

T['an error says what to do'] = function()
  local server = harness.start()
  local connection = harness.ready()
  server.answers[methods.ping] = function()
    return nil, { code = -32013, message = 'model unavailable', data = { kind = 'model', hint = 'choose another' } }
  end
  local failure
  connection:request(methods.ping, vim.empty_dict(), function(given)
    failure = given
  end)
  wait(function()
    return failure
  end)
  eq(require('adjutant.connection').describe(failure), 'model unavailable (choose another)')
end

T['a request that is never answered ends'] = function()
  local server = harness.start()
  local connection = harness.ready()
  server.answers[methods.ping] = function() end
  local failure
  connection:request(methods.ping, vim.empty_dict(), function(given)
    failure = given
  end, { deadline_ms = 30 })
  wait(function()
    return failure
  end)
  has(failure.message, 'no answer')
  eq(#server:of('$/cancelRequest'), 1)
end

T['a cancelled request ends once, whoever cancelled it'] = function()
  local server = harness.start()
  local connection = harness.ready()
  local count, late = 0, nil
  server.answers[methods.ping] = function(_, reply)
    late = reply
  end
  local function ask()
    return connection:request(methods.ping, vim.empty_dict(), function(failure)
      count = count + 1
      eq(failure.code, -32800)
    end, { deadline_ms = false })
  end
  local pending = ask()
  connection:cancel(pending)
  late(nil, { code = -32800, message = 'cancelled' })
  harness.settle(30)
  eq(count, 1)
  -- The server by itself: Neovim swallows the answer, and only tells that the request is over.
  ask()
  late(nil, { code = -32800, message = 'cancelled' })
  wait(function()
    return count == 2
  end)
end

T['a method that the server does not have is not called'] = function()
  local server = harness.start()
  local connection = harness.ready()
  connection.server.methods[methods.agent_steer] = nil
  local failure
  connection:request(methods.agent_steer, vim.empty_dict(), function(given)
    failure = given
  end)
  wait(function()
    return failure
  end)
  eq(#server:of(methods.agent_steer), 0)
end

T['a server of another protocol is told of, and asked nothing'] = function()
  local server = harness.start()
  server.answers.initialize = { capabilities = { experimental = { adjutant = { protocolVersion = 9 } } } }
  local connection = client.get()
  local failure
  connection:request(methods.ping, vim.empty_dict(), function(given)
    failure = given
  end)
  wait(function()
    return connection.status == 'unsupported' and failure
  end)
  harness.settle(50)
  has(harness.told(), 'does not speak protocol version 1')
  eq(#server:of(methods.ping), 0)
end

T['death: told once, requests end, the fleet is forgotten, a restart works'] = function()
  local server = harness.start()
  server.agents.a = fake.agent('a')
  local connection = harness.ready()
  server.answers[methods.ping] = function() end
  local failure
  connection:request(methods.ping, vim.empty_dict(), function(given)
    failure = given
  end, { deadline_ms = false })
  server:die(3)
  wait(function()
    return connection.status == 'ended' and failure
  end)
  harness.settle(100)
  local ours = vim.tbl_filter(function(notice)
    return notice.message:find('^adjutant: ')
  end, harness.notices)
  eq(#ours, 1)
  has(ours[1].message, 'exit code 3')
  has(ours[1].message, ':Adjutant restart')
  eq(connection.fleet.agents, {})
  wait(function()
    return require('adjutant').statusline() == 'adjutant: server ended'
  end)
  vim.cmd('Adjutant restart')
  local next_connection = harness.ready()
  harness.ok(next_connection ~= connection)
  eq(status_of(next_connection, 'a'), 'running')
  eq(server.starts, 2)
end

T['a program that is not there'] = function()
  harness.start()
  config.set({ cmd = { 'adjutant-that-is-not-installed' }, root = config.get().root })
  local connection = client.get()
  eq(connection.status, 'ended')
  has(harness.told(), 'no such program')
end

T['nonsense from the server changes nothing'] = function()
  local server = harness.start()
  server.agents.a = fake.agent('a')
  local connection = harness.ready()
  local nonsense = { 'x', 7, true, vim.NIL, { vim.NIL }, { completions = 'x' }, { completions = { vim.NIL, {} } } }
  for _, params in ipairs(nonsense) do
    for _, method in ipairs({
      methods.fleet_changed,
      methods.agent_completed,
      methods.agent_event,
      methods.session_event,
      'adjutant/from/the/future',
    }) do
      server:notify(method, params)
    end
  end
  server:notify(methods.fleet_changed, nil)
  harness.settle(400)
  wait(function()
    return connection.fleet.phase == 'live'
  end)
  eq(status_of(connection, 'a'), 'running')
  eq(harness.told(), '')
end

T['a completion is announced once'] = function()
  local server = harness.start()
  harness.ready()
  local seen = 0
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AdjutantCompleted',
    once = false,
    callback = function(args)
      seen = seen + #args.data.completions
    end,
  })
  local completion = {
    agentId = 'a',
    run = 1,
    handle = 'scout',
    type = 'Explore',
    description = 'Find the parser',
    status = 'completed',
    endedBy = 'self',
    resultPreview = 'It is in\nsrc/parser.rs',
    usage = { total = 12345 },
    durationMs = 4250,
    toolUses = 3,
    turns = 2,
  }
  for _ = 1, 3 do
    server:notify(methods.agent_completed, { seq = 1, completions = { completion }, partial = false })
  end
  server:notify(methods.agent_completed, {
    seq = 2,
    completions = { vim.tbl_extend('force', completion, { run = 2, status = 'error', error = 'overloaded' }) },
    partial = false,
  })
  wait(function()
    return #harness.notices == 2
  end)
  harness.settle(50)
  eq({ #harness.notices, seen }, { 2, 2 })
  eq(
    harness.notices[1].message,
    '✓ @scout completed · Find the parser · 4.2s · 12.3k token\n  It is in src/parser.rs'
  )
  eq(harness.notices[2].level, vim.log.levels.WARN)
  has(harness.notices[2].message, 'overloaded')
  vim.api.nvim_clear_autocmds({ event = 'User', pattern = 'AdjutantCompleted' })
end

T['completions of a group are one message, and can be left out'] = function()
  local server = harness.start({ notify = 'failures' })
  harness.ready()
  local completions = {}
  for index = 1, 12 do
    completions[index] = { agentId = 'a' .. index, run = 1, handle = 'h' .. index, status = 'error' }
  end
  completions[13] = { agentId = 'fine', run = 1, handle = 'fine', status = 'completed' }
  server:notify(methods.agent_completed, { seq = 1, completions = completions, partial = false })
  wait(function()
    return #harness.notices == 1
  end)
  has(harness.told(), 'and 4 more')
  harness.ok(not harness.told():find('fine', 1, true))
end

T['the statusline says what runs'] = function()
  local server = harness.start()
  harness.ready()
  server:change({ fake.agent('a'), fake.agent('b', { status = 'queued' }) })
  wait(function()
    return require('adjutant').statusline() == 'adjutant: 1 running, 1 queued'
  end)
  server:change({ fake.agent('a', { status = 'running', waitingOn = 'approval' }) }, { 'b' })
  wait(function()
    return require('adjutant').statusline() == 'adjutant: 1 running, 1 waiting for you'
  end)
  server:change({ fake.agent('a', { status = 'hibernated' }) })
  wait(function()
    return require('adjutant').statusline() == ''
  end)
end

T['files below the root are synchronised, others are not'] = function()
  local server = harness.start()
  vim.cmd.edit(harness.client .. '/README.md')
  local before = vim.api.nvim_get_current_buf()
  harness.ready()
  vim.cmd.edit(harness.client .. '/stylua.toml')
  vim.cmd.edit(vim.fn.tempname())
  wait(function()
    return #server:of('textDocument/didOpen') == 2
  end)
  harness.settle(50)
  local opened = server:of('textDocument/didOpen')
  eq(#opened, 2)
  eq(opened[1].params.textDocument.uri, vim.uri_from_bufnr(before))
end

T['options are checked'] = function()
  for options, part in pairs({
    [{ cmdd = {} }] = 'cmdd',
    [{ cmd = 7 }] = 'cmd',
    [{ notify = 'loudly' }] = 'notify',
    [{ roster = { position = 'middle' } }] = 'roster.position',
    [{ viewer = { page = 0 } }] = 'viewer.page',
  }) do
    local ok, fault = pcall(config.set, options)
    eq(ok, false, part)
    has(tostring(fault), part)
  end
end

return T
