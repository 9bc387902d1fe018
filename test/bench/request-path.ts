/**
 * Lists the source files that one hook enters on its way to an agent turn and a delivery, by V8's coverage:
 * `node test/bench/request-path.ts`. Only named functions that run for this hook count.
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
      ],
    },
    channels: { mattermost: { baseUrl: chat.baseUrl, token: chat.token } },
  },
});
const send = async (): Promise<void> => {
  const { body } = await service.post("deploys", { service: "api" });
  await service.settled(body.eventId);
};
await send();

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const answered = await service.post("deploys", { service: "api" });
while (chat.messages().length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
const { result } = await session.post("Profiler.takePreciseCoverage");
session.disconnect();
if (answered.status !== 202) throw new Error(`The hook was answered ${answered.status}.`);

const entered = result
  .filter(({ url }) => url.startsWith("file:") && !path.relative(src, fileURLToPath(url)).startsWith(".."))
  .map(({ url, functions }) => ({
    file: path.relative(src, fileURLToPath(url)),
    functions: functions.filter(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0)
      .length,
  }))
  .filter(({ functions }) => functions > 0)
  .toSorted((one, other) => one.file.localeCompare(other.file));
for (const { file, functions } of entered) console.log(`${String(functions).padStart(4)} ${file}`);
console.log(`${entered.length} files, ${entered.reduce((sum, { functions }) => sum + functions, 0)} functions`);
await service.close();
await chat.close();
