/** `node compile-cold.ts <folder> <count> raw|own`: compiles transforms, prints the times as JSON. */
import path from "node:path";
import { build } from "esbuild";
import { compileTransform, OPTIONS } from "../../src/core/transforms/compile-transform.ts";
import { createSandbox } from "../../src/core/transforms/sandbox/sandbox.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";

const [folder = "", count = "", what] = process.argv.slice(2);
const root = path.join(folder, "transforms");
const files = Array.from({ length: Number(count) }, (_, index) => path.join(root, `t${index}.ts`));

const startedAt = performance.now();
if (what === "raw") {
  await Promise.all(
    files.map((file) => build({ ...OPTIONS, entryPoints: [file], outdir: root, bundle: true, write: false })),
  );
  console.log(JSON.stringify({ compileMs: performance.now() - startedAt, checkMs: 0 }));
} else {
  const spec = { root, timeoutMs: 1000, memoryMb: 64, isolation: "request" as const, secrets: {} };
  const compiled = await Promise.all(files.map((file) => compileTransform({ ...spec, file })));
  const compiledAt = performance.now();
  const runner = createSandbox({ telemetry: silentTelemetry });
  const problems = await Promise.all(compiled.map(({ bundle }) => runner.check(bundle!)));
  if (problems.flat().length > 0) throw new Error(JSON.stringify(problems));
  console.log(JSON.stringify({ compileMs: compiledAt - startedAt, checkMs: performance.now() - compiledAt }));
  await runner.close();
}
process.exit(0);
