import type { Command } from "commander";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type ConfigPlan, readTarget, writePlan } from "../../config/edit/plan.ts";
import { planDrop, planRotation } from "../../config/edit/plan-token.ts";
import { confirmWrite, describeFailure, loadPlan, openTerminal, showChange } from "../change.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print } from "../io.ts";

interface TokenFlags {
  config?: string;
  print: boolean;
  yes: boolean;
  dryRun: boolean;
  json: boolean;
}

export function addToken(program: Command, io: CliIo): void {
  const token = program.command("token").description("Give the tokens of senders new secrets.");
  addChangeOptions(token.command("rotate").summary("Make a new secret for a token; the hooks accept both."))
    .description(
      "Make a new secret for a token, in front of the one in use. A running service reloads and accepts both, until " +
        "`webhooks token drop` removes the older one.",
    )
    .argument("<name>", NAME_HELP)
    .option("--print", "print the new secret", false)
    .action((name: string, flags: TokenFlags) => change(flags, io, () => rotate(name, flags, io)));
  addChangeOptions(token.command("drop").description("Remove the secrets that a token had before its newest one."))
    .argument("<name>", NAME_HELP)
    .action((name: string, flags: TokenFlags) => change(flags, io, () => drop(name, flags, io)));
}

const NAME_HELP = "its name in hooks.tokens; default is hooks.token";

function addChangeOptions(command: Command): Command {
  return command
    .option("--config <file>", CONFIG_HELP)
    .option("--yes", "write without a question", false)
    .option("--dry-run", "show the change and write nothing", false)
    .option("--json", "no questions; print one JSON object", false);
}

async function change(flags: TokenFlags, io: CliIo, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    describeFailure(error, flags, io);
  }
}

async function rotate(name: string, flags: TokenFlags, io: CliIo): Promise<void> {
  const plan = planRotation(readTarget(locateConfig(flags.config, io), io.env), name);
  const written = await write(plan, flags, io);
  const { secretFile } = plan;
  const secret = flags.print && written ? plan.secret : undefined;
  if (flags.json) return report(plan, { written, secretFile, secret }, io);
  if (!written) return;
  print(
    io,
    "Written:",
    `  ${plan.file}`,
    `  ${path.relative(io.cwd, secretFile)} (the new secret, readable only by your user)`,
    ...(secret === undefined ? [] : ["", secret]),
    "",
    "A running service accepts both secrets from now on. Give its senders the new one, then:",
    `  webhooks token drop ${name}`,
  );
}

async function drop(name: string, flags: TokenFlags, io: CliIo): Promise<void> {
  const plan = planDrop(readTarget(locateConfig(flags.config, io), io.env), name);
  const written = await write(plan, flags, io);
  if (flags.json) return report(plan, { written, dropped: plan.dropped }, io);
  if (!written) return;
  const dropped = formatCount(plan.dropped, "secret");
  print(
    io,
    "Written:",
    `  ${plan.file}`,
    `${dropped} of the token ${name} removed. Requests with an older one are answered 401.`,
  );
}

/** Resolves to whether the change was written, which a dry run does not do. */
async function write(plan: ConfigPlan, flags: TokenFlags, io: CliIo): Promise<boolean> {
  await loadPlan(plan, io.env, false);
  if (!flags.json) print(io, showChange(plan));
  if (flags.dryRun) return false;
  await confirmWrite(flags, openTerminal(flags, io), plan.file);
  writePlan(plan);
  return true;
}

function report(plan: ConfigPlan, result: object, io: CliIo): void {
  const diff = stripVTControlCharacters(showChange(plan));
  print(io, JSON.stringify({ ok: true, file: plan.file, ...result, diff }));
}
