// file_config.mjs - the configuration of a node whose file is the truth: shown, and not changed.
//
// Environment: as for browser.mjs; TOKEN; FILE, the name of the configuration file.
import { logInWithToken, newPage, open, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
const count = (name) => page.getByRole("button", { name }).count();

const steps = {
  async "the page says why, and names the file"() {
    await page.goto(`${URL_OF_NODE}/config`);
    await page.getByText("Read-only: the configuration of this node is its file").waitFor();
    await page.getByText(process.env.FILE).first().waitFor();
    await page.getByRole("button", { name: "Add a gateway…" }).waitFor();
    if (!(await page.getByRole("button", { name: "Add a gateway…" }).isDisabled())) throw new Error("a gateway can be added");
  },

  async "its text cannot be changed"() {
    await page.goto(`${URL_OF_NODE}/config/text`);
    const area = page.getByLabel("Configuration", { exact: true });
    await page.getByText("Read-only").waitFor();
    await area.waitFor();
    if (!(await area.inputValue()).includes("gateways:")) throw new Error("the text is not shown");
    if ((await area.getAttribute("readonly")) === null) throw new Error("the text can be typed in");
    if ((await count("Apply…")) > 0) throw new Error("it can be applied");
  },

  async "no version is reverted to"() {
    await page.goto(`${URL_OF_NODE}/config/history`);
    await page.getByText("Read-only").waitFor();
    await page.locator("tbody tr", { hasText: "configuration file" }).first().waitFor();
    if ((await count("Revert to it…")) > 0) throw new Error("it can be reverted");
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
