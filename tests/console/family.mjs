// family.mjs - a person follows a document to its parts, their copies, and back.
//
// Environment: as for browser.mjs; TOKEN; LIST, a document of 25 parts; ANSWER, the answer to ANSWERED.  The node is that of
// test_a_family_is_followed in tests/blackbox/test_95_console.py.
import { logInWithToken, newPage, open, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);
const { LIST, ANSWER, ANSWERED } = process.env;
const fact = (name) => page.locator(`dt:has-text('${name}') + dd`).first();
const relatives = (kind) => page.locator(`ul.relatives.${kind} li`);

function check(condition, words) {
  if (!condition) throw new Error(words);
}

async function until(true_, words) {
  for (let i = 0; i < 300; i++) {
    if (await true_()) return;
    await page.waitForTimeout(100);
  }
  throw new Error(words);
}

const steps = {
  async "a document shows its first parts, and more of them when asked"() {
    await page.goto(`${URL_OF_NODE}/documents/${LIST}`);
    await page.locator("dt", { hasText: "Parts (25)" }).waitFor();
    await until(async () => (await relatives("part").count()) === 20, "twenty parts are shown");
    check((await relatives("part").first().textContent()).startsWith("1 of 25"), "the first part says its number");
    await page.locator("button.more").click();
    await until(async () => (await relatives("part").count()) === 25, "all parts are shown");
    check((await page.locator("button.more").count()) === 0, "there are no others");
  },

  async "the trace leads to a part by the keyboard"() {
    const mark = page.locator(".trace .mark[aria-label^='part 2 of 25, article']");
    await mark.focus();
    await page.keyboard.press("Enter");
    await fact("Part of").locator(`a[href='/documents/${LIST}']`).waitFor();
    check((await page.locator("dt:text-is('Part') + dd").textContent()) === "2 of 25", "it is the second");
    await page.goBack();
    await mark.waitFor();
  },

  async "the trace leads to a part"() {
    await page.locator(".trace .mark[aria-label^='part 3 of 25, article']").dispatchEvent("click"); // marks of one moment overlap
    await fact("Part of").locator(`a[href='/documents/${LIST}']`).waitFor();
    check((await page.locator("dt:text-is('Part') + dd").textContent()) === "3 of 25", "it is the third");
  },

  async "a part leads to its copies, and a copy back"() {
    await until(async () => (await relatives("copy").count()) === 2, "both copies are shown");
    const names = await relatives("copy").allTextContents();
    check(names[0].startsWith("north") && names[1].startsWith("south"), `copies say for whom they are: ${names}`);
    const part = page.url();
    await relatives("copy").first().locator("a").click();
    await fact("Copy of").locator("a").waitFor();
    check((await fact("Receiver").textContent()) === "north", "this is the copy for north");
    await fact("Copy of").locator("a").click();
    await until(async () => page.url() === part, "the way back");
  },

  async "an answer leads to what it answers, and back"() {
    await page.goto(`${URL_OF_NODE}/documents/${ANSWER}`);
    await fact("Answer to").locator(`a[href='/documents/${ANSWERED}']`).click();
    await until(async () => (await relatives("answer").count()) === 1, "the answer is shown");
  },

  async "the map shows who has subscribed, and leads there by the keyboard"() {
    await page.goto(`${URL_OF_NODE}/map`);
    for (const who of ["north", "south"])
      await page.locator(".map .way title", { hasText: `route:articles to system:${who}` }).waitFor({ state: "attached" });
    await page.locator(".map .box.system", { hasText: "north" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "north" }).first().waitFor();
  },

  async "the search takes a parent"() {
    await page.goto(`${URL_OF_NODE}/documents?parent=${LIST}`);
    const rows = page.locator("table.documents tbody tr");
    await until(async () => (await rows.count()) === 25, "the parts are found");
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
