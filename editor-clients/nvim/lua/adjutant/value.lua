--- Reading what came over the wire: nothing in it is trusted to have the type that the schema promises.
---
--- JSON `null` reaches Lua as `vim.NIL` inside arrays (and from other decoders anywhere), which is truthy; every
--- reader here treats it, and each value of another type, as absent.
local M = {}

---@param value any
---@return string?
function M.str(value)
  if type(value) == 'string' then
    return value
  end
end

---@param value any
---@return number?
function M.num(value)
  -- NaN compares unequal to itself and would poison every sort and sum.
  if type(value) == 'number' and value == value and value ~= math.huge and value ~= -math.huge then
    return value
  end
end

---@param value any
---@return table?
function M.tbl(value)
  if type(value) == 'table' then
    return value
  end
end

---@param value any
---@return boolean
function M.bool(value)
  return value == true
end

--- The elements of an array that are tables; a map or anything else gives an empty list.
---@param value any
---@return table[]
function M.tables(value)
  local out = {}
  if type(value) == 'table' then
    for _, item in ipairs(value) do
      if type(item) == 'table' then
        out[#out + 1] = item
      end
    end
  end
  return out
end

--- The elements of an array that are strings.
---@param value any
---@return string[]
function M.strings(value)
  local out = {}
  if type(value) == 'table' then
    for _, item in ipairs(value) do
      if type(item) == 'string' then
        out[#out + 1] = item
      end
    end
  end
  return out
end

return M
