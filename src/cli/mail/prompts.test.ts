import { describe, expect, test } from "vitest";
import type { SetupFlags } from "./flags.ts";
import { type Asker, createAsker, toFlag } from "./prompts.ts";

const MISSING = "MissingAnswer";
const choices = [
  { value: "imap" as const, label: "Over IMAP" },
  { value: "gmail" as const, label: "By Gmail's own API" },
];
const isNumber = (answer: string): string | undefined => (/^\d+$/.test(answer) ? undefined : "expected a number");

describe("with nobody to ask", () => {
  test("a flag's value counts before what holds by default", async () => {
    expect(await ask({ port: "1" }).text({ flag: "port", message: "Port", initial: "993" })).toBe("1");
    expect(await ask({}).text({ flag: "port", message: "Port", initial: "993" })).toBe("993");
    expect(await ask({}).text({ flag: "oauthScope", message: "Scopes", optional: true })).toBe("");
    expect(await ask({ kind: "gmail" }).choose({ flag: "kind", message: "Kind", choices, initial: "imap" })).toBe(
      "gmail",
    );
    expect(await ask({}).choose({ flag: "kind", message: "Kind", choices, initial: "imap" })).toBe("imap");
  });

  test("what is missing is named by its flag", async () => {
    await expect(ask({}).text({ flag: "host", message: "Server" })).rejects.toMatchObject({
      name: MISSING,
      message: "--host is missing: without a terminal nobody can be asked “Server”",
    });
    await expect(ask({}).choose({ flag: "kind", message: "Kind", choices })).rejects.toMatchObject({
      name: MISSING,
      message: "--kind is missing: without a terminal nobody can be asked “Kind (imap, gmail)”",
    });
  });

  test("a value that cannot be is refused", async () => {
    const port = { flag: "port", message: "Port", check: isNumber } as const;
    await expect(ask({ port: "x" }).text(port)).rejects.toThrow("--port: expected a number");
    await expect(ask({ host: " " }).text({ flag: "host", message: "Server" })).rejects.toThrow(
      "--host: it must not be empty",
    );
    await expect(ask({ kind: "pop" }).choose({ flag: "kind", message: "Kind", choices })).rejects.toThrow(
      "--kind: expected one of imap, gmail",
    );
  });
});

test("flags are named as they are written", () => {
  expect(toFlag("oauthRefreshTokenStdin")).toBe("--oauth-refresh-token-stdin");
});

function ask(flags: Partial<SetupFlags>): Asker {
  return createAsker({ check: true, yes: false, dryRun: false, json: false, ...flags }, undefined);
}
