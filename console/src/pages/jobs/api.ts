// api.ts - every GraphQL request of the page, with its types; checked as those of src/api.ts.
import { query } from "../../base/ask";
import type * as T from "../../types";

const JOB = `name title kind area state next lag broken stop { what by reason since until } last { outcome message node ended } lastSuccess`;

export const jobs = query<{ jobs: T.Page<T.JobRow> }, { all: boolean; after: string | null }>(`query ($all: Boolean, $after: String) {
  jobs(all: $all, first: 100, after: $after) { items { ${JOB} } next }
}`);

export const job = query<{ job: T.Job | null }, { name: string }>(`query ($name: String!) {
  job(name: $name) {
    ${JOB} schedule zone log parallel timeout planned nominal nextTimes(first: 5) asked gone runs leftOut failures tries version
    open { run node nominal began until outside } stateNumber states { number stored text }
  }
}`);

export const jobRuns = query<{ jobRuns: T.Page<T.JobRun> }, { job: string | null; first: number; after: string | null }>(`query ($job: String, $first: Int, $after: String) {
  jobRuns(job: $job, first: $first, after: $after) {
    items { job run node nominal due began ended lag duration outcome message steps stale } next
  }
}`);

export const jobRun = query<{ job: { state: string } }, { name: string; client: string }>(`mutation ($name: String!, $client: ID) {
  job: jobRun(name: $name, client: $client) { state }
}`);

export const jobPause = query<{ job: { state: string } }, { name: string; reason: string; until: string | null; client: string }>(`mutation ($name: String!, $reason: String, $until: Time, $client: ID) {
  job: jobPause(name: $name, reason: $reason, until: $until, client: $client) { state }
}`);

export const jobResume = query<{ job: { state: string } }, { name: string; client: string }>(`mutation ($name: String!, $client: ID) {
  job: jobResume(name: $name, client: $client) { state }
}`);

export const jobCancel = query<{ job: { state: string } }, { name: string; reason: string | null; client: string }>(`mutation ($name: String!, $reason: String, $client: ID) {
  job: jobCancel(name: $name, reason: $reason, client: $client) { state }
}`);

export const jobReset = query<{ job: { state: string } }, { name: string; to: number; client: string }>(`mutation ($name: String!, $to: Long!, $client: ID) {
  job: jobReset(name: $name, to: $to, client: $client) { state }
}`);
