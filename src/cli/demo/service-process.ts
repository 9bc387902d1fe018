import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import type { DemoProject } from "./project.ts";

/** A service as a process of its own. */
export interface DemoService {
  url: string;
  /** Posts JSON to a hook. */
  post(hook: string, payload: unknown): Promise<{ status: number; eventId: string }>;
  // oxlint-disable-next-line typescript/no-explicit-any
  api(path: string): Promise<any>;
  /** Resolves once the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** The program that is running: its source in a checkout, else as the package has it. */
const PROGRAM = path.join(
  PACKAGE_ROOT,
  import.meta.filename.endsWith(".ts") ? "src/cli/webhooks.ts" : "dist/cli/webhooks.js",
);

/** Starts the service of a project, and waits until it listens. Rejects with what it printed if it ends before. */
export async function startService({ config, tokens }: DemoProject, port = 0): Promise<DemoService> {
  const args = [PROGRAM, "serve", "--config", config, "--port", String(port)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /Listening on (\S+)/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return {
      url,
      async post(hook, payload) {
        const headers = { authorization: `Bearer ${tokens.hook}`, "content-type": "application/json" };
        const body = JSON.stringify(payload);
        const answer = await fetch(`${url}/hooks/${hook}`, { method: "POST", headers, body });
        const { eventId }: { eventId: string } = JSON.parse(await answer.text());
        return { status: answer.status, eventId };
      },
      async api(address) {
        const headers = { authorization: `Bearer ${tokens.gateway}` };
        return (await fetch(`${url}${address}`, { headers })).json();
      },
      async end(signal) {
        child.kill(signal);
        await ended;
      },
    };
  }
  throw new Error(`The service did not start:\n${errors}`);
}
