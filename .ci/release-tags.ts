/**
 * `git tag | node .ci/release-tags.ts v0.1.3` says where a version is published, as outputs of a job: `npm`, the tag of npm;
 * `image`, those of the image; `latest`, whether no other version is higher. A fix of an older minor version leaves `latest`
 * where it is, and so does a version with a suffix, such as v0.2.0-rc.1.
 */
import { text } from "node:stream/consumers";

const FORM = /^v(\d+)\.(\d+)\.(\d+)(-[\w.-]+)?$/;

if (import.meta.main) {
  const [, , tag = ""] = process.argv;
  const { npm, image, latest } = placesOf(tag, (await text(process.stdin)).split(/\s+/));
  console.log(`npm=${npm}\nimage=${image}\nlatest=${latest}`);
}

/** `tags`: those of all versions, and others. */
export function placesOf(tag: string, tags: string[]): { npm: string; image: string; latest: boolean } {
  const given = FORM.exec(tag);
  if (!given) throw new Error(`The tag "${tag}" is no version. Expected one such as v0.1.0.`);
  const [, major, minor, , suffix = ""] = given;
  const others = tags.filter((other) => FORM.test(other) && !other.includes("-"));
  const latest = suffix === "" && others.every((other) => compare(other, tag) <= 0);
  const isHighestOfMinor =
    suffix === "" && others.every((other) => !other.startsWith(`v${major}.${minor}.`) || compare(other, tag) <= 0);
  const image = [tag.slice(1), ...(isHighestOfMinor ? [`${major}.${minor}`] : []), ...(latest ? ["latest"] : [])];
  // npm refuses a tag that reads like a range of versions, such as 0.1.
  const npm = latest ? "latest" : suffix === "" ? `release-${major}.${minor}` : "next";
  return { npm, image: image.join(" "), latest };
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
