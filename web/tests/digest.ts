// What the pictures of docs/images show: a digest of the built page and of the first page of a site, without their data.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { built } from "./browser.ts";

export const PICTURES = fileURLToPath(new URL("../../docs/images/", import.meta.url));

/** Changes with everything that changes how a page looks. A Rust test keeps `site.json` current. */
export function pageDigest(): string {
  const site = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8")) as Record<string, string>;
  return createHash("sha256").update(built()).update(site["index.html"]!).digest("hex");
}
