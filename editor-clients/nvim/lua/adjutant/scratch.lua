--- Read-only buffers that show one text.
local config = require('adjutant.config')

local M = {}

--- A name's buffer, if it is still there.
---@param name string
---@return integer?
function M.find(name)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(bufnr) == name then
      return bufnr
    end
  end
end

--- Writes lines into a buffer that nobody else may change; the option is restored whatever happens.
---@param bufnr integer
---@param first integer
---@param last integer
---@param lines string[]
function M.write(bufnr, first, last, lines)
  vim.bo[bufnr].modifiable = true
  local ok, fault = pcall(vim.api.nvim_buf_set_lines, bufnr, first, last, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].modified = false
  if not ok then
    error(fault, 0)
  end
end

--- Marks a buffer as one of ours.
---@param bufnr integer
---@param root string
function M.own(bufnr, root)
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].undolevels = -1
  vim.bo[bufnr].modifiable = false
  vim.b[bufnr].adjutant_root = root
end

--- Shows a buffer: where it is shown already, else in a window made by `open`.
---@param bufnr integer
---@param open string?
---@return integer window
function M.reveal(bufnr, open)
  local window = vim.fn.win_findbuf(bufnr)[1]
  if window then
    vim.api.nvim_set_current_win(window)
    return window
  end
  open = open or config.get().viewer.open
  if open == 'edit' then
    -- The roster's window is kept for the roster.
    if vim.wo.winfixbuf then
      vim.cmd.wincmd('p')
    end
    if vim.wo.winfixbuf then
      vim.cmd('vsplit')
    end
  else
    if vim.wo.winfixbuf then
      vim.cmd.wincmd('p')
    end
    vim.cmd(open)
  end
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, bufnr)
  return vim.api.nvim_get_current_win()
end

--- Shows a text under a name.
---@param connection adjutant.Connection
---@param name string below `adjutant://`
---@param lines string[]
---@param filetype string
---@return integer bufnr
function M.show(connection, name, lines, filetype)
  local full = 'adjutant://' .. name
  local bufnr = M.find(full)
  if not bufnr then
    bufnr = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(bufnr, full)
    M.own(bufnr, connection.root)
    vim.bo[bufnr].filetype = filetype
    vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'Close' })
  end
  M.write(bufnr, 0, -1, lines)
  local window = M.reveal(bufnr)
  vim.wo[window][0].wrap = true
  vim.wo[window][0].linebreak = true
  return bufnr
end

return M
