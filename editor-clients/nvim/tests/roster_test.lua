--- Rows against the texts that every client is held to, and what the roster shows around them.
local harness = require('harness')
local roster = require('adjutant.roster')
local state = require('adjutant.state')

local eq, has = harness.eq, harness.has

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(path, 'rb'))
  local content = file:read('*a')
  file:close()
  return content
end

---@param list table
---@param at number
---@return adjutant.State
local function listed(list, at)
  local action = vim.tbl_extend('force', list, { kind = 'listed', at = at })
  return (state.reduce(state.reduce(state.new(), { kind = 'list' }), action))
end

---@param lines adjutant.RosterLine[]
---@return string
local function join(lines)
  return table.concat(vim.tbl_map(function(line)
    return line.text .. '\n'
  end, lines))
end

local T = {}

T['every golden text'] = function()
  local folder = harness.repository .. '/tests/contract/fixtures/roster'
  local count = 0
  for name in vim.fs.dir(folder) do
    local fixture = vim.json.decode(read(folder .. '/' .. name), { luanil = { object = true } })
    local fleet = listed(fixture.list, fixture.receivedAt)
    local rows = roster.rows(roster.view(fleet), state.now(fleet, fixture.now))
    local golden = harness.repository .. '/tests/contract/golden/' .. name:gsub('json$', 'txt')
    eq(join(rows), read(golden), name)
    count = count + 1
  end
  harness.ok(count >= 6, 'fixtures found')
end

T['spans are inside their line and name known groups'] = function()
  local groups = require('adjutant.highlight').groups
  local folder = harness.repository .. '/tests/contract/fixtures/roster'
  for name in vim.fs.dir(folder) do
    local fixture = vim.json.decode(read(folder .. '/' .. name), { luanil = { object = true } })
    for _, line in ipairs(roster.lines(roster.view(listed(fixture.list, 0)), 0)) do
      for _, span in ipairs(line.spans) do
        harness.ok(span[1] < span[2] and span[2] <= #line.text, line.text)
        harness.ok(groups[span[3]], span[3])
      end
    end
  end
end

T['folding hides what is below and counts it'] = function()
  local fleet = listed({
    epoch = 'e',
    revision = 1,
    serverNow = 0,
    agents = {
      { agentId = 'a', handle = 'a', status = 'completed', createdAt = 1 },
      { agentId = 'b', handle = 'b', status = 'completed', createdAt = 2, parentId = 'a' },
      { agentId = 'c', handle = 'c', status = 'completed', createdAt = 3, parentId = 'b' },
      { agentId = 'd', handle = 'd', status = 'completed', createdAt = 4 },
    },
  }, 0)
  local rows = roster.rows(roster.view(fleet, { folded = { a = true } }), 0)
  eq(join(rows), '✓ a · completed · +2 below\n✓ d · completed\n')
end

T['plain icons'] = function()
  local fleet = listed({ epoch = 'e', revision = 1, agents = { { agentId = 'a', handle = 'a', status = 'error' } } }, 0)
  eq(join(roster.rows(roster.view(fleet, { ascii = true }), 0)), 'x a · error\n')
end

T['an empty fleet says what to do'] = function()
  local fleet = listed({ epoch = 'e', revision = 1, agents = {} }, 0)
  has(join(roster.lines(roster.view(fleet), 0)), 'No agents yet')
  eq(roster.title(roster.view(fleet)), 'Agents')
end

T['an ended server says how to go on'] = function()
  local fleet = state.reduce(state.new(), { kind = 'ended', message = 'the server ended (exit code 3)' })
  local shown = join(roster.lines(roster.view(fleet), 0))
  has(shown, 'The server ended (exit code 3)')
  has(shown, 'R  starts it again')
end

T['the heading counts'] = function()
  local agents = {
    { agentId = 'a', status = 'running', waitingOn = 'approval' },
    { agentId = 'b', status = 'stopping' },
    { agentId = 'c', status = 'queued' },
    { agentId = 'd', status = 'from-the-future' },
  }
  local view = roster.view(listed({ epoch = 'e', revision = 1, agents = agents }, 0))
  eq(roster.title(view), '2 running · 1 queued · 1 waiting for you · 1 ended')
end

T['values of wrong types are survived'] = function()
  local odd = {
    agentId = 'a',
    handle = 7,
    description = {},
    status = {},
    waitingOn = vim.NIL,
    queuePosition = 'x',
    turns = 'many',
    toolUses = {},
    usage = 3,
    startedAt = 'now',
    createdAt = vim.NIL,
    parentId = 9,
    reason = {},
    displayName = vim.NIL,
  }
  local fleet = listed({ epoch = 'e', revision = 1, agents = { vim.NIL, 'x', {}, odd } }, 0)
  eq(#roster.rows(roster.view(fleet), 0), 1)
  roster.header(odd, 0)
end

T['ten thousand agents in a chain'] = function()
  local agents = {}
  for index = 1, 10000 do
    agents[index] = { agentId = ('a%05d'):format(index), createdAt = index, status = 'running', handle = 'h' }
    agents[index].parentId = index > 1 and agents[index - 1].agentId or nil
  end
  local nodes = state.tree(listed({ epoch = 'e', revision = 1, agents = agents }, 0).agents)
  eq({ #nodes, nodes[10000].depth, nodes[1].children, nodes[1].active }, { 10000, 9999, 9999, 9999 })
end

return T
