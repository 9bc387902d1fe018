/** Runs with the flags of a sandbox process, gets its input as arguments, and prints the results as JSON. */
import { readFileSync } from "node:fs";
import ivm from "isolated-vm";
import { createModuleIsolate } from "../../../src/core/transforms/child/isolate.ts";
import { createCheckModule, createIsolates } from "../../../src/core/transforms/child/shared-isolates.ts";
import { PAYLOAD, transformPlainly } from "./sample.ts";
import { timeCalls } from "./time.ts";

const [, , realmFile = "", codeFile = "", text = ""] = process.argv;
const realm = readFileSync(realmFile, "utf8");
const code = readFileSync(codeFile, "utf8");
const body = JSON.stringify(PAYLOAD);
const source = { code, packages: undefined };
const acquire = createIsolates(realm);
const checkModule = createCheckModule(acquire);
const kept = createModuleIsolate({ module: "m", memoryMb: 64, strict: false }, source, acquire, checkModule);
const strict = createModuleIsolate({ module: "m", memoryMb: 64, strict: true }, source, acquire, checkModule);
const job = { operation: "call" as const, inputs: `[${text}]`, bodies: [body], timeoutMs: 1000 };
const { answers } = kept.run(job) ?? {};
if (!answers?.includes('"value":{"message"')) throw new Error(answers);

const TOGETHER = 16;
const jobs = { ...job, inputs: `[${Array(TOGETHER).fill(text).join()}]`, bodies: Array(TOGETHER).fill(body) };

const figures = {
  "plain function with parse and stringify, in the child": timeCalls(30_000, () => transformPlainly(body)),
  "sandboxed call, in the child": timeCalls(30_000, () => kept.run(job)),
  "sandboxed call, 16 together, in the child": timeCalls(3000, () => kept.run(jobs)) / TOGETHER,
  "sandboxed call, strict, in the child": timeCalls(200, () => strict.run(job)),
  "a new isolate per call, in the child": timeCalls(200, callInFreshIsolate),
};
process.stdout.write(JSON.stringify(figures), () => process.kill(process.pid, "SIGKILL"));

/** The minimal cost of a new isolate: only the transform, without globals. */
function callInFreshIsolate(): void {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  const context = isolate.createContextSync();
  context.evalClosureSync(
    `const module = {}; ${code}; return JSON.stringify(module.exports.default({ payload: JSON.parse($0) }))`,
    [body],
    { timeout: 1000 },
  );
  isolate.dispose();
}
