/**
 * The long form: tens of thousands of hooks while the service is killed repeatedly. It also reloads, its disk reports errors,
 * the clock jumps, and the machine loses power: as root, with a C compiler and mkfs.ext4. Prints the number of lost, given-up,
 * duplicated and out-of-order effects, and exits 1 if there are any.
 *
 *     npm run faults -- --seed 7 --hooks 20000 --kills 50
 *     npm run faults -- --hooks 60000 --kills 1000
 *     npm run faults -- --subscriptions 10000 --kills 20
 *     npm run faults -- --store postgres --rounds 5 --pgbouncer
 */
import { parseArgs } from "node:util";
import { NODE_FAULTS, NODES_FAIL } from "./campaign/node-faults.ts";
import { runNodesCampaign } from "./campaign/nodes.ts";
import { runSubscriptionsCampaign } from "./campaign/subscriptions.ts";
import { type CampaignOptions, type CampaignReport, FAULTS, runCampaign } from "./campaign/campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    hooks: { type: "string", default: "20000" },
    kills: { type: "string", default: "50" },
    store: { type: "string", default: "sqlite" },
    faults: { type: "string", default: NODE_FAULTS.join(",") },
    rounds: { type: "string", default: "1" },
    /** Only this: so many events are delivered to subscribers. */
    subscriptions: { type: "string" },
    /** Milliseconds between two hooks of a sender: less load. */
    pause: { type: "string", default: "0" },
    /** Debian's, which `npm run test:system` installs. */
    pgbouncer: { type: "boolean", default: false },
    "pool-size": { type: "string" },
    /** Renewals of leases go past it. */
    "lease-url": { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const hooks = Number(values.hooks);
const kills = Number(values.kills);

console.log(`Seed ${seed}: repeat these kills with --seed ${seed}.`);
if (values.subscriptions !== undefined) await runSubscriptions(Number(values.subscriptions));
else if (values.store === "postgres") await runNodes();
else {
  await run({ signals: ["SIGKILL"], hooks, ends: kills, seed, faults: FAULTS });
  await run({ signals: ["SIGTERM"], hooks: Math.ceil(hooks / 3), ends: Math.ceil(kills / 3), seed });
}

async function runSubscriptions(events: number): Promise<void> {
  const report = await runSubscriptionsCampaign({ events, kills, seed });
  console.log(report);
  if (report.lost + report.ahead + report.wrongPolls > 0) process.exitCode = 1;
}

/** In each round all faults, the long ones in the first. */
async function runNodes(): Promise<void> {
  const chosen = NODE_FAULTS.filter((fault) => values.faults.split(",").includes(fault));
  const faults = Array.from({ length: Number(values.rounds) }, (_, round) =>
    chosen.filter((fault) => round === 0 || !/^away(?:60|120)$/.test(fault)),
  ).flat();
  const startedAt = Date.now();
  const report = await runNodesCampaign({
    faults,
    seed,
    hooksBetween: 50,
    pauseMs: Number(values.pause),
    hasStandby: true,
    hasPgBouncer: values.pgbouncer,
    poolSize: values["pool-size"] === undefined ? undefined : Number(values["pool-size"]),
    hasLeaseUrl: values["lease-url"],
    onFault: (fault) => console.log(`${Math.round((Date.now() - startedAt) / 1000)} s: ${fault}`),
  });
  console.log(report);
  const ofHealthy = Object.entries({ ...report.turnsAgain }).filter(([fault]) => !NODES_FAIL.has(fault));
  if (report.lost + report.givenUp + report.duplicated + report.outOfOrder + ofHealthy.length > 0) process.exitCode = 1;
}

async function run(options: CampaignOptions): Promise<void> {
  const report = await runCampaign(options);
  console.table({ [report.signals.join()]: toRow(report) });
  if (!isClean(report)) process.exitCode = 1;
}

function toRow(report: CampaignReport): object {
  return {
    "hooks answered 2xx": report.hooks,
    "requests sent": report.requests,
    ends: report.ends,
    kills: report.kills,
    ...report.faults,
    "given up": report.givenUp,
    lost: report.lost,
    duplicated: report.duplicated,
    "out of order": report.outOfOrder,
    "repeated turns": report.turnsAgain,
    "repeated messages": report.messagesAgain,
    "repeated posts": report.postsAgain,
    seconds: report.seconds,
  };
}

function isClean({ lost, givenUp, duplicated, outOfOrder }: CampaignReport): boolean {
  return lost + givenUp + duplicated + outOfOrder === 0;
}
