-- Documents for search.py, each by its number: what it is found by follows from that (search.py
-- has the same rules).  $BENCH_FROM is the first number.  $BENCH_TO: all are for this receiver, and of a type of its name.
local ffi = require("ffi")
ffi.cdef [[
  struct bench_time { long seconds, nanoseconds; };
  int clock_gettime(int clock, struct bench_time *at);
]]
local time = ffi.new("struct bench_time")
local count = tonumber(os.getenv("BENCH_FROM") or "0")
local only = os.getenv("BENCH_TO")

function request()
  local n = count
  count = count + 1
  ffi.C.clock_gettime(1, time)
  local to = only ~= "s0" and only or n % 200 == 7 and string.format("Z-%d", n % 997) or string.format("r%d", n * 7 % 997)
  local kind = only ~= "s0" and only or n % 200 == 12 and "t51" or n % 5 < 2 and "t0" or string.format("t%d", 1 + n % 50)
  local size = n % 1000 == 500 and 20000 + n % 4000 or 20 + n * 31 % 400
  local body = string.format(
    '{"seq":"%010d","lane":"00","sent":"%019.0f","from":"s%d","to":"%s","kind":"%s","po":"P%d","note":"%s"}',
    n, tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds), n % 500, to, kind, n, string.rep("x", size))
  return string.format("POST /in/%s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    .. "Waybill-Name: ORD-%08d.json\r\nIdempotency-Key: K-%d\r\nContent-Length: %d\r\n\r\n%s",
    n % 4 == 0 and "side" or "orders", n * 7919 % 100000000, n, #body, body)
end
