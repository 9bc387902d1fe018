import type { Command } from "commander";
import { backup } from "./backup.ts";
import { dropDeadLetters, listDeadLetters, retryDeadLetters } from "./dead-letters.ts";
import { exportEvents, listEvents, showEvent } from "./events.ts";
import { replayEvents } from "./replay.ts";

type ToCount = (text: string) => number;
type ToAddress = (text: string) => string;

/** The commands for what a service has received: most ask it through its API. */
export function addOperatorCommands(
  program: Command,
  { configHelp, toCount, toAddress }: { configHelp: string; toCount: ToCount; toAddress: ToAddress },
): void {
  const ofService = (command: Command): Command =>
    command
      .option("--config <file>", configHelp)
      .option("--url <address>", "address of the service (default: http://<gateway.host>:<gateway.port>)", toAddress);
  addEventCommands(program, ofService, toCount);
  addDeadLetterCommands(program, ofService, toCount);

  program
    .command("backup")
    .description(
      "Write the journal into one file, while the service runs or not; how far a mailbox is read into <file>.mail.",
    )
    .argument("<file>", "a file that is not there yet")
    .option("--config <file>", configHelp)
    .action(backup);
}

type Wrap = (command: Command) => Command;

function addEventCommands(program: Command, ofService: Wrap, toCount: ToCount): void {
  const events = program.command("events").description("Look at what was received, and run it again.");
  const filtered: Wrap = (command) =>
    ofService(command)
      .option("--hook <name>", "only of this hook")
      .option("--status <status>", "only accepted, skipped, rejected, done, failed or dead ones")
      .option("--since <moment>", "only received since then: a duration before now, as 90m or 7d, or a date")
      .option("--until <moment>", "only received before then");

  filtered(events.command("list").description("List events, newest first."))
    .option("--limit <number>", "at most so many", toCount, 50)
    .option("--json", "print JSON", false)
    .action(listEvents);
  ofService(events.command("show").description("Show everything about an event."))
    .argument("<id>")
    .option("--json", "print JSON", false)
    .action(showEvent);
  filtered(
    events
      .command("replay")
      .summary("Run events again through today's mappings, as new ones.")
      .description(
        "Run events again through today's mappings, as new ones. A sender that was refused and tried again left an event " +
          "each time, and no idempotency key holds a replay back: each of them is run.",
      ),
  )
    .argument("[ids...]", "ids of events; without any, those that the options choose")
    .option("--dry-run", "only count them", false)
    .option("--json", "print JSON", false)
    .action(replayEvents);
  filtered(events.command("export").description("Write everything about events, a line of JSON each.")).action(
    exportEvents,
  );
}

function addDeadLetterCommands(program: Command, ofService: Wrap, toCount: ToCount): void {
  const letters = program.command("dead-letters").description("Look at what failed for good, and mend it.");
  ofService(letters.command("list").description("List dead runs and deliveries, newest first."))
    .option("--limit <number>", "at most so many", toCount, 50)
    .option("--json", "print JSON", false)
    .action(listDeadLetters);
  ofService(letters.command("retry").description("Give them all their tries again."))
    .argument("[ids...]")
    .option("--all", "all there are", false)
    .action(retryDeadLetters);
  ofService(letters.command("drop").description("Record that they are not wanted any more."))
    .argument("[ids...]")
    .option("--all", "all there are", false)
    .action(dropDeadLetters);
}
