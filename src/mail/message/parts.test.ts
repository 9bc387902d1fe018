import { expect, test } from "vitest";
import { type MailPart, pickParts } from "./read-mail.ts";

interface Node extends MailPart<Node> {}

const node = (type: string, fields: Partial<Node> = {}): Node => ({
  type,
  name: "",
  size: 9,
  isAttached: false,
  hasContentId: false,
  children: [],
  ...fields,
});
const multipart = (subtype: string, ...children: Node[]): Node => node(`multipart/${subtype}`, { children });
const pick = (root: Node): ReturnType<typeof pickParts<Node>> => pickParts(root, (each) => each);

const plain = node("text/plain");
const html = node("text/html");

test("picks the plain text of an alternative and lists attachments", () => {
  const pdf = node("application/pdf", { name: "Bill.pdf", size: 57_000, isAttached: true });
  expect(pick(multipart("mixed", multipart("alternative", plain, html), pdf))).toEqual({
    texts: [plain],
    attachments: [{ name: "Bill.pdf", type: "application/pdf", size: 57_000 }],
  });
});

test("picks HTML if there is no plain text, or an empty one", () => {
  expect(pick(multipart("alternative", html)).texts).toEqual([html]);
  expect(pick(multipart("alternative", node("text/plain", { size: 0 }), html)).texts).toEqual([html]);
});

test("picks HTML beside a plain footer", () => {
  expect(pick(multipart("mixed", html, plain)).texts).toEqual([html, plain]);
});

test("picks an invitation beside the text and lists it", () => {
  const invitation = node("text/calendar", { name: "invite.ics" });
  expect(pick(multipart("mixed", plain, invitation))).toMatchObject({
    texts: [plain, invitation],
    attachments: [{ name: "invite.ics" }],
  });
});

test("lists attached texts and mails as attachments", () => {
  const log = node("text/plain", { name: "a.log", isAttached: true });
  const forwarded = node("message/rfc822", { size: 50, children: [plain] });
  expect(pick(multipart("mixed", plain, log, forwarded))).toEqual({
    texts: [plain, plain],
    attachments: [
      { name: "a.log", type: "text/plain", size: 9 },
      { name: "", type: "message/rfc822", size: 50 },
    ],
  });
});

test("picks the report of a bounce, and the text of a forwarded mail, however many texts there are", () => {
  const report = node("message/delivery-status");
  const texts = Array.from({ length: 9 }, () => plain);
  expect(pick(multipart("report", ...texts, report)).texts).toEqual([plain, plain, plain, plain, report]);
  const forwarded = node("message/rfc822", { children: [multipart("alternative", plain, html)] });
  expect(pick(multipart("mixed", forwarded)).texts).toEqual([plain]);
  expect(pick(multipart("mixed", { ...forwarded, isAttached: true })).texts).toEqual([]);
});

test("picks HTML beside a plain text that is far smaller", () => {
  const large = node("text/html", { size: 90_000 });
  expect(pick(multipart("alternative", plain, large)).texts).toEqual([large]);
});

test("does not list an image that the HTML shows, unless it has a name", () => {
  const logo = node("image/png", { hasContentId: true });
  const named = { ...logo, name: "a\r\nb.png" };
  expect(pick(multipart("related", html, logo, named)).attachments).toEqual([
    { name: "a b.png", type: "image/png", size: 9 },
  ]);
});

test("picks the text of a mail that is one text, and nothing of one that is a file", () => {
  expect(pick(plain)).toEqual({ texts: [plain], attachments: [] });
  expect(pick(node("application/zip"))).toMatchObject({ texts: [], attachments: [{ size: 9 }] });
});

test("limits texts, attachments, names and depth", () => {
  const files = Array.from({ length: 500 }, () => node("a/b", { name: "n".repeat(1000) }));
  const picked = pick(multipart("mixed", ...Array.from({ length: 500 }, () => plain), ...files));
  expect(picked.texts).toHaveLength(5);
  expect(picked.attachments).toHaveLength(100);
  expect(picked.attachments[0]?.name).toHaveLength(255);
  let deep = plain;
  for (let depth = 0; depth < 1000; depth++) deep = multipart("mixed", deep);
  expect(pick(deep).texts).toEqual([]);
});
