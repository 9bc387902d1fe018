import type { Journal } from "../core/journal/journal.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Sender } from "./delivery/callback.ts";
import type { SecretBox } from "./delivery/secrets.ts";

/** Shared by the parts of this folder. */
export interface McpParts {
  journal: Pick<Journal, "publications" | "lease" | "watch">;
  current(): Pick<Runtime, "config" | "mappings" | "generation">;
  storeId: string;
  sender: Sender;
  /** By the keys of the configuration in use. */
  secrets(): SecretBox;
  alerts: { raise(alert: { kind: "subscription-suspended"; subject: string; text: string }): void };
  /** Whether another node has another configuration. */
  haveOtherConfigurations(): Promise<boolean>;
  log: Log;
}
