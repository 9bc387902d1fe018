import { describe, expect, test } from "vitest";
import { parseForm, parseMultipart } from "./parse-form.ts";

test.each([
  ["iso-8859-1", "a=%E9+x&%E9=1", { a: "é x", é: "1" }],
  ["windows-1251", "a=%CF%F0", { a: "Пр" }],
  ["shift_jis", "a=%93%FA", { a: "日" }],
])("a form in %s", (charset, text, fields) => {
  expect(parseForm(Buffer.from(text), charset)).toEqual(fields);
});

test("a form with bytes that are not in its charset is refused", () => {
  const refusal = { code: "invalid_form", message: "The body is not valid utf-8." };
  expect(() => parseForm(Buffer.from("a=%E9"), null)).toThrow(expect.objectContaining(refusal));
  expect(() => parseForm(Buffer.from("a=1"), "klingon")).toThrow(expect.objectContaining({ status: 415 }));
});

interface Part {
  name?: string;
  file?: string;
  type?: string;
  content: string | Buffer;
}

const END = "--x--\r\n";

function multipart(...parts: Part[]): Buffer {
  return Buffer.concat([...parts.map(toBytes), Buffer.from(END)]);
}

function toBytes({ name, file, type, content }: Part): Buffer {
  const parameters = Object.entries({ name, filename: file }).map(([key, value]) =>
    value === undefined ? "" : `; ${key}="${value}"`,
  );
  const header = `--x\r\nContent-Disposition: form-data${parameters.join("")}\r\n${type ? `Content-Type: ${type}\r\n` : ""}\r\n`;
  return Buffer.concat([Buffer.from(header), Buffer.from(content), Buffer.from("\r\n")]);
}

describe("multipart", () => {
  test("gives its fields, repeated ones as an array", async () => {
    const body = multipart(
      { name: "a", content: "1" },
      { name: "b c", content: "é\r\n--" },
      { name: "a", content: "2" },
    );
    expect(await parseMultipart(body, "x")).toEqual({ a: ["1", "2"], "b c": "é\r\n--" });
  });

  test("gives its files with their bytes", async () => {
    const content = Buffer.from([0, 0xff, 0x0d, 0x0a]);
    const body = multipart(
      { name: "text", content: "hello" },
      { name: "photo", file: "C:\\photos\\%22ü%22.png", type: "Image/PNG; x=y", content },
      { name: "raw", type: "application/octet-stream", content: "" },
      { name: "raw", type: "application/octet-stream", content: "a" },
    );
    expect(await parseMultipart(body, "x")).toEqual({
      text: "hello",
      files: [
        { field: "photo", name: '"ü".png', type: "image/png", size: 4, content: content.toString("base64") },
        { field: "raw", name: "", type: "application/octet-stream", size: 1, content: "YQ==" },
      ],
    });
  });

  test("gives the JSON of its payload field, beside its files", async () => {
    const payload = { name: "payload", content: '{"event":"media.play"}' };
    expect(await parseMultipart(multipart(payload), "x")).toEqual({ event: "media.play" });
    expect(await parseMultipart(multipart(payload, { name: "thumb", file: "t.jpg", content: "" }), "x")).toMatchObject({
      event: "media.play",
      files: [{ name: "t.jpg", type: "application/octet-stream", size: 0 }],
    });
  });

  const KOI8 = Buffer.from([0xf0, 0xd2]);
  test.each<[string, Part[]]>([
    ["its type", [{ name: "a", type: 'text/plain; charset="koi8-r"', content: KOI8 }]],
    [
      "a field _charset_",
      [
        { name: "_charset_", content: "koi8-r" },
        { name: "a", content: KOI8 },
      ],
    ],
    [
      "a field charsets",
      [
        { name: "charsets", content: '{"a":"KOI8-R"}' },
        { name: "a", content: KOI8 },
      ],
    ],
  ])("decodes a text by the charset of %s", async (_what, parts) => {
    expect(await parseMultipart(multipart(...parts), "x")).toMatchObject({ a: "Пр" });
  });

  test("prototype names are fields like any other", async () => {
    const fields = await parseMultipart(
      multipart({ name: "__proto__", content: "x" }, { name: "constructor", content: "y" }),
      "x",
    );
    expect(Object.entries(Object(fields))).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });

  test("what is outside of the parts, and a part without a name, is ignored", async () => {
    const body = Buffer.concat([
      Buffer.from("preamble\r\n"),
      multipart({ content: "?" }, { name: "a", content: "1" }),
      Buffer.from("epilogue"),
    ]);
    expect(await parseMultipart(body, "x")).toEqual({ a: "1" });
  });

  const ONE = multipart({ name: "a", content: "1" });
  test.each<[string, Buffer, string | null, number]>([
    ["no boundary", ONE, null, 400],
    ["a boundary that is too long", ONE, "x".repeat(71), 400],
    ["another boundary", ONE, "y", 400],
    ["no body", Buffer.alloc(0), "x", 400],
    ["no end", ONE.subarray(0, -END.length), "x", 400],
    ["an end within a header", Buffer.from("--x\r\nContent-Disp"), "x", 400],
    ["bytes that are not UTF-8", multipart({ name: "a", content: KOI8 }), "x", 400],
    ["an unknown charset", multipart({ name: "a", type: "text/plain; charset=klingon", content: "1" }), "x", 415],
    ["10,000 parts", multipart(...Array.from({ length: 10_000 }, () => ({ name: "a", content: "1" }))), "x", 413],
    ["100,000 hollow parts", Buffer.from("--x\r\n".repeat(100_000) + END), "x", 413],
  ])("with %s is refused", async (_what, body, boundary, status) => {
    await expect(parseMultipart(body, boundary)).rejects.toMatchObject({ name: "HookError", status });
  });
});
