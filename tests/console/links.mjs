// links.mjs - somebody looks after tables that are kept the same: installs what a link needs after reading it, reads why a
// table is stopped, looks at a difference and repairs it, releases a row that was set aside, discards another one.
//
// Environment: as for browser.mjs; TOKEN.  The node is that of tests/blackbox/test_49_links_console.py.
import { axe, logInWithToken, newPage, open, shoot, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
const button = (name, where = page) => where.getByRole("button", { name, exact: true });
const row = (table, words) => page.locator(`table.${table} tbody tr`, { hasText: words });
const dialog = page.getByRole("dialog");
const stands = (meaning, word) => page.locator(`h1 .state.${meaning}`, { hasText: word }).waitFor();

function check(condition, words) {
  if (!condition) throw new Error(words);
}

const steps = {
  async "the page is a key away, and lists links and tables"() {
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Links", exact: true }).waitFor();
    await page.getByText("source to dest").first().waitFor();
    await row("links", "item").locator(".state.good", { hasText: "current" }).waitFor();
    await row("links", "emptied").locator(".state.bad", { hasText: "stopped" }).waitFor();
    await row("links", "emptied").getByText("TRUNCATED").waitFor();
    await row("links", "priced").locator("td.num", { hasText: /^1$/ }).waitFor();
    await shoot(page, "links");
    wrong.push(...(await axe(page, "links")));
  },

  async "why a table is stopped is read, and it takes all rows again"() {
    await page.getByRole("link", { name: "emptied" }).click();
    await page.waitForURL(/\/links\/mirror\/emptied$/);
    await stands("bad", "stopped");
    const say = page.locator(".say.bad");
    await say.getByText("TRUNCATED").waitFor();
    await say.getByText("repl resync", { exact: false }).first().waitFor();
    await shoot(page, "link-stopped");
    wrong.push(...(await axe(page, "link-stopped")));
    await button("All rows again…").click();
    check(await button("Take all rows again").isDisabled(), "no reason is needed");
    await page.getByLabel("Reason").fill("it was emptied on purpose");
    await button("Take all rows again").click();
    await stands("good", "current");
    check((await page.locator(".say.bad").count()) === 0, "it still says why it was stopped");
  },

  async "a difference is found, and both sides are read"() {
    await page.goto(`${URL_OF_NODE}/links/mirror/item`);
    await button("Verify…").click();
    await button("Verify", dialog).click();
    const pass = row("passes", "3 differences").first();
    await pass.waitFor();
    await button("Differences", pass).click();
    const sides = page.locator("table.sides").first();
    await sides.waitFor();
    const cells = await sides.locator("tbody tr").first().locator("td").allInnerTexts();
    check(cells[0] === "name" && cells[2] === "somebody else", `the sides are ${cells.join(" | ")}`);
    check(cells[1] !== cells[2], "both sides look the same");
    check((await sides.locator("tbody tr").count()) === 1, "columns that are the same are shown");
    await page.getByText("not at the destination").waitFor();
    await page.getByText("not at the source").waitFor();
    await shoot(page, "link-differences");
    wrong.push(...(await axe(page, "link-differences")));
  },

  async "it is repaired after a question"() {
    await button("Repair…").click();
    await dialog.getByText("All rows are compared again", { exact: false }).waitFor();
    await page.getByLabel("Reason").fill("the source is right");
    await button("Repair", dialog).click();
    await row("passes", "repaired").first().waitFor();
    const numbers = await row("passes", "repaired").first().locator("td.num").allInnerTexts();
    check(numbers.at(-1) === "3", `repaired: ${numbers.join(" | ")}`);
    await button("Look again").click();
    await page.getByText("the same now").nth(2).waitFor();
  },

  async "a row that was set aside is released, another one discarded"() {
    await page.goto(`${URL_OF_NODE}/links/mirror/priced`);
    const asked = row("aside", "cheap");
    await asked.getByText("discarded").waitFor();
    await button("Retry", asked).click();
    await asked.waitFor({ state: "detached" });
    const unwanted = row("aside", "quiet");
    await unwanted.getByText("loud").waitFor();
    await shoot(page, "link-set-aside");
    wrong.push(...(await axe(page, "link-set-aside")));
    await button("Discard…", unwanted).click();
    check(await button("Discard", dialog).isDisabled(), "it can be discarded without a reason");
    await page.getByLabel("Reason").fill("nobody wants it");
    await button("Discard", dialog).click();
    await unwanted.getByText("discarded").waitFor();
    check((await button("Discard…", unwanted).count()) === 0, "it can be discarded twice");
  },

  async "a plan is read before it runs"() {
    await page.goto(`${URL_OF_NODE}/links`);
    await row("links", "later").locator(".state.bad", { hasText: "stopped" }).waitFor();
    await page.getByRole("link", { name: "spare", exact: true }).click();
    await page.waitForURL(/\/links\/spare$/);
    await button("Plan").click();
    await page.locator("pre", { hasText: /create trigger/i }).first().waitFor();
    await page.locator("pre", { hasText: /waybill_applied/ }).first().waitFor();
    const shown = await page.locator("pre").count();
    await shoot(page, "link-plan");
    wrong.push(...(await axe(page, "link-plan")));
    await button("Install…").click();
    await button(`Run ${shown} statements`).click();
    await page.getByText("installed", { exact: true }).waitFor();
    await row("links", "later").locator(".state.good", { hasText: "current" }).waitFor();
    await button("Plan of the removal").click();
    await page.locator("pre", { hasText: /drop trigger/i }).first().waitFor();
    await button("Remove…").waitFor();
  },

  async "one that is not there is told of"() {
    await page.goto(`${URL_OF_NODE}/links/nothing`);
    await page.getByText("Link not found").waitFor();
    await page.goto(`${URL_OF_NODE}/links/mirror/nothing`);
    await page.getByText("Table not found").waitFor();
  },
};

let failed = false;
await logInWithToken(page, process.env.TOKEN);
for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    console.log(`ok ${name}`);
  } catch (e) {
    console.log(`not ok ${name}: ${e.message}\n${page.url()}`);
    await shoot(page, "failed").catch(() => undefined);
    failed = true;
    break;
  }
}
await browser.close();
wrong.forEach((line) => console.log(line));
process.exitCode = failed || wrong.length > 0 ? 1 : 0;
