import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { ConfigProblem } from "../../errors.ts";
import { parseObject, readPath } from "../../shared/json.ts";

/** How much a compiler may say. */
const MAX_OUTPUT = 16 * 1024 * 1024;

/** Checks the types of the transforms in a folder with the TypeScript that is installed in the project. */
export async function checkTypes(folder: string, projectDir: string): Promise<ConfigProblem[]> {
  const compiler = findCompiler(projectDir);
  if (compiler === undefined) {
    return [
      { message: `There is no TypeScript in ${projectDir}, which --types needs: npm install --save-dev typescript` },
    ];
  }
  const project = [folder, projectDir].map((dir) => path.join(dir, "tsconfig.json")).find((file) => existsSync(file));
  if (project === undefined) {
    return [{ message: `There is no tsconfig.json in ${folder}: \`webhooks init\` writes one.` }];
  }
  const output = await run(compiler, ["-p", project, "--noEmit", "--pretty", "false"], path.dirname(project));
  return toProblems(output, path.dirname(project));
}

function findCompiler(projectDir: string): string | undefined {
  try {
    const manifest = createRequire(path.join(projectDir, "x.js")).resolve("typescript/package.json");
    const bin = readPath(parseObject(readFileSync(manifest, "utf8")), ["bin", "tsc"]);
    return typeof bin === "string" ? path.join(path.dirname(manifest), bin) : undefined;
  } catch {
    return undefined;
  }
}

/** Its standard output, whatever its exit code. */
function run(compiler: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [compiler, ...args], { cwd, maxBuffer: MAX_OUTPUT }, (error, stdout, stderr) => {
      // It exits with 1 or 2 when it finds something.
      if (error && stdout === "") reject(new Error(`TypeScript failed: ${stderr || error.message}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** `ci.ts(2,3): error TS2322: …`, with further lines indented. */
function toProblems(output: string, baseDir: string): ConfigProblem[] {
  return [...output.matchAll(/^(?:(\S.*?)\((\d+),(\d+)\): )?error (TS\d+: .*(?:\n {2}.*)*)$/gm)].map(
    ([, file, line, column, message = ""]) => ({
      message,
      ...(file !== undefined && { file: path.resolve(baseDir, file), line: Number(line), column: Number(column) }),
    }),
  );
}
