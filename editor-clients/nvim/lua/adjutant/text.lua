--- Text for people: numbers, durations, and foreign text made safe for a line of the screen. Pure.
local value = require('adjutant.value')

local M = {}

--- What would leave its line or give orders to a terminal, besides ASCII: U+0080–00A0, U+061C, U+200E–200F,
--- U+2028–202F, U+2066–2069 and U+FEFF, as UTF-8.
local BLANKS = {
  '\194[\128-\160]',
  '\216\156',
  '\226\128[\142\143]',
  '\226\128[\168-\175]',
  '\226\129[\166-\169]',
  '\239\187\191',
}

--- At most `limit` characters; a longer text ends in an ellipsis.
---@param str string
---@param limit integer
---@return string
function M.cut(str, limit)
  local count, keep = 0, 0
  for at, character in str:gmatch('()([^\128-\191][\128-\191]*)') do
    count = count + 1
    if count == limit - 1 then
      keep = at + #character - 1
    elseif count > limit then
      return (str:sub(1, keep):gsub(' +$', '')) .. '…'
    end
  end
  return str
end

--- Foreign text as part of one line.
---@param foreign any
---@param limit integer?
---@return string
function M.clean(foreign, limit)
  local str = value.str(foreign) or ''
  str = str:gsub('[%z\1-\32\127]+', ' ')
  if str:find('[\194\216\226\239]') then
    for _, blank in ipairs(BLANKS) do
      str = str:gsub(blank, ' ')
    end
    str = str:gsub(' +', ' ')
  end
  str = str:gsub('^ +', ''):gsub(' +$', '')
  return limit and M.cut(str, limit) or str
end

--- Foreign text as lines of a buffer. Tabs stay; what a terminal could take for orders does not.
---@param foreign string
---@return string[]
function M.lines(foreign)
  local str = foreign:gsub('\r\n', '\n'):gsub('[%z\1-\8\11-\31\127]', '')
  str = str:gsub('\194[\128-\159]', ''):gsub('\226\128[\168-\174]', ''):gsub('\226\129[\166-\169]', '')
  return vim.split(str, '\n', { plain = true })
end

--- `1` and `turn` as "1 turn", `5` and `turn` as "5 turns".
---@param count number
---@param noun string
---@return string
function M.counted(count, noun)
  return ('%d %s%s'):format(count, noun, count == 1 and '' or 's')
end

---@param tenths number
---@return string
local function decimal(tenths)
  return ('%d.%d'):format(math.floor(tenths / 10), tenths % 10)
end

--- `12345` as "12.3k".
---@param count number
---@return string
function M.count(count)
  if count < 1000 then
    return ('%d'):format(count)
  elseif count < 999950 then
    return decimal(math.floor((count + 50) / 100)) .. 'k'
  end
  return decimal(math.floor((count + 50000) / 100000)) .. 'M'
end

---@param usage any
---@return number
function M.total(usage)
  return value.num((value.tbl(usage) or {}).total) or 0
end

--- Tokens of a usage; empty for none.
---@param usage any
---@return string
function M.tokens(usage)
  local total = M.total(usage)
  return total > 0 and M.count(total) .. ' token' or ''
end

--- Dollars of a usage; empty where the price is unknown or nothing.
---@param usage any
---@return string
function M.cost(usage)
  local cost = value.num((value.tbl(usage) or {}).costUsd)
  if not cost or cost <= 0 then
    return ''
  elseif cost < 0.0001 then
    return '<$0.0001'
  elseif cost >= 1 then
    return ('~$%.2f'):format(cost)
  end
  return '~$' .. ('%.4f'):format(cost):gsub('0$', ''):gsub('0$', '')
end

--- A duration, cut and not rounded: "4.2s", "1m 05s", "2h 03m".
---@param ms number
---@return string
function M.elapsed(ms)
  ms = math.max(0, math.floor(ms))
  local seconds = math.floor(ms / 1000)
  if seconds < 60 then
    return ('%d.%ds'):format(seconds, math.floor(ms / 100) % 10)
  elseif seconds < 3600 then
    return ('%dm %02ds'):format(math.floor(seconds / 60), seconds % 60)
  end
  return ('%dh %02dm'):format(math.floor(seconds / 3600), math.floor(seconds / 60) % 60)
end

--- The parts that say something, joined as in every row.
---@param parts string[]
---@return string
function M.join(parts)
  local kept = {}
  for _, part in ipairs(parts) do
    if part ~= '' then
      kept[#kept + 1] = part
    end
  end
  return table.concat(kept, ' · ')
end

return M
