import type { Command } from "commander";
import { addServiceOptions, CONFIG_HELP } from "../command.ts";
import type { CliIo } from "../io.ts";
import { addSetupFlags, type SetupFlags } from "./flags.ts";
import type { MailRunFlags } from "./run.ts";

/** The commands for the mailbox that the service is to watch. */
export function addMail(program: Command, io: CliIo): void {
  const mail = program.command("mail").description("Let mails come in as hooks, from any mailbox.");

  const setup = mail
    .command("setup")
    .description("Find the mailbox, try its login, and write hooks.mail into the configuration.");
  // As below: the prompts and the mail sources are for these commands alone.
  addSetupFlags(setup, CONFIG_HELP).action(async (flags: SetupFlags) =>
    (await import("./setup.ts")).setUpMail(flags, io),
  );

  addServiceOptions(mail.command("run"))
    .description("Watch the mailbox, and post each mail to the running service. `serve` does so itself by default.")
    .option("--json", "print an object of JSON for each mail and each change", false)
    // Only this command watches: the others start faster without it.
    .action(async (flags: MailRunFlags) => (await import("./run.ts")).runMail(flags, io));
}
