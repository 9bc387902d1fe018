import { once } from "node:events";
import { spawnWebhooks } from "../../support/process.ts";
import type { TestBed } from "./test-bed.ts";

/** `webhooks mail run` as a separate process. */
export interface MailRun {
  /** Its output so far. */
  output(): string;
  /** Sends the signal and waits for the end. Returns the exit code, or the signal that ended the process. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** The test bed ends it on close. */
export function startMailRun({ configFile, env, mailRuns }: TestBed): MailRun {
  const child = spawnWebhooks(["mail", "run", "--config", configFile], env);
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const mailRun: MailRun = {
    output: () => output,
    async end(signal) {
      child.kill(signal);
      const [code, killedBy] = await ended;
      return code ?? killedBy;
    },
  };
  mailRuns.push(mailRun);
  return mailRun;
}
