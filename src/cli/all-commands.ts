import type { Command } from "commander";
import { addServiceOptions, createWebhooks } from "./command.ts";
import { addChannels } from "./commands/channels.ts";
import { addCheck, addReload, addStatus } from "./commands/check.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDiff } from "./commands/diff.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addMcp } from "./commands/mcp.ts";
import { addHooks } from "./commands/hooks.ts";
import { addSend } from "./commands/send.ts";
import { addBackup, addStore } from "./commands/store.ts";
import { addTools } from "./commands/tools.ts";
import { addTest, addTry } from "./commands/try.ts";
import type { CliIo } from "./io.ts";
import { addDemo } from "./demo/demo.ts";
import { addDev } from "./live/dev.ts";
import { addRecord } from "./live/record.ts";
import { addServe } from "./live/serve.ts";
import { addTail } from "./live/tail.ts";
import { addSetupFlags, type SetupFlags } from "./mail/prompter.ts";
import type { MailRunFlags } from "./mail/run.ts";
import { addApprovals } from "./reading/approvals.ts";
import { addBulk } from "./reading/bulk.ts";
import { addDeadLetters } from "./reading/dead-letters.ts";
import { addEvents } from "./reading/events.ts";
import { addInbox } from "./reading/inbox.ts";
import { addInfer } from "./reading/infer.ts";
import { addLists } from "./reading/lists.ts";
import { addSubscriptions } from "./reading/subscriptions.ts";
import { runChange } from "./setup/change.ts";
import { addImport } from "./setup/import.ts";
import { addInit } from "./setup/init.ts";
import { addPresets } from "./setup/presets.ts";
import { addToken } from "./setup/token.ts";
import { addTransform } from "./setup/transform.ts";
import { addTypes } from "./setup/types.ts";

/** In the order of the help. */
const COMMANDS = [
  addDemo,
  addInit,
  addDev,
  addServe,
  addCheck,
  addDoctor,
  addTry,
  addSend,
  addDiff,
  addTest,
  addTransform,
  addTypes,
  addInfer,
  addPresets,
  addToken,
  addImport,
  addChannels,
  addTools,
  addMail,
  addTail,
  addRecord,
  addStatus,
  addReload,
  addEvents,
  addLists,
  addDeadLetters,
  addBulk,
  addSubscriptions,
  addMcp,
  addHooks,
  addInbox,
  addApprovals,
  addBackup,
  addStore,
  addCompletion,
];

export function createProgram(io: CliIo): Command {
  return createWebhooks(io, COMMANDS);
}

/** Its code is imported late: prompts and mail sources would slow down the other commands. */
function addMail(program: Command, io: CliIo): void {
  const mail = program.command("mail").description("Receive the mails of a mailbox as hooks.");

  const setup = mail
    .command("setup")
    .description("Find the mailbox, test its login, and write hooks.mail into the configuration.");
  addSetupFlags(setup).action((flags: SetupFlags) =>
    runChange(flags, io, async () => {
      const { setUpMail } = await import("./mail/setup.ts");
      await setUpMail(flags, io);
    }),
  );

  addServiceOptions(mail.command("run"), "print one JSON object for each mail and each change")
    .description("Watch the mailboxes, and post each mail to the running service. `serve` does this by default.")
    .option("--mailbox <name>", "watch only this one of several")
    .action(async (flags: MailRunFlags) => {
      const { runMail } = await import("./mail/run.ts");
      await runMail(flags, io);
    });
}
