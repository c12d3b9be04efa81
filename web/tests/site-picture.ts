// A picture of the first page of a site: `npm run picture-of-site [SITE [FOLDER]]`. The defaults are target/site and
// docs/images.

import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "./browser.ts";

const above = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const [site = above("target/site"), folder = above("docs/images")] = process.argv.slice(2);

const browser = await Browser.start();
const { page } = await browser.visit(pathToFileURL(resolve(site, "index.html")).href, { width: 1280, height: 900 });
await page.screenshot({ path: resolve(folder, "site.png") });
await browser.stop();
