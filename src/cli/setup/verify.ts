import { toCommand } from "../../core/shared/text/command.ts";
import { isSender } from "../../core/types.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import type { Drivers } from "../../core/config/plugins.ts";
import { type PresetPlace, requirePreset } from "../../core/config/presets/file.ts";
import { findUse, toHook } from "../../core/config/presets/api-access.ts";
import type { PresetUse } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import type { OperatorAnswers } from "../../operator/views.ts";
import { readOwn } from "../../core/shared/json.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addServiceOptions, EXIT_CODES, PRESET_HELP, type ServiceFlags, toDigits } from "../command.ts";
import { loadConfig, searchPresets } from "../context.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { createOperatorClient, type OperatorClient } from "../operator-client.ts";
import { type Configured, connectStored, findRegistrar, listHooks, refuseUnused, requireUrl } from "./sender.ts";

type Rejection = OperatorAnswers["GET /api/rejections"]["rejections"][number];

interface VerifyFlags extends ServiceFlags {
  path?: string;
  wait: string;
}

export function addVerify(presets: Command, io: CliIo): void {
  addServiceOptions(presets.command("verify"), "print one JSON object: ok, event, reason")
    .description(
      "Wait for one signed event of a preset's sender, ask the sender for a test delivery where its API has one, and explain a refusal.",
    )
    .argument("<name>", PRESET_HELP)
    .option("--path <hook>", "the hook's name, if the preset is used for several")
    .option("--wait <seconds>", "how long to wait", toDigits, "120")
    .action(async (name: string, flags: VerifyFlags) =>
      verify(requirePreset(name, await searchPresets(flags, io)), flags, io),
    );
}

const POLL_MS = 500;
const TEST_MS = 10_000;

/** The event that arrived, or why none did. */
type Outcome = { event: string; reason?: never } | { event?: never; reason: string };

async function verify(place: PresetPlace, flags: VerifyFlags, io: CliIo): Promise<void> {
  const { name } = place;
  const read = await loadConfig(flags.config, io);
  const { config, drivers } = read;
  const use = findUse(config, name, flags.path);
  if (!use) throw refuseUnused(place, config.file, listHooks(config, name));
  const hook = toHook(use);
  const { mapping } =
    config.hooks.mappings.find(({ preset, mapping: { match } }) => preset === name && match?.path === hook) ?? {};
  const headers = listSignatureHeaders(mapping?.auth?.scheme, drivers);
  const client = await createOperatorClient(flags, io);
  const seen = await readSeen(client, hook);
  const asked = await askForTest(use, read);
  if (!flags.json) print(io, asked, `Waiting up to ${flags.wait} s for a signed event of ${hook}.`);

  const { event, reason } = await waitForOutcome();
  if (reason !== undefined) io.exitCode = EXIT_CODES.failed;
  if (flags.json) return printJson(io, { ok: reason === undefined, event, reason });
  print(io, reason ?? `A signed event arrived: ${event}. The secret and the address are right.`);

  async function waitForOutcome(): Promise<Outcome> {
    const signal = io.stopSignal();
    const endsAt = performance.now() + Number(flags.wait) * 1000;
    while (!signal.aborted && performance.now() < endsAt) {
      const { events } = await client.call("GET /api/events", { hook, limit: 20 });
      const found = events.find(({ id, replayOf }) => !seen.has(id) && replayOf === undefined);
      if (found) {
        const { credential } = await client.call("GET /api/events/:id", { id: found.id });
        if (isSender(credential)) return { event: found.id };
      }
      const { rejections } = await client.call("GET /api/rejections", { limit: 20 });
      const refused = rejections
        .filter(({ id }) => !seen.has(id))
        .map((one) => explain(one, { hook, headers }))
        .find(Boolean);
      if (refused !== undefined) return { reason: toPrintable(refused) };
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    return {
      reason: `Nothing arrived at ${config.hooks.path}/${hook}. Check the address at the sender, and that it can be reached: \`npx hookline doctor\`.`,
    };
  }
}

async function readSeen(client: OperatorClient, hook: string): Promise<Set<string>> {
  const { events } = await client.call("GET /api/events", { hook, limit: 20 });
  const { rejections } = await client.call("GET /api/rejections", { limit: 500 });
  return new Set([...events, ...rejections].map(({ id }) => id));
}

/** The request to the sender for a test, in a sentence. */
async function askForTest(use: PresetUse, read: Configured): Promise<string> {
  const vendor = findRegistrar(use.name, read.drivers.vendors);
  const byHand = "Cause an event at the sender, or send its test delivery.";
  if (!vendor) return byHand;
  try {
    const places = connectStored(use, read, TEST_MS);
    if (places.length === 0) {
      return `${byHand} ${vendor.service} was not asked for one, because no token is stored.`;
    }
    const url = requireUrl(use, read.config);
    const found = await Promise.all(places.map(async ({ hooks }) => ({ hooks, id: (await hooks.find(url))[0] })));
    const { hooks, id } = found.find((one) => one.id !== undefined) ?? {};
    if (!hooks || id === undefined) {
      return `${vendor.service} has no webhook that posts to ${url}: register it with \`${toCommand("presets enable", use.written)} --register\`.`;
    }
    if (!hooks.test) return byHand;
    await hooks.test(id);
    return `${vendor.service} was asked for a test delivery.`;
  } catch (error) {
    return `${byHand} ${vendor.service} was asked for one in vain: ${messageOf(error)}`;
  }
}

function listSignatureHeaders(scheme: string | undefined, { providers }: Drivers): string[] {
  const about = scheme === undefined ? undefined : providers[scheme]?.about;
  const header = readOwn(about, "header");
  return typeof header === "string" ? (header.match(/[a-z][a-z\d]*(?:-[a-z\d]+)+/g) ?? []) : [];
}

/** Why the sender's request was refused, and what to do; undefined: it was somebody else's. */
function explain(
  { hook: posted, reason, hint, message, headers }: Rejection,
  wanted: { hook: string; headers: string[] },
): string | undefined {
  if (posted !== wanted.hook) {
    const isSenders = wanted.headers.some((name) => headers.includes(name));
    if (!isSenders) return undefined;
    return `Wrong path: a request with the sender's signature came to "${posted ?? "another path"}", but the hook is "${wanted.hook}". Change the address at the sender.`;
  }
  const proxy = headers.some((name) => /^(?:via|forwarded|x-forwarded-|cf-|x-amzn-)/.test(name));
  switch (reason) {
    case "wrong":
      return (
        "Wrong secret, or a changed body: the signature does not fit. Set the secret of the configuration at the sender again" +
        (proxy
          ? ". If it is the same, the proxy in front changes the body: it must pass the bytes on as they came."
          : "; if it is the same, something on the way changes the body.")
      );
    case "missing":
      return "The request had no signature: set the secret at the sender, or somebody else sent it.";
    case "expired":
      return `The signature is too old or too new: ${hint ?? "compare the clocks"}.`;
    default:
      return `It was refused (${reason}): ${message}`;
  }
}
