--- Buffer-local keys with a help window that lists them.
local M = {}

---@class adjutant.Key
---@field lhs string
---@field desc string
---@field run fun()

---@param title string
---@param keys adjutant.Key[]
local function help(title, keys)
  local lines, width = {}, #title + 2
  for _, key in ipairs(keys) do
    lines[#lines + 1] = (' %-7s %s '):format(key.lhs, key.desc)
    width = math.max(width, vim.fn.strdisplaywidth(lines[#lines]))
  end
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].bufhidden = 'wipe'
  local namespace = vim.api.nvim_create_namespace('adjutant_help')
  for row = 0, #lines - 1 do
    vim.api.nvim_buf_set_extmark(bufnr, namespace, row, 1, { end_col = 8, hl_group = 'AdjutantKey' })
  end
  width = math.min(width, vim.o.columns - 4)
  local height = math.min(#lines, math.max(1, vim.o.lines - 4))
  local window = vim.api.nvim_open_win(bufnr, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = (' %s '):format(title),
  })
  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  for _, lhs in ipairs({ 'q', '<Esc>', '?', '<CR>' }) do
    vim.keymap.set('n', lhs, close, { buffer = bufnr, nowait = true, desc = 'Close' })
  end
  vim.api.nvim_create_autocmd('WinLeave', { buffer = bufnr, once = true, callback = close })
end

--- Maps the keys, and `?` and `g?` to their list.
---@param bufnr integer
---@param title string
---@param keys adjutant.Key[]
function M.map(bufnr, title, keys)
  local function show()
    help(title, keys)
  end
  keys[#keys + 1] = { lhs = '?', desc = 'this help', run = show }
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key.lhs, key.run, { buffer = bufnr, nowait = true, silent = true, desc = key.desc })
  end
  vim.keymap.set('n', 'g?', show, { buffer = bufnr, nowait = true, silent = true, desc = 'this help' })
end

return M
