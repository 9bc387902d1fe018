/** The files of docs/deploy fit each other and the program. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Script } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { placesOf } from "../.ci/release-tags.ts";
import { createProgram } from "../src/cli/all-commands.ts";
import { parseSource } from "../src/core/config/parse/source.ts";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { createTestIo, run, runWebhooks } from "./support/cli.ts";
import { PROGRAM } from "./support/program.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const files = path.join(root, "docs/deploy");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-deploy-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Loosely typed, so that tests can read any field. */
type Loose = ReturnType<typeof JSON.parse>;

describe("Dockerfile", () => {
  const text = read("Dockerfile").replaceAll("\\\n", "");

  test("copies what exists, and what an earlier stage has made", () => {
    const copies = [...text.matchAll(/^COPY (?:--from=(\w+) )?(\S+)/gm)];
    expect(copies).toHaveLength(3);
    for (const [, stage, source] of copies) {
      if (stage === undefined) expect(existsSync(path.join(root, source!))).toBe(true);
      else expect(text).toContain(`--pack-destination ${source!.replace(/\/$/, "")}`);
    }
  });

  test("ignores nothing that is packed", () => {
    const ignored = read("Dockerfile.dockerignore").trim().split("\n");
    const { files: packed, scripts }: Loose = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    // The build makes it.
    expect(scripts.prepack).toBe("npm run build");
    expect(packed.filter((name: string) => name !== "dist" && ignored.includes(name))).toEqual([]);
    expect(ignored).not.toContain(".ci");
  });

  test("starts a command that exists, with its options", () => {
    expect(/^COPY \S+start\.sh (\S+)$/m.exec(text)?.[1]).toBe("/usr/local/bin/hookline-start");
    expect(/^CMD (.*)$/m.exec(text)?.[1]).toBe('["hookline-start"]');
    const [program, ...args]: string[] = JSON.parse(/^HEALTHCHECK CMD (.*)$/m.exec(text)?.[1] ?? "");
    expect(program).toBe("node");
    expect(() => new Script(args[1] ?? "")).not.toThrow();
  });
});

