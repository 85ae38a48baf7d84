-- luacheck of the Neovim client: run it in this folder.
std = 'luajit'
globals = { 'vim' }
max_line_length = 120
exclude_files = { 'lua/adjutant/protocol_gen.lua' }
