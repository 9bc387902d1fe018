import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { FindParser } from "../../core/ingress/parse-body.ts";
import type { EventRecord, Journal } from "../../core/journal/journal.ts";
import type { AuditList } from "../../core/ports/audit.ts";
import type { HttpResponse, Receipt } from "../../core/types.ts";
import type { ActivityLog } from "../activity.ts";
import type { Diff } from "../diff.ts";
import type { Recordings } from "../recording-store.ts";
import type { Saving } from "../saving.ts";
import type { RejectionLog } from "../rejections.ts";
import type { StatusView } from "../status.ts";
import type { Trial } from "../trial.ts";
import type { ToolsView } from "../tool-views.ts";
import type { CatchUpView } from "../views.ts";
import type { Access } from "./access.ts";
import type { LiveStream } from "./stream.ts";

/** Operations on a running service. */
export interface Operations {
  status(): Promise<StatusView>;
  /** Loads the configuration again. Rejects with a `ConfigError` if the one before stays in use. */
  reload(): Promise<Pick<StatusView, "config">>;
  /** Runs a request through the mappings, or a draft of one, without executing anything. */
  tryHook(body: unknown): Promise<Trial>;
  /** The effects that a change would have on stored events. One at a time: it resolves every event twice. */
  diff(body: unknown): Promise<Diff>;
  /** Ends an unfinished run for good. False if there is none with this id. Throws a 409 if it has ended. */
  cancel(runId: string): Promise<boolean>;
  /** Connects to the server of a tool set; undefined if there is none. Throws a 502 with what it says. */
  tryTools(name: string): Promise<true | undefined>;
  /** Lets the watch of a mailbox try now. False if this node has none. */
  tryMailbox(name: string): boolean;
  /** Rejects with the reason when the service cannot accept hooks. */
  requireReady(): Promise<void>;
}

/** The parts of the service that the API uses. */
export interface OperatorServices extends Operations {
  config(): ResolvedConfig;
  /** Where it listens. */
  serviceUrl(): string;
  journal: Journal;
  findParser: FindParser;
  rejections: Pick<RejectionLog, "list">;
  recordings: Recordings;
  /** Gets what did not arrive from a preset's sender, or only says what it would get. */
  catchUp(request: { preset: string; hook?: string; since: number; dryRun: boolean }): Promise<CatchUpView>;
  /** Makes an event of a mapping's schedule now. Throws a 404 for a mapping without one. */
  runSchedule(id: string): Promise<Receipt>;
  /** Whether a mapping or the service itself has this hook. */
  takes(hook: string): boolean;
  stream: LiveStream;
  activity: Pick<ActivityLog, "read">;
  /** Requests of principals. */
  audit: Pick<AuditList, "list">;
  /** The text of `GET /metrics`. */
  metrics(): Promise<string>;
  /** The tool sets in use, and what is granted of them. */
  tools(): ToolsView;
  /** Ids of the mappings that are never reached. */
  shadowed(): ReadonlySet<string>;
  saving: Saving;
  /** The files that the transform of a mapping was made of, absolute. */
  inputs(id: string): readonly string[];
  /** Runs the event's request again as a new one, and gives the answer that its sender would get. */
  replay(event: EventRecord, options: { deliver: boolean }): Promise<HttpResponse>;
}

export interface RouteServices extends OperatorServices {
  access: Access;
}
