// The pictures in docs/images are those of the current page.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PICTURES, pageDigest } from "./digest.ts";

const DOCS = join(PICTURES, "..");

test("the pictures show the current page", () => {
  const shown = readFileSync(join(PICTURES, "page.sha256"), "utf8").trim();
  assert.equal(shown, pageDigest(), "docs/images shows an earlier page: `make pictures` makes them again");
});

test("every picture is shown in a document", () => {
  const documents = [...readdirSync(DOCS).map((name) => join(DOCS, name)), join(DOCS, "../README.md")].filter((path) => path.endsWith(".md"));
  const text = documents.map((path) => readFileSync(path, "utf8")).join("\n");
  const unused = readdirSync(PICTURES).filter((name) => name.endsWith(".png") && !text.includes(`images/${name}`));
  assert.deepEqual(unused, []);
});
