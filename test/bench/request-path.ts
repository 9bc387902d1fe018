/**
 * Lists the source files that a hook enters, by V8's coverage: `node test/bench/request-path.ts`. The first list is that of a
 * wake, which ends with its commit and the answer. The second one is what a run and its delivery enter besides. Only named
 * functions that run for this hook count; helpers of every step (`shared/`, `telemetry/`) are counted apart.
 */
import { Session } from "node:inspector/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startMattermost } from "../support/mattermost.ts";
import { startService } from "../support/service.ts";

const src = path.join(import.meta.dirname, "../../src");
const chat = await startMattermost();
const service = await startService({
  config: {
    hooks: {
      mappings: [
        {
          match: { path: "deploys" },
          messageTemplate: "{{service}} failed",
          wakeMode: "next-heartbeat",
          channel: "mattermost",
          to: chat.channel,
        },
        {
          match: { path: "notes" },
          action: "wake",
          textTemplate: "{{service}} was deployed",
          wakeMode: "next-heartbeat",
        },
      ],
    },
    channels: { mattermost: { baseUrl: chat.baseUrl, token: chat.token } },
  },
});
const session = new Session();
session.connect();
await session.post("Profiler.enable");

const wake = await listEntered("notes", async () => undefined);
const run = await listEntered("deploys", async (before) => {
  while (chat.messages().length === before) await new Promise((resolve) => setTimeout(resolve, 20));
});
print("a wake, to its answer", wake);
print("a run and its delivery, besides", new Map([...run].filter(([file]) => !wake.has(file))));
session.disconnect();
await service.close();
await chat.close();

/** The number of functions that a second request of this kind enters, by file. */
async function listEntered(hook: string, wait: (messages: number) => Promise<void>): Promise<Map<string, number>> {
  const send = async (): Promise<void> => {
    const before = chat.messages().length;
    const answered = await service.post(hook, { service: "api" });
    if (answered.status >= 300) throw new Error(`The hook was answered ${answered.status}.`);
    await wait(before);
  };
  await send();
  await service.settled((await service.post(hook, { service: "api" })).body.eventId);
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await send();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const entered = result
    .filter(({ url }) => url.startsWith("file:") && !path.relative(src, fileURLToPath(url)).startsWith(".."))
    .map(({ url, functions }): [string, number] => [
      path.relative(src, fileURLToPath(url)),
      functions.filter(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0).length,
    ])
    .filter(([, functions]) => functions > 0)
    .toSorted(([one], [other]) => one.localeCompare(other));
  return new Map(entered);
}

function print(title: string, entered: Map<string, number>): void {
  const isHelper = (file: string): boolean => /^(?:shared|telemetry)\//.test(file);
  const helpers = [...entered.keys()].filter(isHelper);
  console.log(title);
  for (const [file, functions] of entered) console.log(`${String(functions).padStart(4)} ${file}`);
  const sum = [...entered.values()].reduce((total, functions) => total + functions, 0);
  console.log(`${entered.size - helpers.length} files and ${helpers.length} helpers, ${sum} functions\n`);
}
