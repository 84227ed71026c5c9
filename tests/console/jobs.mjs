// jobs.mjs - somebody looks after recurring work: runs a job, pauses and resumes it, goes back to an earlier state, reads
// what a failed run did.
//
// Environment: as for browser.mjs; TOKEN.  The node is that of tests/blackbox/test_95_console.py.
import { axe, logInWithToken, newPage, open, shoot, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
const button = (name, where = page) => where.getByRole("button", { name, exact: true });
const row = (table, words) => page.locator(`table.${table} tbody tr`, { hasText: words });

function check(condition, words) {
  if (!condition) throw new Error(words);
}

const steps = {
  async "the page is a key away, and lists the jobs"() {
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
    await row("jobs", "yearly").locator(".state", { hasText: "scheduled" }).waitFor();
    await row("jobs", "print").locator(".state.bad", { hasText: "failed" }).waitFor();
    await page.locator(".calendar .bar.failed").first().waitFor();
    await page.locator(".calendar .bar.done").first().waitFor();
    await shoot(page, "jobs");
    wrong.push(...(await axe(page, "jobs")));
  },

  async "what a failed run did is read"() {
    const failed = row("runs", "no paper in the printer").first();
    await button("Steps", failed).click();
    await page.locator("pre.steps").first().waitFor();
    check((await page.locator("pre.steps").first().innerText()).trim() !== "", "there are no steps");
  },

  async "a job is run once"() {
    await page.getByRole("link", { name: "yearly" }).first().click();
    await page.waitForURL(/\/jobs\/yearly$/);
    await page.getByText("no run has ended").waitFor();
    await button("Run").click();
    await page.locator("dl.facts .state.good", { hasText: "done" }).waitFor();
    await page.locator("h1 .state", { hasText: "scheduled" }).waitFor(); // its schedule is not moved
  },

  async "it is paused with a reason, and resumed"() {
    await button("Pause…").click();
    check(await button("Pause").isDisabled(), "it can be paused without a reason");
    await page.getByLabel("Reason").fill("their release");
    await button("Pause").click();
    await page.locator("h1 .state.held", { hasText: "paused" }).waitFor();
    await page.getByText("their release").first().waitFor();
    await page.reload();
    await page.getByText("their release").first().waitFor();
    await button("Resume").click();
    await page.locator("h1 .state", { hasText: "scheduled" }).waitFor();
  },

  async "an earlier state is the newest again"() {
    for (const n of [2, 3]) {
      await button("Run").click();
      await page.locator("table.states tbody tr").nth(n - 1).waitFor();
      await page.locator("h1 .state", { hasText: "scheduled" }).waitFor();
    }
    await button("Reset to it…", page.locator("table.states tbody tr").nth(2)).click();
    await button("Reset", page.getByRole("dialog")).click();
    await page.locator("table.states tbody tr").nth(3).waitFor();
    const newest = await page.locator("table.states tbody tr").first().locator("td").allInnerTexts();
    check(newest[0] === "4" && newest[2] === "1", `the newest state is ${newest.join(" | ")}`);
    await shoot(page, "job");
    wrong.push(...(await axe(page, "job")));
  },

  async "what runs is cancelled"() {
    await page.goto(`${URL_OF_NODE}/jobs/slow`);
    await page.locator("h1 .state", { hasText: "running" }).waitFor();
    await button("Cancel…").click();
    await page.getByLabel("Reason").fill("it hangs");
    await button("Cancel the run").click();
    await page.locator("dl.facts .state", { hasText: "cancelled" }).waitFor();
  },

  async "the parts of the configuration lead to it"() {
    await page.goto(`${URL_OF_NODE}/config`);
    await page.getByRole("link", { name: "yearly note" }).click();
    await page.waitForURL(/\/jobs\/yearly$/);
  },

  async "one that is not there is told of"() {
    await page.goto(`${URL_OF_NODE}/jobs/nothing`);
    await page.getByText("Job not found").waitFor();
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
