--- The built server over real stdio: ADJUTANT_SERVER names the program. It gets a home of its own.
local config = require('adjutant.config')
local harness = require('harness')
local methods = require('adjutant.protocol_gen').methods

local home = vim.fn.tempname()
vim.fn.mkdir(home .. '/work', 'p')
vim.env.ADJUTANT_HOME = home .. '/state'

--- A clean editor in an empty folder, with the built server.
local function start()
  harness.start()
  config.set({
    cmd = { vim.env.ADJUTANT_SERVER, '--stdio' },
    trusted = true,
    root = function()
      return home .. '/work'
    end,
  })
end

local T = {}

T['handshake, ping and an empty roster'] = function()
  start()
  vim.cmd('Adjutant fleet')
  local roster = vim.api.nvim_get_current_buf()
  local connection = harness.ready()
  local answer
  connection:request(methods.ping, vim.empty_dict(), function(failure, result)
    answer = failure or result
  end)
  harness.wait(function()
    return answer
  end, 'ping')
  harness.eq(answer.protocolVersion, 1)
  harness.wait(function()
    return harness.text(roster):find('No agents yet', 1, true)
  end, 'empty roster')
  local missing = vim.tbl_filter(function(method)
    return not connection.server.methods[method]
  end, vim.tbl_values(methods))
  harness.eq(missing, {}, 'methods that the server does not list')
end

T['an unknown agent is refused in words'] = function()
  start()
  local connection = harness.ready()
  local failure
  connection:request(methods.agent_open, { agentId = 'nobody' }, function(given)
    failure = given
  end)
  harness.wait(function()
    return failure
  end, 'refusal')
  harness.eq(failure.code, -32010)
end

T['it ends when it is told to, and starts again'] = function()
  start()
  local connection = harness.ready()
  connection:stop()
  harness.wait(function()
    return connection.status == 'ended'
  end, 'end')
  harness.eq(harness.told(), '')
  vim.cmd('Adjutant restart')
  harness.ready()
end

return T
