-- Orders of 1 KiB in JSON, each with its number, one of 64 lanes and the time at which it is sent.
-- $BENCH_TO names the systems that get them in turn ("s0 s1"); senders and types rotate, too.
-- The request is put together by hand: wrk.format would cost as much as the server.
local ffi = require("ffi")
ffi.cdef [[
  struct bench_time { long seconds, nanoseconds; };
  int clock_gettime(int clock, struct bench_time *at);
]]
local BODY_BYTES, MONOTONIC, LANES = 1024, 1, 64

-- What stands between number and time on the left and the filling on the right.
local middles, variants = {}, 0
local head, filling
local time = ffi.new("struct bench_time")
local count = 0

local function middle(from, to, kind)
  return string.format('","from":"s%d","to":"%s","kind":"t%d","order":{"currency":"EUR",'
    .. '"lines":[{"sku":"A-1001","quantity":12,"price":"19.90"},'
    .. '{"sku":"B-2040","quantity":3,"price":"249.00"}]},"note":"', from, to, kind)
end

function init(args)
  local to = {}
  for name in (os.getenv("BENCH_TO") or "s0"):gmatch("%S+") do to[#to + 1] = name end
  variants = 100 * #to
  for i = 0, variants - 1 do
    local turn = math.floor(i / #to)
    middles[i] = middle(turn % 10, to[i % #to + 1], math.floor(turn / 10))
  end
  local fixed = #'{"seq":"0000000000","lane":"00","sent":"0000000000000000000' + #middles[0] + #'"}'
  filling = string.rep("x", BODY_BYTES - fixed) .. '"}'
  wrk.method = "POST"
  wrk.body = string.rep("x", BODY_BYTES)
  wrk.headers["Content-Type"] = "application/json"
  head = wrk.format():match("^(.-\r\n\r\n)")
end

function request()
  ffi.C.clock_gettime(MONOTONIC, time)
  local sent = tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
  local order = string.format('{"seq":"%010d","lane":"%02d","sent":"%019.0f', count, count % LANES, sent)
  local body = order .. middles[count % variants] .. filling
  count = count + 1
  return head .. body
end
