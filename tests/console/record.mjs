// record.mjs - what the console asks the node while somebody works with it for a while.  Prints JSON:
// [{ "at": MS, "body": "..." }], the questions to /graphql in their order.
//
//     WAYBILL_URL=... WAYBILL_MODULES=... TOKEN=... SECONDS=60 node tests/console/record.mjs
//
// The time is spent on Overview, Documents with a filter, a document, and Dead letters, a quarter each.
import { logInWithToken, newPage, open, URL_OF_NODE } from "./browser.mjs";

const quarter = (Number(process.env.SECONDS || 60) * 1000) / 4;
const { browser, context } = await open();
const { page } = await newPage(context);
await logInWithToken(page, process.env.TOKEN);

const asked = [];
const start = performance.now();
page.on("request", (r) => {
  if (r.method() === "POST" && r.url().endsWith("/graphql")) asked.push({ at: Math.round(performance.now() - start), body: r.postData() });
});

async function stay(path) {
  await page.goto(URL_OF_NODE + path);
  await page.waitForTimeout(quarter);
}

await stay("/");
await stay("/documents?since=1h");
await page.locator("table.documents tbody tr a").first().click();
await page.waitForTimeout(quarter);
await stay("/dead");
console.log(JSON.stringify(asked));
await browser.close();
