--- The servers of this editor, one a root, and which of them a buffer belongs to.
local Connection = require('adjutant.connection')
local config = require('adjutant.config')
local notices = require('adjutant.notices')

local M = {}

local connections = {} ---@type table<string, adjutant.Connection>
local group ---@type integer?

--- The folder that a buffer's agents work in: that of the pane, else what `root` says, else the nearest folder with a
--- repository or project settings, else the current folder.
---@param bufnr integer?
---@return string
function M.root(bufnr)
  bufnr = bufnr or vim.api.nvim_get_current_buf()
  local ours = vim.b[bufnr].adjutant_root
  if type(ours) == 'string' then
    return ours
  end
  local custom = config.get().root
  local root = custom and custom(bufnr)
  if not root and vim.bo[bufnr].buftype == '' and vim.api.nvim_buf_get_name(bufnr) ~= '' then
    root = vim.fs.root(bufnr, { '.adjutant', '.git' })
  end
  root = root or vim.fs.root(vim.fn.getcwd(), { '.adjutant', '.git' }) or vim.fn.getcwd()
  return (vim.fs.normalize(vim.fn.fnamemodify(root, ':p')):gsub('(.)/$', '%1'))
end

---@param connection adjutant.Connection
---@param bufnr integer
local function attach(connection, bufnr)
  if not connection.client or connection.status ~= 'ready' or not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  local name = vim.api.nvim_buf_get_name(bufnr)
  if vim.bo[bufnr].buftype ~= '' or name == '' or name:match('^%a[%w+.-]+://') then
    return
  end
  if vim.fs.relpath(connection.root, vim.fs.normalize(name)) then
    vim.lsp.buf_attach_client(bufnr, connection.client.id)
  end
end

--- Files below the root are synchronised, so that agents read and change what the editor shows.
---@param connection adjutant.Connection
local function attach_all(connection)
  if not config.get().attach then
    return
  end
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    attach(connection, bufnr)
  end
end

local function autocmds()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup('adjutant_client', { clear = true })
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    desc = 'adjutant: synchronise files below a root',
    callback = function(args)
      if config.get().attach then
        for _, connection in pairs(connections) do
          attach(connection, args.buf)
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    desc = 'adjutant: notice requests that the server cancelled',
    callback = function(args)
      local data = args.data or {}
      if data.request and data.request.type == 'complete' then
        for _, connection in pairs(connections) do
          if connection.client and connection.client.id == data.client_id then
            connection:request_ended(data.request_id)
          end
        end
      end
    end,
  })
end

---@param connection adjutant.Connection
local function watch(connection)
  connection:on('status', function()
    vim.schedule(function()
      if connection.status == 'ready' then
        attach_all(connection)
      end
      notices.changed(connection)
    end)
  end)
  connection:on('fleet', function()
    notices.changed(connection)
  end)
  connection:on('completed', function(completions)
    vim.schedule(function()
      notices.completed(connection, completions)
    end)
  end)
end

---@param root string
---@param seen adjutant.Completions?
---@return adjutant.Connection
local function create(root, seen)
  autocmds()
  local connection = Connection.new(root)
  connection.seen = seen or connection.seen
  connections[root] = connection
  watch(connection)
  connection:start()
  return connection
end

--- The connection of a root, started where there is none. One that ended is handed out as it is: its panes say so.
---@param root string?
---@return adjutant.Connection
function M.get(root)
  root = root or M.root()
  return connections[root] or create(root)
end

--- The connection of a root, if there is one.
---@param root string?
---@return adjutant.Connection?
function M.peek(root)
  return connections[root or M.root()]
end

---@return adjutant.Connection[]
function M.all()
  return vim.tbl_values(connections)
end

--- Ends a root's server and starts another. Panes follow to the new one; completions had are still known.
---@param root string
---@return adjutant.Connection
function M.restart(root)
  local old = connections[root]
  if not old then
    return create(root)
  end
  old:stop()
  local connection = create(root, old.seen)
  connection.session_id = old.session_id
  vim.api.nvim_exec_autocmds('User', { pattern = 'AdjutantRestart', modeline = false, data = { root = root } })
  return connection
end

--- Ends all servers and forgets them.
function M.stop_all()
  for _, connection in pairs(connections) do
    connection:stop()
  end
  connections = {}
end

return M
