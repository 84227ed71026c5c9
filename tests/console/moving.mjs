// moving.mjs - what a person sees of a document that is being sent, and of one whose stages were not all stored.
//
// Environment: as for browser.mjs; TOKEN; SENDING, a document that is being sent to hub; DONE, one that two steps changed.
import { logInWithToken, newPage, open, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
const text = (words) => page.getByText(words).first();

const steps = {
  async "the list has it, by state and receiver"() {
    await page.goto(`${URL_OF_NODE}/documents?state=active&receiver=hub`);
    const row = page.locator("table.documents tbody tr").first();
    await row.getByText("active").waitFor();
    await row.getByText("hub").first().waitFor();
  },

  async "its page says that it is being sent"() {
    await page.goto(`${URL_OF_NODE}/documents/${process.env.SENDING}`);
    await text("is being sent").waitFor();
    await page.locator("td", { hasText: "sending" }).first().waitFor();
  },

  async "the system counts it"() {
    await page.goto(`${URL_OF_NODE}/systems`);
    await page.locator("table thead th", { hasText: "Sending" }).waitFor();
    const at = (await page.locator("table thead th").allTextContents()).indexOf("Sending");
    const row = page.locator("table tbody tr", { hasText: "hub" }).first();
    await row.locator("td").nth(at).getByText("1", { exact: true }).waitFor();
    await page.goto(`${URL_OF_NODE}/systems/hub`);
    await page.locator("dt:has-text('Sending') + dd", { hasText: "1 delivery" }).waitFor();
  },

  async "a stage that was not stored is computed again, and says so"() {
    await page.goto(`${URL_OF_NODE}/documents/${process.env.DONE}`);
    const stages = page.getByLabel("Stage", { exact: true });
    await stages.selectOption({ index: 2 });
    await page.getByText("\u2019s own").or(page.locator("pre.text", { hasText: "bbnbnb" })).first().waitFor();
    if ((await page.getByText("computed again").count()) > 0) throw new Error("a stored stage is marked");
    await stages.selectOption({ index: 1 });
    await text("computed again, with version 1").waitFor();
    await page.locator("pre.text", { hasText: "bcncnc" }).first().waitFor();
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
    failed = true;
  }
}
await browser.close();
wrong.forEach((line) => console.log(line));
process.exitCode = failed || wrong.length > 0 ? 1 : 0;
