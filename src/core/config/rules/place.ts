import { appendSegment } from "../../shared/json.ts";
import { toChannelName } from "../../shared/channel-names.ts";
import { mayBeAnswered, findVendor } from "../../ports/vendor.ts";
import { trimSlashes } from "../../shared/text/text.ts";
import type { Drivers } from "../plugins.ts";
import { toHook } from "../presets/api-access.ts";
import { explainMissing, readPreset } from "../presets/file.ts";
import { takesPlace } from "../presets/parameters.ts";
import type { MappingSource, PresetUse, ResolvedConfig } from "../resolved-config.ts";
import type { Preset } from "../schema/generated.ts";
import { error, type Finding, staticText, warning } from "./finding.ts";
import { listReplies, mayBeSource } from "./mappings.ts";

/** A sender whose events make the agent read, write or decide by the account of a channel. */
interface Sender {
  /** Where the configuration has it. */
  key: string;
  file?: string;
  /** The account, as `github` or `github:eu`. */
  account: string;
  /** Whether requests need a secret for it alone. */
  isSigned: boolean;
  /** `place` is set. */
  isBounded: boolean;
  /** The setting that would say where its events may be, if there is one. */
  setting?: "with.place" | "place";
}

/** A secret should not be the key to every place that an account reaches. */
export function checkPlaces(config: ResolvedConfig, drivers: Drivers): Finding[] {
  const uses = config.hooks.presets.flatMap((use) => toSender(use, config, drivers));
  return [
    ...uses.filter(({ setting, isBounded }) => setting && !isBounded).map(({ key }) => warning(key, UNBOUNDED)),
    ...checkSharedAccounts([...uses, ...listOwnSenders(config)], config),
  ];
}

const UNBOUNDED =
  'Nothing says which places its events may be about, so anyone who can post them reaches all that the account does. Set with.place, or "*" for all.';

function toSender(use: PresetUse, config: ResolvedConfig, drivers: Drivers): Sender[] {
  if (explainMissing(use.written, { baseDir: config.baseDir, vendors: drivers.vendors }) !== undefined) return [];
  const { preset } = readPreset(use.folder);
  if (!hasPlaces(preset) && !hasOneAccount(preset)) return [];
  const acting = config.hooks.mappings
    .filter(({ preset: name, mapping }) => name === use.name && pathOf(mapping) === toHook(use))
    .find((source) => acts(source) || mayAnswer(source, config, drivers));
  const account = acting && accountOf(acting);
  if (account === undefined) return [];
  const isBounded = hasPlaces(preset) && use.with["place"] !== undefined;
  const isSigned = acting?.mapping.auth !== undefined;
  return [{ key: use.key, account, isSigned, isBounded, setting: hasPlaces(preset) ? "with.place" : undefined }];
}

function pathOf({ match }: MappingSource["mapping"]): string {
  return trimSlashes(match?.path ?? "");
}

/** Its webhook is made at one of several places, such as repositories, and its events name theirs. */
function hasPlaces(preset: Preset): boolean {
  return takesPlace(preset) && preset.registration?.place !== undefined;
}

/** The ids of its events do not say where they belong. */
function hasOneAccount(preset: Preset): boolean {
  return !takesPlace(preset) && preset.reads?.channel !== undefined;
}

/** The mappings of the configuration's own with a secret, one for each path. */
function listOwnSenders({ hooks }: ResolvedConfig): Sender[] {
  const own = hooks.mappings.filter((source) => source.preset === undefined && source.mapping.auth && acts(source));
  const first = [...Map.groupBy(own, ({ mapping }) => pathOf(mapping)).values()].flatMap(([source]) => source ?? []);
  return first.flatMap((source) => {
    const { key, file, mapping } = source;
    const account = accountOf(source);
    if (account === undefined) return [];
    return [{ key, file, account, isSigned: true, isBounded: mapping.place !== undefined, setting: "place" }];
  });
}

/** Two secrets for one account, of which one could be used to speak about the places of the other. */
function checkSharedAccounts(senders: readonly Sender[], { channels }: ResolvedConfig): Finding[] {
  const signed = senders.filter(({ isSigned, account }) => isSigned && Object.hasOwn(channels, account));
  return [...Map.groupBy(signed, ({ account }) => account).entries()].flatMap(([account, sharing]) => {
    // Own mappings alone may be about anything.
    const isShared = sharing.some(({ setting }) => setting !== "place");
    if (!isShared || sharing.every(({ isBounded }) => isBounded)) return [];
    return sharing.slice(1).map(({ key, file, setting }) => {
      const place = setting === undefined ? "" : `${setting} on both, or `;
      const other = setting === "place" ? "another account in source.channel" : "with.account";
      const message = `A second secret uses ${appendSegment("channels", account)}. Set ${place}${other}.`;
      return { ...error(key, message), file };
    });
  });
}

/** Whether the events of a mapping make the agent use the source's account, or call tools with their values. */
function acts({ mapping, key }: MappingSource): boolean {
  const { context = [], review, workspace, deliver, grants = {}, action = "agent" } = mapping;
  const replies = deliver === false || action !== "agent" ? [] : listReplies(mapping, key);
  return (
    context.length > 0 ||
    review !== undefined ||
    Boolean(workspace) ||
    replies.some(({ channel }) => mayBeSource(channel)) ||
    JSON.stringify(grants).includes("{{")
  );
}

/** Whether a message can answer a question of `agents.approvals`. */
function mayAnswer(source: MappingSource, { agents }: ResolvedConfig, { vendors }: Drivers): boolean {
  const { channel, by = [] } = agents.approvals ?? {};
  return (
    by.length > 0 &&
    channel !== undefined &&
    channel === accountOf(source) &&
    source.mapping.auth !== undefined &&
    mayBeAnswered(findVendor(vendors, source.preset))
  );
}

function accountOf({ mapping }: Pick<MappingSource, "mapping">): string | undefined {
  const written = staticText(mapping.source?.channel);
  return written === undefined ? undefined : toChannelName(written);
}
