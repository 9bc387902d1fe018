import { hash } from "node:crypto";
import { hostname } from "node:os";
import type { ResolvedConfig } from "../core/config/resolved-config.ts";
import type { Dispatcher } from "../core/dispatch/dispatcher.ts";
import type { BudgetStatus } from "../core/dispatch/hold.ts";
import { type ConfigProblem, toSentence } from "../core/errors.ts";
import type { JournalStats, NodeInfo, NodeRecord } from "../core/journal/journal.ts";
import type { FolderStatus, MailStatus } from "../core/ports/mail-status.ts";
import type { ReloadFailure, Runtime } from "../core/ports/runtime.ts";
import { compileRecurrence, toWallTime } from "../core/shared/recurrence.ts";
import { packageVersion } from "../core/shared/system/package.ts";
import type { ModuleCost, SandboxStatus } from "../core/transforms/runner.ts";
import { toScheduleHook } from "../core/types.ts";
import { toIso, toView, type View } from "./iso-times.ts";

/* Whether the service and its nodes work, as the API shows it. */

type MailView = Omit<MailStatus, "folders"> & { folders: View<FolderStatus>[] };

export interface StatusView {
  version: string;
  startedAt: string;
  config: {
    generation: number;
    at: string;
    file: string | undefined;
    mappings: string[];
    warnings: string[];
    /** The modules of transforms, and how much calls of each load; the largest comes first. */
    modules: ModuleCost[];
  };
  /** The first problem, and the list of all. */
  lastReloadError: ({ at: string; problems: ConfigProblem[] } & Partial<ConfigProblem>) | null;
  sandbox: SandboxStatus;
  queue: JournalStats & ReturnType<Dispatcher["status"]>;
  /** Absent without `agents.budget`. */
  budget?: BudgetStatus;
  /** When the schedules of mappings come next. */
  schedules: ScheduleView[];
  /** Each mailbox with its folders. */
  mail: MailView[];
  /** With `store.url`: those that share it, also those that stopped a moment ago. */
  nodes?: View<NodeRecord>[];
  /** The differences between live nodes, which answer differently until these are gone. */
  nodesDiffer?: ("version" | "config")[];
}

export function toNodesView(nodes: NodeRecord[]): Pick<StatusView, "nodes" | "nodesDiffer"> {
  if (nodes.length === 0) return {};
  const alive = nodes.filter(({ isAlive }) => isAlive);
  const nodesDiffer = (["version", "config"] as const).filter(
    (name) => new Set(alive.map((node) => node[name])).size > 1,
  );
  return { nodes: nodes.map(toView), nodesDiffer };
}

export function toRuntimeView(
  { generation, builtAt, config, warnings, modules }: Runtime,
  failure: ReloadFailure | undefined,
): Pick<StatusView, "config" | "lastReloadError"> {
  return {
    config: {
      generation,
      at: toIso(builtAt),
      file: config.file,
      mappings: config.hooks.mappings.map(({ id }) => id),
      warnings: warnings.map(toSentence),
      modules,
    },
    lastReloadError: failure ? { at: toIso(failure.at), ...failure.problems[0], problems: failure.problems } : null,
  };
}

interface ScheduleView {
  mapping: string;
  hook: string;
  nextAt: string;
  /** The same on the clock of its time zone, with its offset. */
  local: string;
}

/** The mappings with a schedule, and the next time of each. None while hooks are off. */
export function toScheduleViews({ hooks }: ResolvedConfig, now: number): ScheduleView[] {
  return hooks.mappings.flatMap(({ id, mapping: { schedule } }) => {
    if (!schedule || !hooks.enabled) return [];
    const next = compileRecurrence(schedule)(now);
    return { mapping: id, hook: toScheduleHook(id), nextAt: toIso(next), local: toWallTime(next, schedule) };
  });
}

/** With its address as people read it: `imap://ann@example.com@mail.example.com`. */
export function toMailView(status: MailStatus): MailView {
  return { ...status, mailbox: status.mailbox.replaceAll("%40", "@"), folders: status.folders.map(toView) };
}

/** The data of a node that the other nodes of the store show. */
export function describeNode(config: ResolvedConfig, startedAt: string): NodeInfo {
  return {
    role: config.gateway.role,
    host: hostname(),
    version: packageVersion(),
    config: digestOf(config),
    startedAt: Date.parse(startedAt),
  };
}

/** A node describes itself every few seconds, and a configuration may be megabytes. */
const digests = new WeakMap<ResolvedConfig, string>();

/** The same on all nodes that would do the same with a request. Places on the node's own machine do not count. */
function digestOf(config: ResolvedConfig): string {
  const digest = digests.get(config) ?? computeDigest(config);
  digests.set(config, digest);
  return digest;
}

function computeDigest({
  baseDir,
  gateway: { host: _host, port: _port, role: _role, ...gateway },
  ...config
}: ResolvedConfig): string {
  const { file: _file, store: _store, log: _log, ...rest } = config;
  const text = JSON.stringify({ ...rest, gateway }).replaceAll(JSON.stringify(baseDir).slice(1, -1), "");
  return hash("sha256", text).slice(0, 12);
}
