/** A picture of `hookline dev` in a terminal: what the real program writes to a pseudo terminal, as HTML. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { waitFor } from "../support/client.ts";
import { PROGRAM } from "../support/program.ts";

const COLUMNS = 80;
const TOKEN = "hook-token-for-a-picture-0123456789";

const ANSWER = `const text = require("node:fs").readFileSync(0, "utf8");
console.log(/api/.test(text)
  ? "Port 8080 is still held by the old process. I would stop it, then start api."
  : "The import fails in parse(): line 12 reads a field that the new API left out.");`;
const CONFIG = {
  gateway: { auth: { token: `gateway-${TOKEN}` } },
  hooks: {
    enabled: true,
    token: TOKEN,
    mappings: [
      {
        id: "status",
        match: { path: "status" },
        messageTemplate: "{{service}} is {{state}}: {{detail}}",
        deliver: false,
      },
      { id: "ci", match: { path: "ci" }, transform: { module: "ci.ts" }, deliver: false },
    ],
  },
  agents: {
    providers: { own: { kind: "command", sandbox: false, command: [process.execPath, "-e", ANSWER] } },
    defaults: { model: "own/model" },
  },
};
const TRANSFORM = `export default ({ payload }) => {
  if (payload.ok) return null;
  return { message: \`\${payload.job} failed\` };
};
`;

/** The output of a session in which hooks arrive, a transform is saved, and one save has a mistake. */
export async function recordDev(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-terminal-"));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  mkdirSync(path.join(folder, "transforms"));
  write("webhooks.json5", JSON.stringify(CONFIG));
  write("transforms/ci.ts", TRANSFORM);
  const { INIT_CWD: _, WEBHOOKS_CONFIG: __, CI: ___, NO_COLOR: ____, ...env } = process.env;
  const command = `stty rows 40 cols ${COLUMNS}; exec '${process.execPath}' '${PROGRAM}' dev --port 0`;
  const child = spawn("/usr/bin/script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: folder,
    env: { ...env, TERM: "xterm-256color" },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const shown = (): string => stripVTControlCharacters(output);
  const ended = once(child, "exit");
  try {
    await waitFor(() => / quit/.test(shown()));
    const [, url = ""] = /Listening on (\S+)/.exec(shown()) ?? [];
    /** Does something, and waits for what is shown then. */
    const follow = async (act: () => unknown, result: RegExp): Promise<void> => {
      const before = shown().length;
      await act();
      await waitFor(() => result.test(shown().slice(before)));
    };
    const post = (hook: string, body: object, token = TOKEN): Promise<Response> => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      return fetch(`${url}/hooks/${hook}`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    const save = (text: string): void => write("transforms/ci.ts", text);
    await follow(() => post("status", { service: "api", state: "down", detail: "port 8080 is in use" }), /turn \d/);
    await follow(() => post("status", {}, "wrong"), /401/);
    await follow(() => save(TRANSFORM.replace("payload.ok)", "payload.ok")), /not reloaded/);
    await follow(() => save(TRANSFORM.replace("failed", "failed on main")), /(?<!not )reloaded/);
    await follow(() => post("ci", { job: "import", ok: false }), /turn \d/);
    await follow(() => post("ci", { job: "lint", ok: true }), /skipped/);
    child.stdin.write("q");
    await ended;
    // This machine's free port and temporary folder say nothing.
    return output.replaceAll(url, "http://127.0.0.1:18790").replaceAll(folder, "~/hooks");
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const COLORS: Record<number, string> = {
  31: "#f47067",
  32: "#6bc46d",
  33: "#d9a343",
  34: "#6cb6ff",
  35: "#dcbdfb",
  36: "#56d4dd",
  90: "#8b949e",
};

/** A page that shows the output as a terminal would, on a prompt. */
export function toTerminalPage(output: string): string {
  const shown = toSpans(output.replaceAll("\r\n", "\n").trimEnd());
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; }
    pre { box-sizing: border-box; display: inline-block; margin: 0; padding: 18px 22px; width: calc(${COLUMNS}ch + 44px);
      background: #1c2128; color: #d5dbe1; font: 15px/1.45 "DejaVu Sans Mono", monospace; }
    .dim { color: #8b949e; } .bold { font-weight: bold; color: #fff; }
  </style><pre><span class="dim">$</span> npx hookline dev\n${shown}</pre>`;
}

/** The text with its colors, dim and bold parts. Other codes of the terminal are left out. */
function toSpans(output: string): string {
  let [isDim, isBold, color] = [false, false, ""];
  const [first = "", ...rest] = output.split("\u001b[");
  return [toSpan(first), ...rest.map(toStyled)].join("");

  function toStyled(part: string): string {
    const [, number, end, text = ""] = /^(\d*)[\d;?]*([A-Za-z])([^]*)$/.exec(part) ?? [];
    if (end === "m") setStyle(Number(number));
    return toSpan(text);
  }

  function setStyle(code: number): void {
    if (code === 0) [isDim, isBold, color] = [false, false, ""];
    else if (code === 1) isBold = true;
    else if (code === 2) isDim = true;
    else if (code === 22) [isDim, isBold] = [false, false];
    else color = COLORS[code] ?? "";
  }

  function toSpan(text: string): string {
    const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const names = [isDim && "dim", isBold && "bold"].filter(Boolean).join(" ");
    if (escaped === "" || (names === "" && color === "")) return escaped;
    return `<span class="${names}"${color && ` style="color: ${color}"`}>${escaped}</span>`;
  }
}
