// browser.mjs - Debian's Chromium for the tests of the console: a page that notes everything that
// goes wrong in it, screenshots in light and dark, and axe.
//
// Environment: WAYBILL_URL, WAYBILL_MODULES (node_modules), WAYBILL_SHOTS (a folder, or nothing).
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const modules = process.env.WAYBILL_MODULES;
const require = createRequire(join(modules, "x.js"));
const { chromium } = require("playwright-core");
const AXE = readFileSync(join(modules, "axe-core", "axe.min.js"), "utf8");

export const URL_OF_NODE = process.env.WAYBILL_URL;
const SHOTS = process.env.WAYBILL_SHOTS;
const PATIENCE_MS = 30000;

export async function open({ width = 1280, height = 800 } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.WAYBILL_CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", colorScheme: "light" });
  return { browser, context };
}

/** A page, and the list of what went wrong in it: errors, and anything the policy forbade. */
export async function newPage(context) {
  const page = await context.newPage();
  const wrong = [];
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (e) => wrong.push(`error: ${e.message}`));
  page.on("console", (m) => {
    const quiet = /status of 401|status of 403/.test(m.text()); // who is not logged in is told so
    if (m.type() === "error" && !quiet) wrong.push(`console: ${m.text()}`);
  });
  page.on("request", (r) => {
    if (!r.url().startsWith(URL_OF_NODE) && !r.url().startsWith("blob:") && !r.url().startsWith("data:")) wrong.push(`elsewhere: ${r.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  return { page, wrong };
}

export async function logInWithToken(page, token) {
  await page.goto(`${URL_OF_NODE}/`);
  await page.getByText("Use the token of the node").click();
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Both looks of the page as it is. */
export async function shoot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** Serious findings of axe, as lines. */
export async function axe(page, name) {
  await page.evaluate(AXE); // by the debugger, which the page's policy does not bind
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  });
  return found.map((line) => `axe ${name}: ${line}`);
}
