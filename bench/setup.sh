#!/usr/bin/env bash
# Build and install everything outside the repo. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")"
CACHE=${BENCH_CACHE:-$HOME/.cache/opora-bench}; export CARGO_TARGET_DIR=$CACHE/target
VENV=$CACHE/venv NODE=$CACHE/node
command -v redis-server >/dev/null || { echo "redis-server is missing: apt-get install -y redis-server" >&2; exit 1; }
# Only what is measured: another bot of this workspace could switch features on for these.
cargo build --release --locked -p botapi-load -p floor-bot -p teloxide-bot
[ -x "$VENV/bin/python" ] || python3 -m venv "$VENV"
"$VENV/bin/python" -c 'import aiogram, redis, uvloop, telegram' 2>/dev/null || "$VENV/bin/pip" install -q -r bots/requirements.txt
mkdir -p "$NODE"
[ -d "$NODE/node_modules/grammy" ] || { cp bots/grammy/package.json "$NODE/" && (cd "$NODE" && npm install --silent); }
