// page.tsx - Jobs: recurring work, its state, next run, last result; one job with its log and states.
import { useEvent } from "../../base/events";
import { took } from "../../base/format";
import { decoded, usePlace, withQuery } from "../../base/router";
import { useQuery } from "../../base/use_query";
import type { JobRow } from "../../types";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Ago, Time } from "../../ui/time";
import { JobActions } from "./actions";
import * as api from "./api";
import { JobDetail } from "./detail";
import { Runs } from "./runs";

const EVERY_MS = 5000;

export function JobsPage({ rest }: { rest: string }) {
  return rest === "" ? <AllJobs /> : <OneJob name={decoded(rest)} />;
}

function OneJob({ name }: { name: string }) {
  const { data, error, loading, reload } = useQuery(api.job, { name }, { every: EVERY_MS });
  useEvent("job", reload);
  const job = data?.job;
  return (
    <>
      <div class="title">
        <h1>
          <a href="/jobs">Jobs</a> / {job?.title ?? name} {job && <State word={job.state} />}
        </h1>
        <span class="room" />
        {job && <JobActions job={job} onChanged={reload} />}
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {job && <JobDetail job={job} onChanged={reload} />}
      {data && !job && <Empty title="Job not found">No version has it, or your roles do not cover all systems.</Empty>}
    </>
  );
}

function AllJobs() {
  const { query } = usePlace();
  const all = query.get("show") === "all";
  const { data, error, loading, reload } = useQuery(api.jobs, { all, after: query.get("after") }, { every: EVERY_MS });
  useEvent("job", reload);
  const jobs = data?.jobs.items ?? [];
  const next = data?.jobs.next ?? null;
  return (
    <>
      <div class="title">
        <h1>Jobs</h1>
        <span class="room" />
        <nav class="tabs" aria-label="Which jobs">
          <a href={withQuery({ show: null, after: null })} aria-current={all ? undefined : "page"}>
            Configured
          </a>
          <a href={withQuery({ show: "all", after: null })} aria-current={all ? "page" : undefined}>
            All
          </a>
        </nav>
      </div>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && (
        <section class="card">
          {jobs.length === 0 && !next && (
            <Empty title="No jobs">
              Recurring work is under `jobs` in the <a href="/config">configuration</a>, where a form adds a job.
            </Empty>
          )}
          {jobs.length > 0 && <Table jobs={jobs} onChanged={reload} />}
          {next && (
            <div class="body">
              <a href={withQuery({ after: next })}>More jobs</a>
            </div>
          )}
        </section>
      )}
      <Runs job={null} />
    </>
  );
}

function Table({ jobs, onChanged }: { jobs: JobRow[]; onChanged: () => void }) {
  return (
    <div class="wide" tabIndex={0}>
      <table class="jobs">
        <thead>
          <tr>
            <th>Job</th>
            <th>Kind</th>
            <th>State</th>
            <th>Next run</th>
            <th>Last result</th>
            <th class="num">Lag</th>
            <th>Last success</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {jobs.map((j) => (
            <tr key={j.name}>
              <td class="word">
                <a href={`/jobs/${encodeURIComponent(j.name)}`}>{j.name}</a> <span class="quiet">{j.title}</span>
              </td>
              <td class="word">{j.kind}</td>
              <td title={j.stop?.reason ?? j.broken ?? ""}>
                <State word={j.state} />
              </td>
              <td class="time">{j.next && <Time at={j.next} />}</td>
              <td class="word" title={j.last?.message ?? ""}>
                {j.last && (
                  <>
                    <State word={j.last.outcome} /> <Ago at={j.last.ended} />
                  </>
                )}
              </td>
              <td class="num">{j.lag !== null && took(j.lag)}</td>
              <td class="time">{j.lastSuccess && <Ago at={j.lastSuccess} />}</td>
              <td class="actions">
                <JobActions job={j} onChanged={onChanged} small />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
