-- As plain.lua, with an Idempotency-Key that was never used before on each request.
-- The request is put together by hand: wrk.format would cost as much as the server.
local before, after

function init(args)
  wrk.method = "POST"
  wrk.body = string.rep("x", 1024)
  wrk.headers["Content-Type"] = "application/octet-stream"
  wrk.headers["Authorization"] = "Bearer " .. (os.getenv("WAYBILL_KEY") or "none")
  wrk.headers["Idempotency-Key"] = "@KEY@"
  before, after = wrk.format():match("^(.*)@KEY@(.*)$")
  before = before .. (os.getenv("BENCH_RUN") or tostring(os.time())) .. "-"
end

local count = 0

function request()
  count = count + 1
  return before .. count .. after
end
