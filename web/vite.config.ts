import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

/** Where prony writes the table of its metrics. */
const METRICS = '<script id="prony-metrics" type="application/json">{}</script>';
/** Where prony writes the data of a report. Nothing else of the page is replaced. */
const DATA = '<script id="prony-data" type="application/json">null</script>';

/**
 * Inlines script and style, and adds a Content-Security-Policy that forbids everything else: a page that is opened from
 * disk has no server to send one.
 */
function oneFile(): Plugin {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    name: "prony-one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        if (name !== "index.html") delete bundle[name];
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build produced no index.html");
      // A closing tag inside a string of the script would end the script element.
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        "img-src data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const html = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>/, "")
        .replace(/<link rel="stylesheet"[^>]*>/, "")
        .replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace("<!--style-->", () => `<style>${style}</style>`)
        .replace("<!--script-->", () => `${METRICS}\n${DATA}\n<script type="module">${script}</script>`);
      const loads = html.replace(script, "").match(/<(script|link)[^>]+(src|href)="(?!data:)[^>]*>/);
      if (loads) throw new Error(`the page would load something: ${loads[0]}`);
      page.source = html;
    },
  };
}

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    chunkSizeWarningLimit: 1500,
    reportCompressedSize: false,
  },
  plugins: [oneFile()],
});
