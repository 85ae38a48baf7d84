--- Highlight groups, each linked to a standard one, so that every colour scheme fits.
local M = {}

M.groups = {
  AdjutantTitle = 'Title',
  AdjutantAuthor = 'Special',
  AdjutantThinking = 'Comment',
  AdjutantTool = 'Function',
  AdjutantOutput = 'Comment',
  AdjutantRule = 'NonText',
  AdjutantDim = 'Comment',
  AdjutantHandle = 'Identifier',
  AdjutantActivity = 'Comment',
  AdjutantStats = 'Comment',
  AdjutantQueued = 'Comment',
  AdjutantStopped = 'Comment',
  AdjutantRunning = 'DiagnosticInfo',
  AdjutantWaiting = 'DiagnosticWarn',
  AdjutantOk = 'DiagnosticOk',
  AdjutantWarning = 'DiagnosticWarn',
  AdjutantError = 'DiagnosticError',
  AdjutantKey = 'Special',
}

--- Defines the groups that nobody has defined.
function M.define()
  for name, link in pairs(M.groups) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
