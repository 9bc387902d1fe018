/**
 * The first program in a box. It offers the relay, a socket of the service, at 127.0.0.1, writes the files that an agent reads its
 * settings from, and runs the agent. It ends with the agent, and the box ends with it.
 *
 * Arguments: the socket, the port, the files as JSON (their texts by path below HOME), the program and its arguments.
 */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { constants } from "node:os";
import path from "node:path";

const [relay = "", port = "", files = "{}", program = "", ...args] = process.argv.slice(2);

for (const [name, text] of Object.entries(JSON.parse(files))) {
  const file = path.join(process.env["HOME"] ?? "/", name);
  mkdirSync(path.dirname(file), { recursive: true });
  // The agent may have put a link there.
  rmSync(file, { recursive: true, force: true });
  writeFileSync(file, String(text));
}

createServer({ allowHalfOpen: true }, (client) => {
  const service = connect({ path: relay, allowHalfOpen: true });
  client.on("error", () => service.destroy());
  service.on("error", () => client.destroy());
  client.on("close", () => service.destroy());
  client.pipe(service).pipe(client);
})
  .on("error", fail)
  .listen(Number(port), "127.0.0.1", start);

function start(): void {
  const child = spawn(program, args, { stdio: "inherit" });
  child.on("error", fail);
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}

function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
}
