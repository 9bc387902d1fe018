import type { Command } from "commander";
import { runChange } from "../change.ts";
import { addServiceOptions } from "../command.ts";
import type { CliIo } from "../io.ts";
import { addSetupFlags, type SetupFlags } from "./flags.ts";
import type { MailRunFlags } from "./run.ts";

export function addMail(program: Command, io: CliIo): void {
  const mail = program.command("mail").description("Receive the mails of a mailbox as hooks.");

  const setup = mail
    .command("setup")
    .description("Find the mailbox, test its login, and write hooks.mail into the configuration.");
  // Imported late: prompts and mail sources would slow down the other commands.
  addSetupFlags(setup).action((flags: SetupFlags) =>
    runChange(flags, io, async () => {
      const { setUpMail } = await import("./setup.ts");
      await setUpMail(flags, io);
    }),
  );

  addServiceOptions(mail.command("run"), "print one JSON object for each mail and each change")
    .description("Watch the mailboxes, and post each mail to the running service. `serve` does this by default.")
    .option("--mailbox <name>", "watch only this one of several")
    .action(async (flags: MailRunFlags) => {
      const { runMail } = await import("./run.ts");
      await runMail(flags, io);
    });
}
