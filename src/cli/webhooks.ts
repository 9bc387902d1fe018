#!/usr/bin/env node
/**
 * The installed command, and the only file of `cli/` that touches the process. It imports nothing before it has checked the
 * Node version: an older Node would fail at the first syntax it does not know, without saying why.
 */
import { fileURLToPath } from "node:url";

const MIN_NODE = 24;
/** After a Ctrl-C, npm forwards the signal that the terminal has already sent. A person who presses again takes longer. */
const SECOND_SIGNAL_AFTER_MS = 150;

/** `kill` of `npx` reaches neither this process nor the shell between them. */
function stopWithParent(stop: () => void): void {
  const { ppid } = process;
  const above = findAbove(ppid);
  const isEnded = (): boolean => process.ppid !== ppid || (findAbove(ppid) ?? above) !== above;
  setInterval(() => isEnded() && stop(), 500).unref();
}

/** The parent of the shell of `npx`. Undefined if this is no shell, or if the file cannot be read, as without free file handles. */
function findAbove(shell: number): string | undefined {
  try {
    const stat = process.getBuiltinModule("node:fs").readFileSync(`/proc/${shell}/stat`, "latin1");
    // `4711 (sh) S 4710 …`
    return /^\d+ \((?:ba|da|a|z)?sh\) \S (\d+) /.exec(stat)?.[1];
  } catch {
    return undefined;
  }
}

if (Number.parseInt(process.versions.node, 10) >= MIN_NODE) {
  // Write access to this folder is write access to the program. A service without it starts without a cache.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url)));
  const stop = new AbortController();
  let stoppedAt = Infinity;
  const onSignal = (): void => {
    if (performance.now() - stoppedAt > SECOND_SIGNAL_AFTER_MS) process.exit(1);
    if (stop.signal.aborted) return;
    stoppedAt = performance.now();
    stop.abort();
  };
  let isListening = false;
  const args = process.argv.slice(2);
  // A service reloads. Its terminal was closed, if it has one: then it stops as every other command does.
  let isHungUp = false;
  let hangUp = args[0] === "serve" ? () => void (isHungUp = true) : onSignal;
  const onHangup = (listener: () => void): void => {
    hangUp = listener;
    if (isHungUp) listener();
  };
  const stopSignal = (): AbortSignal => {
    if (!isListening) {
      for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, onSignal);
      process.on("SIGHUP", () => (process.stdin.isTTY ? onSignal() : hangUp()));
      if (process.env["npm_command"] === "exec") stopWithParent(onSignal);
    }
    isListening = true;
    return stop.signal;
  };
  // A service may be stopped while it loads.
  if (args[0] === "serve") stopSignal();
  const { runCli } = await import("./main.ts");
  const { stdin, stdout, stderr, env } = process;
  let isReading = true;
  for (const output of [stdout, stderr]) {
    // Without a listener, the first line after `| head -1` would end the process, whatever it is doing.
    output.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (!isReading) return;
      if (code === "EPIPE") process.exitCode = 0;
      else if (output === stdout) console.error(`Standard output cannot be written: ${message}`);
      if (output === stdout) process.exit(code === "EPIPE" ? 0 : 1);
    });
  }
  const io = {
    cwd: process.cwd(),
    env,
    stdin,
    stdout,
    stderr,
    exitCode: 0,
    stopSignal,
    onHangup,
    interrupt: onSignal,
    finishUnread: () => void (isReading = false),
  };
  const exitCode = await runCli(args, io);
  process.exitCode ??= exitCode;
  // A stopped command has closed what it opened: nothing is left to wait for.
  if (stop.signal.aborted) process.exit();
} else {
  console.error(
    `Hookline needs Node.js ${MIN_NODE} or newer; this is v${process.versions.node}. Try \`npm i node@${MIN_NODE}\`.`,
  );
  process.exitCode = 1;
}
