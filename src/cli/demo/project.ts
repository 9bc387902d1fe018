import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** The folder that the demo serves, and leaves. */
export interface DemoProject {
  folder: string;
  config: string;
  transform: string;
  /** The variables that the configuration names, as in its `.env`. */
  env: { HOOK_TOKEN: string; GATEWAY_TOKEN: string; TEAM_URL: string };
}

/** `teamUrl`: where replies are posted. */
export function writeProject(folder: string, teamUrl: string): DemoProject {
  const [config, transform] = [path.join(folder, "webhooks.json5"), path.join(folder, "transforms/deployment.ts")];
  mkdirSync(path.dirname(transform), { recursive: true });
  writeFileSync(config, CONFIG);
  writeFileSync(transform, TRANSFORM);
  const env = { HOOK_TOKEN: createToken(), GATEWAY_TOKEN: createToken(), TEAM_URL: teamUrl };
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(path.join(folder, ".env"), lines.join(""), { mode: 0o600 });
  return { folder, config, transform, env };
}

/** Takes the team's address out: what answered there ends with the demo. */
export function leaveProject({ config }: DemoProject): void {
  const lines = readFileSync(config, "utf8").split("\n");
  writeFileSync(config, lines.filter((line) => !/\bteam\b/.test(line)).join("\n"));
}

function createToken(): string {
  return randomBytes(24).toString("base64url");
}

const CONFIG = `{
  gateway: { auth: { token: "\${GATEWAY_TOKEN}" } },
  hooks: {
    enabled: true,
    token: "\${HOOK_TOKEN}",
    presets: ["mail"],
    mail: { channel: "http", to: "team" },
    mappings: [
      {
        id: "issues",
        match: { path: "github/issues", where: { properties: { action: { const: "opened" } } } },
        name: "GitHub",
        messageTemplate: "{{sender.login}} opened #{{issue.number}} in {{repository.full_name}}: {{issue.title}}",
        instructions: "Say in one sentence what the issue needs.",
        channel: "http", to: "team",
      },
      {
        id: "deployments",
        match: { path: "github/deployments" },
        name: "Deployments",
        transform: { module: "deployment.ts" },
        channel: "http", to: "team",
      },
      {
        id: "slow",
        match: { path: "slow" },
        model: "slow/program",
        messageTemplate: "{{issue.title}}",
        channel: "http", to: "team",
      },
    ],
  },
  channels: { http: { targets: { team: { url: "\${TEAM_URL}" } } } },
  agents: {
    providers: {
      echo: { kind: "echo" },
      slow: { kind: "command", sandbox: false, command: ["sh", "-c", "sleep 0.5; echo Done."] },
    },
    defaults: { model: "echo/echo", heartbeat: { every: "1h" } },
  },
  log: { level: "error" },
}
`;

const TRANSFORM = `interface Deployment {
  deployment_status: { state: string; environment: string; description: string };
  repository: { full_name: string };
}

export default function deployment({ payload }: { payload: Deployment }) {
  const { state, environment, description } = payload.deployment_status;
  if (state !== "failure") return null;
  return { message: \`\${payload.repository.full_name} failed in \${environment}: \${description}\` };
}
`;
