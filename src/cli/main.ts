import type { Command } from "commander";
import { addBackup } from "./commands/backup.ts";
import { addChannels } from "./commands/channels.ts";
import { addCheck } from "./commands/check.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDiff } from "./commands/diff.ts";
import { addDeadLetters } from "./reading/dead-letters.ts";
import { addEvents } from "./reading/events.ts";
import { addImport } from "./commands/import.ts";
import { addInit } from "./commands/init.ts";
import { addPresets } from "./commands/presets.ts";
import { addLearn } from "./reading/learn.ts";
import { addRejections } from "./reading/rejections.ts";
import { addStore } from "./commands/store.ts";
import { addSend } from "./commands/send.ts";
import { addDev } from "./live/dev.ts";
import { addServe } from "./live/serve.ts";
import { addTail } from "./live/tail.ts";
import { addSessions } from "./reading/sessions.ts";
import { addStatus } from "./reading/status.ts";
import { addSpend } from "./reading/spend.ts";
import { addTest } from "./commands/test.ts";
import { addToken } from "./commands/token.ts";
import { addTransform } from "./commands/transform.ts";
import { addTry } from "./commands/try.ts";
import { createCommand, EXIT_CODES, exitCodeOf } from "./command.ts";
import { describeError } from "./context.ts";
import { addDoctor } from "./doctor/doctor.ts";
import { addExamples } from "./examples.ts";
import { type CliIo, printError } from "./io.ts";
import { addMail } from "./mail/commands.ts";
import { Unreachable } from "./operator-client.ts";

/** Runs `webhooks` with these arguments. Writes to `io` and resolves to the exit code, also after an error. */
export async function runCli(args: string[], io: CliIo): Promise<number> {
  try {
    await createProgram(io).parseAsync(args, { from: "user" });
    return io.exitCode;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code !== undefined) return code;
    printError(io, describeError(error));
    return error instanceof Unreachable ? EXIT_CODES.unreachable : EXIT_CODES.failed;
  }
}

/** In the order of the help. */
export function createProgram(io: CliIo): Command {
  const program = createCommand(io);
  addInit(program, io);
  addDev(program, io);
  addServe(program, io);
  addCheck(program, io);
  addDoctor(program, io);
  addTry(program, io);
  addSend(program, io);
  addDiff(program, io);
  addTest(program, io);
  addTransform(program, io);
  addLearn(program, io);
  addPresets(program, io);
  addToken(program, io);
  addImport(program, io);
  addChannels(program, io);
  addMail(program, io);
  addTail(program, io);
  addStatus(program, io);
  addEvents(program, io);
  addSessions(program, io);
  addSpend(program, io);
  addRejections(program, io);
  addDeadLetters(program, io);
  addBackup(program, io);
  addStore(program, io);
  addCompletion(program, io);
  addExamples(program);
  return program;
}
