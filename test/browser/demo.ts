/**
 * `npm run demo:page`: the service with three days of events, for a person to look at in a browser, until Ctrl-C.
 * `-- FOLDER` keeps the folder that it writes.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startProcess } from "../support/process.ts";
import { refuseSome, writeSeed } from "../support/seed.ts";
import { GATEWAY_TOKEN } from "../support/service.ts";

const [, , kept] = process.argv;
const folder = kept === undefined ? mkdtempSync(path.join(tmpdir(), "hookline-page-")) : path.resolve(kept);
mkdirSync(folder, { recursive: true });
console.log("Writing three days of events …");
await writeSeed(folder);
const service = await startProcess(path.join(folder, "webhooks.json5"), {}, 0);
await refuseSome(service.url);
console.log(`\nThe page: ${service.url}\nThe gateway token: ${GATEWAY_TOKEN}\n\nCtrl-C ends it.`);
await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
await service.end("SIGTERM");
if (kept === undefined) rmSync(folder, { recursive: true, force: true });
