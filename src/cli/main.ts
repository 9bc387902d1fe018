import { Command, InvalidArgumentError } from "commander";
import { packageVersion } from "../config/package.ts";
import { testChannel } from "./commands/channels-test.ts";
import { check } from "./commands/check.ts";
import { addOperatorCommands } from "./commands/operator.ts";
import type { ServeFlags } from "./commands/serve.ts";
import { testSamples } from "./commands/test.ts";
import { newTransform } from "./commands/transform-new.ts";
import { tryHook } from "./commands/try.ts";
import { fail } from "./context.ts";
import { addMailCommands } from "./mail/commands.ts";

const CONFIG_HELP = "configuration file (default: $WEBHOOKS_CONFIG, else webhooks.json5, .yaml or .json here)";

const program = new Command("webhooks")
  .description("Hookline: webhooks in, durable agent actions out.")
  .version(packageVersion())
  .showHelpAfterError();

program
  .command("serve")
  .description("Serve the hooks, and carry out what comes in.")
  .option("--config <file>", CONFIG_HELP)
  .option("--host <address>", "address to listen on (default: gateway.host)")
  .option("--port <number>", "port to listen on; 0 takes a free one (default: gateway.port)", toPort)
  // The server and the journal are for this command alone: the others start faster without them.
  .action(async (flags: ServeFlags) => (await import("./commands/serve.ts")).serve(flags));

program
  .command("check")
  .description("Load and compile everything, print every problem, exit 1 when there is one.")
  .option("--config <file>", CONFIG_HELP)
  .action(check);

program
  .command("try")
  .description("Show the action that a payload would give. Nothing is recorded or dispatched.")
  .argument("<hook>", "name of the hook, as it stands after the hooks path")
  .argument("<payload-file>", "file with the JSON payload; - for standard input")
  .option("--config <file>", CONFIG_HELP)
  .option("--header <name:value>", "a header of the request; may stand several times", addPair(":"), {})
  .option("--query <name=value>", "a query parameter; may stand several times", addPair("="), {})
  .option("--json", "print JSON on a terminal too, as it is elsewhere", false)
  .action(tryHook);

program
  .command("test")
  .description("Run the samples beside the transforms; exit 1 when an action is not the expected one.")
  .argument("[dir]", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
  .option("--config <file>", CONFIG_HELP)
  .option("--update", "write down what is given as what is expected", false)
  .option("--watch", "run again at every save", false)
  .action(testSamples);

program
  .command("transform")
  .description("Write transforms.")
  .command("new")
  .description("Write a typed transform with a sample of its payload and the action expected of it.")
  .argument("<name>", "name of the module, and of the hook")
  .option("--dir <folder>", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
  .option("--config <file>", CONFIG_HELP)
  .action(newTransform);

program
  .command("channels")
  .description("Look after the messaging channels.")
  .command("test")
  .description("Send one message, and show what the messaging service says.")
  .argument("<channel>", "a channel that is configured")
  .requiredOption("--to <recipient>", "who gets it, in the channel's own form")
  .option("--text <text>", "what it says", "This is a test from Hookline.")
  .option("--config <file>", CONFIG_HELP)
  .action(testChannel);

addMailCommands(program, { configHelp: CONFIG_HELP, toAddress });
addOperatorCommands(program, { configHelp: CONFIG_HELP, toCount, toAddress });

await program.parseAsync().catch(fail);

function toPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
}

function toCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError("Expected a whole number from 1 on.");
}

/** Without a slash at its end: paths are put behind it. */
function toAddress(text: string): string {
  const { protocol, username } = URL.parse(text) ?? { protocol: "", username: "" };
  if (/^https?:$/.test(protocol) && username === "") return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:18790.");
}

function addPair(separator: string) {
  return (text: string, pairs: Record<string, string>): Record<string, string> => {
    const at = text.indexOf(separator);
    if (at < 1) throw new InvalidArgumentError(`Expected <name>${separator}<value>.`);
    return { ...pairs, [text.slice(0, at).trim()]: text.slice(at + 1).trim() };
  };
}
