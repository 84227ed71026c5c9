// build.mjs - bundle the console and write what the binary embeds.
//
//     node console/build.mjs NODE_MODULES OUT
//
// OUT gets the files, each also as .gz, and console_files.c: a table of them for
// src/admin/http/console.c.  Names carry a hash of the content, so that browsers may keep
// them for ever; only index.html is asked for again.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

async function bundle() {
  const result = await esbuild.build({
    entryPoints: { app: join(here, "src/main.tsx") },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [modules],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    legalComments: "none",
    outdir: out,
    write: false,
    metafile: true,
    logLevel: "warning",
  });
  /* What a script needs at once; what it loads later is not among it. */
  const needs = Object.fromEntries(
    Object.entries(result.metafile.outputs).map(([path, output]) => [
      basename(path),
      output.imports.filter((i) => i.kind === "import-statement").map((i) => basename(i.path)),
    ]),
  );
  return result.outputFiles.map((file) => {
    const name = basename(file.path);
    return { name, bytes: file.contents, needs: needs[name] };
  });
}

/** The browser fetches what the script needs beside it, not after it. */
function preloads(files, indent) {
  const app = files.find((f) => f.name.startsWith("app-") && f.name.endsWith(".js"));
  return app.needs.map((name) => `${indent}<link rel="modulepreload" href="/console/${name}">\n`).join("");
}

function page(files) {
  const named = (start, ending) =>
    files.find((f) => f.name.startsWith(start) && f.name.endsWith(ending)).name;
  const text = readFileSync(join(here, "index.html"), "utf8")
    .replace("app.js", named("app-", ".js"))
    .replace("app.css", named("app-", ".css"))
    .replace("icon.svg", named("icon-", ".svg"))
    .replace(/^( *)<script/m, (whole, indent) => `${preloads(files, indent)}${whole}`);
  return { name: "index.html", bytes: Buffer.from(text) };
}

function icon() {
  const bytes = readFileSync(join(here, "icon.svg"));
  return { name: `icon-${hash(bytes)}.svg`, bytes };
}

/** Symbols by .incbin: gcc has no #embed, and an array of numbers compiles slowly. */
function embedded(symbol, path) {
  return (
    `extern const char ${symbol}[];\n` +
    `__asm__(".pushsection .rodata\\n.global ${symbol}\\n.hidden ${symbol}\\n"\n` +
    `        "${symbol}:\\n.incbin \\"${path}\\"\\n.byte 0\\n.popsection\\n");\n`
  );
}

function table(files) {
  const parts = files.map(({ name, bytes, packed }, i) => ({
    symbols:
      embedded(`console_plain_${i}`, join(out, name)) +
      embedded(`console_packed_${i}`, join(out, `${name}.gz`)),
    row:
      `    { .name = "${name}", .type = "${types[extname(name)]}", .tag = "${hash(bytes)}",\n` +
      `      .plain = { console_plain_${i}, ${bytes.length} },\n` +
      `      .packed = { console_packed_${i}, ${packed.length} } },\n`,
  }));
  return (
    "/* Made by console/build.mjs. */\n" +
    '#include "admin/http/console.h"\n\n' +
    parts.map((p) => p.symbols).join("") +
    "\nconst struct console_file console_files[] = {\n" +
    parts.map((p) => p.row).join("") +
    "    { 0 },\n};\n"
  );
}

const files = [...(await bundle()), icon()];
files.push(page(files));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const file of files) {
  file.packed = gzipSync(file.bytes, { level: 9 });
  writeFileSync(join(out, file.name), file.bytes);
  writeFileSync(join(out, `${file.name}.gz`), file.packed);
}
writeFileSync(join(out, "console_files.c"), table(files));
