import { describe, expect, test } from "vitest";
import { resolve } from "../support/mapping.ts";
import { readConfig } from "../../src/service/drivers.ts";
import type { MappingSource } from "../../src/core/config/resolved-config.ts";
import type { Resolution } from "../../src/core/types.ts";

describe("mail", () => {
  const mail = { id: "a1", from: "ann@example.com", subject: "S", snippet: "short" };

  test("recognizes a repeated message by its id and source, but not one without an id", async () => {
    const { idempotency } = await post("mail", {
      source: "imap",
      messages: [mail, { ...mail, id: undefined }],
    });
    expect(idempotency).toMatchObject({ perAction: true, conflictOnOtherContent: false });
    expect(idempotency?.keys).toEqual(["imap/a1", ""]);
  });

  test("gives a message without an id its own session", async () => {
    const { actions } = await post("mail", { messages: [{ ...mail, id: undefined }] });
    expect(actions).toMatchObject([{ sessionKey: expect.stringMatching(/^hook:[0-9a-f-]{36}$/) }]);
  });

  test("shares a session between the mails of a thread where that is wanted", async () => {
    const messages = [{ ...mail, threadId: "t1" }, mail];
    const keyOf = async (parameters?: object) => (await post("mail", { messages }, parameters)).actions;
    expect(await keyOf()).toMatchObject([{ sessionKey: "hook:mail:a1" }, { sessionKey: "hook:mail:a1" }]);
    expect(await keyOf({ session: "thread" })).toMatchObject([
      { sessionKey: "hook:mail:thread:t1" },
      { sessionKey: "hook:mail:a1" },
    ]);
  });

  test("shortens quotes and addresses in the message", async () => {
    const body = `Yes, see https://a.example/${"x".repeat(200)}\n${"> old\n".repeat(20)}`;
    const { actions } = await post("mail", { messages: [{ ...mail, body }] });
    expect(actions).toMatchObject([
      { message: expect.stringMatching(/Yes, see https:\S{74}…\n> old\n> old\n> \[… 18 more quoted lines\]/) },
    ]);
  });

  test("accepts an id of any length", async () => {
    const { actions } = await post("mail", { messages: [{ ...mail, id: "x".repeat(1000) }] });
    expect(actions).toMatchObject([{ sessionKey: expect.stringMatching(/^hook:mail:x{199}…$/) }]);
  });

  test("uses its parameters", async () => {
    const given = {
      model: "a/b",
      thinking: "low",
      channel: "slack",
      to: "C1",
      instructions: "Be brief",
      deliver: false,
    };
    expect((await post("mail", { messages: [mail] }, given)).actions).toMatchObject([given]);
  });

  test("accepts missing and unexpected fields", async () => {
    const sparse = { sender: "ann@example.com", subject: "S", snippet: "short" };
    const odd = {
      ...sparse,
      from: null,
      to: { all: true },
      cc: 5,
      date: ["soon"],
      attachments: ["a.pdf", null, { name: "b.pdf" }, { size: 7 }],
      authentication: "pass",
      listId: {},
      extra: [],
    };
    const { actions } = await post("mail", { messages: [sparse, odd] });
    expect(actions[0]).toMatchObject({ message: "New mail\nFrom: ann@example.com\nSubject: S\n\nshort" });
    expect(actions[1]).toMatchObject({
      message: expect.stringMatching(/^From: ann@example.com$[^]*short$/m),
    });
  });

  test("mentions attachments, a truncated text, and the server's authentication results", async () => {
    const full = {
      ...mail,
      body: "The beginning",
      truncated: true,
      attachments: [
        { name: "a.pdf", type: "application/pdf", size: 7 },
        { name: "", type: "image/png" },
      ],
      authentication: { dmarc: "fail" },
    };
    const { actions } = await post("mail", { messages: [full] });
    expect(actions).toMatchObject([
      {
        message: [
          "New mail",
          "From: ann@example.com",
          "Subject: S",
          "Attachment: a.pdf, application/pdf, 7 bytes",
          "Attachment: (no name), image/png",
          "Authentication: spf=unknown dkim=unknown dmarc=fail",
          "",
          "The beginning",
          "",
          "(The mail goes on: its text was cut here.)",
        ].join("\n"),
      },
    ]);
  });

  test("skips a batch without messages", async () => {
    expect((await post("mail", { source: "imap", messages: [] })).actions).toEqual([]);
  });

  test.each([
    [{}, "messages"],
    [{ messages: {} }, "messages"],
    [{ messages: ["text"] }, "messages[0]"],
    [{ messages: [{ subject: "nobody" }] }, "messages[0]"],
    [{ messages: [mail, { from: 5 }] }, "messages[1].from"],
    [{ messages: [{ ...mail, subject: {} }] }, "messages[0].subject"],
    [[mail], "payload"],
  ])("refuses %j", async (payload, field) => {
    const refused = { status: 400, code: "invalid_payload", message: expect.stringContaining(field) };
    await expect(post("mail", payload)).rejects.toMatchObject(refused);
  });
});

async function post(preset: string, payload: unknown, parameters: object = {}): Promise<Resolution> {
  const mappings = await presetMappings(preset, parameters);
  return resolve(mappings[0]?.mapping.match?.path ?? "", payload, { mappings });
}

async function presetMappings(preset: string, parameters: object): Promise<MappingSource[]> {
  const hooks = {
    enabled: true,
    token: "a-token-of-enough-characters",
    presets: [{ use: preset, with: { ...parameters } }],
  };
  return (await readConfig({ hooks }, {})).config.hooks.mappings;
}
