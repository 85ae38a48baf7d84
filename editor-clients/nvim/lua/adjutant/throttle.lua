--- Calls a function at once and then at most once an interval, on the main loop, the last call never lost. A function
--- that takes long is called less often, so that it never has more than a fifth of the editor's time.
local M = {}

---@class adjutant.Throttle
---@field call fun() asks for a call; cheap, from any context
---@field close fun() drops what is pending; later calls do nothing

---@param interval_ms integer
---@param fn fun()
---@return adjutant.Throttle
function M.new(interval_ms, fn)
  local timer ---@type uv.uv_timer_t?
  local scheduled, again, closed = false, false, false
  local throttle = {}

  local function stop_timer()
    if timer and not timer:is_closing() then
      timer:stop()
      timer:close()
    end
    timer = nil
  end

  local run
  ---@param took_ms number
  local function cool_down(took_ms)
    timer = vim.uv.new_timer()
    if not timer then
      return
    end
    timer:start(math.max(interval_ms, math.ceil(took_ms * 4)), 0, function()
      stop_timer()
      if again and not closed then
        again, scheduled = false, true
        vim.schedule(run)
      end
    end)
  end

  run = function()
    scheduled = false
    if closed then
      return
    end
    local started = vim.uv.hrtime()
    local ok, fault = pcall(fn)
    if not closed then
      cool_down((vim.uv.hrtime() - started) / 1e6)
    end
    if not ok then
      error(fault, 0)
    end
  end

  function throttle.call()
    if closed or scheduled then
      return
    end
    if timer then
      again = true
    else
      scheduled = true
      vim.schedule(run)
    end
  end

  function throttle.close()
    closed = true
    stop_timer()
  end

  return throttle
end

return M