test("the image's first start writes a configuration and shows no token; the second serves that of /config", async () => {
  const [data, config] = ["data", "config"].map((name) => path.join(folder, name)) as [string, string];
  for (const each of [data, config]) mkdirSync(each);
  const script = read("start.sh")
    .replaceAll("/data", data)
    .replaceAll("/config", config)
    .replaceAll("--host 0.0.0.0", "--host 127.0.0.1 --port 0");
  writeFileSync(path.join(folder, "start"), script);
  const writeProgram = (line: string): void =>
    writeFileSync(path.join(folder, "hookline"), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const start = async (): Promise<string> => {
    const child = spawn("sh", [path.join(folder, "start")], { env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    await expect.poll(() => output).toContain("Listening on");
    child.kill("SIGTERM");
    await once(child, "exit");
    return output;
  };
  writeProgram(`exec ${process.execPath} ${PROGRAM} "$@"`);
  const first = await start();
  expect(first).toContain(`configured by ${data}/webhooks.jsonc`);
  expect(first).toMatch(/docker exec \S+ cat \S+\/\.webhooks\/gateway-token/);
  for (const name of ["gateway-token", "hook-token"]) {
    expect(first).not.toContain(readFileSync(path.join(data, ".webhooks", name), "utf8").trim());
  }
  writeFileSync(path.join(config, "webhooks.json5"), `{ store: { path: "${data}/other" } }`);
  writeProgram('echo "$@"');
  const { stdout } = await run(folder, "sh", [path.join(folder, "start")], { env: { PATH: env.PATH } });
  expect(stdout.trim()).toBe(`serve --host 127.0.0.1 --port 0 --config ${config}/webhooks.json5`);
});

test("the workflow of a release needs the gate, pins its actions, and has no right that its job does not use", async () => {
  const [release] = readYaml(path.join(root, ".github/workflows/release.yml"));
  expect(release.permissions).toEqual({ contents: "read" });
  const rights = Object.entries<Loose>(release.jobs).map(([name, { permissions }]) => [name, permissions]);
  expect(Object.fromEntries(rights)).toEqual({
    check: undefined,
    npm: { contents: "read", "id-token": "write" },
    image: { contents: "read", packages: "write" },
    release: { contents: "write", packages: "write" },
  });
  for (const [name, job] of Object.entries<Loose>(release.jobs)) {
    if (name !== "check") expect(job.needs).toEqual(name === "release" ? ["check", "npm", "image"] : "check");
    for (const { uses } of job.steps) if (uses) expect(uses).toMatch(/@[\da-f]{40}$/);
  }
  expect(release.jobs.check.steps.map(({ run: line }: Loose) => line)).toContain("bash .ci/run");
  // Each output of the script is used.
  const { outputs } = release.jobs.check;
  expect(Object.keys(outputs)).toEqual(["npm", "image", "latest"]);
  for (const name of Object.keys(outputs))
    expect(read("../../.github/workflows/release.yml")).toContain(`needs.check.outputs.${name} }}`);
});

const TAGS = ["v0.1.0", "v0.1.9", "v0.2.0", "v0.3.0-rc.1", "nightly"];

test.each([
  ["v0.2.1", "latest", "0.2.1 0.2 latest", true],
  ["v0.1.12", "release-0.1", "0.1.12 0.1", false],
  ["v0.1.8", "release-0.1", "0.1.8", false],
  ["v0.10.0", "latest", "0.10.0 0.10 latest", true],
  ["v0.3.0-rc.1", "next", "0.3.0-rc.1", false],
])("%s is published as %s, its image as %s", (tag, npm, image, latest) => {
  expect(placesOf(tag, [...TAGS, tag])).toEqual({ npm, image, latest });
});

test("the workflow gets them as outputs", async () => {
  const program = path.join(root, ".ci/release-tags.ts");
  const input = `${TAGS.join("\n")}\nv0.1.12\n`;
  const { stdout } = await run(root, process.execPath, [program, "v0.1.12"], { input });
  expect(stdout).toBe("npm=release-0.1\nimage=0.1.12 0.1\nlatest=false\n");
});

test("a release has one version: tag, package, changelog, images", async () => {
  const { version }: Loose = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const program = path.join(root, ".ci/release.ts");
  const { code, stderr } = await run(folder, process.execPath, [program, "v99.0.0"]);
  // All other places agree.
  expect({ code, stderr }).toEqual({ code: 1, stderr: `package.json has version ${version}.\nthe tag has 99.0.0.\n` });
});

test("the forms of issues ask for the version and the doctor's report", () => {
  const [bug] = readYaml(path.join(root, ".github/ISSUE_TEMPLATE/bug.yml"));
  const required = bug.body.filter(({ validations }: Loose) => validations?.required).map(({ id }: Loose) => id);
  expect(required).toEqual(["what", "version", "doctor"]);
});

describe("seccomp.json", () => {
  const { defaultAction, syscalls }: Loose = JSON.parse(read("seccomp.json"));
  const NEW_USER = 0x10000000;
  const NEW_NET = 0x40000000;

  /** Decides as the kernel would, for a first argument. */
  function decide(name: string, flags = 0): string {
    const rule = syscalls.find(
      ({ names, args = [] }: Loose) =>
        names.includes(name) && args.every(({ value, valueTwo }: Loose) => (flags & value) === valueTwo),
    );
    return rule?.action ?? defaultAction;
  }

  test.each([
    ["unshare", NEW_USER | NEW_NET, "ALLOW"],
    ["clone", NEW_USER | NEW_NET, "ALLOW"],
    // How V8 starts a thread.
    ["clone", 0x3d0f00, "ALLOW"],
    ["unshare", NEW_USER | 0x20000, "ERRNO"],
    ["unshare", 0x20000000, "ERRNO"],
    ["clone", 0x2000000, "ERRNO"],
    ["mount", 0, "ERRNO"],
    ["ptrace", 0, "ERRNO"],
    ["io_uring_setup", 0, "ERRNO"],
    ["openat", 0, "ALLOW"],
  ])("%s with %i: %s", (name, flags, expected) => {
    expect(decide(name, flags)).toBe(`SCMP_ACT_${expected}`);
  });
});

test("seccomp-agents.json allows what a sandbox of an agent needs, and nothing else that seccomp.json forbids", () => {
  const [plain, agents]: Loose[] = ["seccomp.json", "seccomp-agents.json"].map((name) => JSON.parse(read(name)));
  const namesOf = ({ syscalls }: Loose): string[] => syscalls[0].names;
  expect(namesOf(plain).filter((name) => !namesOf(agents).includes(name))).toEqual([
    "mount",
    "pivot_root",
    "umount",
    "umount2",
  ]);
  expect(
    agents.syscalls.flatMap(({ names, args = [] }: Loose) => args.map(({ value }: Loose) => [...names, value])),
  ).toEqual([["unshare", 0x80]]);
});

test("a container for agents has what doctor advises, and the image their programs", () => {
  const guide = readFileSync(path.join(root, "docs/guide/deploying.md"), "utf8");
  const [, yaml = ""] = /### Agents in a sandbox[^]*?```yaml\n(security_opt:[^]*?)```/.exec(guide) ?? [];
  const [document] = parseAllDocuments(yaml).map((part): Loose => part.toJS());
  const options: string[] = document.security_opt;
  expect(options.toSorted()).toEqual([
    "apparmor=unconfined",
    "no-new-privileges:true",
    "seccomp:./seccomp-agents.json",
    "systempaths=unconfined",
  ]);
  const advice = readFileSync(path.join(root, "src/cli/commands/agents.ts"), "utf8");
  for (const option of ["seccomp-agents.json", "systempaths=unconfined", "apparmor=unconfined"])
    expect(advice).toContain(option);
  const [, packages = ""] = /apt-get install ([^&]*)/.exec(read("Dockerfile").replaceAll("\\\n", "")) ?? [];
  expect(packages.split(/\s+/)).toEqual(expect.arrayContaining(["bubblewrap", "git"]));
});

test.runIf(has("systemd-analyze"))("systemd accepts the unit", async () => {
  // systemd checks that the program exists.
  const unit = read("hookline.service").replace("/usr/local/bin/hookline", process.execPath);
  writeFileSync(path.join(folder, "hookline.service"), unit);
  const { stderr } = await run(folder, "systemd-analyze", ["verify", path.join(folder, "hookline.service")]);
  expect(stderr.split("\n").filter((line) => line.includes("hookline.service"))).toEqual([]);
});

test("the unit starts a command that exists, and leaves the sandbox its namespaces", () => {
  const unit = read("hookline.service");
  requireCommand(/^ExecStart=(.*)$/m.exec(unit)![1]!.replace("/usr/local/bin/", "").split(" "));
  expect(unit).toMatch(/^RestrictNamespaces=user net$/m);
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m);
});

test("compose: files and volumes exist, and the configuration is valid", async () => {
  const [document] = readYaml("compose.yaml");
  const { volumes, security_opt: security } = document.services.hookline;
  const [profile] = security.flatMap((option: string) => /^seccomp:(.*)/.exec(option)?.[1] ?? []);
  expect(existsSync(path.join(files, profile))).toBe(true);
  for (const volume of volumes) {
    const [source] = volume.split(":");
    if (source.startsWith(".")) expect(existsSync(path.join(files, source))).toBe(true);
    else expect(document.volumes).toHaveProperty(source);
  }
  writeFileSync(path.join(folder, "webhooks.json5"), read("config/webhooks.json5"));
  expect(await check({ HOOK_TOKEN: "h".repeat(24), GATEWAY_TOKEN: "g".repeat(24) })).toEqual({ code: 0, stderr: "" });
});

describe("kubernetes.yaml", () => {
  const documents = readYaml("kubernetes.yaml");
  const find = (kind: string): Loose => documents.find((document) => document.kind === kind);

  test("its parts refer to each other", () => {
    for (const { apiVersion, kind, metadata } of documents)
      expect([apiVersion, kind, metadata.name]).not.toContain(undefined);
    const { spec } = find("Deployment");
    const { containers, volumes } = spec.template.spec;
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(spec.template.metadata.labels).toMatchObject(find("Service").spec.selector);
    const names = volumes.map(({ name }: Loose) => name);
    expect(containers[0].volumeMounts.map(({ name }: Loose) => name)).toEqual(names);
    expect(volumes[0].configMap.name).toBe(find("ConfigMap").metadata.name);
    expect(volumes[2].persistentVolumeClaim.claimName).toBe(find("PersistentVolumeClaim").metadata.name);
    expect(find("Service").spec.ports[0].targetPort).toBe(containers[0].ports[0].name);
    expect(JSON.stringify(containers[0].volumeMounts)).not.toContain("subPath");
  });

  test("its configuration and its transform are valid", async () => {
    for (const [name, text] of Object.entries<string>(find("ConfigMap").data)) {
      const moved = text.replaceAll("/run/secrets/hookline/", `${folder}/`);
      writeFileSync(path.join(folder, name), moved);
    }
    for (const name of ["hook-token", "gateway-token"]) writeFileSync(path.join(folder, name), name.repeat(3));
    expect(await check({})).toEqual({ code: 0, stderr: "" });
    writeFileSync(path.join(folder, "payload.json"), '{"service":"shop","state":"down"}');
    const { stdout } = await runWebhooks(folder, "try", "status", "payload.json");
    expect(JSON.parse(stdout)).toMatchObject({ actions: [{ message: "shop is down" }] });
  });
});

describe("several nodes", () => {
  const examples = path.join(root, "docs/deploy/several-nodes");
  const readExample = (name: string): string => readFileSync(path.join(examples, name), "utf8");
  const listenPort = 18790;

  test("compose.yaml starts two ingresses and two workers, with what its parts name", () => {
    const [{ services, secrets, volumes }] = readYaml(path.join(examples, "compose.yaml"));
    expect(services.worker).toMatchObject({ ports: [], deploy: { replicas: 2 } });
    expect(services.ingress).toMatchObject({
      ports: [`${listenPort}-${listenPort + 1}:${listenPort}`],
      deploy: { replicas: 2 },
    });
    for (const { command, secrets: used, volumes: mounted, depends_on: after } of [services.ingress, services.worker]) {
      requireCommand(command);
      const [source, target] = mounted[0].split(":");
      expect(existsSync(path.join(examples, source))).toBe(true);
      expect(command).toContain(target);
      expect(secrets).toHaveProperty(used[0]);
      expect(readExample("webhooks.json5")).toContain(`/run/secrets/${used[0]}`);
      expect(services).toHaveProperty(Object.keys(after));
    }
    const { POSTGRES_USER: user, POSTGRES_DB: name } = services.postgres.environment;
    expect(readExample("webhooks.json5")).toContain(`postgres://${user}@postgres/${name}`);
    expect(volumes).toHaveProperty(services.postgres.volumes[0].split(":")[0]);
  });

  test("kubernetes.yaml starts two ingresses and two workers, with what its parts name", () => {
    const documents = readYaml(path.join(examples, "kubernetes.yaml"));
    const [config, ingress, worker, service] = documents;
    for (const { spec } of [ingress, worker]) {
      expect(spec.replicas).toBe(2);
      expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
      const { containers, volumes } = spec.template.spec;
      const [{ command, ports, readinessProbe, livenessProbe, volumeMounts }] = containers;
      requireCommand(command);
      expect(command).toContain(`${volumeMounts[0].mountPath}/${Object.keys(config.data)[0]}`);
      expect(ports).toEqual([{ containerPort: listenPort }]);
      expect([readinessProbe, livenessProbe].map(({ httpGet }: Loose) => httpGet)).toEqual([
        { path: "/readyz", port: listenPort },
        { path: "/healthz", port: listenPort },
      ]);
      expect(volumeMounts.map(({ name }: Loose) => name)).toEqual(volumes.map(({ name }: Loose) => name));
      expect(volumes[0].configMap.name).toBe(config.metadata.name);
    }
    expect(service.spec.selector).toEqual(ingress.spec.selector.matchLabels);
    expect(service.spec.ports).toEqual([{ port: 80, targetPort: listenPort }]);
  });

  test.each([
    ["compose.yaml", 2],
    ["kubernetes.yaml", 1],
  ])("%s: the nodes start with its configuration, and work together", async (name, copies) => {
    const documents = readYaml(path.join(examples, name));
    const services = documents[0].services ?? {};
    const commands: string[][] = documents[0].services
      ? [services.ingress.command, services.worker.command]
      : documents.slice(1, 3).map(({ spec }) => spec.template.spec.containers[0].command);
    const roles = commands.map((command) => command[command.indexOf("--role") + 1]);
    expect(roles).toEqual(["ingress", "worker"]);
    const text: string = documents[0].data?.["webhooks.json5"] ?? readExample("webhooks.json5");
    const database = new URL(await createPostgresUrl());
    const secrets = {
      password: database.password,
      db_password: database.password,
      "hook-token": HOOK_TOKEN,
      "gateway-token": GATEWAY_TOKEN,
    };
    for (const [file, secret] of Object.entries(secrets)) writeFileSync(path.join(folder, file), secret);
    database.password = "";
    const config = parseSource(
      "webhooks.json5",
      text
        .replaceAll("/run/secrets/", `${folder}/`)
        .replace(/postgres:\/\/[^"]+/, database.href)
        .replace("${HOOK_TOKEN}", HOOK_TOKEN)
        .replace("${GATEWAY_TOKEN}", GATEWAY_TOKEN),
    ).value as UserConfig;
    const nodes: Service[] = [];
    const started = roles.flatMap((role) => Array.from({ length: copies }, () => role));
    for (const role of started) {
      nodes.push(
        await startService({
          config: { ...config, gateway: { ...config.gateway, role: role as "ingress" | "worker" } },
        }),
      );
    }
    const [first, last] = [nodes[0]!, nodes[copies - 1]!];
    const { status, body } = await first.post("agent", { message: "Hello." });
    expect(status).toBe(202);
    expect(await last.settled(body.eventId)).toMatchObject({ status: "done" });
    const { nodes: listed } = await last.api("/api/status");
    expect(listed.map(({ role }: Loose) => role).toSorted()).toEqual(started);
    for (const node of nodes) {
      for (const probe of ["/readyz", "/healthz"]) expect((await fetch(node.url + probe)).status).toBe(200);
      await node.close();
    }
  });
});

async function check(env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const file = path.join(folder, "webhooks.json5");
  const text = Object.entries(env).reduce(
    (now, [name, value]) => now.replaceAll(`\${${name}}`, value),
    readFileSync(file, "utf8"),
  );
  writeFileSync(file, text);
  const { code, stderr } = await runWebhooks(folder, "check", "--strict");
  return { code, stderr };
}

function requireCommand([program, name, ...args]: string[]): void {
  expect(program).toBe("hookline");
  const command = createProgram(createTestIo(folder).io).commands.find((known) => known.name() === name);
  const known = command?.options.map(({ long }) => long);
  expect(known).toEqual(expect.arrayContaining(args.filter((word) => word.startsWith("--"))));
}

function read(name: string): string {
  return readFileSync(path.resolve(files, name), "utf8");
}

function readYaml(name: string): Loose[] {
  return parseAllDocuments(read(name), { merge: true }).map((document) => {
    if ("errors" in document) expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

function has(program: string): boolean {
  try {
    execFileSync(program, ["--version"]);
    return true;
  } catch {
    return false;
  }
}
