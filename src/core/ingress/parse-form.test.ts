import { MIMEType } from "node:util";
import { describe, expect, test } from "vitest";
import * as fc from "../../../test/support/property.ts";
import { parseForm, parseMultipart } from "./parse-form.ts";

test.each([
  ["iso-8859-1", "a=%E9+x&%E9=1", { a: "é x", é: "1" }],
  ["windows-1251", "a=%CF%F0", { a: "Пр" }],
  ["shift_jis", "a=%93%FA", { a: "日" }],
])("a form in %s", (charset, text, fields) => {
  expect(parseForm(Buffer.from(text), charset)).toEqual({ payload: fields });
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
    expect((await parseMultipart(body, "x")).payload).toEqual({ a: ["1", "2"], "b c": "é\r\n--" });
  });

  test("gives its files with their bytes", async () => {
    const content = Buffer.from([0, 0xff, 0x0d, 0x0a]);
    const body = multipart(
      { name: "text", content: "hello" },
      { name: "photo", file: "C:\\photos\\%22ü%22.png", type: "Image/PNG; x=y", content },
      { name: "raw", type: "application/octet-stream", content: "" },
      { name: "raw", type: "application/octet-stream", content: "a" },
    );
    expect((await parseMultipart(body, "x")).payload).toEqual({
      text: "hello",
      files: [
        { field: "photo", name: '"ü".png', type: "image/png", size: 4, content: content.toString("base64") },
        { field: "raw", name: "", type: "application/octet-stream", size: 1, content: "YQ==" },
      ],
    });
  });

  test.each([
    ['name="a\\"b"; filename="c\\"d.txt"', { field: 'a"b', name: 'c"d.txt' }],
    ["name=a; filename*=UTF-8''na%C3%AFve.txt", { field: "a", name: "naïve.txt" }],
    ["name=a; filename*=UTF-8''100%.txt", { field: "a", name: "100%.txt" }],
  ])("reads the names %s", async (parameters, file) => {
    const body = Buffer.from(`--x\r\nContent-Disposition: form-data; ${parameters}\r\n\r\n1\r\n${END}`);
    expect((await parseMultipart(body, "x")).payload).toMatchObject({ files: [file] });
  });

  test("reads what a browser sends, whatever its names and values are", async () => {
    const word = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 20 }),
      fc.constantFrom('a"b', "a\r\nb", "a\\", "x; filename=y", "--x\r\n", "__proto__", "constructor"),
    );
    // Browsers write each line end as CR LF.
    const sent = word.map((text) => text.replaceAll(/\r\n|\r|\n/g, "\r\n"));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(sent, sent), { selector: ([name]) => name }),
        sent,
        async (pairs, file) => {
          const form = new FormData();
          for (const [name, value] of pairs) form.append(`_${name}`, value);
          form.append("file", new File([file], `${file}_`));
          const request = new Request("http://localhost/", { method: "POST", body: form });
          const { params } = new MIMEType(request.headers.get("content-type") ?? "");
          const { payload } = await parseMultipart(Buffer.from(await request.arrayBuffer()), params.get("boundary"));
          expect(payload).toEqual({
            ...Object.fromEntries(pairs.map(([name, value]) => [`_${name}`, value])),
            files: [expect.objectContaining({ field: "file", content: Buffer.from(file).toString("base64") })],
          });
        },
      ),
    );
  });

  test("gives the JSON of its payload field, beside its files", async () => {
    const payload = { name: "payload", content: '{"event":"media.play"}' };
    expect((await parseMultipart(multipart(payload), "x")).payload).toEqual({ event: "media.play" });
    const data = { name: "data", content: '{"msg":"down"}' };
    expect((await parseMultipart(multipart(data), "x")).payload).toEqual({ msg: "down" });
    const more = await parseMultipart(multipart(data, { name: "a", content: "1" }), "x");
    expect(more.payload).toEqual({ data: '{"msg":"down"}', a: "1" });
    expect(
      (await parseMultipart(multipart(payload, { name: "thumb", file: "t.jpg", content: "" }), "x")).payload,
    ).toMatchObject({
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
    expect((await parseMultipart(multipart(...parts), "x")).payload).toMatchObject({ a: "Пр" });
  });

  test("prototype names are fields like any other", async () => {
    const { payload: fields } = await parseMultipart(
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
    expect((await parseMultipart(body, "x")).payload).toEqual({ a: "1" });
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
