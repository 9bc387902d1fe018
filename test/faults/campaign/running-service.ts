import type { ChildProcess } from "node:child_process";
import { type Client, createClient } from "../../support/client.ts";
import { startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService } from "../../support/service.ts";

/** A service of a campaign. */
export interface RunningService {
  url: string;
  client: Client;
  /** Undefined for one in this process. */
  child?: ChildProcess;
  /** Rejects if it ends in another way than the signal says. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** For one that is killed or paused, or that has an environment of its own. */
export async function startApart(file: string, env?: Record<string, string>): Promise<RunningService> {
  const { url, child, end, errors } = await startProcess(file, env);
  return {
    url,
    child,
    client: createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }),
    async end(signal) {
      const how = await end(signal);
      if (how !== "SIGKILL" && how !== 0) throw new Error(`ended with ${how}: ${errors()}`);
    },
  };
}

/** For one that is only stopped: it starts in a tenth of the time. */
export async function startHere(folder: string): Promise<RunningService> {
  const service = await openService(folder);
  return { url: service.url, client: service, end: () => service.hookline.close() };
}
