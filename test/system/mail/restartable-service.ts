import { type Client, createClient, waitFor } from "../../support/client.ts";
import { type ServiceProcess, startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN } from "../../support/service.ts";
import type { MailState } from "../../../src/core/ports/mail-status.ts";

/** The service, which a test can end and start again. */
export interface RestartableService {
  /** The same for each process. */
  url: string;
  client: Client;
  start(): Promise<void>;
  /** Rejects if SIGTERM does not end it with exit code 0. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Waits until the whole watch is in this state. */
  mailIs(state: MailState): Promise<void>;
}

export function createRestartableService(
  configFile: string,
  env: Record<string, string>,
  port: number,
): RestartableService {
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  let service: ServiceProcess | undefined;
  return { url, client, start, end, mailIs };

  async function start(): Promise<void> {
    service = await startProcess(configFile, env, port);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const how = await service?.end(signal);
    if (signal === "SIGTERM" && how !== 0) throw new Error(`ended with ${how}: ${service?.errors()}`);
  }

  async function mailIs(state: MailState): Promise<void> {
    const isInState = async (): Promise<boolean> => (await client.api("/api/status")).mail[0]?.state === state;
    await waitFor(isInState, `the watch to be ${state}`);
  }
}
