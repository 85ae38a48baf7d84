--- Completions, each announced once: the server repeats one only after a crash between frame and journal.
local value = require('adjutant.value')

local M = {}

--- Keys kept; the oldest go first. A repeat comes soon after a restart or never.
local MAX_KEYS = 10000

---@class adjutant.Completions
---@field package _keys table<string, boolean>
---@field package _ring string[]
---@field package _next integer
local Completions = {}
Completions.__index = Completions

---@return adjutant.Completions
function M.new()
  return setmetatable({ _keys = {}, _ring = {}, _next = 1 }, Completions)
end

--- The completions of one notification that were not had before, by (agent, run).
---@param params any
---@return table[]
function Completions:fresh(params)
  local fresh = {}
  for _, completion in ipairs(value.tables(value.tbl(params) and params.completions)) do
    local id, run = value.str(completion.agentId), value.num(completion.run)
    local key = id and run and ('%s\0%d'):format(id, run)
    if key and not self._keys[key] then
      local old = self._ring[self._next]
      if old then
        self._keys[old] = nil
      end
      self._keys[key] = true
      self._ring[self._next] = key
      self._next = self._next % MAX_KEYS + 1
      fresh[#fresh + 1] = completion
    end
  end
  return fresh
end

return M
