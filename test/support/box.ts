import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/**
 * A folder for `PATH` with a program in place of bubblewrap, which machines of `npm test` need not have: it starts the command in the
 * folder that would be `/work`, without the relay, and confines nothing. `npm run test:system` has the real one.
 */
export function makeOpenBox(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-open-box-"));
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "bwrap");
  writeFileSync(file, OPEN_BOX);
  chmodSync(file, 0o755);
  return folder;
}

const OPEN_BOX = `#!/bin/sh
if [ "$1" = --version ]; then echo bubblewrap 0.11.0; exit; fi
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  if [ "$1" = --bind ] && [ "$3" = /work ]; then work=$2; fi
  if [ "$1" = --bind ] && [ "$3" = /home/agent ]; then home=$2; fi
  if [ "$1" = --ro-bind ] && [ "$3" = /opt/node/bin/node ]; then node=$2; fi
  shift
done
shift
cd "$work" || exit 126
export HOME="$home"
# The first program of a box offers the relay there: here the second is started at once.
case "$2" in */hookline/init.*) shift 5;; esac
if [ "$1" = /opt/node/bin/node ]; then shift; exec "$node" "$@"; fi
exec "$@"
`;
