import { createWebhooks, reportError } from "./command.ts";
import type { CliIo } from "./io.ts";
import { addServe } from "./live/serve.ts";

/** These print a JSON object a line until they are stopped; their errors are for a person. */
const STREAMS = /^(?:serve|dev|tail|record|mail run)\b/;

/** Runs `webhooks` with these arguments. Writes to `io` and resolves to the exit code, also after an error. */
export async function runCli(args: string[], io: CliIo): Promise<number> {
  try {
    // The service starts faster without the other commands.
    const isServe = args[0] === "serve";
    const program = isServe ? createWebhooks(io, [addServe]) : (await import("./all-commands.ts")).createProgram(io);
    await program.parseAsync(args, { from: "user" });
    return io.exitCode;
  } catch (error) {
    return reportError(io, error, args.includes("--json") && !STREAMS.test(args.join(" ")));
  }
}
