--- Defines the command and who fills `adjutant://` buffers. Nothing else is loaded until one of them is used.
if vim.g.loaded_adjutant then
  return
end
vim.g.loaded_adjutant = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('adjutant: Neovim 0.11 or newer is needed', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Adjutant', function(args)
  require('adjutant.commands').run(args)
end, {
  nargs = '*',
  bang = true,
  range = true,
  desc = 'Delegate to agents, and follow them',
  complete = function(lead, line, cursor)
    return require('adjutant.commands').complete(lead, line, cursor)
  end,
})

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = vim.api.nvim_create_augroup('adjutant', { clear = true }),
  pattern = 'adjutant://*',
  desc = 'Fill the buffer of a conversation or the roster',
  callback = function(args)
    require('adjutant').read(args.buf, args.match)
  end,
})
