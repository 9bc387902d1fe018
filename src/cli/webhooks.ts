#!/usr/bin/env node
/**
 * The installed command, and the only file of `cli/` that touches the process. It imports nothing before it has checked the
 * Node version: an older Node would fail at the first syntax it does not know, without saying why.
 */
const MIN_NODE = 24;

if (Number.parseInt(process.versions.node, 10) >= MIN_NODE) {
  const { runCli } = await import("./main.ts");
  const { stdin, stdout, stderr, env } = process;
  // npm changes into the package's folder before it runs a script.
  const cwd = env["INIT_CWD"] ?? process.cwd();
  const stop = new AbortController();
  const stopSignal = (): AbortSignal => {
    for (const signal of ["SIGTERM", "SIGINT"]) {
      process.on(signal, () => (stop.signal.aborted ? process.exit(1) : stop.abort()));
    }
    return stop.signal;
  };
  const io = { cwd, env, stdin, stdout, stderr, exitCode: 0, stopSignal };
  process.exitCode = await runCli(process.argv.slice(2), io);
  // A stopped command has closed what it opened: nothing is left to wait for.
  if (stop.signal.aborted) process.exit();
} else {
  console.error(
    `Hookline needs Node.js ${MIN_NODE} or newer; this is v${process.versions.node}. Try \`npm i node@${MIN_NODE}\`.`,
  );
  process.exitCode = 1;
}
