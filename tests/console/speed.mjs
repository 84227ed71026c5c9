// speed.mjs - how long somebody waits: the first rows of Documents, and a filter.  Prints JSON.
//
//     WAYBILL_URL=... WAYBILL_MODULES=... TOKEN=... node tests/console/speed.mjs
//
// Each is the median of five, in a browser that has the files already; "cold" is the first visit.
import { logInWithToken, newPage, open, URL_OF_NODE } from "./browser.mjs";

const TIMES = 5;
const FILTERS = ["?state=dead", "?since=1h", "?type=order", "?state=dead&since=24h", "?error=rejected"];

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const { browser, context } = await open();
const { page } = await newPage(context);
await logInWithToken(page, process.env.TOKEN);

/** From the start of the navigation until rows, or the word that there are none, are painted. */
async function firstPaint(path) {
  await page.goto(URL_OF_NODE + path, { waitUntil: "commit" });
  await page.waitForSelector("table.documents tbody tr, .empty");
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
}

/** In the page: from the change of the filter until its rows are painted. */
async function filter(path) {
  await page.goto(`${URL_OF_NODE}/documents`);
  await page.waitForSelector("table.documents tbody tr, .empty");
  return page.evaluate(async (to) => {
    const frame = () => new Promise(requestAnimationFrame);
    const start = performance.now();
    history.pushState(null, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
    do await frame();
    while (document.querySelector(".loading") || !document.querySelector("table.documents tbody tr, .empty") || !document.querySelector(".chip"));
    await frame();
    return performance.now() - start;
  }, `/documents${path}`);
}

const cold = await firstPaint("/documents");
const paints = [];
for (let i = 0; i < TIMES; i++) paints.push(await firstPaint("/documents"));
const filters = {};
for (const path of FILTERS) {
  const each = [];
  for (let i = 0; i < TIMES; i++) each.push(await filter(path));
  filters[path] = Math.round(median(each));
}
console.log(JSON.stringify({ first_paint_ms: Math.round(median(paints)), cold_ms: Math.round(cold), filter_ms: filters }));
await browser.close();
