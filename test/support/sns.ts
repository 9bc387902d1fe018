import { sign } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";

const folder = path.join(import.meta.dirname, "../fixtures/sns");

/** Self-signed, in place of the certificate of AWS. */
export const SNS_CERTIFICATE = readFileSync(path.join(folder, "certificate.pem"), "utf8");
export const SNS_TOPIC = "arn:aws:sns:eu-west-1:123456789012:alerts";
export const SNS_CERTIFICATE_URL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-9c6465fa.pem";

const key = readFileSync(path.join(folder, "key.pem"), "utf8");

/** A message signed as SNS signs it: `Type` decides which fields are. */
export function toSnsMessage(fields: Record<string, unknown>, now: number): Record<string, unknown> {
  const message: Record<string, unknown> = {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: SNS_TOPIC,
    Message: "Hello world!",
    Timestamp: new Date(now).toISOString(),
    SignatureVersion: "2",
    SigningCertURL: SNS_CERTIFICATE_URL,
    ...fields,
  };
  const names =
    message["Type"] === "Notification"
      ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
      : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = names.filter((name) => name in message).map((name) => `${name}\n${String(message[name])}\n`);
  const hash = message["SignatureVersion"] === "1" ? "RSA-SHA1" : "RSA-SHA256";
  return { Signature: sign(hash, Buffer.from(text.join("")), key).toString("base64"), ...message };
}
