// work.mjs - somebody works with the console: finds, follows, edits, holds, configures, lets others in.
// Each step is a function; it says "ok NAME", or what it waited for in vain.
//
// Environment: as for browser.mjs; TOKEN; FOREIGN, a document that has nothing to do with erp; LINES, documents with a
// 4711 in them and other ends of lines than LF; MIXED, one with several.  The node is that of tests/blackbox/test_95_console.py.
import { logInWithToken, newPage, open, shoot, URL_OF_NODE } from "./browser.mjs";

const { browser, context } = await open();
const { page, wrong } = await newPage(context);

const PASSWORD = "correct horse battery 7";
let invitation = "";

const link = (name) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
const button = (name) => page.getByRole("button", { name, exact: true });
const text = (words) => page.getByText(words).first();

function check(condition, words) {
  if (!condition) throw new Error(words);
}

/** One character for each byte. */
async function bytesOf(id) {
  const answer = await fetch(`${URL_OF_NODE}/documents/${id}/payload`, { headers: { Authorization: `Bearer ${process.env.TOKEN}` } });
  return Buffer.from(await answer.arrayBuffer()).toString("latin1");
}

const steps = {
  async "log in"() {
    await page.goto(`${URL_OF_NODE}/documents?type=order`);
    await page.getByText("Use the token of the node").click();
    await page.getByLabel("Token", { exact: true }).fill("wrong");
    await button("Continue").click();
    await text("does not know this token").waitFor();
    await page.getByLabel("Token", { exact: true }).fill(process.env.TOKEN);
    await button("Continue").click();
    await page.getByText("type: order").waitFor(); // the address that was asked for
  },

  async "the head says where this is"() {
    await page.locator(".location").getByText("Hamburg").waitFor();
    await page.locator(".environment.violet").getByText("test").waitFor();
  },

  async "find a document, by keys and by an attribute"() {
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Documents" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("po=4007");
    await page.keyboard.press("Enter");
    await page.getByText("po = 4007").waitFor();
    const rows = page.locator("table.documents tbody tr");
    await rows.first().waitFor();
    check((await rows.count()) === 1, `po=4007 finds ${await rows.count()} documents`);
    await page.reload();
    await page.getByText("po = 4007").waitFor(); // a reload keeps the filter
    await rows.first().waitFor();
    await page.keyboard.press("j");
    await page.locator("tr.at").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/documents\/[0-9a-f-]{36}/);
    await page.goBack();
    await rows.first().waitFor();
    await link("Alerts").focus();
    await page.keyboard.press("Enter"); // the key is the link's, not the list's
    await page.getByRole("heading", { name: "Alerts" }).waitFor();
    await page.goBack();
    await rows.first().locator("a").click();
  },

  async "follow its trace, read its bytes"() {
    const marks = page.locator(".trace .mark");
    await marks.first().waitFor();
    check((await marks.count()) >= 4, "the trace has hardly any marks");
    await marks.last().click();
    await page.locator("tr.at").first().waitFor();
    await page.locator("pre.text .t", { hasText: "Order" }).first().waitFor();
    await page.getByRole("tab", { name: "Hex" }).click();
    await text("00000000").waitFor();
    await page.getByLabel("Stage", { exact: true }).selectOption({ index: 1 });
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.locator(".diff .add").first().waitFor();
    await page.goBack();
    await page.getByText("po = 4007").waitFor(); // the back button works
  },

  async "a slow node is waited for, and one that is silent is told of"() {
    const rows = page.locator("table.documents tbody tr");
    const slow = async (route) => {
      if (!route.request().postData().includes(" documents(")) return route.fallback();
      await new Promise((done) => setTimeout(done, 7000)); // the page looks again every 5 seconds
      return route.fallback();
    };
    await page.route("**/graphql", slow);
    await page.goto(`${URL_OF_NODE}/documents`);
    await rows.first().waitFor();
    await page.unroute("**/graphql");
    await page.evaluate(() => { // half a minute is long for a test
      const timeout = AbortSignal.timeout.bind(AbortSignal);
      AbortSignal.timeout = () => timeout(3000);
    });
    await page.route("**/graphql", (route) => (route.request().postData().includes(" documents(") ? undefined : route.fallback()));
    await text("The node does not answer").waitFor();
    await page.unroute("**/graphql");
    await rows.first().waitFor(); // it is asked again
  },

  async "a time such as 1h counts from now, not from when the page was opened"() {
    const HOUR_MS = 3600000;
    const asked = (name) => page.waitForRequest((r) => r.url().endsWith("/graphql") && r.postData().includes(name));
    const since = (request) => Date.now() + 8 * HOUR_MS - Date.parse(JSON.parse(request.postData()).variables.filter.since);
    await page.goto(`${URL_OF_NODE}/documents?since=1h`);
    await page.locator("table.documents tbody tr").first().waitFor();
    await page.evaluate((ms) => { // as if it had been open for eight hours
      const now = Date.now;
      Date.now = () => now() + ms;
    }, 8 * HOUR_MS);
    const listed = since(await asked(" documents("));
    check(listed < 1.1 * HOUR_MS, `the list is that of ${listed / HOUR_MS} hours`);
    const counting = asked("documentsRetry(");
    await button("All that match").click();
    await page.getByRole("menuitem", { name: /^Retry…/ }).click();
    const counted = since(await counting);
    check(counted < 1.1 * HOUR_MS, `what would be changed is that of ${counted / HOUR_MS} hours`);
  },

  async "hostile bytes stay text"() {
    await page.goto(`${URL_OF_NODE}/documents?receiver=erp&type=note`);
    await page.locator("table.documents tbody a").first().click();
    await page.locator("pre.text", { hasText: "onerror" }).first().waitFor();
    check((await page.locator("pre.text img, pre.text script").count()) === 0, "markup of a payload became markup of the page");
  },

  async "edit and resubmit a dead one, and see it delivered"() {
    await link("Dead letters").click();
    const group = page.locator(".card.dead", { hasText: "unknown_system" });
    await group.getByRole("link", { name: "Sample" }).click();
    await button("Edit and resubmit…").click();
    const area = page.getByLabel("Payload", { exact: true }).and(page.locator("textarea"));
    await area.waitFor();
    await area.fill((await area.inputValue()).replace("9900000000000", "4012345000009"));
    const old = page.url();
    await button("Resubmit").click();
    await page.waitForURL((url) => url.href !== old);
    await page.locator("h1 .state.good", { hasText: "delivered" }).waitFor();
    await page.getByRole("heading", { name: "Changes by the edit" }).waitFor();
    await page.goto(old);
    await page.locator("h1 .state", { hasText: "superseded" }).waitFor();
  },

  async "an edit keeps the bytes that nobody typed"() {
    for (const id of process.env.LINES.split(" ")) {
      await page.goto(`${URL_OF_NODE}/documents/${id}`);
      await button("Edit and resubmit…").click();
      const area = page.locator("dialog textarea");
      await area.fill((await area.inputValue()).replace("4711", "4712"));
      await page.getByLabel("Extract sender").uncheck();
      await button("Resubmit").click();
      await page.waitForURL((url) => /documents/.test(url.pathname) && !url.pathname.endsWith(id));
      const before = await bytesOf(id);
      const after = await bytesOf(page.url().split("/").at(-1));
      check(after === before.replace("4711", "4712"), `${JSON.stringify(before)} became ${JSON.stringify(after)}`);
    }
    await page.goto(`${URL_OF_NODE}/documents/${process.env.MIXED}`);
    await button("Edit and resubmit…").click();
    await text("It has mixed line endings").waitFor();
  },

  async "discard a group, with the count first"() {
    await page.goto(`${URL_OF_NODE}/dead`);
    const group = page.locator(".card.dead", { hasText: "rejected" });
    await group.getByRole("button", { name: "Discard group…" }).click();
    await text(/Discard \d+ dead letters\?/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: /^Discard \d+/ }).click();
    await text(/\d+ done\./).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await group.waitFor({ state: "detached" });
  },

  async "resolve what is in doubt"() {
    await page.goto(`${URL_OF_NODE}/documents?state=in_doubt`);
    await page.locator("table.documents tbody a").first().click();
    await button("Resolve…").click();
    await page.getByLabel("The receiver has it").check();
    await page.getByLabel("Reason").fill("asked them by telephone");
    await button("Confirm").click();
    await page.locator("h1 .state.good", { hasText: "delivered" }).waitFor();
    await text(/resolved as delivered: clinic-api; asked them by telephone/).first().waitFor({ state: "attached" });
  },

  async "resolve all that match, with the count first and a reason"() {
    await page.goto(`${URL_OF_NODE}/documents?state=in_doubt`);
    await button("All that match").click();
    await page.getByRole("menuitem", { name: /^Resolve as delivered/ }).click();
    await text("Resolve as delivered 1 document?").waitFor();
    await page.getByLabel("Reason").fill("their log has it");
    await page.getByRole("dialog").getByRole("button", { name: "Resolve as delivered 1" }).click();
    await text("1 done.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await text("No document matches").waitFor();
  },

  async "place and end a hold"() {
    await link("Systems").click();
    await button("Place a hold…").click();
    await page.getByRole("dialog").getByRole("combobox").selectOption("erp");
    await page.getByLabel("Reason").fill("stocktaking");
    await button("Hold").click();
    const row = page.locator("tr", { hasText: "stocktaking" });
    await row.waitFor();
    await page.locator("tr", { hasText: "Order system" }).locator(".state.held").waitFor();
    await row.getByRole("button", { name: "End", exact: true }).click();
    await row.getByText("ended").waitFor();
    await page.locator("tr", { hasText: "Order system" }).locator(".state.good").waitFor();
  },

  async "plan a hold, and see what comes when a node does not confirm it"() {
    const dialog = page.getByRole("dialog");
    const later = (hours) => new Date(Date.now() + hours * 3600000 - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 16);
    const place = async (reason) => {
      await button("Place a hold…").click();
      await dialog.getByRole("combobox").selectOption("erp");
      await page.getByLabel(/^From/).fill(later(24));
      await page.getByLabel(/^Until/).fill(later(25));
      await page.getByLabel("Reason").fill(reason);
      await button("Hold").click();
    };
    await place("next stocktaking");
    await text("A hold of erp is planned, from").waitFor();
    await page.locator("tr", { hasText: "next stocktaking" }).getByText("planned").waitFor();
    await page.route("**/graphql", async (route) => {
      if (!route.request().postData().includes("holdAdd(")) return route.fallback();
      const response = await route.fetch();
      const answer = await response.json();
      answer.data.holdAdd.unconfirmed = ["7", "9"];
      return route.fulfill({ response, json: answer });
    });
    await place("another one");
    await dialog.getByText("did not confirm it and may still send: 7, 9.").waitFor();
    check(await button("Hold").isDisabled(), "a hold that is there can be placed again");
    await page.unroute("**/graphql");
    await dialog.getByRole("button", { name: "Close" }).last().click();
  },

  async "change a route, and revert it"() {
    await link("Configuration").click();
    await page.locator("tr", { hasText: "replace" }).getByRole("link", { name: "Edit" }).click();
    const area = page.getByLabel("Configuration", { exact: true });
    await area.waitFor();
    const before = await area.inputValue();
    await area.fill(before.replace('with: "-"', 'wiht: "+"'));
    await text(/1 problem/).waitFor();
    await page.locator(".problems").getByText("wiht").first().waitFor();
    await area.fill(before.replace('with: "-"', 'with: "+"'));
    await text("valid").waitFor();
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.locator(".diff .add", { hasText: 'with: "+"' }).waitFor();
    await page.getByRole("tab", { name: "Rehearse" }).click();
    await text(/would be processed differently\./).waitFor();
    await button("Apply…").click();
    await page.getByLabel("Note, for the history").fill("pluses");
    await button("Make it live").click();
    await text(/Version 2 is live/).waitFor();
    await page.getByRole("link", { name: "History" }).click();
    await page.locator("tr", { hasText: "pluses" }).waitFor();
    await page.getByRole("button", { name: "Revert to it…" }).last().click();
    await button("Make it live").click();
    await text(/it is version 1 again/).waitFor();
  },

  async "a version that removes what is in use takes a typed word"() {
    await page.goto(`${URL_OF_NODE}/config/text`);
    const area = page.getByLabel("Configuration", { exact: true });
    await area.waitFor();
    await area.fill("systems: { hub: {} }\n");
    await text("valid").waitFor();
    await button("Apply…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/in use:/).waitFor();
    await dialog.getByText("it received documents in the last 7 days").first().waitFor();
    await dialog.getByText("a hold is placed on it").first().waitFor();
    await dialog.getByText(/Also removed: .*route orders/).waitFor();
    check(await button("Make it live").isDisabled(), "it is applied without a word");
    await page.getByLabel("Type remove to confirm").fill("yes");
    check(await button("Make it live").isDisabled(), "any word confirms it");
    await page.getByLabel("Type remove to confirm").fill("remove");
    check(!(await button("Make it live").isDisabled()), "the word does not confirm it");
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await button("Discard the changes").click();
  },

  async "say which system an unknown id is, and see the group delivered"() {
    await page.goto(`${URL_OF_NODE}/dead`);
    const group = page.locator(".card.dead", { hasText: "unknown_system" });
    await group.getByRole("button", { name: "Map it…" }).click();
    await page.getByRole("dialog").getByRole("combobox").selectOption("erp");
    await button("Add to the draft").click();
    await page.waitForURL(/config\/text\?line=/);
    await text("valid").waitFor();
    await button("Apply…").click();
    await button("Make it live").click();
    await text(/Version \d+ is live/).waitFor();
    for (let i = 0; i < 40; i++) { // the new version starts them again by itself
      await page.goto(`${URL_OF_NODE}/dead`);
      await page.locator(".card.dead, .empty").first().waitFor();
      if ((await group.count()) === 0) return;
      await page.waitForTimeout(500);
    }
    check(false, "the group is still there");
  },

  async "add a gateway by a form"() {
    await page.goto(`${URL_OF_NODE}/config`);
    await button("Add a gateway…").click();
    await page.getByLabel("Name", { exact: true }).fill("returns");
    await page.getByLabel("extract.type").fill("value:order");
    await shoot(page, "config-form");
    await button("Add to the draft").click();
    await page.waitForURL(/config\/text\?line=/);
    check((await page.getByLabel("Configuration", { exact: true }).inputValue()).includes("  returns:\n    kind: http\n"), "the form wrote no gateway");
    await text("valid").waitFor();
  },

  async "add a route with its steps by a form"() {
    await page.goto(`${URL_OF_NODE}/config`);
    await button("Add a route…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("returns");
    await dialog.getByLabel("when.sender").fill("erp");
    const next = dialog.locator("fieldset select");
    await next.selectOption("replace");
    await dialog.getByLabel("find").fill("a, b");
    await button("Add the step").click();
    await next.selectOption("deliver");
    await dialog.getByLabel(/^to/).fill("erp-api, archive-folder");
    await button("Add the step").click();
    await shoot(page, "config-route");
    await button("Add to the draft").click();
    await page.waitForURL(/config\/text\?line=/);
    const made = await page.getByLabel("Configuration", { exact: true }).inputValue();
    check(made.includes('do: [ { replace: { find: "a, b" } }, { deliver: { to: [erp-api, archive-folder] } } ]'), `the form wrote ${made.slice(-300)}`);
    await text("valid").waitFor();
    await button("Discard the changes").click();
  },

  async "add a job by a form"() {
    await page.goto(`${URL_OF_NODE}/config`);
    await button("Add a job…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox").first().selectOption("note"); // its kind
    await dialog.getByLabel("Name", { exact: true }).fill("close-day");
    await dialog.getByLabel(/^at/).fill("0 2 1,15 * *, 22:00");
    await dialog.getByLabel(/^zone/).fill("Europe/Berlin");
    await shoot(page, "config-job");
    await button("Add to the draft").click();
    await page.waitForURL(/config\/text\?line=/);
    const made = await page.getByLabel("Configuration", { exact: true }).inputValue();
    check(made.endsWith('jobs:\n  close-day:\n    kind: note\n    at: ["0 2 1,15 * *", "22:00"]\n    zone: Europe/Berlin\n'), `the form wrote ${made.slice(-300)}`);
    await text("valid").waitFor();
    await button("Discard the changes").click();
  },

  async "send a schema along with a version, then another one"() {
    const schema = (type) => ({ name: "order.json", mimeType: "application/json", buffer: Buffer.from(`{ "type": "${type}" }\n`) });
    const applied = async () => {
      await page.locator("button:enabled", { hasText: "Apply…" }).click(); // when it was checked
      await page.getByRole("dialog").getByText("schemas/order.json").first().waitFor();
      await page.locator("dialog button:enabled, [role=dialog] button:enabled", { hasText: "Make it live" }).click();
      await text(/Version \d+ is live/).last().waitFor();
      await page.getByText(/of version \d+/).waitFor();
    };
    await page.goto(`${URL_OF_NODE}/config/text`);
    const area = page.getByLabel("Configuration", { exact: true });
    await area.fill(`${await area.inputValue()}services: { checked: { validate: { json: schemas/order.json } } }\n`);
    await text(/schemas\/order\.json`? is missing/).waitFor();
    await page.getByLabel(/Add a file/).fill("schemas/order.json");
    await page.getByLabel("Content of the new file").setInputFiles(schema("object"));
    await text("chosen for the next version").waitFor();
    await applied();
    await page.getByLabel("Replace schemas/order.json").setInputFiles(schema("array"));
    await page.getByRole("tab", { name: "Changes" }).click();
    await text('+{ "type": "array" }').waitFor();
    await applied();
    check((await area.inputValue()).includes("schemas/order.json"), "the text is another one");
  },

  async "make a role for one system, and a user with it"() {
    await link("Users and roles").click();
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await button("Add a role…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("erp-only");
    await dialog.getByLabel("all systems").uncheck();
    await dialog.getByLabel(/^\s*erp\b/).check();
    await button("Add").click();
    await page.locator("tr", { hasText: "erp-only" }).waitFor();
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await button("Add a user…").click();
    await dialog.getByLabel("Login name").fill("kim");
    await dialog.getByLabel(/erp-only/).check();
    await button("Add").click();
    const shown = await page.locator(".say.good .mono").textContent();
    invitation = shown.trim();
    check(invitation.startsWith(`${URL_OF_NODE}/login/`), `no link, but ${invitation}`);
  },

  async "that user sees one system, and nothing else"() {
    const other = await browser.newContext();
    const { page: kim, wrong: wrongForKim } = await newPage(other);
    await kim.goto(invitation);
    for (const field of await kim.locator("input[type=password]").all()) await field.fill(PASSWORD);
    await kim.locator("button, input[type=submit]").first().click();
    await kim.goto(`${URL_OF_NODE}/documents`);
    const pages = kim.getByRole("navigation", { name: "Pages" });
    if (!(await pages.isVisible().catch(() => false)) && (await kim.getByLabel("Password").count()) > 0) {
      await kim.getByLabel("User", { exact: true }).fill("kim");
      await kim.getByLabel("Password").fill(PASSWORD);
      await kim.getByRole("button", { name: "Log in" }).click();
    }
    await pages.waitFor();
    await kim.locator("table.documents tbody tr").first().waitFor();
    for (const row of await kim.locator("table.documents tbody tr").allTextContents()) check(/erp/.test(row), `kim sees ${row}`);
    for (const name of ["Configuration", "Users and roles", "Audit", "Health"])
      check((await pages.getByRole("link", { name }).count()) === 0, `kim is shown ${name}`);
    await kim.goto(`${URL_OF_NODE}/documents/${process.env.FOREIGN}`);
    await kim.getByText("Document not found").waitFor();
    await kim.goto(`${URL_OF_NODE}/config`);
    await kim.getByText("Page not found, or no right to see it").waitFor();
    await kim.getByRole("button", { name: "Log out" }).click();
    await kim.getByLabel("Password").waitFor();
    wrong.push(...wrongForKim);
    await other.close();
  },

  async "the audit log knows"() {
    await link("Audit").click();
    await page.locator("td", { hasText: "userAdd" }).first().waitFor();
    await button("Verify the chain").click();
    await text("lines verified").waitFor();
  },

  async "probe a gateway and endpoints"() {
    const dialog = page.getByRole("dialog");
    await link("Configuration").click();
    await button("Probe orders").click();
    await dialog.getByText("No fault was found in the gateway orders").waitFor();
    await dialog.locator("tr", { hasText: "connect" }).locator(".state.good").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await button("Probe archive-folder").click();
    await dialog.locator("tr", { hasText: "rights" }).locator(".state.good").waitFor();
    await button("Probe again").click();
    await dialog.getByText("No fault was found").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await button("Probe dead-end").click();
    await dialog.getByText("cannot be used as it is").waitFor();
    await dialog.locator("tr", { hasText: "connect" }).locator(".state.bad").waitFor();
    await dialog.getByText("To do: check host and port").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
  },

  async "pause and resume"() {
    await link("Health").click();
    await button("Pause…").click();
    await page.getByLabel("Reason").fill("moving house");
    await button("Pause").click();
    await page.locator(".paused").waitFor();
    await button("Resume all").click();
    await page.locator(".paused").waitFor({ state: "detached" });
    await button("Check the store…").click();
    await page.getByRole("dialog").locator(".state.good").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  },
};

let failed = false;
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
