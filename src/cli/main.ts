import type { Command } from "commander";
import { addExamples } from "./command-list.ts";
import { createCommand, reportError, addEnvFile } from "./command.ts";
import type { CliIo } from "./io.ts";
import { addServe } from "./live/serve.ts";

/** These print a JSON object a line until they are stopped; their errors are for a person. */
const STREAMS = /^(?:serve|dev|tail|record|mail run)\b/;

/** Runs `webhooks` with these arguments. Writes to `io` and resolves to the exit code, also after an error. */
export async function runCli(args: string[], io: CliIo): Promise<number> {
  try {
    const program = args[0] === "serve" ? createServe(io) : (await import("./all-commands.ts")).createProgram(io);
    await program.parseAsync(args, { from: "user" });
    return io.exitCode;
  } catch (error) {
    return reportError(io, error, args.includes("--json") && !STREAMS.test(args.join(" ")));
  }
}

/** The service starts faster without the other commands. */
function createServe(io: CliIo): Command {
  const program = createCommand(io);
  addServe(program, io);
  addEnvFile(program);
  addExamples(program);
  return program;
}
