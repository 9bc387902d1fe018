import type { Command } from "commander";
import { addItem } from "../command.ts";
import type { CliIo } from "../io.ts";
import type { InitFlags } from "../init/init.ts";

export function addInit(program: Command, io: CliIo): void {
  program
    .command("init")
    .description(
      "Write a first configuration with its tokens, and a folder for transforms. Files that exist stay as they are.",
    )
    .option("--preset <name>", "a sender that needs no mapping; may be repeated", addItem, [])
    .option("--model <model>", "openai:<model>, anthropic:<model>, ollama or ollama:<model>")
    .option("--config <file>", "configuration file (default: $WEBHOOKS_CONFIG, else webhooks.json5 here)")
    .option("--yes", "do not ask", false)
    .option("--json", "no questions; print one JSON object", false)
    .action(async (flags: InitFlags) => {
      // Imported late: prompts and drivers would slow down the other commands.
      const { initialize } = await import("../init/init.ts");
      await initialize(flags, io);
    });
}
