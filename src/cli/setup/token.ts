import { toCommand } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import { existsSync } from "node:fs";
import path from "node:path";
import type { Change } from "../../service/authoring/edit-config.ts";
import { createSecret, planChanges, toFileReference } from "../../service/authoring/plan.ts";
import { readTarget, type Target, whereSet } from "../../service/authoring/target.ts";
import { didYouMean } from "../../core/shared/text/text.ts";
import { DEFAULT_TOKEN } from "../../core/config/resolved-config.ts";
import { ConfigError } from "../../core/errors.ts";
import { readPath, type Segment, toKeyPath, toObject } from "../../core/shared/json.ts";
import { addWriteOptions, type WriteFlags } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJsonLine } from "../io.ts";
import { applyPlan, loadPlan, plainChange, printWritten, runChange } from "./change.ts";

type TokenFlags = WriteFlags & { print: boolean };

export function addToken(program: Command, io: CliIo): void {
  const token = program.command("token").description("Replace the secrets of tokens.");
  addWriteOptions(token.command("rotate").summary("Add a new secret to a token; the hooks accept both."))
    .description(
      "Add a new secret to a token. A running service reloads and accepts both secrets, until " +
        "`npx hookline token drop` removes the older one.",
    )
    .argument("<name>", NAME_HELP)
    .option("--print", "print the new secret", false)
    .action((name: string, flags: TokenFlags) => runChange(flags, io, () => rotate(name, flags, io)));
  addWriteOptions(token.command("drop").description("Remove all secrets of a token except for the newest one."))
    .argument("<name>", NAME_HELP)
    .action((name: string, flags: TokenFlags) => runChange(flags, io, () => drop(name, flags, io)));
}

const NAME_HELP = "its name in hooks.tokens; default is hooks.token";

/**
 * Adds a second secret to a token, in front of the one that senders have. Until the older one is dropped, the hooks accept
 * both. Throws a `ConfigError` if the token has two already.
 */
async function rotate(name: string, flags: TokenFlags, io: CliIo): Promise<void> {
  const { target, at, count } = findToken(readTarget(locateConfig(flags.config, io), io.env), name);
  const { file } = target;
  if (count > 1) {
    const message = `The token has ${count} secrets already. Run \`${toCommand("token drop", name)}\` when its senders have the first one.`;
    throw new ConfigError([{ file, key: toKeyPath(at), message }]);
  }
  const made = createSecret();
  const secretFile = nameFile(target, name);
  const value = toFileReference(secretFile, path.dirname(file));
  const secretFiles = new Map([[secretFile, `${made}\n`]]);
  const plan = planChanges(target, [{ kind: "add", path: at, value, first: true }], { secretFiles });
  await loadPlan(plan, io);
  const written = await applyPlan(plan, flags, io);
  const secret = flags.print && written ? made : undefined;
  if (flags.json) printJsonLine(io, { ok: true, file, written, secretFile, secret, diff: plainChange(plan) });
  if (flags.json || !written) return;
  printWritten(plan, io);
  if (secret !== undefined) print(io, "", secret);
  const next = "A running service accepts both secrets from now on. Give its senders the new one, then:";
  print(io, "", next, `  ${toCommand("token drop", name)}`);
}

/** Removes all secrets of a token but the first. Throws a `ConfigError` if it has only one. */
async function drop(name: string, flags: TokenFlags, io: CliIo): Promise<void> {
  const { target, at, count } = findToken(readTarget(locateConfig(flags.config, io), io.env), name);
  const { file } = target;
  if (count < 2) {
    const message = `The token has only one secret. Add the next one with \`${toCommand("token rotate", name)}\`.`;
    throw new ConfigError([{ file, key: toKeyPath(at), message }]);
  }
  const dropped = count - 1;
  const changes = Array.from({ length: dropped }, (_, index): Change => ({
    kind: "remove",
    path: [...at, dropped - index],
  }));
  const plan = planChanges(target, changes, { secretFiles: new Map() });
  await loadPlan(plan, io);
  const written = await applyPlan(plan, flags, io);
  if (flags.json) printJsonLine(io, { ok: true, file, written, dropped, diff: plainChange(plan) });
  if (flags.json || !written) return;
  printWritten(plan, io);
  const removed = `${formatCount(dropped, "secret")} of the token ${name} removed`;
  print(io, `${removed}. Requests with an older one are answered 401.`);
}

/** Where the secrets of a token are written, and how many there are. */
function findToken(given: Target, name: string): { target: Target; at: Segment[]; count: number } {
  const names = given.files.flatMap(({ written }) => {
    const { token, tokens } = toObject(written["hooks"]);
    return [...(token === undefined ? [] : [DEFAULT_TOKEN]), ...Object.keys(toObject(tokens))];
  });
  if (!names.includes(name)) {
    const next = names.length === 0 ? ". Run `npx hookline init` to create the first one." : didYouMean(name, names);
    throw new ConfigError([{ file: given.config, message: `There is no token "${name}"${next}` }]);
  }
  const at = name === DEFAULT_TOKEN ? ["hooks", "token"] : ["hooks", "tokens", name, "secret"];
  const target = whereSet(given, at);
  const secrets = readPath(target.written, at);
  return { target, at, count: Array.isArray(secrets) ? secrets.length : 1 };
}

/** A file of the state folder that does not exist yet: the older secret stays in its own until it is dropped. */
function nameFile({ stateDir }: Target, name: string): string {
  const stem = name === DEFAULT_TOKEN ? "hook-token" : `hook-token-${name.replaceAll(/[^\w-]/g, "-")}`;
  for (let number = 2; ; number++) {
    const file = path.join(stateDir, `${stem}-${number}`);
    if (!existsSync(file)) return file;
  }
}
