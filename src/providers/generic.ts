import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem, SignatureDefinition } from "../plugin.ts";
import { SECRET, SECRET_ITSELF, type SignatureRow, TOLERANCE, URL_OPTION } from "./row.ts";
import { checkSecrets, createVerifier } from "./verifier.ts";

const HEADER = { type: "string", pattern: "^[\\w!#$%&'*+.^`|~-]+$" } as const;

const hmacSchema = {
  type: "object",
  additionalProperties: false,
  required: ["secret", "header"],
  properties: {
    secret: SECRET,
    header: { ...HEADER, description: "The header with the signature." },
    prefix: { type: "string", default: "", description: "Text before the signature: `sha256=`." },
    algorithm: { enum: ["sha256", "sha1", "sha512"], default: "sha256", description: "Hash of the HMAC." },
    encoding: { enum: ["hex", "base64", "base64url"], default: "hex", description: "Encoding of the signature." },
    signed: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      items: { type: "string", minLength: 1 },
      contains: { const: "body" },
      default: ["body"],
      description:
        "The signed text in its parts: `body`, `id`, `timestamp`, `url`, `method`, or any other text, which means itself.",
    },
    idHeader: { ...HEADER, description: "The header with the delivery's id." },
    timestampHeader: { ...HEADER, description: "The header with the time." },
    timestampUnit: { enum: ["s", "ms", "iso"], default: "s", description: "Unit of the time." },
    tolerance: { ...TOLERANCE, default: "5m" },
    url: URL_OPTION,
  },
} as const;

type HmacOptions = FromSchema<typeof hmacSchema>;

/** Any HMAC over the body. */
export const hmac: SignatureDefinition<HmacOptions> = {
  schema: hmacSchema,
  about: { header: "`header`", signed: "HMAC, `signed`", tolerance: "`tolerance`, with `timestampHeader`" },
  check: (options) => [...checkSecrets(toHmacRow(options), options), ...checkParts(options)],
  create: (options) => createVerifier(toHmacRow(options), options),
};

function toHmacRow(options: HmacOptions): SignatureRow {
  const { header, algorithm, idHeader, timestampHeader, timestampUnit, ...rest } = options;
  return {
    ...rest,
    header: header.toLowerCase(),
    algorithm: `hmac-${algorithm}`,
    idHeader: idHeader?.toLowerCase(),
    timestamp:
      timestampHeader === undefined ? undefined : { header: timestampHeader.toLowerCase(), unit: timestampUnit },
  };
}

/** A part and its option mean nothing without each other: a time that is not signed can be replaced. */
function checkParts(options: HmacOptions): OptionProblem[] {
  return (
    [
      ["id", "idHeader"],
      ["timestamp", "timestampHeader"],
      ["url", "url"],
    ] as const
  ).flatMap(([part, key]) => {
    const isSigned = options.signed.includes(part);
    const isSet = options[key] !== undefined;
    if (isSigned && !isSet) return [{ key, message: `is required, because signed contains "${part}"` }];
    if (!isSigned && isSet) return [{ key, message: `has no effect, because signed does not contain "${part}"` }];
    return [];
  });
}

const headerSchema = {
  type: "object",
  additionalProperties: false,
  required: ["secret", "name"],
  properties: { secret: SECRET, name: { ...HEADER, description: "The header with the secret." } },
} as const;

/** A secret in any header. */
export const header: SignatureDefinition<FromSchema<typeof headerSchema>> = {
  schema: headerSchema,
  about: { header: "`name`", signed: SECRET_ITSELF },
  create: ({ name, secret }) =>
    createVerifier({ header: name.toLowerCase(), algorithm: "secret", encoding: "latin1" }, { secret }),
};

const grafanaSchema = {
  type: "object",
  additionalProperties: false,
  required: ["secret"],
  properties: {
    secret: SECRET,
    header: {
      ...HEADER,
      default: "X-Grafana-Alerting-Signature",
      description: "The header with the signature, as in the contact point.",
    },
    timestampHeader: { ...HEADER, description: "The header with the time, if the contact point names one." },
    tolerance: { ...TOLERANCE, default: "5m" },
  },
} as const;

type GrafanaOptions = FromSchema<typeof grafanaSchema>;

export const grafana: SignatureDefinition<GrafanaOptions> = {
  schema: grafanaSchema,
  docs: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
  deliveryId: "{{payload.groupKey}}:{{payload.status}}",
  about: {
    header: "`x-grafana-alerting-signature`",
    signed: "HMAC-SHA256, hex: body, or `timestamp` `:` body",
    tolerance: "5m, with `timestampHeader`",
  },
  create: (options) => createVerifier(toGrafanaRow(options), options),
};

function toGrafanaRow({ header: name, timestampHeader }: GrafanaOptions): SignatureRow {
  const row = { header: name.toLowerCase() };
  if (timestampHeader === undefined) return row;
  return {
    ...row,
    timestamp: { header: timestampHeader.toLowerCase(), unit: "s" },
    signed: ["timestamp", ":", "body"],
  };
}
