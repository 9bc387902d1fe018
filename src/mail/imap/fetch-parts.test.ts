import type { MessageStructureObject } from "imapflow";
import { expect, test } from "vitest";
import { pickParts } from "./fetch-parts.ts";

const plain = { part: "1.1", type: "text/plain", size: 100 };
const html = { part: "1.2", type: "text/html", size: 200 };
const alternative = { part: "1", type: "multipart/alternative", childNodes: [plain, html] };

const mixed = (...childNodes: MessageStructureObject[]): MessageStructureObject => ({
  type: "multipart/mixed",
  childNodes,
});

test("reads what was written as text, and lists what is attached", () => {
  const pdf = {
    part: "2",
    type: "application/pdf",
    encoding: "base64",
    size: 78_000,
    disposition: "attachment",
    dispositionParameters: { filename: "Bill.pdf" },
  };
  expect(pickParts(mixed(alternative, pdf))).toEqual({
    texts: [plain],
    attachments: [{ name: "Bill.pdf", type: "application/pdf", size: 57_000 }],
  });
});

test("reads HTML where nothing else was written", () => {
  expect(pickParts({ ...alternative, childNodes: [{ ...plain, size: 0 }, html] }).texts).toEqual([html]);
});

test("reads an invitation beside the text", () => {
  const invitation = { part: "2", type: "text/calendar", size: 300, parameters: { name: "invite.ics" } };
  expect(pickParts(mixed(alternative, invitation))).toMatchObject({
    texts: [plain, invitation],
    attachments: [{ name: "invite.ics" }],
  });
});

test("takes a text that is attached, and a mail, for attachments", () => {
  const log = {
    part: "2",
    type: "text/plain",
    size: 9,
    disposition: "attachment",
    parameters: { name: "a.log" },
  };
  const forwarded = { part: "3", type: "message/rfc822", size: 50, childNodes: [{ ...plain, part: "3.1" }] };
  expect(pickParts(mixed(alternative, log, forwarded))).toEqual({
    texts: [plain],
    attachments: [
      { name: "a.log", type: "text/plain", size: 9 },
      { name: "", type: "message/rfc822", size: 50 },
    ],
  });
});

test("does not list the pictures of a page", () => {
  const logo = { part: "2", type: "image/png", id: "<logo@x>", size: 10 };
  expect(pickParts(mixed(html, logo)).attachments).toEqual([]);
});

test("reads a mail that is a text, and none that is a file", () => {
  expect(pickParts({ type: "text/plain", size: 9 })).toMatchObject({
    texts: [{ type: "text/plain" }],
    attachments: [],
  });
  expect(pickParts({ type: "application/zip", size: 9 })).toMatchObject({
    texts: [],
    attachments: [{ size: 9 }],
  });
});

test("takes no more than a hostile mail deserves", () => {
  const texts = Array.from({ length: 500 }, () => plain);
  const files = Array.from({ length: 500 }, () => ({ type: "a/b", parameters: { name: "n".repeat(1000) } }));
  const picked = pickParts(mixed(...texts, ...files));
  expect(picked.texts).toHaveLength(5);
  expect(picked.attachments).toHaveLength(100);
  expect(picked.attachments[0]?.name).toHaveLength(255);
});
