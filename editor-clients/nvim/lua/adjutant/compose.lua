--- A small buffer to write a text in: `:w` or <C-s> sends it, closing the window keeps it for next time.
local scratch = require('adjutant.scratch')

local M = {}

--- Closes the current window, or empties it where it is the last.
function M.close_window()
  if not pcall(vim.api.nvim_win_close, 0, false) then
    vim.wo.winfixbuf = false
    vim.cmd.enew()
  end
end

---@class adjutant.Compose
---@field name string what the buffer is called below `adjutant://compose/`
---@field title string
---@field send fun(text: string)

--- Opens the buffer at the bottom of the editor, in insert mode.
---@param connection adjutant.Connection
---@param options adjutant.Compose
---@return integer bufnr
function M.open(connection, options)
  local full = 'adjutant://compose/' .. options.name
  local bufnr = scratch.find(full)
  if not bufnr then
    bufnr = vim.api.nvim_create_buf(false, false)
    vim.api.nvim_buf_set_name(bufnr, full)
  end
  vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'acwrite', 'hide', false
  vim.bo[bufnr].filetype = 'markdown'
  vim.b[bufnr].adjutant_root = connection.root

  local function send()
    local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
    local content = vim.trim(table.concat(lines, '\n'))
    if content == '' then
      vim.notify('adjutant: nothing to send', vim.log.levels.WARN)
      return
    end
    vim.bo[bufnr].modified = false
    vim.cmd.stopinsert()
    -- The buffer cannot go while its own write is under way.
    vim.schedule(function()
      if vim.api.nvim_buf_is_valid(bufnr) then
        vim.api.nvim_buf_delete(bufnr, { force = true })
      end
      options.send(content)
    end)
  end

  local group = vim.api.nvim_create_augroup(('adjutant_compose_%d'):format(bufnr), { clear = true })
  vim.api.nvim_create_autocmd('BufWriteCmd', { group = group, buffer = bufnr, callback = send })
  vim.keymap.set({ 'n', 'i' }, '<C-s>', send, { buffer = bufnr, desc = 'Send' })
  vim.keymap.set('n', 'q', M.close_window, { buffer = bufnr, desc = 'Close; the text is kept' })
  local window = scratch.reveal(bufnr, 'botright 8split')
  vim.wo[window][0].winbar = (' %s · <C-s> or :w sends · q closes'):format(options.title:gsub('%%', '%%%%'))
  vim.wo[window][0].wrap, vim.wo[window][0].linebreak = true, true
  vim.wo[window][0].winfixheight = true
  vim.cmd.startinsert({ bang = true })
  return bufnr
end

return M
