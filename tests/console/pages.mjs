// pages.mjs - every page is looked at: nothing goes wrong in it, axe finds nothing serious, and a
// picture of it in light and dark is kept.  Prints a line for each; ends with 1 if something is wrong.
//
// Environment: as for browser.mjs; TOKEN, DEAD (the id of a dead document), DONE (of a delivered one).
import { axe, logInWithToken, newPage, open, shoot, URL_OF_NODE } from "./browser.mjs";

const { TOKEN, DEAD, DONE } = process.env;

/** A name for the picture, an address, and something that is there when the page is. */
const PAGES = [
  ["overview", "/", (p) => p.locator(".chart canvas").first()],
  ["map", "/map", (p) => p.locator(".map .box").first()],
  ["documents", "/documents", (p) => p.locator("table.documents tbody tr").first()],
  ["documents-filtered", "/documents?state=dead&since=24h", (p) => p.locator("table.documents tbody tr").first()],
  ["document", `/documents/${DONE}`, (p) => p.locator(".trace .mark").first()],
  ["document-dead", `/documents/${DEAD}`, (p) => p.locator("pre.text").first()],
  ["dead", "/dead", (p) => p.locator(".card.dead").first()],
  ["systems", "/systems", (p) => p.locator(".calendar").first()],
  ["system", "/systems/partner", (p) => p.getByRole("heading", { name: "Backlog" })],
  ["jobs", "/jobs", (p) => p.getByText("No jobs")],
  ["links-none", "/links", (p) => p.getByText("No links")],
  ["alerts", "/alerts?show=all", (p) => p.getByRole("heading", { name: "Alerts" })],
  ["config", "/config", (p) => p.getByRole("heading", { name: "Endpoints" })],
  ["config-text", "/config/text", (p) => p.getByText("valid", { exact: true })],
  ["config-history", "/config/history", (p) => p.getByText("live").first()],
  ["config-keys", "/config/keys", (p) => p.getByText("No secrets")],
  ["health", "/health", (p) => p.getByRole("heading", { name: "Certificates" })],
  ["users", "/users", (p) => p.getByRole("heading", { name: "Users", exact: true })],
  ["roles", "/users/roles", (p) => p.getByText("built in").first()],
  ["audit", "/audit", (p) => p.getByRole("button", { name: "Verify the chain" })],
];

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
await page.goto(`${URL_OF_NODE}/`);
await page.getByLabel("Password").waitFor();
await shoot(page, "login");
wrong.push(...(await axe(page, "login")));
await logInWithToken(page, TOKEN);
for (const [name, path, there] of PAGES) {
  const before = wrong.length;
  await page.goto(URL_OF_NODE + path);
  await there(page).waitFor();
  await page.waitForLoadState("load");
  await shoot(page, name);
  wrong.push(...(await axe(page, name)));
  console.log(`${wrong.length === before ? "ok" : "not ok"} ${name}`);
}
await page.setViewportSize({ width: 834, height: 1112 });
await page.goto(`${URL_OF_NODE}/`);
await page.locator(".chart canvas").first().waitFor();
await shoot(page, "overview-tablet");
const room = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
if (room > 0) wrong.push(`on a tablet the page is ${room} pixels too wide`);
await browser.close();
wrong.forEach((line) => console.log(line));
process.exitCode = wrong.length === 0 ? 0 : 1;
