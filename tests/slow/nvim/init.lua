-- A person's set-up for the terminal test: the plugin, the built server, nothing else.
vim.opt.runtimepath:prepend(vim.env.ADJUTANT_CLIENT)
vim.o.termguicolors = true
vim.o.swapfile = false
vim.o.shortmess = vim.o.shortmess .. 'I'
vim.o.statusline = "%f%=%{v:lua.require'adjutant'.statusline()}"
require('adjutant').setup({
  cmd = { vim.env.ADJUTANT_SERVER, '--stdio' },
  trusted = true,
  root = function()
    return vim.uv.cwd()
  end,
})
vim.cmd.runtime('plugin/adjutant.lua')
