import { describe, expect, test } from "vitest";
import { createTestIo } from "../../../test/support/cli.ts";
import type { Terminal } from "../setup/terminal.ts";
import { confirmServer } from "./ask-imap.ts";
import { createPrompter, type Prompter, type SetupFlags, toFlag } from "./prompter.ts";

const choices = [
  { value: "imap" as const, label: "IMAP" },
  { value: "gmail" as const, label: "Gmail API" },
];
const isNumber = (answer: string): string | undefined => (/^\d+$/.test(answer) ? undefined : "expected a number");

describe("without a terminal", () => {
  test("a flag comes before the default", async () => {
    expect(await prompter({ port: "1" }).text({ flag: "port", message: "Port", initial: "993" })).toBe("1");
    expect(await prompter({}).text({ flag: "port", message: "Port", initial: "993" })).toBe("993");
    expect(await prompter({}).text({ flag: "oauthScope", message: "Scopes", optional: true })).toBe("");
    const kind = { flag: "kind", message: "Kind", choices, initial: "imap" } as const;
    expect(await prompter({ kind: "gmail" }).choose(kind)).toBe("gmail");
    expect(await prompter({}).choose(kind)).toBe("imap");
  });

  test("a missing answer is named by its flag", async () => {
    await expect(prompter({}).text({ flag: "host", message: "Server" })).rejects.toMatchObject({
      name: "MissingAnswer",
      message: "--host is missing: cannot prompt for “Server” without a terminal",
    });
    await expect(prompter({}).choose({ flag: "kind", message: "Kind", choices })).rejects.toMatchObject({
      name: "MissingAnswer",
      message: "--kind is missing: cannot prompt for “Kind (imap, gmail)” without a terminal",
    });
  });

  test("an invalid value is an error", async () => {
    const port = { flag: "port", message: "Port", check: isNumber } as const;
    await expect(prompter({ port: "x" }).text(port)).rejects.toThrow("--port: expected a number");
    await expect(prompter({ host: " " }).text({ flag: "host", message: "Server" })).rejects.toThrow(
      "--host: must not be empty",
    );
    await expect(prompter({ kind: "pop" }).choose({ flag: "kind", message: "Kind", choices })).rejects.toThrow(
      "--kind: expected one of imap, gmail",
    );
  });
});

test("toFlag", () => {
  expect(toFlag("oauthRefreshTokenStdin")).toBe("--oauth-refresh-token-stdin");
});

describe("a server that was found", () => {
  const host = "mail.example.com";

  test("is used without a terminal, unless it is foreign", async () => {
    expect(await confirmServer(prompter({}), { host })).toBe(true);
    for (const flags of [{}, { port: "993" }]) {
      await expect(confirmServer(prompter(flags), { host, isForeign: true })).rejects.toThrow(
        `--host is missing: DNS names ${host}`,
      );
    }
  });

  test("is not used if a flag says something else", async () => {
    expect(await confirmServer(prompter({ tls: "starttls" }), { host })).toBe(false);
  });

  test.each([true, false])("is confirmed by a person, even if it is foreign: %s", async (answer) => {
    const asked: string[] = [];
    const confirm: Terminal["confirm"] = async (message) => {
      asked.push(message);
      return answer;
    };
    const { flags } = prompter({});
    expect(await confirmServer({ flags, terminal: { confirm } as Terminal }, { host, isForeign: true })).toBe(answer);
    expect(asked).toEqual([`Use ${host}?`]);
  });
});

function prompter(flags: Partial<SetupFlags>): Prompter {
  const { io } = createTestIo("/");
  return createPrompter({ check: true, yes: false, dryRun: false, json: false, ...flags }, io, undefined);
}
